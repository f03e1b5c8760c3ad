//! Small kernels: what they compute, and what the checks say of broken ones.

mod atomics;
mod barriers;
mod copies;
mod flow;
mod kernel;
mod lanes;
mod launch;
mod matrices;
mod memory;
mod registers;
mod vectors;
mod window;

//! The op on a CPU backend: values, gradients, errors, choices.

mod choice;
mod conformance;
mod drop_in;
mod gradient_edges;
mod gradients;
mod invalid;
mod replay;
mod support;
mod threads;

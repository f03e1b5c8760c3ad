//! The backward kernels on the real PTX, without a GPU.

#![allow(missing_docs, reason = "a test has no users")]

mod conformance;
mod faults;
mod support;

//! The log of what `Strategy::Auto` chose, and of what a forced strategy leaves open.

use std::{
    collections::HashSet,
    mem::{Discriminant, discriminant},
    sync::{Mutex, PoisonError},
};

use burn::tensor::Device;

use super::{Backward, Forward};
use crate::{error::Reason, validate};

/// What was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Choice {
    /// A kernel for the forward pass.
    Forward(Forward),
    /// Kernels for the gradient.
    Backward(Backward),
    /// Separate operations for both.
    Composed,
}

/// Logs `choice` and its reason, once per both.
pub(crate) fn report(device: &Device, choice: Choice, reason: Option<Reason>) {
    type Said = HashSet<(Choice, Option<Discriminant<Reason>>)>;
    static SAID: Mutex<Option<Said>> = Mutex::new(None);
    // Another thread's panic can't leave a set half-inserted.
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (choice, reason.as_ref().map(discriminant));
    if !said.get_or_insert_default().insert(key) {
        return;
    }
    let because = reason.map_or_else(String::new, |reason| format!(": {reason}"));
    let (what, how) = match choice {
        Choice::Forward(Forward::CubeCl) => ("attention", "runs on the CubeCL kernel"),
        Choice::Forward(Forward::Hopper) => ("attention", "runs on the CubeCL kernel for Hopper"),
        Choice::Forward(Forward::Cute) => ("attention", "runs on the CuTe kernel"),
        Choice::Backward(Backward::CubeCl) => {
            ("the gradient of attention", "runs on the CubeCL kernels")
        }
        Choice::Backward(Backward::Hopper) => (
            "the gradient of attention",
            "runs on the CubeCL kernels for Hopper",
        ),
        Choice::Composed => ("attention", "is composed of separate operations"),
    };
    log::info!("{what} on {} {how}{because}", validate::name(device));
}

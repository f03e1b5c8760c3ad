//! Which kernels CubeCL has compiled, and what it said of those that it could not.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use cubecl::client::Client;
use fa2_cubecl::{BwdConfig, FwdConfig, FwdSm90Config};

use crate::error::Reason;

/// A kernel, or those of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kernel {
    /// The forward for SM80 and up.
    Sm80(FwdConfig),
    /// The forward for SM90.
    Sm90(FwdSm90Config),
    /// A backward, and its pass for dQ where it has one.
    Backward(BwdConfig, Option<FwdConfig>),
}

/// Whether CubeCL can compile `kernel` for the client's device; compiles it the first time.
pub(super) fn compiles(client: &Client, kernel: Kernel) -> Result<(), Reason> {
    type Answers = HashMap<(u16, Kernel), Result<(), Reason>>;
    static ANSWERS: Mutex<Option<Answers>> = Mutex::new(None);
    let key = (client.service_id().device.index_id, kernel);
    // A panic while compiling leaves the map as it was.
    let mut answers = ANSWERS.lock().unwrap_or_else(PoisonError::into_inner);
    answers
        .get_or_insert_default()
        .entry(key)
        .or_insert_with(|| {
            let compiled = match kernel {
                Kernel::Sm80(config) => fa2_cubecl::compile(client, config),
                Kernel::Sm90(config) => fa2_cubecl::compile_sm90(client, config),
                Kernel::Backward(config, queries) => {
                    fa2_cubecl::compile_backward(client, config, queries)
                }
            };
            compiled.map_err(|error| Reason::Compilation(error.to_string()))
        })
        .clone()
}

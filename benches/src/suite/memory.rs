//! Device memory of a call: O and the LSE, and nothing of the size of the scores (replays MEM-01); and
//! of a forward and a backward pass, beside the composed path's (replays MEM-03).

use crate::suite::SuiteArgs;
use crate::suite::tally::Tally;
use burn::tensor::{DType, Device, Tensor};
use burn_fa2::{FlashAttentionOptions, Strategy, flash_attention_with_lse};
use cubecl::client::Client;
use cubecl::{MemoryScope, MemoryUsage};
use fa2_testing::Case;

const CASE: Case = Case::new("memory", 1, 8, 16_384, 64);
/// Two heads, so that the composed path's scores fit any GPU.
const TRAINING: Case = Case::new("memory-training", 1, 2, 16_384, 64);
/// What CubeCL rounds an allocation up to at most, in bytes.
const ROUNDING_BYTES: u64 = 1 << 12;

/// Compares the device's memory before, during and after a call.
pub fn check(client: &Client, args: &SuiteArgs, tally: &mut Tally) {
    if args.selects(&TRAINING) {
        tally.record(
            format!("{TRAINING} [op, peak memory of both passes]"),
            both_passes(client, args, tally),
        );
    }
    if args.selects(&CASE) {
        tally.record(
            format!("{CASE} [op, peak memory]"),
            conforms(client, args, tally),
        );
    }
}

fn conforms(client: &Client, args: &SuiteArgs, tally: &Tally) -> Result<(), String> {
    let device = Device::cuda(args.device());
    let sync = || device.sync().map_err(|error| format!("{error:?}"));
    let usage = || -> Result<MemoryUsage, String> {
        sync()?;
        Ok(client.memory_report(MemoryScope::Device).usage())
    };
    let zeros = || Tensor::<4>::zeros(CASE.shape_q(), (&device, DType::F16));
    let [q, k, v] = [zeros(), zeros(), zeros()];
    let before = usage()?;
    let options = FlashAttentionOptions::default().with_strategy(Strategy::CubeCl);
    let outputs = flash_attention_with_lse(q.clone(), k.clone(), v.clone(), options);
    let after = usage()?;

    let rows = (CASE.batch * CASE.heads_q * CASE.seq_q) as u64;
    let outputs_bytes = rows * (CASE.head_dim as u64 * 2 + 4);
    let scores_bytes = rows * CASE.seq_k as u64 * 2;
    let used = after.bytes_in_use.saturating_sub(before.bytes_in_use);
    // Pages that were reserved stay with CubeCL: what grew is the peak of the call.
    let reserved = after.bytes_reserved.saturating_sub(before.bytes_reserved);
    // Kept until here: operands that were freed would hide what the call allocated.
    drop((outputs, q, k, v));
    tally.say(format!(
        "memory of a call: {used} bytes in use for {outputs_bytes} of outputs; the pool grew by \
         {reserved} bytes; the scores would take {scores_bytes}"
    ));
    if !(outputs_bytes..=outputs_bytes + 2 * ROUNDING_BYTES).contains(&used) {
        return Err(format!(
            "{used} bytes in use for {outputs_bytes} bytes of outputs"
        ));
    }
    // A pool grows by pages, which are far below the scores.
    if reserved >= scores_bytes / 8 {
        return Err(format!("the pool grew by {reserved} bytes"));
    }
    Ok(())
}

/// Bytes by which the pools grow over a forward and a backward pass: first on the kernels, then
/// composed, which holds several tensors of the scores' size.
fn both_passes(client: &Client, args: &SuiteArgs, tally: &Tally) -> Result<(), String> {
    let device = Device::cuda(args.device()).autodiff();
    let reserved = || -> Result<u64, String> {
        device.sync().map_err(|error| format!("{error:?}"))?;
        let usage = client.memory_report(MemoryScope::Device).usage();
        Ok(usage.bytes_reserved)
    };
    let grown = |strategy| -> Result<u64, String> {
        let zeros = || Tensor::<4>::zeros(TRAINING.shape_q(), (&device, DType::F16));
        let [q, k, v] = [zeros(), zeros(), zeros()].map(Tensor::require_grad);
        let before = reserved()?;
        let options = FlashAttentionOptions::default().with_strategy(strategy);
        let (o, _) = flash_attention_with_lse(q.clone(), k.clone(), v.clone(), options);
        let gradients = o.sum().backward();
        let after = reserved()?;
        // Kept until here, so that nothing makes room for something else.
        drop((q, k, v, gradients));
        Ok(after.saturating_sub(before))
    };
    let [kernel, composed] = [grown(Strategy::CubeCl)?, grown(Strategy::Composed)?];
    let rows = (TRAINING.batch * TRAINING.heads_q * TRAINING.seq_q) as u64;
    let scores_bytes = rows * TRAINING.seq_k as u64 * 2;
    tally.say(format!(
        "memory of both passes: the pools grew by {kernel} bytes on the kernels and by {composed} more \
         when composed; the scores would take {scores_bytes}"
    ));
    // dO, O, dQ, dK and dV in 16 bits, the sums of dQ and a few rows in 32, and a page of each pool.
    if kernel >= scores_bytes / 4 {
        return Err(format!("the pools grew by {kernel} bytes"));
    }
    if composed < scores_bytes {
        return Err(format!(
            "the composed path grew the pools by {composed} bytes only: the measure is blind"
        ));
    }
    Ok(())
}

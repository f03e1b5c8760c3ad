//! Burn's own attention at the same shapes: `burn::tensor::module::attention`.

use crate::bench::record::Row;
use anyhow::{Result, anyhow};
use burn::tensor::module::attention;
use burn::tensor::ops::AttentionModuleOptions;
use burn::tensor::{DType, Device, Distribution, Tensor};
use fa2_cubecl::{Dtype, Mask, Problem};
use std::time::Instant;

/// Calls of a window; each takes milliseconds, so host time around a sync is device time.
const CALLS: usize = 5;

/// Measures `problem`, after two windows that let Burn tune itself.
///
/// # Errors
/// Where the device fails.
pub fn measure(problem: &Problem, device: usize, rounds: usize) -> Result<Row> {
    let device = Device::cuda(device);
    let dtype = match problem.dtype {
        Dtype::F16 => DType::F16,
        Dtype::Bf16 => DType::BF16,
    };
    let Problem {
        batch,
        heads_q,
        seq_q,
        head_dim,
        ..
    } = *problem;
    let normal = || {
        let shape = [batch, heads_q, seq_q, head_dim];
        Tensor::<4>::random(shape, Distribution::Normal(0.0, 1.0), &device).cast(dtype)
    };
    let [q, k, v] = [normal(), normal(), normal()];
    let options = AttentionModuleOptions {
        is_causal: problem.mask != Mask::None,
        ..Default::default()
    };
    let window = || {
        let started = Instant::now();
        for _ in 0..CALLS {
            drop(attention(
                q.clone(),
                k.clone(),
                v.clone(),
                None,
                None,
                options,
            ));
        }
        device.sync().map_err(|error| anyhow!("{error:?}"))?;
        Ok::<_, anyhow::Error>(started.elapsed().as_secs_f64() * 1e3 / CALLS as f64)
    };
    for _ in 0..2 {
        window()?;
    }
    let ms = (0..rounds).map(|_| window()).collect::<Result<Vec<_>>>()?;
    Ok(Row::forward(
        "burn",
        problem,
        "host time around a sync".into(),
        ms,
    ))
}

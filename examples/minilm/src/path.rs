//! Which of its paths burn-fa2 takes, asked before the run.

use anyhow::Result;
use burn::tensor::{Device, FloatDType, Tensor};
use burn_fa2::{FlashAttentionError, FlashAttentionOptions, Strategy, try_flash_attention};

use crate::model::Sizes;

/// The path for this model's heads on `device` in `dtype`.
///
/// `burn_fa2::attention` takes a kernel where one serves and composes Burn operations elsewhere. To know
/// which, this asks for one kernel after the other: where one can't serve, that is an error, and the error
/// holds the reason.
pub(crate) fn describe(sizes: &Sizes, device: &Device, dtype: FloatDType) -> Result<String> {
    let shape = [1, sizes.heads, 1, sizes.head_dim()];
    let x = Tensor::<4>::zeros(shape, device).cast(dtype); // (B, H, S, D)
    let ask = |strategy| {
        let kernel_only = FlashAttentionOptions::default().with_strategy(strategy);
        try_flash_attention(x.clone(), x.clone(), x.clone(), kernel_only)
    };
    if ask(Strategy::Hopper).is_ok() {
        return Ok("burn-fa2's CubeCL kernel for Hopper".to_string());
    }
    match ask(Strategy::CubeCl) {
        Ok(_) => Ok("burn-fa2's CubeCL kernel".to_string()),
        Err(FlashAttentionError::Kernel { reason, .. }) => {
            Ok(format!("burn-fa2's composed path: {reason}"))
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_a_cpu_the_composed_path_is_named_with_its_reason() {
        let path = describe(&Sizes::SMALL, &Device::flex(), FloatDType::F16)
            .expect("a call of equal tensors breaks no rule");
        assert!(path.contains("composed path: "), "{path}");
        assert!(path.contains("CUDA"), "{path}");
    }
}

//! Which path the attention takes, asked before the run.

use anyhow::Result;
use burn::tensor::{Device, Tensor};
use burn_fa2::{FlashAttentionError, FlashAttentionOptions, Strategy, try_flash_attention};

use crate::attention::Attention;
use crate::settings::Settings;

/// A path, in the words of the records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Path {
    /// burn-fa2's kernel for Hopper.
    Hopper,
    /// burn-fa2's kernel for SM80 and up.
    CubeCl,
    /// burn-fa2's composed path, with the reason where the kernel was asked for.
    Composed(Option<String>),
    /// Burn's own.
    Stock,
}

impl Path {
    /// The path of `attention` for the heads and the precision of `settings` on `device`.
    ///
    /// burn-fa2 chooses by itself. To know its choice, this asks for one kernel after the other: where
    /// one can't serve, that is an error, and the error holds the reason.
    pub(crate) fn of(attention: Attention, settings: &Settings, device: &Device) -> Result<Self> {
        match attention {
            Attention::Burn => return Ok(Self::Stock),
            Attention::Composed => return Ok(Self::Composed(None)),
            Attention::Fa2 => {}
        }
        let sizes = &settings.sizes;
        let zeros = |heads| {
            let x = Tensor::<4>::zeros([1, heads, 1, sizes.head_dim()], device);
            x.cast(settings.dtype.dtype()) // (1, heads, 1, D)
        };
        let (q, kv) = (zeros(sizes.heads), zeros(sizes.kv_heads));
        let mut refusal = None;
        for (strategy, path) in [
            (Strategy::Hopper, Self::Hopper),
            (Strategy::CubeCl, Self::CubeCl),
        ] {
            let kernel_only = FlashAttentionOptions::causal().with_strategy(strategy);
            match try_flash_attention(q.clone(), kv.clone(), kv.clone(), kernel_only) {
                Ok(_) => return Ok(path),
                Err(FlashAttentionError::Kernel { reason, .. }) => refusal = Some(reason),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Self::Composed(refusal.map(|reason| reason.to_string())))
    }

    /// The name in a record.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Hopper => "hopper",
            Self::CubeCl => "cubecl",
            Self::Composed(_) => "composed",
            Self::Stock => "burn",
        }
    }
}

/// For the reader.
pub(crate) fn describe(
    attention: Attention,
    settings: &Settings,
    device: &Device,
) -> Result<String> {
    Ok(match Path::of(attention, settings, device)? {
        Path::Hopper => "burn-fa2's CubeCL kernel for Hopper".to_string(),
        Path::CubeCl => "burn-fa2's CubeCL kernel".to_string(),
        Path::Composed(None) => "burn-fa2's composed path".to_string(),
        Path::Composed(Some(reason)) => format!("burn-fa2's composed path: {reason}"),
        Path::Stock => "Burn's own, keys and values repeated for each query head".to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::tests::toy;

    #[test]
    fn on_a_cpu_the_composed_path_is_named_with_its_reason() {
        let shown = describe(Attention::Fa2, &toy(), &Device::flex()).unwrap();
        assert!(shown.contains("composed path: "), "{shown}");
        let path = |attention| Path::of(attention, &toy(), &Device::flex()).unwrap();
        assert_eq!(path(Attention::Composed), Path::Composed(None));
        assert_eq!(path(Attention::Burn).name(), "burn");
    }
}

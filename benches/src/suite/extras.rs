//! Calls that the kernel does not serve, on a CUDA device: masks, biases and softcaps, composed.

use crate::suite::SuiteArgs;
use crate::suite::tally::Tally;
use burn::tensor::module::attention_fallback;
use burn::tensor::ops::AttentionModuleOptions;
use burn::tensor::{Bool, DType, Device, Tensor, TensorData};
use burn_fa2::try_attention;
use fa2_testing::{Case, Report, inputs};
use half::f16;

const CASE: Case = Case::new("extras", 2, 4, 70, 64);
const SEED: u64 = 22;
/// Of standard normal numbers, three in ten are.
const MASK_BELOW: f64 = -0.5;

/// The arguments of a call beside Q, K and V.
#[derive(Clone)]
struct Extras {
    name: &'static str,
    /// Where it is below [`MASK_BELOW`], a key is hidden. Kept as numbers: a device has a format of
    /// its own for booleans.
    mask: Option<Tensor<4>>,
    bias: Option<Tensor<4>>,
    options: AttentionModuleOptions,
}

/// Compares the device's result with Burn's own composition on the CPU in f64, and may be twice as
/// far from it as Burn's composition on the device in the same precision.
pub fn check(args: &SuiteArgs, tally: &mut Tally) {
    if !args.selects(&CASE) {
        return;
    }
    let device = Device::cuda(args.device());
    for dtype in [DType::F16, DType::BF16, DType::F32] {
        for extras in [masked(), biased(), capped(), everything()] {
            let name = format!("{dtype:?} {CASE} [op, {}]", extras.name);
            tally.record(name, conforms(&extras, dtype, &device));
        }
    }
}

fn conforms(extras: &Extras, dtype: DType, device: &Device) -> Result<(), String> {
    let qkv = operands();
    let rounded = qkv.clone().map(|tensor| on(tensor, device, dtype));
    let here = extras.moved(device, dtype);
    // The rounded values, exactly: what the device computes on is what the reference computes on.
    let cpu = Device::flex();
    let exact = rounded.clone().map(|tensor| on(tensor, &cpu, DType::F64));
    let reference = values(
        extras
            .moved(&cpu, DType::F64)
            .rounded(dtype)
            .fallback(exact),
    );
    let yardstick = values(here.clone().fallback(rounded.clone()));
    let [q, k, v] = rounded;
    let ours = try_attention(q, k, v, here.mask(), here.bias, here.options)
        .map_err(|error| error.to_string())?;
    let report = Report::new(
        &values(ours),
        &yardstick,
        &reference,
        epsilon(dtype) * largest(&reference),
    );
    if report.passed {
        Ok(())
    } else {
        Err(report.to_string())
    }
}

impl Extras {
    fn moved(&self, device: &Device, dtype: DType) -> Self {
        Self {
            mask: self.mask.clone().map(|mask| on(mask, device, DType::F32)),
            bias: self.bias.clone().map(|bias| on(bias, device, dtype)),
            ..self.clone()
        }
    }

    /// With the bias rounded to `dtype`, in the precision that it has.
    fn rounded(self, dtype: DType) -> Self {
        let bias = self.bias.map(|bias| {
            let wide = bias.dtype();
            bias.cast(dtype).cast(wide)
        });
        Self { bias, ..self }
    }

    fn mask(&self) -> Option<Tensor<4, Bool>> {
        self.mask.clone().map(|mask| mask.lower_elem(MASK_BELOW))
    }

    fn fallback(self, [q, k, v]: [Tensor<4>; 3]) -> Tensor<4> {
        attention_fallback(q, k, v, self.mask(), self.bias, self.options)
    }
}

fn plain(name: &'static str) -> Extras {
    Extras {
        name,
        mask: None,
        bias: None,
        options: AttentionModuleOptions::default(),
    }
}

fn masked() -> Extras {
    Extras {
        mask: Some(noise([2, 1, CASE.seq_q, CASE.seq_k], 5)),
        ..plain("mask")
    }
}

fn biased() -> Extras {
    Extras {
        bias: Some(noise([1, CASE.heads_q, CASE.seq_q, CASE.seq_k], 6) * 3.0),
        ..plain("bias")
    }
}

fn capped() -> Extras {
    let options = AttentionModuleOptions {
        softcap: Some(1.5),
        is_causal: true,
        ..Default::default()
    };
    Extras {
        options,
        ..plain("softcap under a causal mask")
    }
}

fn everything() -> Extras {
    Extras {
        name: "mask, bias and softcap",
        mask: masked().mask,
        bias: biased().bias,
        options: capped().options,
    }
}

fn operands() -> [Tensor<4>; 3] {
    let [q, k, v] = inputs::generate::<f16>(&CASE, SEED).logical();
    let tensor = |values: Vec<f16>| {
        let shape = [CASE.batch, CASE.heads_q, CASE.seq_q, CASE.head_dim];
        Tensor::from_data(
            TensorData::new(values, shape),
            (&Device::flex(), DType::F16),
        )
    };
    [q, k, v].map(tensor)
}

/// Standard normal values on the CPU.
fn noise(shape: [usize; 4], seed: u64) -> Tensor<4> {
    let [batch, heads, rows, columns] = shape;
    let case = Case::new("noise", batch, heads, rows, columns);
    let [values, ..] = inputs::generate::<f32>(&case, seed).logical();
    Tensor::from_data(
        TensorData::new(values, shape),
        (&Device::flex(), DType::F32),
    )
}

fn on(tensor: Tensor<4>, device: &Device, dtype: DType) -> Tensor<4> {
    // By way of the host: a cast on either side of the move gives the same bits.
    Tensor::from_data(tensor.into_data().convert_dtype(dtype), (device, dtype))
}

fn values(tensor: Tensor<4>) -> Vec<f64> {
    tensor.into_data().iter::<f64>().collect()
}

fn epsilon(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => f64::from(f16::EPSILON),
        DType::BF16 => f64::from(half::bf16::EPSILON),
        _ => f64::from(f32::EPSILON) * ((CASE.seq_k + CASE.head_dim) as f64).sqrt(),
    }
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, value| most.max(value.abs()))
}

//! From cases to tensors and back.

use burn::tensor::{Bool, DType, Device, Element as BurnElement, Tensor, TensorData};
use burn_fa2::{CausalAlignment, FlashAttentionOptions, Mask};
use fa2_testing::{Case, Causal, Element, Qkv, Storage, Stored};

/// The device of these tests; `Device::default()` would be a GPU in a build with `cuda`.
pub(crate) fn cpu() -> Device {
    Device::flex()
}

/// `stored` as a tensor with the same strides.
pub(crate) fn tensor<E: Element + BurnElement>(
    stored: &Stored<E>,
    storage: Storage,
    device: &Device,
) -> Tensor<4> {
    let [batch, heads, seq, dim] = stored.shape;
    let create = |shape: [usize; 4]| {
        let data = TensorData::new(stored.data.clone(), shape);
        Tensor::<4>::from_data(data, (device, E::dtype()))
    };
    match storage {
        Storage::Bhsd => create([batch, heads, seq, dim]),
        Storage::Bshd => create([batch, seq, heads, dim]).swap_dims(1, 2),
        Storage::PaddedRows => create([batch, heads, seq, stored.strides[2]]).slice([
            0..batch,
            0..heads,
            0..seq,
            0..dim,
        ]),
    }
}

/// Q, K and V as tensors.
pub(crate) fn tensors<E: Element + BurnElement>(
    case: &Case,
    qkv: &Qkv<E>,
    device: &Device,
) -> [Tensor<4>; 3] {
    [&qkv.q, &qkv.k, &qkv.v].map(|stored| tensor(stored, case.storage, device))
}

/// The options that ask for `case`.
pub(crate) fn options(case: &Case) -> FlashAttentionOptions {
    let options = FlashAttentionOptions::default().with_mask(match case.causal {
        Causal::None => Mask::None,
        Causal::BottomRight => Mask::Causal(CausalAlignment::BottomRight),
        Causal::TopLeft => Mask::Causal(CausalAlignment::TopLeft),
    });
    match case.scale {
        Some(scale) => options.with_scale(scale),
        None => options,
    }
}

/// The elements in row-major order.
pub(crate) fn values<E: BurnElement, const D: usize>(tensor: Tensor<D>) -> Vec<E> {
    assert_eq!(tensor.dtype(), E::dtype());
    tensor
        .into_data()
        .try_to_vec()
        .expect("the dtype was checked")
}

/// The elements in row-major order, whatever their format.
pub(crate) fn f64s<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    values(tensor.cast(DType::F64))
}

/// Numbers without structure in `[-1, 1)`; different for different `seed`s.
pub(crate) fn noise<const D: usize>(shape: [usize; D], seed: u64, device: &Device) -> Tensor<D> {
    // A full-period generator (Knuth's MMIX constants), so that tests need no shared random state.
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let data: Vec<f32> = (0..shape.iter().product::<usize>())
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect();
    Tensor::from_data(TensorData::new(data, shape), (device, DType::F32))
}

/// True in about one place of `one_in`.
pub(crate) fn random_mask(shape: [usize; 4], one_in: usize, seed: u64) -> Tensor<4, Bool> {
    noise(shape, seed, &cpu()).lower_elem(2.0 / one_in as f32 - 1.0)
}

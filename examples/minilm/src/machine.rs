//! On a machine without a GPU: one head of the first layer through the real kernel, in the PTX machine.

use anyhow::{Result, anyhow};
use burn::tensor::{Device, Tensor};
use fa2_machine::Kernel;
use fa2_testing::{Case, Expected, Qkv, Storage, Stored};
use half::f16;

use crate::embed::to_tensor;
use crate::model::MiniLm;

/// Compute capability that the kernel is compiled for.
const SM: u32 = 80;
/// Random schedules of the warps, beside the one in order; all must give the same bits.
const SCHEDULES: u64 = 4;

/// Compiles the kernel for SM80, runs it on the first sentence's Q, K and V of the first head, and
/// prints the check and the measures.
pub(crate) fn show(model: &MiniLm, tokens: &[Vec<u32>], device: &Device) -> Result<()> {
    let Some(first) = tokens.first() else {
        return Ok(());
    };
    let input = to_tensor(&[first], device);
    let Some(projections) = model.first_projections(input) else {
        return Ok(());
    };
    let [q, k, v] = projections.map(head);
    let [_, _, rows, dim] = q.shape;
    let case = Case::new("one head", 1, 1, rows, dim);
    let qkv = Qkv { q, k, v };
    let kernel = Kernel::chosen::<f16>(&case, SM)?;
    let run = kernel.forward(&case, &qkv, SCHEDULES)?;
    let expected = Expected::of(&case, &qkv);
    expected
        .judge(&run.output, &run.lse)
        .map_err(|wrong| anyhow!("the kernel's result is wrong: {wrong}"))?;
    println!(
        "\nno GPU here: the kernel's PTX for sm_{SM} runs in the PTX machine, on one head of layer 1\n\
         {}, {rows} tokens, D = {dim}, {} schedules: no violation\n\
         O against f64: {}\n{}",
        kernel.config(),
        SCHEDULES + 1,
        expected.output(&run.output),
        run.measures
    );
    Ok(())
}

/// The first head of a `[1, heads, rows, dim]` tensor, rounded to f16.
fn head(tensor: Tensor<4>) -> Stored<f16> {
    let [_, _, rows, dim] = tensor.dims();
    let values: Vec<f64> = tensor
        .slice([0..1, 0..1, 0..rows, 0..dim])
        .into_data()
        .iter::<f64>()
        .collect();
    Stored::new(&values, [1, 1, rows, dim], Storage::Bhsd)
}

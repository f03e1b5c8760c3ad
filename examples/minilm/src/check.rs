//! Whether burn-fa2's embeddings are right: no further from f64 than Burn's own attention allows.
//!
//! The truth is the same model in f64 on the CPU with Burn's attention. With e_stock the largest
//! error of the stock path in the dtype under test, burn-fa2 may be off by
//!
//! ```text
//! 2 e_stock + eps max |truth|
//! ```
//!
//! Twice, because two right results round apart in different directions; and one rounding of the
//! largest number more, so that a stock path which happens to be nearly exact doesn't ask the
//! impossible.

use std::fmt;

use burn::tensor::FloatDType;

/// The largest differences between three sets of embeddings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Check {
    flash_to_stock: f64,
    flash_to_truth: f64,
    stock_to_truth: f64,
    tolerance: f64,
}

impl Check {
    /// Compares embeddings that were computed in `dtype`.
    pub(crate) fn new(
        dtype: FloatDType,
        flash: &[Vec<f64>],
        stock: &[Vec<f64>],
        truth: &[Vec<f64>],
    ) -> Self {
        let stock_to_truth = max_difference(stock, truth);
        let largest = largest(truth.iter().flatten().copied());
        Self {
            flash_to_stock: max_difference(flash, stock),
            flash_to_truth: max_difference(flash, truth),
            stock_to_truth,
            tolerance: 2.0 * stock_to_truth + dtype.finfo().epsilon * largest,
        }
    }

    /// Whether burn-fa2 is as close to the truth as it has to be. A NaN anywhere is not.
    pub(crate) fn passed(&self) -> bool {
        self.flash_to_truth <= self.tolerance
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.passed() { "ok" } else { "TOO FAR OFF" };
        writeln!(f, "  max difference")?;
        writeln!(f, "  burn-fa2 to stock  {:.2e}", self.flash_to_stock)?;
        writeln!(f, "  stock to f64       {:.2e}", self.stock_to_truth)?;
        let (flash, tolerance) = (self.flash_to_truth, self.tolerance);
        write!(
            f,
            "  burn-fa2 to f64    {flash:.2e}, at most {tolerance:.2e}: {verdict}"
        )
    }
}

fn max_difference(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    assert_eq!(a.len(), b.len(), "one embedding a sentence, by any path");
    let differences = a.iter().flatten().zip(b.iter().flatten());
    largest(differences.map(|(a, b)| a - b))
}

/// The largest magnitude, with NaN above all: `f64::max` would pass over it.
fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.map(f64::abs).max_by(f64::total_cmp).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Device;

    use crate::attention::Attention;
    use crate::embed::embed;
    use crate::load;

    const TRUTH: [f64; 3] = [0.5, -0.25, 0.0];

    fn check(flash: [f64; 3], stock: [f64; 3]) -> Check {
        Check::new(
            FloatDType::F16,
            &[flash.to_vec()],
            &[stock.to_vec()],
            &[TRUTH.to_vec()],
        )
    }

    #[test]
    fn tolerance_follows_the_stock_error() {
        let stock = [0.5, -0.25, 0.01];
        assert!(check([0.5, -0.25, -0.02], stock).passed());
        assert!(!check([0.5, -0.25, -0.03], stock).passed());
    }

    #[test]
    fn exact_stock_leaves_one_rounding() {
        let eps = FloatDType::F16.finfo().epsilon;
        assert!(check([0.5 + 0.5 * eps, -0.25, 0.0], TRUTH).passed());
        assert!(!check([0.5 + 0.6 * eps, -0.25, 0.0], TRUTH).passed());
    }

    #[test]
    fn nan_never_passes() {
        assert!(!check([0.5, f64::NAN, 0.0], TRUTH).passed());
        assert!(!check([0.5, -f64::NAN, 0.0], TRUTH).passed());
    }

    /// The model itself, on the CPU, in every dtype that the demo takes.
    #[test]
    fn random_model_is_right_with_both_attentions() {
        let device = Device::flex();
        let model = load::random(&device);
        // Lengths 2, 3, 17 and 130: the shortest sentence there is, odd ones, and more than two key
        // blocks.
        let sentences: Vec<Vec<u32>> = [2, 3, 17, 130]
            .map(|length| (0..length).map(|i| (i * 997) % 4_096).collect())
            .to_vec();
        let run = |dtype, attention| {
            let model = load::copy_to(&model, &device, dtype);
            embed(&model, attention, &sentences, &device)
        };
        let truth = run(FloatDType::F64, Attention::Stock);
        for dtype in [FloatDType::F32, FloatDType::F16, FloatDType::BF16] {
            let flash = run(dtype, Attention::Flash);
            let check = Check::new(dtype, &flash, &run(dtype, Attention::Stock), &truth);
            assert!(check.passed(), "{dtype:?}\n{check}");
        }
    }
}

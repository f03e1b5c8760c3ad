//! Loss curves of one seed, held to each other at every step.
//!
//! Two kinds of attention can't give the same bits: they sum in another order and round at other
//! places, and training amplifies a rounding from step to step. In 200 steps of a tiny model on a
//! CPU it hardly does for one seed, and ten thousand times for another. So the tolerance is
//! measured, not guessed: control runs differ from the reference by one rounding of their first
//! weights and by nothing else. With g(t) the largest gap of a control run up to step t, a curve
//! agrees where
//!
//! ```text
//! |candidate(t) - reference(t)| <= FACTOR * g(max(t, SETTLED)) + rounding of the loss
//! ```
//!
//! A gradient that is wrong by more than a rounding is wrong at every step, and leaves this band.

use anyhow::{Result, ensure};

/// A rounding of attention at every step may do more than one of the first weights.
const FACTOR: f64 = 4.0;
/// Steps after which the largest gap of a control run says something: that of a single step may
/// happen to be next to none.
const SETTLED: usize = 10;
/// Losses are means in f32.
const LOSS_ROUNDINGS: f64 = 8.0;

/// The curves of a candidate, a reference and the controls, each a loss a step.
pub(crate) struct Comparison {
    pub(crate) candidate: Vec<f64>,
    pub(crate) reference: Vec<f64>,
    pub(crate) controls: Vec<Vec<f64>>,
}

impl Comparison {
    /// The gap of the candidate at each step, and what is allowed there.
    fn gaps(&self) -> Vec<[f64; 2]> {
        let gap = |curve: &[f64], step: usize| (curve[step] - self.reference[step]).abs();
        let steps = self.reference.len();
        (0..steps)
            .map(|step| {
                let settled = step.max(SETTLED).min(steps - 1);
                let controls = self.controls.iter();
                let amplified = controls
                    .flat_map(|control| (0..=settled).map(|step| gap(control, step)))
                    .fold(0.0, f64::max);
                let rounding = LOSS_ROUNDINGS * f64::from(f32::EPSILON) * self.reference[step];
                [gap(&self.candidate, step), FACTOR * amplified + rounding]
            })
            .collect()
    }

    /// A line each `every` steps, with the largest gap since the line before.
    pub(crate) fn table(&self, every: usize) -> String {
        let mut table = String::from("\n  step  candidate  reference  largest gap      allowed\n");
        let gaps = self.gaps();
        for (index, gaps) in gaps.chunks(every).enumerate() {
            let last = index * every + gaps.len() - 1;
            let largest = gaps.iter().map(|[gap, _]| *gap).fold(0.0, f64::max);
            let [_, allowed] = gaps[gaps.len() - 1];
            table += &format!(
                "{:>6} {:>10.5} {:>10.5} {largest:>12.3e} {allowed:>12.3e}\n",
                last + 1,
                self.candidate[last],
                self.reference[last]
            );
        }
        table
    }

    /// An error that names the first step with too wide a gap.
    pub(crate) fn judge(&self) -> Result<()> {
        let mut largest = (0, 0.0);
        for (step, [gap, allowed]) in self.gaps().into_iter().enumerate() {
            // A NaN is no agreement.
            ensure!(
                gap <= allowed,
                "the curves part at step {}: {gap:.3e} where {allowed:.3e} is allowed",
                step + 1
            );
            if gap > largest.1 {
                largest = (step + 1, gap);
            }
        }
        let (step, gap) = largest;
        println!("\nthe curves agree at every step; the largest gap is {gap:.3e}, at step {step}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(candidate: &[f64]) -> Comparison {
        let reference: Vec<f64> = vec![4.0; candidate.len()];
        let controls = vec![vec![4.0 + 1e-3; candidate.len()]; 2];
        Comparison {
            candidate: candidate.to_vec(),
            reference,
            controls,
        }
    }

    #[test]
    fn a_curve_agrees_within_the_controls_gaps_and_not_beyond() {
        let mut curve = vec![4.0; 30];
        curve[20] = 4.0 + 0.9 * FACTOR * 1e-3;
        comparison(&curve).judge().expect("within the band");
        curve[20] = 4.0 - 1.1 * FACTOR * 1e-3;
        let error = comparison(&curve).judge().unwrap_err().to_string();
        assert!(error.contains("step 21"), "{error}");
        curve[20] = f64::NAN;
        assert!(comparison(&curve).judge().is_err());
    }
}

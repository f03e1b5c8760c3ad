//! The learning rate over a run: up in a line, down in half a cosine.

use std::f64::consts::PI;

/// What is left of the peak at the last step.
const FLOOR: f64 = 0.1;

/// A schedule over a run of `steps`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    pub(crate) peak: f64,
    /// Steps until the peak.
    pub(crate) warm_up: usize,
    pub(crate) steps: usize,
}

impl Schedule {
    /// The learning rate of `step`, counted from 0.
    pub(crate) fn at(&self, step: usize) -> f64 {
        let Self {
            peak,
            warm_up,
            steps,
        } = *self;
        // The first step counts too: with a rate of 0 it would be none.
        if step < warm_up {
            return peak * (step + 1) as f64 / warm_up as f64;
        }
        let last = steps.saturating_sub(warm_up + 1).max(1);
        let progress = ((step - warm_up) as f64 / last as f64).min(1.0);
        peak * (FLOOR + (1.0 - FLOOR) * 0.5 * (1.0 + (PI * progress).cos()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEDULE: Schedule = Schedule {
        peak: 2.0,
        warm_up: 4,
        steps: 15,
    };

    #[test]
    fn the_rate_rises_in_a_line_to_the_peak() {
        let rates = [0, 1, 2, 3, 4].map(|step| SCHEDULE.at(step));
        assert_eq!(rates, [0.5, 1.0, 1.5, 2.0, 2.0]);
    }

    #[test]
    fn the_rate_falls_to_the_floor_at_the_last_step() {
        let rates: Vec<f64> = (4..15).map(|step| SCHEDULE.at(step)).collect();
        assert!(rates.windows(2).all(|pair| pair[0] > pair[1]), "{rates:?}");
        // Half-way in time is half-way down.
        assert!((rates[5] - 1.1).abs() < 1e-12, "{rates:?}");
        assert!((rates[10] - 0.2).abs() < 1e-12, "{rates:?}");
    }

    #[test]
    fn runs_of_no_and_of_one_step_after_the_warm_up_have_a_rate() {
        for steps in [0, 1, 4, 5] {
            let schedule = Schedule { steps, ..SCHEDULE };
            assert!((0..steps).all(|step| schedule.at(step) > 0.0));
        }
        assert_eq!(
            Schedule {
                warm_up: 0,
                ..SCHEDULE
            }
            .at(0),
            2.0
        );
    }
}

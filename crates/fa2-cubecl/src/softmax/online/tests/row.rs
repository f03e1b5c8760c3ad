//! The recurrence of one row on the host, and the one-pass softmax that it must equal.
//!
//! `Row` is `OnlineSoftmax` for one row, with exact functions in place of the approximations and a
//! rounding after every operation: none, or to f32.

use crate::softmax::online::{LAZY_GROWTH, Rescale};

/// Columns of V and O.
pub(super) const COLUMNS: usize = 3;

/// A key: its score, and its row of V.
pub(super) type Key = (f64, [f64; COLUMNS]);

/// An arithmetic: its rounding, and the unit of that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arithmetic {
    round: fn(f64) -> f64,
    pub(super) unit: f64,
}

pub(super) const F64: Arithmetic = Arithmetic {
    round: |x| x,
    unit: f64::EPSILON / 2.0,
};
pub(super) const F32: Arithmetic = Arithmetic {
    round: |x| f64::from(x as f32),
    unit: f32::EPSILON as f64 / 2.0,
};

/// What a move of the base rescales.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rescaled {
    SumAndOutput,
    /// Planted bug.
    SumOnly,
}

#[derive(Clone, Debug)]
pub(super) struct Row {
    arithmetic: Arithmetic,
    rescale: Rescale,
    rescaled: Rescaled,
    /// -c m.
    pub(super) base: f64,
    l: f64,
    o: [f64; COLUMNS],
    /// How often the base moved after the first key.
    pub(super) moves: usize,
    pub(super) largest_p: f64,
}

/// O and the LSE of a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Output {
    pub(super) o: [f64; COLUMNS],
    pub(super) lse: f64,
}

impl Row {
    pub(super) fn new(arithmetic: Arithmetic, rescale: Rescale) -> Self {
        Self::with_rescaled(arithmetic, rescale, Rescaled::SumAndOutput)
    }

    pub(super) fn with_rescaled(
        arithmetic: Arithmetic,
        rescale: Rescale,
        rescaled: Rescaled,
    ) -> Self {
        Self {
            arithmetic,
            rescale,
            rescaled,
            base: f64::INFINITY,
            l: 0.0,
            o: [0.0; COLUMNS],
            moves: 0,
            largest_p: 0.0,
        }
    }

    /// Takes a block. `raised` says that another row of the warp exceeds its base, which raises all.
    pub(super) fn step(&mut self, block: &[Key], c: f64, raised: bool) {
        let round = self.arithmetic.round;
        let highest = block
            .iter()
            .map(|key| key.0)
            .fold(f64::NEG_INFINITY, f64::max);
        let growth = round(highest * c + self.base);
        let raises = match self.rescale {
            Rescale::Eager => true,
            // NaN, of a row that has seen no key, is not above.
            Rescale::Lazy => raised || growth > f64::from(LAZY_GROWTH),
        };
        if raises {
            self.raise(highest, c);
        }
        let base = if self.base == f64::INFINITY {
            0.0
        } else {
            self.base
        };
        for (score, v) in block {
            let p = round(round(score * c + base).exp2());
            self.largest_p = self.largest_p.max(p);
            self.l = round(self.l + p);
            for (o, v) in self.o.iter_mut().zip(v) {
                *o = round(p * v + *o);
            }
        }
        assert!(!self.l.is_nan() && self.o.iter().all(|o| !o.is_nan()));
    }

    fn raise(&mut self, highest: f64, c: f64) {
        let round = self.arithmetic.round;
        let old = self.base;
        let candidate = round(highest * -c);
        let new = if candidate < old { candidate } else { old };
        let factor = if new == old {
            1.0
        } else {
            round(round(new - old).exp2())
        };
        self.moves += usize::from(new != old && old != f64::INFINITY);
        self.base = new;
        self.l = round(self.l * factor);
        if self.rescaled == Rescaled::SumAndOutput {
            self.o = self.o.map(|o| round(o * factor));
        }
    }

    pub(super) fn finish(&self) -> Output {
        let round = self.arithmetic.round;
        let empty = self.l == 0.0;
        let inverse = if empty { 0.0 } else { round(1.0 / self.l) };
        let log2 = round(round(self.l.log2()) - self.base);
        let lse = if empty {
            f64::NEG_INFINITY
        } else {
            round(log2 * std::f64::consts::LN_2)
        };
        Output {
            o: self.o.map(|o| round(o * inverse)),
            lse,
        }
    }
}

/// The keys of `blocks`, block by block.
pub(super) fn online(mut row: Row, blocks: &[&[Key]], c: f64) -> Output {
    for block in blocks {
        row.step(block, c, false);
    }
    row.finish()
}

/// The definition, in one pass over all keys.
pub(super) fn one_pass(keys: &[Key], c: f64) -> Output {
    let scale = c * std::f64::consts::LN_2;
    let m = keys
        .iter()
        .map(|key| key.0)
        .fold(f64::NEG_INFINITY, f64::max);
    if m == f64::NEG_INFINITY {
        return Output {
            o: [0.0; COLUMNS],
            lse: f64::NEG_INFINITY,
        };
    }
    let p: Vec<f64> = keys
        .iter()
        .map(|(score, _)| (scale * (score - m)).exp())
        .collect();
    let l: f64 = p.iter().sum();
    let o =
        std::array::from_fn(|d| keys.iter().zip(&p).map(|((_, v), p)| p * v[d]).sum::<f64>() / l);
    Output {
        o,
        lse: scale * m + l.ln(),
    }
}

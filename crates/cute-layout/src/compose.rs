//! Composition applies one layout after another: `R(c) = A(B(c))`, with the coordinates of `B`.
//!
//! Read `A = (s_0, s_1, ..):(d_0, d_1, ..)` as a number system: an index has digits `x_k` in base
//! `s_k`, and `A` weighs digit `x_k` with `d_k`. A mode `s:d` of `B` counts in steps of `d`. Where
//! it counts within a run of digits, each digit it moves becomes a mode of the result. Two
//! conditions make that exact:
//!
//! * no straddling: `d` divides into the digits it skips and `s` into those it fills;
//! * no carry: in each digit, what all modes of `B` add up to stays below the base.
//!
//! CuTe checks the first statically and leaves the second to the caller; here both are errors, so a
//! result always is the function it claims to be. Unlike CuTe's, `A` is not continued beyond its
//! size.

use crate::error::LayoutError;
use crate::int_tuple::IntTuple;
use crate::shape_stride::Layout;

impl Layout {
    /// `self` after `inner`: the coordinates of `inner`, and `R(c) = self(inner(c))`.
    ///
    /// ```
    /// use cute_layout::Layout;
    /// let a = Layout::new((6, 2), (8, 2));
    /// let b = Layout::new((4, 3), (3, 1));
    /// let r = a.compose(&b)?;
    /// assert_eq!(r, Layout::new(((2, 2), 3), ((24, 2), 8)));
    /// # Ok::<(), cute_layout::LayoutError>(())
    /// ```
    pub fn compose(&self, inner: &Self) -> Result<Self, LayoutError> {
        if inner.cosize() > self.size() {
            return Err(LayoutError::OutOfDomain {
                outer: self.clone(),
                inner: inner.clone(),
            });
        }
        let mut digits = Digits::of(self);
        let (shape, stride) = digits.split(inner.shape(), inner.stride())?;
        if digits.carries() {
            return Err(LayoutError::Carry {
                outer: self.clone(),
                inner: inner.clone(),
            });
        }
        Self::try_new(shape, stride)
    }

    /// Composes mode `i` with `inners[i]`; modes without one stay as they are.
    pub fn compose_modes(&self, inners: &[Self]) -> Result<Self, LayoutError> {
        self.map_modes(inners, Self::compose)
    }

    /// Combines mode `i` with `others[i]`; modes without one stay as they are.
    pub(crate) fn map_modes(
        &self,
        others: &[Self],
        combine: impl Fn(&Self, &Self) -> Result<Self, LayoutError>,
    ) -> Result<Self, LayoutError> {
        if others.len() > self.rank() {
            return Err(LayoutError::Rank {
                layout: self.clone(),
                expected: others.len(),
            });
        }
        let modes = (0..self.rank()).map(|i| match others.get(i) {
            Some(other) => combine(&self.mode(i), other),
            None => Ok(self.mode(i)),
        });
        Ok(Self::from_modes(modes.collect::<Result<Vec<_>, _>>()?))
    }
}

/// The digits of an outer layout, and how far the modes of an inner one move each.
struct Digits<'a> {
    outer: &'a Layout,
    /// Base and weight of each digit, lowest first.
    digits: Vec<(usize, usize)>,
    /// The largest value each digit gets.
    reach: Vec<usize>,
}

impl<'a> Digits<'a> {
    fn of(outer: &'a Layout) -> Self {
        // Coalesced, because a carry between two digits that are one mode is no carry.
        let digits = outer.coalesce().modes();
        let reach = vec![0; digits.len()];
        Self {
            outer,
            digits,
            reach,
        }
    }

    fn carries(&self) -> bool {
        let mut digits = self.digits.iter().zip(&self.reach);
        digits.any(|((base, _), reach)| reach >= base)
    }

    /// Replaces each integer of the inner layout by the digits it counts through.
    fn split(
        &mut self,
        shape: &IntTuple,
        stride: &IntTuple,
    ) -> Result<(IntTuple, IntTuple), LayoutError> {
        match (shape, stride) {
            (IntTuple::Tuple(shapes), IntTuple::Tuple(strides)) => {
                let members = shapes.iter().zip(strides);
                let split: Vec<_> = members
                    .map(|(shape, stride)| self.split(shape, stride))
                    .collect::<Result<_, _>>()?;
                let (shapes, strides) = split.into_iter().unzip();
                Ok((IntTuple::Tuple(shapes), IntTuple::Tuple(strides)))
            }
            _ => {
                let parts = self.split_mode(shape.size(), stride.size())?;
                let flat = Layout::from_flat(parts);
                Ok((flat.shape().clone(), flat.stride().clone()))
            }
        }
    }

    /// The digits that `extent:stride`, a mode within the domain, counts through, each as a mode of
    /// the result.
    fn split_mode(
        &mut self,
        extent: usize,
        stride: usize,
    ) -> Result<Vec<(usize, usize)>, LayoutError> {
        if extent == 1 {
            return Ok(Vec::new());
        }
        if stride == 0 {
            return Ok(vec![(extent, 0)]);
        }
        let mut parts = Vec::new();
        let (mut count, mut step) = (extent, stride);
        for (&(base, weight), reach) in self.digits.iter().zip(&mut self.reach) {
            let straddle = || LayoutError::Straddle {
                outer: self.outer.clone(),
                inner: (extent, stride),
                extent: base,
            };
            if step * (count - 1) < base {
                // The rest of the count stays within this digit.
                *reach += step * (count - 1);
                parts.push((count, step * weight));
                return Ok(parts);
            }
            if step >= base {
                // The count does not move this digit: go on in units of the next one.
                if !step.is_multiple_of(base) {
                    return Err(straddle());
                }
                step /= base;
                continue;
            }
            let steps_in_digit = base / step;
            if !base.is_multiple_of(step) || !count.is_multiple_of(steps_in_digit) {
                return Err(straddle());
            }
            *reach += step * (steps_in_digit - 1);
            parts.push((steps_in_digit, step * weight));
            count /= steps_in_digit;
            step = 1;
            if count == 1 {
                return Ok(parts);
            }
        }
        unreachable!("an inner layout within the domain ends within the last digit")
    }
}

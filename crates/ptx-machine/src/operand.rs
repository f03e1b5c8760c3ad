//! What operands are worth: registers, constants, and the registers that know where a thread is.

use crate::alu::{LANES, Lanes};
use crate::launch::Setup;
use crate::module::{Axis, Comparison, Operand, Special};
use crate::warp::{ALL, Warp};

/// The values of operands in one block.
#[derive(Clone, Copy)]
pub(crate) struct Operands<'a> {
    pub(crate) setup: &'a Setup<'a>,
    /// The block's index.
    pub(crate) block: [u32; 3],
}

impl Operands<'_> {
    /// The operand in every lane.
    pub(crate) fn lanes(self, warp: &Warp, operand: Operand) -> Lanes {
        match operand {
            Operand::Register(register) => *warp.register(register),
            Operand::Immediate(bits) => [bits; LANES],
            Operand::SharedAddress { symbol, offset } => {
                let start = self.setup.shared_window.symbols[symbol as usize];
                [start.wrapping_add_signed(offset); LANES]
            }
            Operand::Special(special) => self.special(warp, special),
        }
    }

    /// The operand in every lane: where a register lies, or `made` filled with anything else.
    pub(crate) fn borrow<'r>(
        self,
        warp: &'r Warp,
        operand: Operand,
        made: &'r mut Lanes,
    ) -> &'r Lanes {
        match operand {
            Operand::Register(register) => warp.register(register),
            other => {
                *made = self.lanes(warp, other);
                made
            }
        }
    }

    /// The registers of a fragment, or `made` filled with anything else.
    pub(crate) fn fragment<'r, const N: usize>(
        self,
        warp: &'r Warp,
        fragment: &[Operand; N],
        made: [&'r mut Lanes; N],
    ) -> [&'r Lanes; N] {
        let mut operands = fragment.iter();
        made.map(|made| match operands.next() {
            Some(operand) => self.borrow(warp, *operand, made),
            None => made,
        })
    }

    fn special(self, warp: &Warp, special: Special) -> Lanes {
        let axis = |sizes: [u32; 3], axis: Axis| {
            let size = match axis {
                Axis::X => sizes[0],
                Axis::Y => sizes[1],
                Axis::Z => sizes[2],
            };
            [u64::from(size); LANES]
        };
        let [x, y, _] = self.setup.block.map(u64::from);
        match special {
            Special::ThreadId(which) => std::array::from_fn(|lane| {
                let thread = (warp.index * LANES + lane) as u64;
                match which {
                    Axis::X => thread % x,
                    Axis::Y => thread / x % y,
                    Axis::Z => thread / (x * y),
                }
            }),
            Special::Threads(which) => axis(self.setup.block, which),
            Special::BlockId(which) => axis(self.block, which),
            Special::Blocks(which) => axis(self.setup.grid, which),
            Special::Lane => std::array::from_fn(|lane| lane as u64),
            Special::Warp => [warp.index as u64; LANES],
            Special::Clock => [warp.issued; LANES],
            Special::LaneMask(comparison) => std::array::from_fn(|lane| {
                let below = (1_u32 << lane) - 1;
                let own = 1_u32 << lane;
                u64::from(match comparison {
                    Comparison::Lt => below,
                    Comparison::Le => below | own,
                    Comparison::Gt => ALL & !(below | own),
                    Comparison::Ge => ALL & !below,
                    _ => own,
                })
            }),
        }
    }
}

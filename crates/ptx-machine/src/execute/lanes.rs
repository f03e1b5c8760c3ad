//! Shuffles and votes.

use super::Running;
use crate::alu::LANES;
use crate::block::Block;
use crate::module::{Op, ShuffleMode, VoteMode};
use crate::warp::{Warp, bits};

impl Block<'_> {
    pub(super) fn shuffle(&mut self, warp: &mut Warp, op: &Op, running: Running) {
        let Op::Shuffle {
            mode,
            destination,
            in_range,
            source,
            lane,
            clamp,
            mask,
        } = op
        else {
            return;
        };
        self.require(warp, Some(*mask), running);
        let Running { at, active } = running;
        let value = self.value(warp, *source, active, at);
        let operand = self.value(warp, *lane, active, at);
        let clamp = self.value(warp, *clamp, active, at);
        let sources: [(usize, bool); LANES] =
            std::array::from_fn(|lane| source_lane(*mode, lane, operand[lane], clamp[lane]));
        let received = sources.map(|(from, _)| value[from]);
        warp.set(self.setup.kernel, *destination, active, &received);
        if let Some(predicate) = in_range {
            let valid = sources.map(|(_, valid)| u64::from(valid));
            warp.set(self.setup.kernel, *predicate, active, &valid);
        }
    }

    pub(super) fn vote(&mut self, warp: &mut Warp, op: &Op, running: Running) {
        let Op::Vote {
            mode,
            destination,
            source,
            negated,
            mask,
        } = op
        else {
            return;
        };
        self.require(warp, Some(*mask), running);
        let Running { at, active } = running;
        let answers = bits(&self.value(warp, *source, active, at));
        let answers = if *negated { !answers } else { answers } & active;
        let result = match mode {
            VoteMode::Any => u64::from(answers != 0),
            VoteMode::All => u64::from(answers == active),
            VoteMode::Uniform => u64::from(answers == active || answers == 0),
            VoteMode::Ballot => u64::from(answers),
        };
        warp.set(self.setup.kernel, *destination, active, &[result; LANES]);
    }
}

/// The lane that `lane` receives from, and whether it is in its segment; if not, it is itself.
///
/// `clamp` holds the last lane of a segment in its low five bits, and the segment's mask above.
fn source_lane(mode: ShuffleMode, lane: usize, operand: u64, clamp: u64) -> (usize, bool) {
    let (lane, by) = (lane as i64, (operand & 0x1f) as i64);
    let (last, segment) = ((clamp & 0x1f) as i64, (clamp >> 8 & 0x1f) as i64);
    let highest = lane & segment | last & !segment;
    let lowest = lane & segment;
    let (from, valid) = match mode {
        ShuffleMode::Up => (lane - by, lane - by >= highest),
        ShuffleMode::Down => (lane + by, lane + by <= highest),
        ShuffleMode::Butterfly => (lane ^ by, lane ^ by <= highest),
        ShuffleMode::Index => {
            let from = lowest | by & !segment;
            (from, from <= highest)
        }
    };
    (if valid { from } else { lane } as usize, valid)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the ISA's description: clamp 31 for down, butterfly and index, 0 for up.
    #[test]
    fn lanes_out_of_range_receive_from_themselves() {
        assert_eq!(source_lane(ShuffleMode::Butterfly, 5, 2, 31), (7, true));
        assert_eq!(source_lane(ShuffleMode::Down, 30, 4, 31), (30, false));
        assert_eq!(source_lane(ShuffleMode::Up, 1, 4, 0), (1, false));
        assert_eq!(source_lane(ShuffleMode::Up, 9, 4, 0), (5, true));
        assert_eq!(source_lane(ShuffleMode::Index, 9, 3, 31), (3, true));
        // Segments of 8 lanes: mask 0b11000.
        assert_eq!(
            source_lane(ShuffleMode::Index, 9, 3, 0x1807 | 31),
            (11, true)
        );
    }
}

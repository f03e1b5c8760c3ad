//! Text to batches: windows of bytes, each with the byte that follows.
//!
//! The end of the text is held out. A window lies in one part or the other, with its targets, so
//! that no byte is both learned and judged by. Which windows a batch has depends on the seed and
//! the number of the batch alone: to resume a run there is no state to restore.

use std::ops::Range;

use anyhow::{Result, ensure};
use burn::tensor::{Device, Int, Tensor, TensorData};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// One part in this many is held out.
const HELD_OUT: usize = 10;

/// A batch, both (B, S): the token after each input.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    pub(crate) inputs: Tensor<2, Int>,
    pub(crate) targets: Tensor<2, Int>,
}

/// The text and where it is cut.
pub(crate) struct Data {
    bytes: Vec<u8>,
    /// Where the part for validation begins.
    cut: usize,
    context: usize,
}

impl Data {
    /// Cuts `bytes` for windows of `context` tokens.
    pub(crate) fn new(bytes: Vec<u8>, context: usize) -> Result<Self> {
        let held_out = bytes.len() / HELD_OUT;
        ensure!(
            held_out > context,
            "a text of {} bytes is too short for --context {context}: \
             one part in {HELD_OUT} is held out, and must hold a window and one byte more",
            bytes.len()
        );
        let cut = bytes.len() - held_out;
        Ok(Self {
            bytes,
            cut,
            context,
        })
    }

    /// Bytes to learn from, and bytes held out.
    pub(crate) fn lengths(&self) -> [usize; 2] {
        [self.cut, self.bytes.len() - self.cut]
    }

    /// Batch number `number` of the run with `seed`.
    pub(crate) fn training(&self, seed: u64, number: u64, size: usize, device: &Device) -> Batch {
        let starts = self.training_starts(seed, number, size);
        self.batch(&starts, device)
    }

    /// Up to `count` batches that cover the held-out part evenly, the same in every run.
    pub(crate) fn validation(&self, count: usize, size: usize, device: &Device) -> Vec<Batch> {
        let starts = self.validation_starts(count * size);
        let batches = starts.chunks(size);
        batches.map(|starts| self.batch(starts, device)).collect()
    }

    fn training_starts(&self, seed: u64, number: u64, size: usize) -> Vec<usize> {
        let mut state = [0; 32];
        state[..8].copy_from_slice(&seed.to_le_bytes());
        state[8..16].copy_from_slice(&number.to_le_bytes());
        let mut rng = StdRng::from_seed(state);
        let last = self.cut - self.window();
        (0..size).map(|_| rng.random_range(0..=last)).collect()
    }

    /// At most `count` starts of windows that don't overlap.
    fn validation_starts(&self, count: usize) -> Vec<usize> {
        let room = self.bytes.len() - self.cut;
        let count = count.min(room / self.window());
        (0..count)
            .map(|at| self.cut + at * (room / count))
            .collect()
    }

    /// Bytes of a window: the inputs and one target more.
    fn window(&self) -> usize {
        self.context + 1
    }

    fn batch(&self, starts: &[usize], device: &Device) -> Batch {
        let tokens = |range: Range<usize>| {
            let ids: Vec<i32> = starts
                .iter()
                .flat_map(|start| &self.bytes[start + range.start..start + range.end])
                .map(|&byte| i32::from(byte))
                .collect();
            let data = TensorData::new(ids, [starts.len(), self.context]);
            Tensor::from_data(data, device)
        };
        Batch {
            inputs: tokens(0..self.context),
            targets: tokens(1..self.window()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTEXT: usize = 8;

    fn data(bytes: usize) -> Data {
        let bytes = (0..bytes).map(|at| at as u8).collect();
        Data::new(bytes, CONTEXT).expect("long enough")
    }

    #[test]
    fn no_window_of_one_part_reaches_into_the_other() {
        let data = data(200);
        let train = (0..100).flat_map(|number| data.training_starts(3, number, 16));
        let train: Vec<usize> = train.collect();
        assert!(train.iter().all(|start| start + CONTEXT < data.cut));
        // 1600 draws from 172 starts: the first and the last are among them.
        assert_eq!(train.iter().min(), Some(&0));
        assert_eq!(train.iter().max(), Some(&(data.cut - CONTEXT - 1)));
        let held_out = data.validation_starts(100);
        assert!(held_out.iter().all(|&start| start >= data.cut));
        assert!(
            held_out
                .iter()
                .all(|start| start + CONTEXT < data.bytes.len())
        );
        assert!(held_out.windows(2).all(|pair| pair[0] + CONTEXT < pair[1]));
        assert_eq!(held_out.len(), 2);
    }

    #[test]
    fn targets_are_the_inputs_moved_by_one() {
        let data = data(200);
        let values = |tokens: &Tensor<2, Int>| -> Vec<u8> {
            tokens
                .clone()
                .into_data()
                .iter::<i64>()
                .map(|id| id as u8)
                .collect()
        };
        let training = data.training(3, 0, 4, &Device::flex());
        let validation = data.validation(1, 2, &Device::flex());
        for batch in validation.iter().chain([&training]) {
            let inputs = values(&batch.inputs);
            // The text counts upwards: the next byte is one more.
            let next: Vec<u8> = inputs.iter().map(|byte| byte.wrapping_add(1)).collect();
            assert_eq!(values(&batch.targets), next);
            assert_eq!(batch.inputs.dims()[1], CONTEXT);
        }
    }

    #[test]
    fn batches_differ_by_seed_and_number_and_by_nothing_else() {
        let data = data(4_000);
        let starts = |seed, number| data.training_starts(seed, number, 8);
        assert_eq!(starts(1, 2), starts(1, 2));
        assert_ne!(starts(1, 2), starts(1, 3));
        assert_ne!(starts(1, 2), starts(2, 2));
        assert_ne!(starts(1, 2), starts(2, 1));
    }

    #[test]
    fn a_text_that_holds_no_window_is_refused() {
        let error = Data::new(vec![0; 89], CONTEXT).err().unwrap();
        assert!(error.to_string().contains("--context 8"), "{error}");
        let [train, held_out] = data(90).lengths();
        assert_eq!([train, held_out], [81, 9]);
    }
}

//! Shares of the cases, for runs side by side.

use fa2_cubecl::HEAD_DIMS;
use fa2_testing::{Case, Causal};
use std::str::FromStr;

/// Share `index` of `count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: usize,
    count: usize,
}

impl Shard {
    /// Whether `case` is in it. Cases with one head size and mask kind are in one shard: they share
    /// kernels, whose compilation takes longer than most cases.
    #[must_use]
    pub fn holds(&self, case: &Case) -> bool {
        let wide_enough = |size: &&u32| **size as usize >= case.head_dim;
        let sizes_below = HEAD_DIMS.len() - HEAD_DIMS.iter().filter(wide_enough).count();
        let masks = usize::from(case.causal != Causal::None);
        (2 * sizes_below + masks) % self.count == self.index
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rule = || format!("shard \"{text}\" is not I/N with I from 1 to N");
        let (index, count) = text.split_once('/').ok_or_else(rule)?;
        match (index.parse(), count.parse()) {
            (Ok(index), Ok(count)) if (1..=count).contains(&index) => Ok(Self {
                index: index - 1,
                count,
            }),
            _ => Err(rule()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Shard;
    use fa2_testing::{CASES, REPLAY};

    #[test]
    fn every_case_is_in_one_shard() {
        for count in [1, 2, 5, 7] {
            let shards: Vec<Shard> = (1..=count)
                .map(|index| format!("{index}/{count}").parse().expect("a shard"))
                .collect();
            for case in CASES.iter().chain(REPLAY) {
                let holders = shards.iter().filter(|shard| shard.holds(case)).count();
                assert_eq!(holders, 1, "{case} of {count}");
            }
        }
    }

    #[test]
    fn a_shard_is_one_of_its_count() {
        for text in ["0/2", "3/2", "1", "1/0", "a/2", ""] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}

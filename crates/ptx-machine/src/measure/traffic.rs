//! What one access of a warp costs: turns of shared memory's banks, sectors of global memory.

use crate::alu::LANES;

/// Bytes of a bank's word.
const BANK_BYTES: u64 = 4;
const BANKS: u64 = 32;
/// Bytes that shared memory moves at once.
const WAVEFRONT_BYTES: u64 = BANKS * BANK_BYTES;
/// Bytes of a sector of global memory.
const SECTOR_BYTES: u64 = 32;

/// Accesses of shared memory at least and in fact, for lanes that access `bytes` bytes each.
///
/// The hardware serves 128 bytes at once: 32 lanes of 4 bytes, 16 of 8, 8 of 16. Within such a
/// group, lanes whose bytes lie in one bank but in different words take turns.
pub(crate) fn wavefronts(addresses: &[u64], bytes: u64) -> (u64, u64) {
    let width = bytes.max(BANK_BYTES);
    let groups = addresses.chunks((WAVEFRONT_BYTES / width) as usize);
    let least = groups.len() as u64;
    // An aligned access lies in one piece of its width, and two of them share all banks or none.
    let aligned = is_aligned(addresses, bytes);
    let turns = |group| match aligned {
        true => turns_of_pieces(group, width),
        false => most_in_a_column(group, bytes, BANK_BYTES),
    };
    (least, groups.map(turns).sum())
}

fn is_aligned(addresses: &[u64], bytes: u64) -> bool {
    // A loop without an exit, which the compiler turns into vectors.
    let offset = |all: u64, address: &u64| all | address & (bytes - 1);
    bytes.is_power_of_two() && addresses.iter().fold(0, offset) == 0
}

/// Turns of a group whose accesses lie in one piece of `width` bytes each.
fn turns_of_pieces(group: &[u64], width: u64) -> u64 {
    // Widths are powers of two, and a shift is much faster than a division.
    let (piece_log2, last_column) = (width.trailing_zeros(), WAVEFRONT_BYTES / width - 1);
    let column = |address: &u64| 1_u32 << (address >> piece_log2 & last_column);
    let columns = group.iter().fold(0, |all, address| all | column(address));
    if columns.count_ones() as usize == group.len() {
        return 1;
    }
    most_in_a_column(group, 1, width)
}

/// The most different pieces of `width` bytes in one column of the banks, of those that accesses of
/// `bytes` bytes touch.
fn most_in_a_column(group: &[u64], bytes: u64, width: u64) -> u64 {
    let touched = |&address: &u64| address / width..=address.wrapping_add(bytes - 1) / width;
    let mut pieces: Vec<u64> = group.iter().flat_map(touched).collect();
    pieces.sort_unstable();
    pieces.dedup();
    let mut held = [0; BANKS as usize];
    for piece in pieces {
        held[(piece % (WAVEFRONT_BYTES / width)) as usize] += 1;
    }
    held.into_iter().max().unwrap_or(0)
}

/// Sectors of global memory at least and in fact, for lanes that access `bytes` bytes each.
pub(crate) fn sectors(addresses: &[u64], bytes: u64) -> (u64, u64) {
    let mut sorted = [0; LANES];
    let sorted = &mut sorted[..addresses.len()];
    sorted.copy_from_slice(addresses);
    if !sorted.is_sorted() {
        sorted.sort_unstable();
    }
    let needed = (distinct(sorted, |address| address) * bytes).div_ceil(SECTOR_BYTES);
    if bytes <= SECTOR_BYTES && is_aligned(sorted, bytes) {
        return (needed, distinct(sorted, |address| address / SECTOR_BYTES));
    }
    let last = |address: u64| address.wrapping_add(bytes - 1) / SECTOR_BYTES;
    let mut touched: Vec<u64> = sorted
        .iter()
        .flat_map(|&address| address / SECTOR_BYTES..=last(address))
        .collect();
    touched.sort_unstable();
    touched.dedup();
    (needed, touched.len() as u64)
}

/// How many values `of` has on `sorted`, where it does not decrease.
fn distinct(sorted: &[u64], of: impl Fn(u64) -> u64) -> u64 {
    let changes = sorted
        .windows(2)
        .filter(|pair| of(pair[0]) != of(pair[1]))
        .count();
    changes as u64 + u64::from(!sorted.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn rows_of_one_bank_take_turns() {
        let words: Vec<u64> = (0..32).map(|lane| lane * 4).collect();
        assert_eq!(wavefronts(&words, 4), (1, 1));
        let column: Vec<u64> = (0..32).map(|lane| lane * 128).collect();
        assert_eq!(wavefronts(&column, 4), (1, 32));
        // A broadcast is one access.
        assert_eq!(wavefronts(&[64; 32], 4), (1, 1));
    }

    #[test]
    fn wide_accesses_go_in_groups() {
        let chunks: Vec<u64> = (0..32).map(|lane| lane * 16).collect();
        assert_eq!(wavefronts(&chunks, 16), (4, 4));
        let rows: Vec<u64> = (0..8).map(|row| row * 128).collect();
        assert_eq!(wavefronts(&rows, 16), (1, 8));
    }

    #[test]
    fn scattered_lanes_touch_more_sectors() {
        let dense: Vec<u64> = (0..32).map(|lane| lane * 16).collect();
        assert_eq!(sectors(&dense, 16), (16, 16));
        let sparse: Vec<u64> = (0..32).map(|lane| lane * 256).collect();
        assert_eq!(sectors(&sparse, 4), (4, 32));
    }

    /// The definitions, word by word and sector by sector.
    fn plain(addresses: &[u64], bytes: u64) -> ((u64, u64), (u64, u64)) {
        let set = |unit: u64, addresses: &[u64]| -> BTreeSet<u64> {
            let units = |&address: &u64| address / unit..=(address + bytes - 1) / unit;
            addresses.iter().flat_map(units).collect()
        };
        let mut turns = (0, 0);
        for group in addresses.chunks((WAVEFRONT_BYTES / bytes.max(BANK_BYTES)) as usize) {
            let words = set(BANK_BYTES, group);
            let in_bank = |bank| words.iter().filter(|&word| word % BANKS == bank).count();
            turns.0 += 1;
            turns.1 += (0..BANKS).map(in_bank).max().unwrap_or(0) as u64;
        }
        let lanes: BTreeSet<u64> = addresses.iter().copied().collect();
        let needed = (lanes.len() as u64 * bytes).div_ceil(SECTOR_BYTES);
        (turns, (needed, set(SECTOR_BYTES, addresses).len() as u64))
    }

    proptest! {
        #[test]
        fn any_access_costs_what_the_definition_says(
            size_log2 in 0..5_u32,
            aligned in any::<bool>(),
            rows in prop::collection::vec((0_u64..6, 0_u64..40), 0..=LANES),
        ) {
            let bytes = 1 << size_log2;
            let place = |&(row, column): &(u64, u64)| match aligned {
                true => row * 128 + column * bytes,
                false => row * 128 + column,
            };
            let addresses: Vec<u64> = rows.iter().map(place).collect();
            let found = (wavefronts(&addresses, bytes), sectors(&addresses, bytes));
            prop_assert_eq!(found, plain(&addresses, bytes));
        }
    }
}

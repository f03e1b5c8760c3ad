//! The bank-conflict count on accesses whose answer is known.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::array;

use cute_layout::LayoutError;
use cute_layout::bank::{AccessWidth, conflict_ways};

fn ways(address: impl Fn(usize) -> usize, width: AccessWidth) -> usize {
    conflict_ways(&array::from_fn(address), width).unwrap()
}

#[test]
fn consecutive_addresses_have_no_conflict_at_any_width() {
    for width in [
        AccessWidth::Bytes4,
        AccessWidth::Bytes8,
        AccessWidth::Bytes16,
    ] {
        assert_eq!(ways(|lane| lane * width.bytes(), width), 1);
    }
}

#[test]
fn one_word_for_all_lanes_is_a_broadcast() {
    assert_eq!(ways(|_| 64, AccessWidth::Bytes4), 1);
    assert_eq!(ways(|_| 64, AccessWidth::Bytes16), 1);
}

#[test]
fn a_stride_of_words_conflicts_by_its_common_factor_with_32() {
    for (words, expected) in [(1, 1), (2, 2), (3, 1), (4, 4), (8, 8), (32, 32), (33, 1)] {
        assert_eq!(ways(|lane| 4 * words * lane, AccessWidth::Bytes4), expected);
    }
}

#[test]
fn lanes_of_different_phases_do_not_conflict() {
    // The four phases of 8 lanes read the same 128 bytes of four rows.
    assert_eq!(
        ways(
            |lane| 128 * (lane / 8) + 16 * (lane % 8),
            AccessWidth::Bytes16
        ),
        1
    );
    // Two phases of 16 lanes: within one, 8 bytes a lane span 128 bytes.
    assert_eq!(
        ways(
            |lane| 128 * (lane / 16) + 8 * (lane % 16),
            AccessWidth::Bytes8
        ),
        1
    );
}

#[test]
fn one_chunk_of_128_byte_rows_is_8_way() {
    assert_eq!(ways(|lane| 128 * lane, AccessWidth::Bytes16), 8);
}

#[test]
fn a_misaligned_address_is_an_error() {
    let addresses = array::from_fn(|lane| 16 * lane + 8);
    let error = conflict_ways(&addresses, AccessWidth::Bytes16).unwrap_err();
    assert_eq!(
        error,
        LayoutError::Misaligned {
            address: 8,
            width: 16
        }
    );
    assert_eq!(error.to_string(), "byte address 8 is not a multiple of 16");
}

//! Places of symbols, and the bounds around them.

use super::*;

fn symbol(align: u32, bytes: Option<u32>) -> SharedSymbol {
    SharedSymbol {
        name: format!("of_{align}"),
        align,
        bytes,
    }
}

#[test]
fn first_symbol_has_its_alignment_and_no_wider_one() {
    for align in (0..=14).map(|log2| 1 << log2) {
        for (bytes, dynamic_bytes) in [(Some(64), 0), (None, 64)] {
            let window = Window::new(&[symbol(align, bytes)], dynamic_bytes);
            let place = window.symbols[0];
            assert_eq!(place.trailing_zeros(), align.trailing_zeros());
            assert!(place >= RESERVED_BYTES, "{place}");
            assert!(window.holds(place, 64));
            assert!(!window.holds(place - 1, 1));
            assert!(!window.holds(place, 65));
            assert_eq!(window.end(), place + 64);
        }
    }
}

#[test]
fn symbols_follow_one_another_and_unsized_ones_are_one_place() {
    let symbols = [
        symbol(16, None),
        symbol(1024, Some(40)),
        symbol(4, Some(4)),
        symbol(32, None),
        symbol(16, Some(16)),
    ];
    let window = Window::new(&symbols, 96);
    // 1068 is 267 times 4, 1072 is 67 times 16, and 1120 is 35 times 32.
    assert_eq!(window.symbols, [1120, 1024, 1068, 1120, 1072]);
    assert_eq!(window.end(), 1120 + 96);
}

#[test]
fn system_keeps_the_first_bytes() {
    for symbols in [vec![], vec![symbol(1024, None)]] {
        let window = Window::new(&symbols, 256);
        for address in [0, 16, 1020, 1023] {
            assert!(!window.holds(address, 4), "{address}");
        }
        assert!(window.holds(1024, 4));
        assert!(window.holds(1276, 4));
        assert!(!window.holds(1277, 4));
        assert!(!window.holds(u64::MAX, 4));
    }
}

#[test]
fn kernel_without_shared_memory_has_no_address() {
    for symbols in [vec![], vec![symbol(16, None)]] {
        let window = Window::new(&symbols, 0);
        for address in [0, 1023, 1024, 1040, u64::MAX] {
            assert!(!window.holds(address, 1), "{address}");
        }
    }
}

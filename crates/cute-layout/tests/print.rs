//! Layouts print as CuTe prints them.

use cute_layout::{IntTuple, Layout, SmemTile, Swizzle};

#[test]
fn a_layout_prints_shape_and_stride() {
    for (layout, text) in [
        (Layout::new(8, 1), "_8:_1"),
        (Layout::new((4, 8), (8, 1)), "(_4,_8):(_8,_1)"),
        (
            Layout::new(((2, 2), 1, 8), ((1, 2), 0, 4)),
            "((_2,_2),_1,_8):((_1,_2),_0,_4)",
        ),
    ] {
        assert_eq!(layout.to_string(), text);
        assert_eq!(format!("{layout:?}"), text);
    }
}

#[test]
fn a_tuple_prints_its_nesting() {
    let tuple = IntTuple::from((1, (2, (3,), 4)));
    assert_eq!(tuple.to_string(), "(_1,(_2,(_3),_4))");
}

#[test]
fn a_swizzle_prints_its_parameters() {
    assert_eq!(Swizzle::new(3, 3, 3).to_string(), "Sw<3,3,3>");
}

#[test]
fn a_swizzled_layout_prints_as_a_composition() {
    assert_eq!(
        SmemTile::new(64, 128).layout().to_string(),
        "Sw<3,3,3> o _0 o (_64,(_64,_2)):(_64,(_1,_4096))"
    );
}

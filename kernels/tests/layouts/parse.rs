//! Layouts as CuTe prints them, read back.

use cute_layout::{IntTuple, Layout, Swizzle, Swizzled};

/// `SHAPE:STRIDE`.
pub(crate) fn layout(text: &str) -> Layout {
    let (shape, stride) = text.split_once(':').unwrap();
    Layout::try_new(tuple(shape), tuple(stride)).unwrap()
}

/// `Sw<B,M,S> o _0 o SHAPE:STRIDE`.
pub(crate) fn swizzled(text: &str) -> Swizzled {
    let parts: Vec<&str> = text.split(" o ").collect();
    let [swizzle, "_0", plain] = parts[..] else {
        panic!("{text} is no swizzled layout without an offset");
    };
    let numbers = swizzle.strip_prefix("Sw<").unwrap();
    let numbers = numbers.strip_suffix('>').unwrap().split(',');
    let numbers: Vec<u32> = numbers.map(|number| number.parse().unwrap()).collect();
    Swizzled {
        swizzle: Swizzle::new(numbers[0], numbers[1], numbers[2]),
        layout: layout(plain),
    }
}

fn tuple(text: &str) -> IntTuple {
    let Some(inner) = text.strip_prefix('(') else {
        let number: usize = text.strip_prefix('_').unwrap().parse().unwrap();
        return number.into();
    };
    let inner = inner.strip_suffix(')').unwrap();
    let mut depth = 0;
    let members = inner.split(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth == 0 && c == ','
    });
    IntTuple::Tuple(members.map(tuple).collect())
}

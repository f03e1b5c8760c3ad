//! Tensors: memory with a layout. Addresses of tiles, and layouts evaluated at run time.

pub(crate) mod address;
pub(crate) mod evaluate;
pub(crate) mod gmem;
pub(crate) mod map;

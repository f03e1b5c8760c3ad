//! Online softmax on the C fragment.

pub(crate) mod atom;
pub(crate) mod online;
pub(crate) mod reduce;

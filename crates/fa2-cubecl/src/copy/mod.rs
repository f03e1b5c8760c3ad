//! MOVE: one file for each edge of the data path.
//!
//! Global to shared ([`g2s`], and by the copy engine [`tma`]), shared to register ([`s2r`]), register to shared
//! ([`r2s`], [`r2s_block`]), shared to global ([`s2g`]) and register to global ([`r2g`]); the instructions behind
//! them are in [`atom`], and who needs what the copy engine copies waits at a [`barrier`].

pub(crate) mod atom;
pub(crate) mod barrier;
pub(crate) mod g2s;
pub(crate) mod r2g;
pub(crate) mod r2s;
pub(crate) mod r2s_block;
pub(crate) mod s2g;
pub(crate) mod s2r;
pub(crate) mod tma;

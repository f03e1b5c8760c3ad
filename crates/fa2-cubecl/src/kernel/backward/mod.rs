//! The backward kernels for SM80 and up: mma.sync, ldmatrix and cp.async.
//!
//! With c = scale log2(e), and P recomputed from the LSE that the forward pass left:
//!
//! ```text
//! P = exp2(c Q K^T - log2(e) LSE)      dP = dO V^T      delta = rowsum(dO * O) - dLSE
//! dV = P^T dO      dS = P * (dP - delta)      dK = scale dS^T Q      dQ = scale dS K
//! ```
//!
//! ```text
//! preprocess   cube per block of queries   row terms (-log2(e) LSE, -delta); clears the sums of dQ
//! keys         cube per block of keys      dK, dV; adds its part of dQ to the sums
//! convert      cube per block of queries   the sums of dQ to dQ
//! queries      cube per block of queries   dQ without sums, instead of the sums and of convert
//! ```
//!
//! The first three need atomic additions, and dQ's last bits differ from run to run; with `queries`
//! every gradient has the same bits each time, for 7 products instead of 5.
//!
//! A row that sees no key, and every row past the end of the queries, has the term -inf for its LSE, so
//! that its P is 0. Scores of hidden keys, and of those past the end, are set to -inf: rows of zeros in
//! K would give them P = exp(-LSE), which may be infinite.

pub mod convert;
mod epilogue;
pub mod keys;
mod pipeline;
pub mod preprocess;
pub mod queries;
pub(crate) mod scheduler;
mod scores;
mod sums;

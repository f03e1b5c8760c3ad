//! Calls from many threads at once give what one thread gives.

use burn_fa2::{FlashAttentionOptions, flash_attention};
use rayon::prelude::*;

use crate::support::{cpu, f64s, noise};

#[test]
fn threads_do_not_disturb_each_other() {
    let run = |seed: u64| {
        let device = cpu().autodiff();
        let [q, k, v] = [seed, seed + 100, seed + 200]
            .map(|seed| noise([1, 2, 33, 16], seed, &device).require_grad());
        let output = flash_attention(q.clone(), k, v, FlashAttentionOptions::causal());
        let gradients = output.clone().sum().backward();
        (
            f64s(output),
            f64s(q.grad(&gradients).expect("q is tracked")),
        )
    };
    let alone: Vec<_> = (0..32).map(run).collect();
    let together: Vec<_> = (0..32).into_par_iter().map(run).collect();
    assert!(alone == together);
}

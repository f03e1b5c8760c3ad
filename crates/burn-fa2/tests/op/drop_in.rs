//! `attention` is Burn's `attention`: same arguments, same results.

use burn::tensor::{
    Bool, DType, Tensor,
    module::{attention as burn_attention, attention_fallback},
    ops::AttentionModuleOptions,
};
use burn_fa2::attention;
use fa2_testing::Report;

use crate::support::{cpu, f64s, noise, random_mask};

/// The arguments of one call.
#[derive(Clone)]
pub(crate) struct Args {
    pub(crate) qkv: [Tensor<4>; 3],
    pub(crate) mask: Option<Tensor<4, Bool>>,
    pub(crate) bias: Option<Tensor<4>>,
    pub(crate) options: AttentionModuleOptions,
}

impl Args {
    /// `[2, 3, seq_q, 16]` queries and `[2, 3, seq_k, 16]` keys and values.
    pub(crate) fn new(seq_q: usize, seq_k: usize) -> Self {
        let random = |seq, seed| noise([2, 3, seq, 16], seed, &cpu()) * 2.0;
        Self {
            qkv: [random(seq_q, 1), random(seq_k, 2), random(seq_k, 3)],
            mask: None,
            bias: None,
            options: AttentionModuleOptions::default(),
        }
    }

    fn masked(self, shape: [usize; 4]) -> Self {
        Self {
            mask: Some(random_mask(shape, 4, 9)),
            ..self
        }
    }

    fn biased(self, shape: [usize; 4]) -> Self {
        Self {
            bias: Some(noise(shape, 8, &cpu()) * 3.0),
            ..self
        }
    }

    fn option(mut self, set: impl Fn(&mut AttentionModuleOptions)) -> Self {
        set(&mut self.options);
        self
    }

    pub(crate) fn ours(self) -> Tensor<4> {
        let [q, k, v] = self.qkv;
        attention(q, k, v, self.mask, self.bias, self.options)
    }

    fn fallback(self) -> Tensor<4> {
        let [q, k, v] = self.qkv;
        attention_fallback(q, k, v, self.mask, self.bias, self.options)
    }

    fn native(self) -> Tensor<4> {
        let [q, k, v] = self.qkv;
        burn_attention(q, k, v, self.mask, self.bias, self.options)
    }

    fn in_f64(self) -> Self {
        let qkv = self.qkv.map(|tensor| tensor.cast(DType::F64));
        Self {
            qkv,
            bias: self.bias.map(|bias| bias.cast(DType::F64)),
            ..self
        }
    }

    /// Ours against Burn's fallback in f64, with Burn's fallback in f32 as the yardstick.
    #[track_caller]
    pub(crate) fn agree(self) {
        let reference = f64s(self.clone().in_f64().fallback());
        let yardstick = f64s(self.clone().fallback());
        let (seq_k, dim) = (self.qkv[1].dims()[2], self.qkv[1].dims()[3]);
        let largest = reference
            .iter()
            .fold(0.0_f64, |max, value| max.max(value.abs()));
        // One rounding of the output and the random walk of its sums, as in
        // `fa2_testing::tolerance`.
        let noise = f64::from(f32::EPSILON) * (1.0 + ((seq_k + dim) as f64).sqrt()) * largest;
        let report = Report::new(&f64s(self.ours()), &yardstick, &reference, noise);
        assert!(report.passed, "{report}");
    }
}

#[test]
fn plain_and_causal_agree() {
    for (seq_q, seq_k) in [(1, 1), (5, 5), (3, 9), (9, 3), (1, 17)] {
        let args = Args::new(seq_q, seq_k);
        args.clone().agree();
        args.option(|options| options.is_causal = true).agree();
    }
}

#[test]
fn masks_agree_in_every_broadcast() {
    for shape in [
        [2, 3, 7, 9],
        [1, 1, 7, 9],
        [2, 1, 7, 9],
        [1, 3, 7, 9],
        [2, 1, 1, 9],
        [1, 1, 7, 1],
    ] {
        let args = Args::new(7, 9).masked(shape);
        args.clone().agree();
        args.option(|options| options.is_causal = true).agree();
    }
}

#[test]
fn biases_agree_in_every_broadcast() {
    for shape in [
        [2, 3, 7, 9],
        [1, 1, 7, 9],
        [2, 1, 7, 9],
        [1, 3, 7, 9],
        [1, 1, 1, 9],
        [2, 3, 1, 1],
    ] {
        Args::new(7, 9).biased(shape).agree();
    }
}

#[test]
fn scale_agrees_also_at_and_below_zero() {
    for scale in [0.1, 1.0, 0.0, -0.3] {
        Args::new(7, 9)
            .option(|options| options.scale = Some(scale))
            .agree();
    }
}

#[test]
fn softcap_agrees_and_leaks_no_masked_key() {
    for is_causal in [false, true] {
        let args = Args::new(7, 9).option(|options| {
            options.softcap = Some(1.5);
            options.is_causal = is_causal;
        });
        args.clone().agree();
        args.masked([2, 1, 7, 9]).agree();
    }
}

#[test]
fn everything_at_once_agrees() {
    Args::new(7, 9)
        .masked([2, 1, 7, 9])
        .biased([1, 3, 7, 9])
        .option(|options| {
            *options = AttentionModuleOptions {
                scale: Some(0.7),
                softcap: Some(2.0),
                is_causal: true,
            };
        })
        .agree();
}

#[test]
fn burns_own_cpu_attention_agrees_too() {
    let args = Args::new(7, 9).masked([2, 1, 7, 9]).biased([1, 3, 7, 9]);
    let (ours, native) = (f64s(args.clone().ours()), f64s(args.clone().native()));
    let reference = f64s(args.in_f64().fallback());
    let report = Report::new(&ours, &native, &reference, 8.0 * f64::from(f32::EPSILON));
    assert!(report.passed, "{report}");
}

#[test]
fn value_may_have_other_columns_than_the_query() {
    let mut args = Args::new(7, 9);
    args.qkv[2] = noise([2, 3, 9, 5], 4, &cpu());
    args.clone().agree();
    args.masked([2, 3, 7, 9]).agree();
}

#[test]
fn grouped_heads_equal_repeated_ones() {
    let [q, k, v] =
        [(6, 1), (2, 2), (2, 3)].map(|(heads, seed)| noise([2, heads, 7, 16], seed, &cpu()));
    let repeat = |kv: Tensor<4>| {
        kv.reshape([2, 2, 1, 7, 16])
            .repeat_dim(2, 3)
            .reshape([2, 6, 7, 16])
    };
    let grouped = Args {
        qkv: [q.clone(), k.clone(), v.clone()],
        ..Args::new(7, 7)
    };
    let repeated = Args {
        qkv: [q, repeat(k), repeat(v)],
        ..Args::new(7, 7)
    };
    for extra in [
        |args: Args| args,
        |args: Args| args.masked([2, 6, 7, 7]).biased([1, 6, 7, 7]),
    ] {
        let ours = f64s(extra(grouped.clone()).ours());
        let (same, exact) = (extra(repeated.clone()), extra(repeated.clone()).in_f64());
        let yardstick = f64s(same.fallback());
        let report = Report::new(
            &ours,
            &yardstick,
            &f64s(exact.fallback()),
            8.0 * f64::from(f32::EPSILON),
        );
        assert!(report.passed, "{report}");
    }
}

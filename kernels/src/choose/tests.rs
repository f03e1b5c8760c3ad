//! Choices, and refusals with their reasons.

use super::*;

const H200: Gpu = Gpu {
    shared_bytes: 232_448,
};
const ADA: Gpu = Gpu {
    shared_bytes: 101_376,
};

fn problem(head_dim: u32) -> FwdProblem {
    FwdProblem {
        batch: 2,
        heads_q: 8,
        heads_kv: 2,
        seq_q: 1000,
        seq_k: 1000,
        head_dim,
        dtype: Dtype::F16,
        mask: MaskKind::Causal,
    }
}

/// The choice's name, whether or not this build has the kernel.
fn name(head_dim: u32, gpu: Gpu) -> &'static str {
    match choose(&problem(head_dim), gpu) {
        Ok(choice) => choice.kernel.name,
        Err(ChooseError::NotBuilt { name, .. }) => name,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn smallest_compiled_head_dim_that_holds_the_columns_serves() {
    for (columns, expected) in [
        (8, "fa2_fwd_f16_d32_causal"),
        (64, "fa2_fwd_f16_d64_causal"),
        (72, "fa2_fwd_f16_d96_causal"),
        (104, "fa2_fwd_f16_d128_causal"),
        (136, "fa2_fwd_f16_d192_causal"),
        (256, "fa2_fwd_f16_d256_causal"),
    ] {
        assert_eq!(name(columns, H200), expected);
    }
}

#[test]
fn little_shared_memory_takes_the_small_tile() {
    assert_eq!(name(128, ADA), "fa2_fwd_f16_d128_causal_small");
    assert_eq!(name(256, ADA), "fa2_fwd_f16_d256_causal");
}

#[test]
fn broken_rules_are_named() {
    let odd = FwdProblem {
        head_dim: 12,
        ..problem(64)
    };
    assert_eq!(choose(&odd, H200), Err(ChooseError::HeadDim(12)));
    assert_eq!(choose(&problem(264), H200), Err(ChooseError::HeadDim(264)));
    let heads = FwdProblem {
        heads_kv: 3,
        ..problem(64)
    };
    let error = ChooseError::Heads {
        heads_q: 8,
        heads_kv: 3,
    };
    assert_eq!(choose(&heads, H200), Err(error));
}

#[test]
fn forced_kernel_of_another_kind_is_refused() {
    let [bf16, teaching] = ["fa2_fwd_bf16_d64_causal", "fa2_teaching_causal_2"]
        .map(|name| crate::kernel(name).expect("a kernel of the table"));
    for kernel in [bf16, teaching] {
        let result = choose_kernel(kernel, &problem(64), H200);
        assert!(matches!(result, Err(ChooseError::Mismatch { name, .. }) if name == kernel.name));
    }
}

#[test]
fn teaching_kernel_takes_whole_blocks_only() {
    let kernel = crate::kernel("fa2_teaching_none_2").expect("a kernel of the table");
    for seq in [0, 63, 65] {
        let result = teaching_grid(kernel, [1, seq], H200);
        assert!(matches!(result, Err(ChooseError::Mismatch { .. })), "{seq}");
    }
    match teaching_grid(kernel, [3, 128], H200) {
        Ok(ctas) => assert_eq!(ctas, 6),
        Err(error) => assert!(matches!(error, ChooseError::NotBuilt { .. }), "{error}"),
    }
}

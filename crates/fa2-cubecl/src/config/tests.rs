//! The rules of a configuration, its sizes, and what makes two of them equal.

pub(crate) mod grid;
mod maps;

use super::{Columns, FwdConfig, HEAD_DIMS, MAX_SHARED_BYTES, RowCopy, Tile, compiled_head_dim};
use crate::error::ConfigError;
use crate::heuristics::{Gpu, choose};
use crate::mask::MaskKind;
use crate::problem::{Alignment, Dtype, Mask, Problem};
use crate::score::ScoreKind;
use crate::softmax::online::Rescale;
use grid::{article, grid};
use proptest::prelude::*;
use serde::Serialize;
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, IntoDeserializer};
use std::fmt::Debug;

const KIB: u32 = 1024;
/// Shared memory that a launch has without an attribute.
const WITHOUT_ATTRIBUTE: u32 = 48 * KIB;

fn try_tile(columns: u32, tile: [u32; 4]) -> Result<FwdConfig, ConfigError> {
    let [block_m, block_n, warps, stages] = tile;
    FwdConfig::new(
        Dtype::F16,
        columns,
        MaskKind::None,
        Tile {
            block_m,
            block_n,
            warps,
            stages,
        },
    )
}

#[test]
fn p1_shared_memory_is_40_kib_at_2_stages_and_56_kib_at_3() {
    assert_eq!(article(2).shared_bytes(), 40 * KIB);
    assert_eq!(article(3).shared_bytes(), 56 * KIB);
    assert!(article(2).shared_bytes() <= WITHOUT_ATTRIBUTE);
    assert!(article(3).shared_bytes() > WITHOUT_ATTRIBUTE);
    for stages in 1..=3 {
        assert_eq!(
            article(stages).shared_bytes(),
            (1 + 2 * stages) * 64 * 64 * 2
        );
    }
}

#[test]
fn p1_shared_memory_is_the_sum_of_the_tiles() {
    for config in grid(RowCopy::WholeRow) {
        let elements =
            config.q_tile().elements() + 2 * config.stages() as usize * config.kv_tile().elements();
        assert_eq!(config.shared_bytes() as usize, 2 * elements, "{config}");
        assert_eq!(
            config.q_bytes() as usize,
            2 * config.q_tile().elements(),
            "{config}"
        );
        assert_eq!(config.stage_bytes(), 2 * config.kv_bytes(), "{config}");
    }
}

#[test]
fn l3_one_warp_repeats_the_instruction_1_by_8_by_4_times() {
    let config = article(2);
    let fragment = |layout: cute_layout::Layout| layout.mode_sizes();
    assert_eq!(config.m_tiles(), 1);
    assert_eq!(
        fragment(config.tiled_mma().fragment_a(64, 64).unwrap()),
        [8, 1, 4]
    );
    assert_eq!(
        fragment(config.tiled_mma().fragment_b(64, 64).unwrap()),
        [4, 8, 4]
    );
    assert_eq!(
        fragment(config.tiled_mma().fragment_c(64, 64).unwrap()),
        [4, 1, 8]
    );
}

#[test]
fn head_dim_without_a_compiled_size_is_an_error() {
    for columns in [0, 257, 264, 512] {
        assert_eq!(
            try_tile(columns, [64, 64, 4, 2]),
            Err(ConfigError::HeadDim(columns))
        );
    }
}

#[test]
fn columns_run_in_the_smallest_compiled_size_that_holds_them() {
    for columns in 1..=256 {
        let head_dim = compiled_head_dim(columns).unwrap();
        assert!(HEAD_DIMS.contains(&head_dim) && head_dim >= columns);
        assert!(HEAD_DIMS.iter().all(|&d| d >= head_dim || d < columns));
        let config = try_tile(columns, [64, 64, 4, 1]).unwrap();
        assert_eq!(config.head_dim(), head_dim);
        assert_eq!(config.columns() == Columns::Exact, columns == head_dim);
    }
}

#[test]
fn warps_that_are_no_power_of_two_up_to_16_are_an_error() {
    for warps in [0, 3, 5, 6, 12, 32] {
        assert_eq!(
            try_tile(64, [16 * 60, 64, warps, 1]),
            Err(ConfigError::Warps(warps))
        );
    }
    for warps in [1, 2, 4, 8, 16] {
        assert!(try_tile(64, [16 * warps, 64, warps, 1]).is_ok());
    }
}

#[test]
fn query_rows_that_the_warps_do_not_tile_are_an_error() {
    for block_m in [0, 16, 32, 63, 65, 96] {
        let error = ConfigError::BlockM { block_m, warps: 4 };
        assert_eq!(try_tile(64, [block_m, 64, 4, 2]), Err(error));
    }
}

#[test]
fn key_rows_that_are_no_whole_steps_of_16_are_an_error() {
    for block_n in [0, 8, 24, 63] {
        assert_eq!(
            try_tile(64, [64, block_n, 4, 2]),
            Err(ConfigError::BlockN(block_n))
        );
    }
}

#[test]
fn stages_that_the_pipeline_does_not_know_are_an_error() {
    for stages in [0, 4, 5] {
        assert_eq!(
            try_tile(64, [64, 64, 4, stages]),
            Err(ConfigError::Stages(stages))
        );
    }
}

#[test]
fn a_tile_of_no_whole_copy_passes_is_an_error() {
    // 256 threads copy 32 rows of 128 bytes, 8 lanes each, or 64 rows of 64 bytes.
    let error = |rows, pass| ConfigError::CopyPass {
        tile: "K and V",
        rows,
        pass,
    };
    assert_eq!(try_tile(64, [128, 16, 8, 2]), Err(error(16, 32)));
    assert_eq!(try_tile(96, [128, 32, 8, 2]), Err(error(32, 64)));
    // Four lanes a row reach twice as many rows.
    let whole = try_tile(64, [128, 32, 8, 2]).unwrap();
    assert_eq!(whole.with_row_copy(RowCopy::HalfRow), Err(error(32, 64)));
}

#[test]
fn tiles_beyond_the_largest_shared_memory_are_an_error() {
    let bytes = (128 + 2 * 64) * 256 * 2;
    assert_eq!(
        try_tile(256, [128, 64, 4, 1]).unwrap().shared_bytes(),
        bytes
    );
    let bytes = (128 + 4 * 64) * 256 * 2;
    assert_eq!(
        try_tile(256, [128, 64, 4, 2]).unwrap().shared_bytes(),
        bytes
    );
    let bytes = (128 + 6 * 64) * 256 * 2;
    let error = ConfigError::SharedMemory {
        bytes,
        limit: MAX_SHARED_BYTES,
    };
    assert_eq!(try_tile(256, [128, 64, 4, 3]), Err(error));
}

#[test]
fn errors_name_the_value_and_the_rule() {
    for (error, text) in [
        (ConfigError::Stages(4), "stages 4 is none of 1, 2, 3"),
        (
            ConfigError::CopyPass {
                tile: "Q",
                rows: 16,
                pass: 32,
            },
            "16 rows of Q are not a multiple of the 32 rows that one pass copies",
        ),
        (
            ConfigError::BlockM {
                block_m: 63,
                warps: 4,
            },
            "block_m 63 is not a multiple of 16 rows x 4 warps",
        ),
    ] {
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn display_names_what_differs() {
    let config = article(2).with_rescale(Rescale::Lazy);
    let text = "F16 D=64 Exact None 64x64 4 warps 2 stages";
    assert_eq!(config.to_string(), text);
    let half = config.with_row_copy(RowCopy::HalfRow).unwrap();
    assert_eq!(half.to_string(), format!("{text} half-row copies"));
    let eager = config.with_rescale(Rescale::Eager);
    assert_eq!(eager.to_string(), format!("{text} eager"));
    let tile = Tile {
        block_m: 128,
        block_n: 64,
        warps: 4,
        stages: 1,
    };
    let padded = FwdConfig::new(Dtype::Bf16, 80, MaskKind::Causal, tile).unwrap();
    assert_eq!(
        padded.to_string(),
        "Bf16 D=96 Padded Causal 128x64 4 warps 1 stages"
    );
}

/// A kind as its name in a record.
struct Name<T>(T);

impl<T: Serialize> std::fmt::Display for Name<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.serialize(f)
    }
}

fn assert_reads_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(kind: T, name: &str) {
    assert_eq!(Name(&kind).to_string(), name);
    let text: StrDeserializer<'_, serde::de::value::Error> = name.into_deserializer();
    assert_eq!(T::deserialize(text), Ok(kind));
}

#[test]
fn kinds_of_a_configuration_read_back_from_their_names_in_records() {
    assert_reads_back(Dtype::F16, "f16");
    assert_reads_back(Dtype::Bf16, "bf16");
    assert_reads_back(Columns::Exact, "exact");
    assert_reads_back(Columns::Padded, "padded");
    assert_reads_back(MaskKind::None, "none");
    assert_reads_back(MaskKind::Causal, "causal");
    assert_reads_back(ScoreKind::Scaled, "scaled");
    assert_reads_back(RowCopy::WholeRow, "whole_row");
    assert_reads_back(RowCopy::HalfRow, "half_row");
    assert_reads_back(Rescale::Eager, "eager");
    assert_reads_back(Rescale::Lazy, "lazy");
}

proptest! {
    /// GRAPH-02: a captured graph of one length is no other kernel than that of another length.
    #[test]
    fn problems_that_differ_in_lengths_only_have_equal_configurations(
        sizes in prop::array::uniform2((1_usize..8, 1_usize..5000, 0_usize..5000)),
        heads in (1_usize..4, 1_usize..9),
        chunks in 1_usize..=32,
        causal in any::<bool>(),
    ) {
        let gpu = Gpu { sm: 90, shared_bytes: MAX_SHARED_BYTES };
        let [first, second] = sizes.map(|(batch, seq_q, seq_k)| {
            let problem = Problem {
                batch,
                heads_q: heads.0 * heads.1,
                heads_kv: heads.1,
                seq_q,
                seq_k,
                head_dim: 8 * chunks,
                dtype: Dtype::F16,
                mask: if causal { Mask::Causal(Alignment::TopLeft) } else { Mask::None },
                scale: 1.0,
            };
            choose(&problem, gpu).unwrap().config
        });
        prop_assert_eq!(first, second);
    }
}

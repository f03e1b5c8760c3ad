// FwdConfig: the one compile-time value of a forward kernel, and the rules it obeys.
#pragma once

#include <cute/tensor.hpp>

namespace fa2 {

using cute::Int;
using cute::Layout;
using cute::Shape;
using cute::Stride;

// Names of the element types in the instances.
using f16 = cute::half_t;
using bf16 = cute::bfloat16_t;

enum class MaskKind {
  // Every key is seen.
  none,
  // Keys up to the row's own position plus a run-time diagonal are seen.
  causal,
};

// Whether a block of scores holds hidden columns.
enum class BlockKind {
  // Some row's end may cut the block.
  masked,
  // All columns are seen by all rows.
  full,
};

// Elements of a 16-byte copy.
inline constexpr int CHUNK = 8;
inline constexpr int WARP = 32;
// Rows and depth of the tensor-core instruction m16n8k16.
inline constexpr int MMA_M = 16;
inline constexpr int MMA_K = 16;

template <class Element_, int HEAD_DIM_, MaskKind MASK_, int BLOCK_M_, int BLOCK_N_, int WARPS_,
          int STAGES_>
struct FwdConfig {
  using Element = Element_;
  static constexpr int HEAD_DIM = HEAD_DIM_;
  static constexpr MaskKind MASK = MASK_;
  // Query rows of a CTA, and key rows of a step.
  static constexpr int BLOCK_M = BLOCK_M_;
  static constexpr int BLOCK_N = BLOCK_N_;
  // Warps, laid along M.
  static constexpr int WARPS = WARPS_;
  // K/V blocks in shared memory at once.
  static constexpr int STAGES = STAGES_;
  static constexpr int THREADS = WARPS * WARP;

  // One row of a shared-memory atom: 128 bytes, or 64 where 128 do not divide the row.
  static constexpr int ATOM_COLS = HEAD_DIM % 64 == 0 ? 64 : 32;
  // As many lanes copy a row of an atom as it has chunks.
  static constexpr int LANES_PER_ROW = ATOM_COLS / CHUNK;
  static constexpr int ROWS_PER_PASS = THREADS / LANES_PER_ROW;

  static constexpr int Q_ELEMENTS = BLOCK_M * HEAD_DIM;
  static constexpr int KV_ELEMENTS = BLOCK_N * HEAD_DIM;
  // A K block, then its V block.
  static constexpr int STAGE_ELEMENTS = 2 * KV_ELEMENTS;
  static constexpr int SHARED_BYTES = (Q_ELEMENTS + STAGES * STAGE_ELEMENTS) * sizeof(Element);

  // Rows of a lane in an accumulator.
  static constexpr int LANE_ROWS = 2 * BLOCK_M / (MMA_M * WARPS);

  static_assert(sizeof(Element) == 2, "FwdConfig: elements have 16 bits");
  static_assert(HEAD_DIM % 32 == 0 && HEAD_DIM <= 256, "FwdConfig: head_dim holds whole atoms");
  static_assert(BLOCK_M % (MMA_M * WARPS) == 0, "FwdConfig: block_m holds whole warp tiles");
  static_assert(BLOCK_N % MMA_K == 0, "FwdConfig: block_n holds whole steps of P V");
  static_assert(STAGES >= 1 && STAGES <= 3, "FwdConfig: 1, 2 or 3 stages");
  static_assert(BLOCK_M % ROWS_PER_PASS == 0, "FwdConfig: Q's tile is a whole number of passes");
  static_assert(BLOCK_N % ROWS_PER_PASS == 0, "FwdConfig: a K/V tile is a whole number of passes");
  static_assert(SHARED_BYTES <= 227 * 1024, "FwdConfig: more shared memory than SM90 has");
};

}  // namespace fa2

// What the host hands to a kernel: mirrors src/params.rs field by field.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fa2 {

// Strides of a [batch, heads, rows, columns] tensor with contiguous columns, in elements.
struct FwdStrides {
  int64_t batch;
  int64_t head;
  int64_t row;
};

// The argument of the general kernels.
struct FwdParams {
  void const* q;
  void const* k;
  void const* v;
  void* o;
  // Natural logarithm of the sum of exponentials, [batch, heads_q, seq_q] contiguous; null: not
  // wanted.
  float* lse;
  FwdStrides q_strides;
  FwdStrides k_strides;
  FwdStrides v_strides;
  FwdStrides o_strides;
  uint32_t seq_q;
  uint32_t seq_k;
  // Columns of all four tensors: a multiple of 8, at most what the kernel is compiled for.
  uint32_t head_dim;
  uint32_t heads_q;
  // Query heads for each key/value head.
  uint32_t group_size;
  // Batch entries times query heads.
  uint32_t heads_total;
  // Heads of a section of the schedule, 1 to heads_total.
  uint32_t section;
  // Blocks of query rows; the grid is m_blocks heads_total along x.
  uint32_t m_blocks;
  // Query i sees keys up to i + diagonal where the mask is causal.
  int32_t diagonal;
  // scale log2(e).
  float scale_log2;
};

static_assert(sizeof(FwdStrides) == 24, "FwdStrides: src/params.rs says 24 bytes");
static_assert(sizeof(FwdParams) == 176, "FwdParams: src/params.rs says 176 bytes");
static_assert(alignof(FwdParams) == 8, "FwdParams: src/params.rs says an alignment of 8");
static_assert(offsetof(FwdParams, q) == 0, "FwdParams::q");
static_assert(offsetof(FwdParams, k) == 8, "FwdParams::k");
static_assert(offsetof(FwdParams, v) == 16, "FwdParams::v");
static_assert(offsetof(FwdParams, o) == 24, "FwdParams::o");
static_assert(offsetof(FwdParams, lse) == 32, "FwdParams::lse");
static_assert(offsetof(FwdParams, q_strides) == 40, "FwdParams::q_strides");
static_assert(offsetof(FwdParams, k_strides) == 64, "FwdParams::k_strides");
static_assert(offsetof(FwdParams, v_strides) == 88, "FwdParams::v_strides");
static_assert(offsetof(FwdParams, o_strides) == 112, "FwdParams::o_strides");
static_assert(offsetof(FwdParams, seq_q) == 136, "FwdParams::seq_q");
static_assert(offsetof(FwdParams, seq_k) == 140, "FwdParams::seq_k");
static_assert(offsetof(FwdParams, head_dim) == 144, "FwdParams::head_dim");
static_assert(offsetof(FwdParams, heads_q) == 148, "FwdParams::heads_q");
static_assert(offsetof(FwdParams, group_size) == 152, "FwdParams::group_size");
static_assert(offsetof(FwdParams, heads_total) == 156, "FwdParams::heads_total");
static_assert(offsetof(FwdParams, section) == 160, "FwdParams::section");
static_assert(offsetof(FwdParams, m_blocks) == 164, "FwdParams::m_blocks");
static_assert(offsetof(FwdParams, diagonal) == 168, "FwdParams::diagonal");
static_assert(offsetof(FwdParams, scale_log2) == 172, "FwdParams::scale_log2");

// The argument of the teaching kernels: contiguous f16 tensors [heads_total, seq, 64].
struct TeachingParams {
  void const* q;
  void const* k;
  void const* v;
  void* o;
  // A multiple of 64, above 0.
  uint32_t seq;
  // Batch entries times heads; the grid is seq / 64 heads_total along x.
  uint32_t heads_total;
};

static_assert(sizeof(TeachingParams) == 40, "TeachingParams: src/params.rs says 40 bytes");
static_assert(offsetof(TeachingParams, q) == 0, "TeachingParams::q");
static_assert(offsetof(TeachingParams, k) == 8, "TeachingParams::k");
static_assert(offsetof(TeachingParams, v) == 16, "TeachingParams::v");
static_assert(offsetof(TeachingParams, o) == 24, "TeachingParams::o");
static_assert(offsetof(TeachingParams, seq) == 32, "TeachingParams::seq");
static_assert(offsetof(TeachingParams, heads_total) == 36, "TeachingParams::heads_total");

}  // namespace fa2

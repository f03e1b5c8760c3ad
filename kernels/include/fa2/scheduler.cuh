// Which part of the problem a CTA works on, and which key blocks it visits.
//
// The grid is one-dimensional, so batch times heads is bounded by 2^31 only. Heads come in sections
// of a run-time number of heads; inside a section all heads' last query blocks come first. Under a
// causal mask those are the heaviest, and the light ones fill the last wave; and a section's keys
// and values stay in L2 while it is worked on.
//
// Key blocks are visited from the last to the first: only the first visited ones can be cut by the
// end of the keys or by the diagonal, so masking is confined to a loop of its own.
#pragma once

#include "mask.cuh"
#include "params.cuh"

namespace fa2 {

// Key blocks of a block of query rows.
struct BlockRange {
  // Blocks that some row sees a key of.
  int blocks;
  // The leading ones that every row sees whole.
  int full;
};

// Key blocks for the rows from `row` on.
template <class Config>
CUTE_HOST_DEVICE BlockRange block_range(int row, int seq_q, int seq_k, int diagonal) {
  int const last_row = cute::min(row + Config::BLOCK_M, seq_q) - 1;
  int const widest = cute::max(end_column<Config::MASK>(last_row, seq_k, diagonal), 0);
  int const narrowest = cute::max(end_column<Config::MASK>(row, seq_k, diagonal), 0);
  return {(widest + Config::BLOCK_N - 1) / Config::BLOCK_N, narrowest / Config::BLOCK_N};
}

// The work of one CTA: a block of query rows of one head.
struct WorkTile {
  uint32_t batch;
  uint32_t head;
  uint32_t head_kv;
  // Batch entry and query head as one index.
  uint32_t head_index;
  // First query row.
  int row;
};

// This CTA in the grid, read anew at each call.
CUTE_DEVICE uint32_t cta_position() {
  uint32_t cta;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(cta));
  return cta;
}

// The work of this CTA. Made anew at each call: kept from the prologue to the epilogue, it would
// take registers from the loop between.
template <class Config>
CUTE_DEVICE WorkTile work_tile(FwdParams const& params) {
  uint32_t const cta = cta_position();
  uint32_t const section_ctas = params.section * params.m_blocks;
  uint32_t const section = cta / section_ctas;
  uint32_t const first_head = section * params.section;
  uint32_t const in_section = cta - section * section_ctas;
  // The last section may hold fewer heads.
  uint32_t const heads = cute::min(params.section, params.heads_total - first_head);
  uint32_t const from_last = in_section / heads;
  uint32_t const head_index = first_head + in_section - from_last * heads;
  uint32_t const m_block = params.m_blocks - from_last - 1;
  uint32_t const batch = head_index / params.heads_q;
  uint32_t const head = head_index - batch * params.heads_q;
  return {batch, head, head / params.group_size, head_index, int(m_block) * Config::BLOCK_M};
}

// Offset of row `row` of one head, in elements; 64 bits throughout, so that a tensor may hold more
// than 2^31 of them.
CUTE_HOST_DEVICE int64_t row_offset(FwdStrides const& strides, uint32_t batch, uint32_t head,
                                    int row) {
  return batch * strides.batch + head * strides.head + row * strides.row;
}

}  // namespace fa2

// K and V blocks on their way through shared memory: a ring of compile-time depth.
//
// With two or three stages, block t is read from stage t mod STAGES while block t + STAGES - 1 is
// copied into the stage that was read before. Each block is one commit group; the prologue commits
// min(blocks, STAGES - 1) of them, so before block t is read at most
// min(blocks - t - 1, STAGES - 2) later groups may be in flight. In the tail, where nothing is
// committed any more, that is 0: keeping STAGES - 2 there would read a block too early (claim P2).
//
// With one stage K and V take turns: V's copy runs under S = Q K^T, and the next K's under the
// softmax and P V.
#pragma once

#include "copy.cuh"

namespace fa2 {

// One side of the ring, K or V.
template <class Element>
struct KvSide {
  // This thread's first chunk in the next block to copy.
  Element const* source;
  // The tile of stage 0.
  Element* stage0;
  // From a row to the next, in elements.
  int64_t const& row_stride;
};

template <class Config>
struct KvPipeline {
  using Element = typename Config::Element;
  using KvShape = Shape<Int<Config::BLOCK_N>, Int<Config::HEAD_DIM>>;

  KvSide<Element> k;
  KvSide<Element> v;
  // Key rows, and columns, that exist.
  Inside inside;
  // Offset of the stage to read from, in elements.
  int read = 0;

  static constexpr int AHEAD = Config::STAGES - 1;

  // Copies this side's next block, key block `block`, and moves on to the one before it.
  template <Rows ROWS>
  CUTE_DEVICE void copy_side(KvSide<Element>& side, int stage, int block) {
    using namespace cute;
    int64_t const row_stride = opaque(side.row_stride);
    auto first = make_tensor(make_gmem_ptr(side.source), KvShape{},
                             make_stride(row_stride, _1{}));  // (BLOCK_N,HEAD_DIM)
    auto thr_copy = G2s<Config>{}.get_slice(thread_position());
    // `source` is this thread's already, so the map is thread 0's.
    auto tk_gk = G2s<Config>{}.get_slice(_0{}).partition_S(first);        // (CPY,CPY_N,CPY_K)
    auto tk_sk = thr_copy.partition_D(smem_tile<KvTile<Config>>(side.stage0 + stage));
    auto tk_ck = thr_copy.partition_S(make_identity_tensor(KvShape{}));  // (CPY,CPY_N,CPY_K)
    g2s<Config, ROWS>(tk_gk, tk_sk, tk_ck,
                      Inside{inside.rows - block * Config::BLOCK_N, inside.columns});
    side.source -= Config::BLOCK_N * row_stride;
  }

  // Copies K and V of a block as one group.
  template <Rows ROWS>
  CUTE_DEVICE void copy_block(int stage, int block) {
    copy_side<ROWS>(k, stage, block);
    copy_side<ROWS>(v, stage, block);
    cute::cp_async_fence();
  }

  // First fill. The copy of Q, started before, joins the first group. Only the last block of the
  // keys can have rows outside, and it comes first.
  CUTE_DEVICE void prologue(int blocks) {
    if constexpr (Config::STAGES == 1) {
      if (blocks > 0) {
        copy_side<Rows::ragged>(k, 0, blocks - 1);
      }
      cute::cp_async_fence();
    } else {
      if (blocks > 0) {
        copy_block<Rows::ragged>(0, blocks - 1);
      }
      CUTE_UNROLL
      for (int ahead = 1; ahead < AHEAD; ++ahead) {
        if (ahead < blocks) {
          copy_block<Rows::whole>(ahead * Config::STAGE_ELEMENTS, blocks - 1 - ahead);
        }
      }
    }
  }

  // Makes K of the next block readable (V too with several stages), and starts the next copies.
  // `left` counts the blocks from this one on: it is key block left - 1.
  template <BlockKind BLOCK>
  CUTE_DEVICE void acquire_k(int left) {
    if constexpr (AHEAD == 2) {
      if (left > 1) {
        cute::cp_async_wait<AHEAD - 1>();
      } else {
        cute::cp_async_wait<0>();
      }
    } else {
      cute::cp_async_wait<0>();
    }
    // Orders: copies of this block by all threads < its reads by ldmatrix; and reads of the block
    // before < the refill of its stage below.
    __syncthreads();
    if constexpr (AHEAD == 0) {
      copy_side<BLOCK == BlockKind::masked ? Rows::ragged : Rows::whole>(v, 0, left - 1);
      cute::cp_async_fence();
    } else if (left > AHEAD) {
      int const last = (Config::STAGES - 1) * Config::STAGE_ELEMENTS;
      copy_block<Rows::whole>(read == 0 ? last : read - Config::STAGE_ELEMENTS, left - 1 - AHEAD);
    }
  }

  // Makes V of that block readable where acquire_k did not, and starts the copy of the next K.
  CUTE_DEVICE void acquire_v(int left) {
    if constexpr (Config::STAGES == 1) {
      cute::cp_async_wait<0>();
      // Orders: copies of V by all threads < its reads; reads of K by all warps < the copy of the
      // next K over it.
      __syncthreads();
      if (left > 1) {
        copy_side<Rows::whole>(k, 0, left - 2);
        cute::cp_async_fence();
      }
    }
  }

  // Waits for all copies: for CTAs that visit no block, whose copy of Q is still in flight when O
  // goes over it. No block's group has taken it along.
  CUTE_DEVICE void drain() {
    cute::cp_async_fence();
    cute::cp_async_wait<0>();
    // Orders: copies of Q by all threads < the stores of O into its tile.
    __syncthreads();
  }

  // K of the block that is read.
  CUTE_DEVICE auto sk() const { return smem_tile<KvTile<Config>>(k.stage0 + read); }

  // V of the block that is read, seen as (HEAD_DIM,BLOCK_N).
  CUTE_DEVICE auto svt() const { return smem_tile<VtTile<Config>>(v.stage0 + read); }

  // Leaves the block: the next one is in the next stage.
  CUTE_DEVICE void release() {
    if constexpr (Config::STAGES > 1) {
      int const next = read + Config::STAGE_ELEMENTS;
      read = next == Config::STAGES * Config::STAGE_ELEMENTS ? 0 : next;
    }
  }
};

}  // namespace fa2

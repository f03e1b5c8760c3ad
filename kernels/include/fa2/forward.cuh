// The forward kernel for SM80 and up: mma.sync, ldmatrix and cp.async.
//
// One CTA owns BLOCK_M query rows of one head and visits the key blocks that they see:
//
//   Q --g2s--> sQ --s2r--> A .
//   K --g2s--> sK --s2r--> B +-- mma -> S (C) -- mask, softmax -> P (C, then A by c_to_a) .
//   V --g2s--> sV --s2r.trans------------------------------------------------------> B +-- mma -> O
//   O (C) -- normalise, round -> sQ --s2g--> O
#pragma once

#include "epilogue.cuh"
#include "pipeline.cuh"

namespace fa2 {

// O = softmax(scale Q K^T + mask) V and its LSE, for every batch entry and head. Launch with
// m_blocks heads_total CTAs of Config::THREADS and Config::SHARED_BYTES of dynamic shared memory.
template <class Config>
CUTE_DEVICE void forward(FwdParams const& params, typename Config::Element* shared) {
  using namespace cute;
  using Element = typename Config::Element;
  using QShape = Shape<Int<Config::BLOCK_M>, Int<Config::HEAD_DIM>>;
  using KvShape = Shape<Int<Config::BLOCK_N>, Int<Config::HEAD_DIM>>;
  using Mma = TiledMma<Config>;
  int const thread = threadIdx.x;
  int const seq_q = params.seq_q;
  int const seq_k = params.seq_k;
  int const head_dim = params.head_dim;
  WorkTile const work = work_tile<Config>(params);
  BlockRange const range = block_range<Config>(work.row, seq_q, seq_k, params.diagonal);
  int const blocks = range.blocks;
  // Without a block the row is not used, but must not be negative either.
  int const key_row = (cute::max(blocks, 1) - 1) * Config::BLOCK_N;

  // Storage.
  auto const* const q = static_cast<Element const*>(params.q) +
                        row_offset(params.q_strides, work.batch, work.head, work.row);
  auto const* const k = static_cast<Element const*>(params.k) +
                        row_offset(params.k_strides, work.batch, work.head_kv, key_row);
  auto const* const v = static_cast<Element const*>(params.v) +
                        row_offset(params.v_strides, work.batch, work.head_kv, key_row);
  auto gq = make_tensor(make_gmem_ptr(q), QShape{},
                        make_stride(params.q_strides.row, _1{}));  // (BLOCK_M,HEAD_DIM)
  auto gk = make_tensor(make_gmem_ptr(k), KvShape{},
                        make_stride(params.k_strides.row, _1{}));  // (BLOCK_N,HEAD_DIM)
  auto gv = make_tensor(make_gmem_ptr(v), KvShape{},
                        make_stride(params.v_strides.row, _1{}));  // (BLOCK_N,HEAD_DIM)
  auto sq = smem_tile<QTile<Config>>(shared);                // (BLOCK_M,HEAD_DIM)

  // Copies from global memory.
  auto thr_g2s = G2s<Config>{}.get_slice(thread);
  auto tq_gq = thr_g2s.partition_S(gq);                              // (CPY,CPY_M,CPY_K)
  auto tq_sq = thr_g2s.partition_D(sq);                              // (CPY,CPY_M,CPY_K)
  auto tq_cq = thr_g2s.partition_S(make_identity_tensor(QShape{}));  // (CPY,CPY_M,CPY_K)
  g2s<Config, Rows::ragged>(tq_gq, tq_sq, tq_cq, Inside{seq_q - work.row, head_dim});

  Element* const k_stage0 = shared + Config::Q_ELEMENTS;
  Element* const v_stage0 = k_stage0 + Config::KV_ELEMENTS;
  KvPipeline<Config> pipeline{
      {raw_pointer_cast(thr_g2s.partition_S(gk).data()), k_stage0, params.k_strides.row},
      {raw_pointer_cast(thr_g2s.partition_S(gv).data()), v_stage0, params.v_strides.row},
      Inside{seq_k, head_dim}};
  pipeline.prologue(blocks);

  auto acc_o = partition_fragment_C(Mma{}, QShape{});  // (MMA,MMA_M,MMA_N)
  clear(acc_o);
  OnlineSoftmax<Config::LANE_ROWS> softmax;

  // One key block, of those `left` to visit.
  auto step = [&](int left, auto kind) {
    constexpr BlockKind BLOCK = decltype(kind)::value;
    pipeline.template acquire_k<BLOCK>(left);
    auto acc_s = partition_fragment_C(
        Mma{}, Shape<Int<Config::BLOCK_M>, Int<Config::BLOCK_N>>{});  // (MMA,MMA_M,MMA_N)
    gemm_ss<Config>(acc_s, sq, pipeline.sk(), thread_position());
    pipeline.acquire_v(left);
    if constexpr (BLOCK == BlockKind::masked) {
      auto const origin = lane_origin<Mma, Config::BLOCK_M>(thread_position());
      int const column = (left - 1) * Config::BLOCK_N + origin.column;
      apply_mask<Config>(acc_s, work.row + origin.row, column, seq_k, params.diagonal);
    }
    softmax.template step<BLOCK>(acc_s, acc_o, params.scale_log2);
    gemm_rs<Config>(acc_o, acc_s, pipeline.svt(), thread_position());
    pipeline.release();
  };
  int left = blocks;
  CUTE_NO_UNROLL
  for (; left > range.full; --left) {
    step(left, cute::integral_constant<BlockKind, BlockKind::masked>{});
  }
  CUTE_NO_UNROLL
  for (; left > 0; --left) {
    step(left, cute::integral_constant<BlockKind, BlockKind::full>{});
  }
  if (blocks == 0) {
    pipeline.drain();
  }
  store<Config>(acc_o, softmax, params, shared);
}

}  // namespace fa2

// A general kernel. The instances are lines of src/*.cu, and the build script reads them:
// FA2_FORWARD(name, element, head_dim, mask, block_m, block_n, warps, stages).
#define FA2_FORWARD(NAME, ELEMENT, HEAD_DIM, MASK, BLOCK_M, BLOCK_N, WARPS, STAGES)              \
  extern "C" __global__ void __launch_bounds__(WARPS * fa2::WARP)                                \
      NAME(const __grid_constant__ fa2::FwdParams params) {                                      \
    using Config = fa2::FwdConfig<fa2::ELEMENT, HEAD_DIM, fa2::MaskKind::MASK, BLOCK_M, BLOCK_N, \
                                  WARPS, STAGES>;                                                \
    extern __shared__ __align__(fa2::SHARED_ALIGNMENT) unsigned char fa2_shared[];               \
    fa2::forward<Config>(params, reinterpret_cast<Config::Element*>(fa2_shared));                \
  }

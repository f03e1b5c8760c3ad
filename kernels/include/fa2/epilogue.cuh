// The end of a CTA: normalise O, round it, send it through Q's tile to global memory; the LSE.
//
// Eight neighbours of a row lie in four lanes, so no view of the registers is a 16-byte store
// (claim E1). Q's tile has done its work and takes O: no more shared memory is needed.
#pragma once

#include "scheduler.cuh"
#include "softmax.cuh"

namespace fa2 {

// O / l, in place; the lane's rows are those of `inverse`.
template <class AccO, int ROWS>
CUTE_DEVICE void normalise(AccO& acc_o, float const (&inverse)[ROWS]) {
  auto output = row_col_view(acc_o);
  CUTE_UNROLL
  for (int i = 0; i < ROWS; ++i) {
    CUTE_UNROLL
    for (int j = 0; j < cute::size<1>(output); ++j) {
      output(i, j) *= inverse[i];
    }
  }
}

// The C owners scatter their pairs of O, rounded, into Q's tile.
template <class Mma, class Element, class AccO, class SO>
CUTE_DEVICE void r2s(AccO const& acc_o, SO& so, int thread) {
  using namespace cute;
  auto thr_copy = R2s<Mma, Element>{}.get_slice(thread);
  auto ro = rounded<Element>(acc_o);
  auto to_ro = thr_copy.retile_S(ro);    // (CPY,CPY_M,CPY_N)
  auto to_so = thr_copy.partition_D(so);  // (CPY,CPY_M,CPY_N)
  copy(R2s<Mma, Element>{}, to_ro, to_so);
}

// Stores the LSE: the first of a row's four lanes writes it.
template <class Config>
CUTE_DEVICE void store_lse(float const (&lse)[Config::LANE_ROWS], FwdParams const& params,
                           WorkTile const& work, LaneOrigin const& origin) {
  using namespace cute;
  if (params.lse == nullptr || origin.column != 0) {
    return;
  }
  float* const head = params.lse + int64_t(work.head_index) * params.seq_q;
  auto offsets = accumulator_offsets<TiledMma<Config>, Config::BLOCK_M, 16>();
  CUTE_UNROLL
  for (int i = 0; i < Config::LANE_ROWS; ++i) {
    int const row = work.row + origin.row + int(get<0>(offsets(i, 0)));
    if (row < int(params.seq_q)) {
      head[row] = lse[i];
    }
  }
}

// Stores O and the LSE of this CTA's work.
template <class Config, class AccO>
CUTE_DEVICE void store(AccO& acc_o, OnlineSoftmax<Config::LANE_ROWS>& softmax,
                       FwdParams const& params, typename Config::Element* q_tile) {
  using namespace cute;
  using Element = typename Config::Element;
  WorkTile const work = work_tile<Config>(params);
  int const thread = thread_position();
  softmax.finish();
  normalise(acc_o, softmax.row_sum);
  // Orders: this warp's reads of its rows of Q < its stores of O over them. No other warp reads
  // them.
  __syncwarp();
  auto so = smem_tile<QTile<Config>>(q_tile);  // (BLOCK_M,HEAD_DIM)
  r2s<TiledMma<Config>, Element>(acc_o, so, thread);
  store_lse<Config>(softmax.base, params, work,
                    lane_origin<TiledMma<Config>, Config::BLOCK_M>(thread));
  // Orders: all warps' stores of O into Q's tile < the row-wise loads below.
  __syncthreads();
  Element* const o = static_cast<Element*>(params.o) +
                     row_offset(params.o_strides, work.batch, work.head, work.row);
  auto go = make_tensor(make_gmem_ptr(o), Shape<Int<Config::BLOCK_M>, Int<Config::HEAD_DIM>>{},
                        make_stride(params.o_strides.row, _1{}));  // (BLOCK_M,HEAD_DIM)
  auto thr_copy = S2g<Config>{}.get_slice(thread);
  auto to_so = thr_copy.partition_S(so);                                // (CPY,CPY_M,CPY_K)
  auto to_go = thr_copy.partition_D(go);                                // (CPY,CPY_M,CPY_K)
  auto to_co = thr_copy.partition_D(make_identity_tensor(shape(go)));  // (CPY,CPY_M,CPY_K)
  Inside const inside{int(params.seq_q) - work.row, int(params.head_dim)};
  s2g<Config>(to_so, to_go, to_co, inside);
}

}  // namespace fa2

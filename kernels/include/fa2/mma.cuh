// The two products: S = Q K^T with both operands from shared memory, and O += P V with P from
// registers.
//
// With w = warp, g = lane / 4, q = lane % 4 the fragments of m16n8k16 are (claim L6)
//   A: m = 16 w + g + 8 a1   k = 16 kappa + 2 q + a0 + 8 a2
//   B: n = 8 nu + g          k = 16 kappa + 2 q + b0 + 8 b1
//   C: m = 16 w + g + 8 c1   n = 8 nu + 2 q + c0
// so P, a C fragment, is an A fragment with a0 = c0, a1 = c1, 2 kappa + a2 = nu (claim L8).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cute/atom/mma_atom.hpp>
#include <type_traits>

#include "copy.cuh"

namespace fa2 {

template <class Element>
struct MmaOf;
template <>
struct MmaOf<f16> {
  using Op = cute::SM80_16x8x16_F32F16F16F32_TN;
};
template <>
struct MmaOf<bf16> {
  using Op = cute::SM80_16x8x16_F32BF16BF16F32_TN;
};

// The multiply atom over the warps, which are laid along M only: a warp owns whole rows of S and O,
// and two atoms along N take one ldmatrix.x4.
template <class Config>
using TiledMma = decltype(cute::make_tiled_mma(
    typename MmaOf<typename Config::Element>::Op{},
    Layout<Shape<Int<Config::WARPS>, Int<1>, Int<1>>>{},
    cute::Tile<Int<MMA_M * Config::WARPS>, Int<16>, Int<MMA_K>>{}));

// Register numbers of P's A fragment in its C fragment: the composition through the logical (m, n)
// coordinate, of which the C layout is left-invertible since the lane owns each value once.
template <class Mma, int BLOCK_M, int BLOCK_N>
CUTE_HOST_DEVICE constexpr auto c_to_a_layout() {
  using namespace cute;
  auto thr_mma = Mma{}.get_slice(Int<0>{});
  auto p = make_tensor(counting_iterator<int>{0}, Layout<Shape<Int<BLOCK_M>, Int<BLOCK_N>>>{});
  auto as_c = thr_mma.partition_C(p).layout();  // ((2,2),M,N) -> m + BLOCK_M n
  auto as_a = thr_mma.partition_A(p).layout();  // ((2,2,2),M,K) -> m + BLOCK_M n
  return left_inverse(as_c).compose(as_a);
}

// P as the A operand of the second product: a view of the registers that hold it as C.
template <class Mma, int BLOCK_M, int BLOCK_N, class Engine, class CLayout>
CUTE_HOST_DEVICE constexpr auto c_to_a(cute::Tensor<Engine, CLayout> const& p_as_c) {
  return p_as_c.compose(c_to_a_layout<Mma, BLOCK_M, BLOCK_N>());
}

// Two f32 to two 16-bit values in a register, the first one low.
template <class Element>
CUTE_DEVICE uint32_t round_pair(float low, float high) {
  if constexpr (std::is_same_v<Element, f16>) {
    __half2 const pair = __floats2half2_rn(low, high);
    return reinterpret_cast<uint32_t const&>(pair);
  } else {
    __nv_bfloat162 const pair = __floats2bfloat162_rn(low, high);
    return reinterpret_cast<uint32_t const&>(pair);
  }
}

// An accumulator in 16 bits, under the same layout: neighbours c0 = 0, 1 share a register.
template <class Element, class Engine, class CLayout>
CUTE_DEVICE auto rounded(cute::Tensor<Engine, CLayout> const& acc) {
  using namespace cute;
  auto out = make_tensor_like<Element>(acc);  // ((2,2),M,N)
  auto pairs = recast<uint32_t>(out);         // ((1,2),M,N)
  CUTE_UNROLL
  for (int i = 0; i < size(pairs); ++i) {
    pairs(i) = round_pair<Element>(acc(2 * i), acc(2 * i + 1));
  }
  return out;
}

// Adds the products of all A fragments of a k step and the two atoms along N that one ldmatrix.x4
// has brought.
template <class Mma, class Acc, class A, class B>
CUTE_DEVICE void multiply_pair(Acc& acc, A const& a, B const& b, int pair) {
  using namespace cute;
  CUTE_UNROLL
  for (int m = 0; m < size<1>(a); ++m) {
    gemm(Mma{}, a(_, m), b(_, 2 * pair), acc(_, m, 2 * pair));
    gemm(Mma{}, a(_, m), b(_, 2 * pair + 1), acc(_, m, 2 * pair + 1));
  }
}

// acc_s = Q K^T for one block of keys.
//
// Operands are loaded where they are used, a pair of atoms at a time: loading whole k steps ahead
// would hold more of K than the registers do.
template <class Config, class AccS, class SQ, class SK>
CUTE_DEVICE void gemm_ss(AccS& acc_s, SQ const& sq, SK const& sk, int thread) {
  using namespace cute;
  using Element = typename Config::Element;
  using Mma = TiledMma<Config>;
  auto ts_rq = make_tensor<Element>(partition_shape_A(
      Mma{}, Shape<Int<Config::BLOCK_M>, Int<Config::HEAD_DIM>>{}));  // (MMA,MMA_M,MMA_K)
  auto ts_rk = make_tensor<Element>(partition_shape_B(
      Mma{}, Shape<Int<Config::BLOCK_N>, Int<Config::HEAD_DIM>>{}));  // (MMA,MMA_N,MMA_K)
  auto ts_rq_copy = S2rQ<Mma, Element>{}.get_slice(_0{}).retile_D(ts_rq);  // (CPY,CPY_M,CPY_K)
  auto ts_rk_copy = S2rK<Mma, Element>{}.get_slice(_0{}).retile_D(ts_rk);  // (CPY,CPY_N,CPY_K)
  auto ts_sq = S2rQ<Mma, Element>{}.get_slice(thread).partition_S(sq);     // (CPY,CPY_M,CPY_K)
  auto ts_sk = S2rK<Mma, Element>{}.get_slice(thread).partition_S(sk);     // (CPY,CPY_N,CPY_K)
  clear(acc_s);
  CUTE_UNROLL
  for (int k = 0; k < size<2>(ts_rq); ++k) {
    copy(S2rQ<Mma, Element>{}, ts_sq(_, _, k), ts_rq_copy(_, _, k));
    CUTE_UNROLL
    for (int pair = 0; pair < size<1>(ts_sk); ++pair) {
      copy(S2rK<Mma, Element>{}, ts_sk(_, pair, k), ts_rk_copy(_, pair, k));
      multiply_pair<Mma>(acc_s, ts_rq(_, _, k), ts_rk(_, _, k), pair);
    }
  }
}

// acc_o += P V for one block of keys; acc_p holds P where the scores were.
template <class Config, class AccO, class AccP, class SVt>
CUTE_DEVICE void gemm_rs(AccO& acc_o, AccP const& acc_p, SVt const& svt, int thread) {
  using namespace cute;
  using Element = typename Config::Element;
  using Mma = TiledMma<Config>;
  auto p_as_c = rounded<Element>(acc_p);                               // ((2,2),MMA_M,MMA_N)
  auto to_rp = c_to_a<Mma, Config::BLOCK_M, Config::BLOCK_N>(p_as_c);  // ((2,2,2),MMA_M,MMA_K)
  auto to_rvt = make_tensor<Element>(partition_shape_B(
      Mma{}, Shape<Int<Config::HEAD_DIM>, Int<Config::BLOCK_N>>{}));          // (MMA,MMA_N,MMA_K)
  auto to_rvt_copy = S2rVt<Mma, Element>{}.get_slice(_0{}).retile_D(to_rvt);  // (CPY,CPY_N,CPY_K)
  auto to_svt = S2rVt<Mma, Element>{}.get_slice(thread).partition_S(svt);   // (CPY,CPY_N,CPY_K)
  CUTE_UNROLL
  for (int k = 0; k < size<2>(to_rp); ++k) {
    CUTE_UNROLL
    for (int pair = 0; pair < size<1>(to_svt); ++pair) {
      copy(S2rVt<Mma, Element>{}, to_svt(_, pair, k), to_rvt_copy(_, pair, k));
      multiply_pair<Mma>(acc_o, to_rp(_, _, k), to_rvt(_, _, k), pair);
    }
  }
}

}  // namespace fa2

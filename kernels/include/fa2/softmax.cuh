// Online softmax: row maximum m, row sum l and the output O on one exponent base.
//
// With c = scale log2(e), a block of scores S of a row gives
//   m' = max(m, max S)    P = exp2(c S - c m')    a = exp2(c m - c m')
//   l' = a l + sum P      O' = a O + P V
// and at the end O / l and LSE = ln(2) (c m + log2 l). What counts is that l and O share one base;
// that it is the maximum itself only keeps P small. So the base moves only when a row's maximum
// exceeds it by more than 2^8: P stays below that, far inside f16.
//
// The state is base = -c m per row; no key seen yet is m = -inf, so base = +inf. Each lane sums its
// own columns of P, in f32 and before P is rounded; the four lanes of a row meet once, at the end.
#pragma once

#include "mma.cuh"

namespace fa2 {

inline constexpr float LN_2 = 0.69314718055994530942f;
// Growth of a row's maximum, in powers of two, up to which the base stays.
inline constexpr float LAZY_GROWTH = 8.0f;
inline constexpr uint32_t ALL_LANES = 0xffffffffu;

// The approximate instructions themselves, whatever the compiler's flags.
CUTE_DEVICE float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

CUTE_DEVICE float log2_approx(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

CUTE_DEVICE float reciprocal_approx(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// A row lies in the four lanes of one g (claim L7).
CUTE_DEVICE float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, 1));
  return fmaxf(x, __shfl_xor_sync(ALL_LANES, x, 2));
}

CUTE_DEVICE float quad_sum(float x) {
  x += __shfl_xor_sync(ALL_LANES, x, 1);
  return x + __shfl_xor_sync(ALL_LANES, x, 2);
}

// Largest score of each of this lane's rows, over its own columns, in two chains a row.
template <class Scores, int ROWS>
CUTE_DEVICE void block_max(Scores const& scores, float (&highest)[ROWS]) {
  using namespace cute;
  CUTE_UNROLL
  for (int i = 0; i < ROWS; ++i) {
    float even = fmaxf(scores(i, 0), scores(i, 1));
    float odd = fmaxf(scores(i, 2), scores(i, 3));
    CUTE_UNROLL
    for (int j = 4; j < size<1>(scores); j += 4) {
      even = fmaxf(even, fmaxf(scores(i, j), scores(i, j + 1)));
      odd = fmaxf(odd, fmaxf(scores(i, j + 2), scores(i, j + 3)));
    }
    highest[i] = fmaxf(even, odd);
  }
}

// The state of a lane's rows.
template <int ROWS>
struct OnlineSoftmax {
  // -c m of each row.
  float base[ROWS];
  // l of each row, over this lane's columns.
  float row_sum[ROWS];

  CUTE_DEVICE OnlineSoftmax() {
    CUTE_UNROLL
    for (int i = 0; i < ROWS; ++i) {
      base[i] = INFINITY;
      row_sum[i] = 0.0f;
    }
  }

  // Takes a block: acc_s becomes P, and acc_o is on P's base afterwards.
  template <BlockKind BLOCK, class AccS, class AccO>
  CUTE_DEVICE void step(AccS& acc_s, AccO& acc_o, float scale_log2) {
    auto scores = row_col_view(acc_s);
    float highest[ROWS];
    block_max(scores, highest);
    float growth = -INFINITY;
    CUTE_UNROLL
    for (int i = 0; i < ROWS; ++i) {
      highest[i] = quad_max(highest[i]);
      // -inf + inf where a row has seen no key: NaN, which fmaxf passes over.
      growth = fmaxf(growth, fmaf(highest[i], scale_log2, base[i]));
    }
    if (__any_sync(ALL_LANES, growth > LAZY_GROWTH)) {
      raise(highest, acc_o, scale_log2);
    }
    exponentiate<BLOCK>(scores, scale_log2);
  }

  // Moves O and l to the base of the rows' new maxima.
  template <class AccO>
  CUTE_DEVICE void raise(float const (&highest)[ROWS], AccO& acc_o, float scale_log2) {
    auto output = row_col_view(acc_o);
    CUTE_UNROLL
    for (int i = 0; i < ROWS; ++i) {
      float const old = base[i];
      float const candidate = highest[i] * -scale_log2;
      float const moved = candidate < old ? candidate : old;
      // Equal bases may both be infinite, and their difference NaN.
      float const rescale = moved == old ? 1.0f : exp2_approx(moved - old);
      base[i] = moved;
      row_sum[i] *= rescale;
      CUTE_UNROLL
      for (int j = 0; j < cute::size<1>(output); ++j) {
        output(i, j) *= rescale;
      }
    }
  }

  // S = exp2(c S + base), and the sums of the new values. Rows are interleaved, so that the units
  // behind them always have independent work.
  template <BlockKind BLOCK, class Scores>
  CUTE_DEVICE void exponentiate(Scores& scores, float scale_log2) {
    float shift[ROWS];
    CUTE_UNROLL
    for (int i = 0; i < ROWS; ++i) {
      // A row without a key so far has only hidden scores in a masked block: with 0 they give
      // exp2(-inf) = 0, where -inf + inf would be NaN.
      shift[i] = BLOCK == BlockKind::masked && base[i] == INFINITY ? 0.0f : base[i];
    }
    CUTE_UNROLL
    for (int j = 0; j < cute::size<1>(scores); j += 2) {
      CUTE_UNROLL
      for (int i = 0; i < ROWS; ++i) {
        float const p0 = exp2_approx(fmaf(scores(i, j), scale_log2, shift[i]));
        float const p1 = exp2_approx(fmaf(scores(i, j + 1), scale_log2, shift[i]));
        scores(i, j) = p0;
        scores(i, j + 1) = p1;
        row_sum[i] += p0 + p1;
      }
    }
  }

  // 1 / l into row_sum and the LSE into base. A row that saw no key has l = 0 and m = -inf: it gets
  // 0 and -inf, and so O = 0.
  CUTE_DEVICE void finish() {
    CUTE_UNROLL
    for (int i = 0; i < ROWS; ++i) {
      float const sum = quad_sum(row_sum[i]);
      bool const empty = sum == 0.0f;
      base[i] = empty ? -INFINITY : (log2_approx(sum) - base[i]) * LN_2;
      row_sum[i] = empty ? 0.0f : reciprocal_approx(sum);
    }
  }
};

}  // namespace fa2

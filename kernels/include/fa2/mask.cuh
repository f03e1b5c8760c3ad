// Which keys a row sees, applied to a block of scores in registers.
//
// Every kind hides the columns from some end on, per row; so one comparison an element applies any
// of them, and the end of the keys joins for free.
#pragma once

#include "mma.cuh"

namespace fa2 {

// First column that `row` does not see.
template <MaskKind KIND>
CUTE_HOST_DEVICE int end_column(int row, int seq_k, int diagonal) {
  if constexpr (KIND == MaskKind::causal) {
    return cute::min(seq_k, row + diagonal + 1);
  } else {
    return seq_k;
  }
}

// (row, column) of a lane's accumulator elements: thread 0's, so constants, as a matrix of the
// lane's rows and columns. Another lane's are these plus those of its first element.
template <class Mma, int ROWS, int COLS>
CUTE_HOST_DEVICE constexpr auto accumulator_offsets() {
  using namespace cute;
  auto at = Mma{}.get_slice(_0{}).partition_C(
      make_identity_tensor(Shape<Int<ROWS>, Int<COLS>>{}));  // ((2,2),MMA_M,MMA_N)
  return make_tensor(at.data(), row_col_layout(at.layout()));
}

// Where a thread's accumulators begin in the block of its CTA.
struct LaneOrigin {
  int row;
  int column;
};

template <class Mma, int ROWS>
CUTE_DEVICE LaneOrigin lane_origin(int thread) {
  using namespace cute;
  auto at = Mma{}.get_slice(thread).partition_C(
      make_identity_tensor(Shape<Int<ROWS>, Int<16>>{}));
  auto first = at(_0{});
  return {int(get<0>(first)), int(get<1>(first))};
}

// Sets the scores of hidden columns to -inf. `row` and `column` are the global position of this
// lane's first element.
template <class Config, class AccS>
CUTE_DEVICE void apply_mask(AccS& acc_s, int row, int column, int seq_k, int diagonal) {
  using namespace cute;
  auto scores = row_col_view(acc_s);
  auto offsets = accumulator_offsets<TiledMma<Config>, Config::BLOCK_M, Config::BLOCK_N>();
  CUTE_UNROLL
  for (int i = 0; i < size<0>(scores); ++i) {
    int const global_row = row + int(get<0>(offsets(i, 0)));
    // Relative to this lane's first column, so that each element compares a constant.
    int const end = end_column<Config::MASK>(global_row, seq_k, diagonal) - column;
    CUTE_UNROLL
    for (int j = 0; j < size<1>(scores); ++j) {
      bool const hidden = int(get<1>(offsets(0, j))) >= end;
      scores(i, j) = hidden ? -INFINITY : scores(i, j);
    }
  }
}

}  // namespace fa2

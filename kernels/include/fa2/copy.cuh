// Every edge on which tiles move: global to shared, shared to register, and back.
//
// A tiled copy and its partitions meet in the logical (row, column) coordinate: the source and the
// target of one copy are partitioned by the same map, whatever their memory layouts.
#pragma once

#include <cute/atom/copy_atom.hpp>

#include "layout.cuh"

namespace fa2 {

// Which rows of a tile may lie outside the tensor.
enum class Rows {
  // None.
  whole,
  // Those from a run-time limit on: they become zeros.
  ragged,
};

// Thread t takes chunk t mod L of row t / L of an atom's columns, L = LANES_PER_ROW.
template <class Config>
using RowThreads = Layout<Shape<Int<Config::ROWS_PER_PASS>, Int<Config::LANES_PER_ROW>>,
                          Stride<Int<Config::LANES_PER_ROW>, Int<1>>>;

// cp.async of 16 bytes past L1; where its predicate is false it reads nothing and writes zeros.
template <class Config>
using G2s = decltype(cute::make_tiled_copy(
    cute::Copy_Atom<cute::SM80_CP_ASYNC_CACHEGLOBAL_ZFILL<cute::uint128_t>,
                    typename Config::Element>{},
    RowThreads<Config>{}, Layout<Shape<Int<1>, Int<CHUNK>>>{}));

// O leaves by the map that Q came in with, in 16-byte stores.
template <class Config>
using S2g = decltype(cute::make_tiled_copy(
    cute::Copy_Atom<cute::UniversalCopy<cute::uint128_t>, typename Config::Element>{},
    RowThreads<Config>{}, Layout<Shape<Int<1>, Int<CHUNK>>>{}));

// ldmatrix.x4 into the operands of a tiled MMA; V's view is transposed, and so is its load.
template <class Mma, class Element>
using S2rQ = decltype(cute::make_tiled_copy_A(
    cute::Copy_Atom<cute::SM75_U32x4_LDSM_N, Element>{}, Mma{}));
template <class Mma, class Element>
using S2rK = decltype(cute::make_tiled_copy_B(
    cute::Copy_Atom<cute::SM75_U32x4_LDSM_N, Element>{}, Mma{}));
template <class Mma, class Element>
using S2rVt = decltype(cute::make_tiled_copy_B(
    cute::Copy_Atom<cute::SM75_U16x8_LDSM_T, Element>{}, Mma{}));

// A C owner has two neighbours of a row, so one 4-byte store each (claim E1).
template <class Mma, class Element>
using R2s = decltype(cute::make_tiled_copy_C(
    cute::Copy_Atom<cute::UniversalCopy<uint32_t>, Element>{}, Mma{}));

// The part of a matrix that exists, seen from a tile's first element.
struct Inside {
  int rows;
  int columns;
};

// Whether one of this thread's chunks exists.
template <Rows ROWS, class Coordinate>
CUTE_DEVICE bool is_inside(Coordinate const& at, Inside const& inside) {
  bool const column = int(cute::get<1>(at)) < inside.columns;
  if constexpr (ROWS == Rows::whole) {
    return column;
  } else {
    return column && int(cute::get<0>(at)) < inside.rows;
  }
}

// Starts the copies of this thread's part of a tile; what is outside becomes zeros. `tq_c` holds
// the (row, column) of each element in the tile.
template <class Config, Rows ROWS, class Gmem, class Smem, class Coordinates>
CUTE_DEVICE void g2s(Gmem const& tq_g, Smem&& tq_s, Coordinates const& tq_c, Inside const& inside) {
  using namespace cute;
  CUTE_UNROLL
  for (int m = 0; m < size<1>(tq_g); ++m) {
    CUTE_UNROLL
    for (int k = 0; k < size<2>(tq_g); ++k) {
      bool const exists = is_inside<ROWS>(tq_c(_0{}, m, k), inside);
      copy(G2s<Config>{}.with(exists), tq_g(_, m, k), tq_s(_, m, k));
    }
  }
}

// Stores this thread's part of a tile, where it exists.
template <class Config, class Smem, class Gmem, class Coordinates>
CUTE_DEVICE void s2g(Smem const& to_s, Gmem&& to_g, Coordinates const& to_c, Inside const& inside) {
  using namespace cute;
  CUTE_UNROLL
  for (int m = 0; m < size<1>(to_g); ++m) {
    CUTE_UNROLL
    for (int k = 0; k < size<2>(to_g); ++k) {
      if (is_inside<Rows::ragged>(to_c(_0{}, m, k), inside)) {
        copy(S2g<Config>{}, to_s(_, m, k), to_g(_, m, k));
      }
    }
  }
}

}  // namespace fa2

// Shared-memory tiles: swizzled column atoms of 128-byte or 64-byte rows.
//
// Sw<3,3,3> spreads one column of 8 rows of 128 bytes over 8 different 16-byte chunks, so that
// cp.async and ldmatrix meet no bank twice; rows of 64 bytes fill the banks in pairs, and Sw<2,3,3>
// permutes their 4 chunks by the pair. Offsets are
//   row ATOM_COLS + (col xor chunk bits of the row) + (col / ATOM_COLS) rows ATOM_COLS.
#pragma once

#include "config.cuh"

namespace fa2 {

// Alignment of the shared memory: a period of the widest swizzle.
inline constexpr int SHARED_ALIGNMENT = 1024;

template <int ATOM_COLS>
using SmemAtom = decltype(cute::composition(
    cute::Swizzle<ATOM_COLS == 64 ? 3 : 2, 3, 3>{},
    Layout<Shape<Int<8>, Int<ATOM_COLS>>, Stride<Int<ATOM_COLS>, Int<1>>>{}));

// (rows, columns) -> element offset.
template <int ROWS, int COLS, int ATOM_COLS>
using SmemTile =
    decltype(cute::tile_to_shape(SmemAtom<ATOM_COLS>{}, Shape<Int<ROWS>, Int<COLS>>{}));

// The same memory seen as (columns, rows): V is transposed by its view only (claim K3).
template <int ROWS, int COLS, int ATOM_COLS>
using SmemTileTransposed = decltype(cute::composition(
    SmemTile<ROWS, COLS, ATOM_COLS>{},
    cute::make_layout(Shape<Int<COLS>, Int<ROWS>>{}, cute::GenRowMajor{})));

template <class Config>
using QTile = SmemTile<Config::BLOCK_M, Config::HEAD_DIM, Config::ATOM_COLS>;
template <class Config>
using KvTile = SmemTile<Config::BLOCK_N, Config::HEAD_DIM, Config::ATOM_COLS>;
template <class Config>
using VtTile = SmemTileTransposed<Config::BLOCK_N, Config::HEAD_DIM, Config::ATOM_COLS>;

// The same value, of which the compiler knows nothing: what is computed from it stays where it is
// written. Address parts kept over the main loop would take the registers that the sums need.
CUTE_DEVICE int64_t opaque(int64_t x) {
  asm volatile("" : "+l"(x));
  return x;
}

// This thread in its CTA, read anew at each call: partitions made from it live where they are made.
CUTE_DEVICE int thread_position() {
  int thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return thread;
}

// A tile at `data`, in shared memory.
template <class TileLayout, class Element>
CUTE_DEVICE auto smem_tile(Element* data) {
  return cute::make_tensor(cute::make_smem_ptr(data), TileLayout{});
}

// An accumulator ((2,2),M,N) of m16n8 atoms as a matrix of the lane's rows and columns.
template <class AccLayout>
CUTE_HOST_DEVICE constexpr auto row_col_layout(AccLayout const& acc) {
  using namespace cute;
  return make_layout(make_layout(get<0, 1>(acc), get<1>(acc)),   // row (c1, m)
                     make_layout(get<0, 0>(acc), get<2>(acc)));  // column (c0, n)
}

template <class Engine, class AccLayout>
CUTE_HOST_DEVICE constexpr auto row_col_view(cute::Tensor<Engine, AccLayout>& acc) {
  return cute::make_tensor(acc.data(), row_col_layout(acc.layout()));
}

}  // namespace fa2

// The maps of the teaching kernel, by the names that the article gives them.
//
// With r = tid / 4, s = tid mod 4 a row copy moves m = r + 32 rm, d = 8 s + v + 32 rd (claim K1),
// and a column copy d = 8 s + v + 32 rd, n = r + 32 rn (claim K3). Shared memory has
// offset(m, d) = 64 m + (d xor ((m mod 8) << 3)) (claim K2).
#pragma once

#include "mma.cuh"

namespace fa2::teaching {

using Element = f16;
inline constexpr int D = 64;
inline constexpr int BM = 64;
inline constexpr int BN = 64;
inline constexpr int THREADS = 128;

// Four warps along M; the tile spans all of S, so that its repeats are the article's.
using Mma = decltype(cute::make_tiled_mma(cute::SM80_16x8x16_F32F16F16F32_TN{},
                                          Layout<Shape<Int<4>, Int<1>, Int<1>>>{},
                                          cute::Tile<Int<BM>, Int<BN>, Int<16>>{}));

// 64 x 64 in shared memory, and the same memory with its modes exchanged.
using TileRow = SmemTile<BN, D, 64>;
using TileCol = SmemTileTransposed<BN, D, 64>;
// A ring of them.
template <int STAGES>
using StagesRow = decltype(cute::composition(
    cute::Swizzle<3, 3, 3>{},
    Layout<Shape<Int<BN>, Int<D>, Int<STAGES>>, Stride<Int<D>, Int<1>, Int<BN * D>>>{}));
template <int STAGES>
using StagesCol = decltype(cute::composition(
    cute::Swizzle<3, 3, 3>{},
    Layout<Shape<Int<D>, Int<BN>, Int<STAGES>>, Stride<Int<1>, Int<D>, Int<BN * D>>>{}));

// Global to shared, by rows for Q and K and by columns of the transposed view for V.
using G2sAtom = cute::Copy_Atom<cute::SM80_CP_ASYNC_CACHEGLOBAL<cute::uint128_t>, Element>;
using RowThreads64 = Layout<Shape<Int<32>, Int<4>>, Stride<Int<4>, Int<1>>>;
using G2sRow = decltype(cute::make_tiled_copy(G2sAtom{}, RowThreads64{},
                                              Layout<Shape<Int<1>, Int<8>>>{}));
using G2sCol =
    decltype(cute::make_tiled_copy(G2sAtom{}, Layout<Shape<Int<4>, Int<32>>>{},
                                   Layout<Shape<Int<8>, Int<1>>>{}));

// Shared to register: the operands of the two products.
using S2rA = S2rQ<Mma, Element>;
using S2rB = S2rK<Mma, Element>;
using S2rBt = S2rVt<Mma, Element>;

// Register to shared to global: O.
using R2sC = R2s<Mma, Element>;
using S2gRow = decltype(cute::make_tiled_copy(
    cute::Copy_Atom<cute::UniversalCopy<cute::uint128_t>, Element>{},
    RowThreads64{}, Layout<Shape<Int<1>, Int<8>>>{}));

}  // namespace fa2::teaching

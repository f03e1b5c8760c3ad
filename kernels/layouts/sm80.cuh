// CuTe's layouts of the kernels for SM80.
#pragma once

#include <fa2/teaching.cuh>

#include "lines.cuh"

namespace sm80 {

using namespace cute;
using namespace lines;

// The types of the teaching kernel.
struct Teaching {
  static constexpr int D = fa2::teaching::D, BM = fa2::teaching::BM, BN = fa2::teaching::BN;
  static constexpr int WARPS = fa2::teaching::THREADS / fa2::WARP;
  static constexpr char const* COPIES = "half-row";
  using Mma = fa2::teaching::Mma;
  using SmemQ = fa2::teaching::TileRow;
  using SmemKv = fa2::teaching::TileRow;
  using SmemVt = fa2::teaching::TileCol;
  using G2s = fa2::teaching::G2sRow;
  using S2rA = fa2::teaching::S2rA;
  using S2rB = fa2::teaching::S2rB;
  using S2rBt = fa2::teaching::S2rBt;
  using R2s = fa2::teaching::R2sC;
  using S2g = fa2::teaching::S2gRow;
};

// The types of a general kernel.
template <class Config>
struct General {
  static constexpr int D = Config::HEAD_DIM, BM = Config::BLOCK_M, BN = Config::BLOCK_N;
  static constexpr int WARPS = Config::WARPS;
  static constexpr char const* COPIES = "whole-row";
  using Element = typename Config::Element;
  using Mma = fa2::TiledMma<Config>;
  using SmemQ = fa2::QTile<Config>;
  using SmemKv = fa2::KvTile<Config>;
  using SmemVt = fa2::VtTile<Config>;
  using G2s = fa2::G2s<Config>;
  using S2rA = fa2::S2rQ<Mma, Element>;
  using S2rB = fa2::S2rK<Mma, Element>;
  using S2rBt = fa2::S2rVt<Mma, Element>;
  using R2s = fa2::R2s<Mma, Element>;
  using S2g = fa2::S2g<Config>;
};

template <class Copy>
int tile_rows() {
  return size(get<0>(typename Copy::Tiler_MN{}));
}

template <class Copy>
int tile_columns() {
  return size(get<1>(typename Copy::Tiler_MN{}));
}

// What a copy reads, of a tile of coordinates.
template <class Copy, class Tile>
void source(char const* name, Tile const& tile) {
  show(name, Copy{}.get_layoutS_TV(), tile_rows<Copy>(), tile_columns<Copy>());
  auto const of = [&](int thread) { return Copy{}.get_slice(thread).partition_S(tile); };
  map(name, int(size(Copy{})), of);
}

// What a copy writes.
template <class Copy, class Tile>
void target(char const* name, Tile const& tile) {
  show(name, Copy{}.get_layoutD_TV(), tile_rows<Copy>(), tile_columns<Copy>());
  auto const of = [&](int thread) { return Copy{}.get_slice(thread).partition_D(tile); };
  map(name, int(size(Copy{})), of);
}

template <class Kernel>
void print_all() {
  constexpr Int<Kernel::D> d{};
  constexpr Int<Kernel::BM> m{};
  constexpr Int<Kernel::BN> n{};
  using Mma = typename Kernel::Mma;
  auto const mma = [](int thread) { return Mma{}.get_slice(thread); };
  auto const md = make_identity_tensor(make_shape(m, d));
  auto const nd = make_identity_tensor(make_shape(n, d));
  auto const dn = make_identity_tensor(make_shape(d, n));
  auto const mn = make_identity_tensor(make_shape(m, n));
  int const threads = size(Mma{});
  printf("sizes %d %d %d %d %s\n", int(d), int(m), int(n), Kernel::WARPS, Kernel::COPIES);

  // Global to shared; the teaching kernel copies V by columns of its transposed view.
  source<typename Kernel::G2s>("g2s_row", md);
  if constexpr (std::is_same_v<Kernel, Teaching>) {
    source<fa2::teaching::G2sCol>("g2s_col", dn);
  }
  offsets("smem_q", typename Kernel::SmemQ{});
  offsets("smem_kv", typename Kernel::SmemKv{});
  offsets("smem_vt", typename Kernel::SmemVt{});

  // Shared to register: what a lane addresses, and what its registers hold afterwards.
  source<typename Kernel::S2rA>("s2r_a_source", md);
  target<typename Kernel::S2rA>("s2r_a", md);
  source<typename Kernel::S2rB>("s2r_b_source", nd);
  target<typename Kernel::S2rB>("s2r_b", nd);
  source<typename Kernel::S2rBt>("s2r_bt_source", dn);
  target<typename Kernel::S2rBt>("s2r_bt", dn);

  // The operands and the sum of S = Q K^T.
  int const tile_m = tile_size<0>(Mma{});
  int const tile_n = tile_size<1>(Mma{});
  int const tile_k = tile_size<2>(Mma{});
  show("mma_a", Mma{}.get_layoutA_TV(), tile_m, tile_k);
  show("mma_b", Mma{}.get_layoutB_TV(), tile_n, tile_k);
  show("mma_c", Mma{}.get_layoutC_TV(), tile_m, tile_n);
  map("mma_a", threads, [&](int thread) { return mma(thread).partition_A(md); });
  map("mma_b", threads, [&](int thread) { return mma(thread).partition_B(nd); });
  map("mma_c", threads, [&](int thread) { return mma(thread).partition_C(mn); });

  // Register numbers, and P's from C to A.
  auto const c = partition_fragment_C(Mma{}, make_shape(m, n)).layout();
  registers("fragment_a", make_layout(partition_shape_A(Mma{}, make_shape(m, d))));
  registers("fragment_b", make_layout(partition_shape_B(Mma{}, make_shape(n, d))));
  registers("fragment_c", c);
  registers("c_to_a", c.compose(fa2::c_to_a_layout<Mma, Kernel::BM, Kernel::BN>()));

  // The epilogue.
  target<typename Kernel::R2s>("r2s", md);
  target<typename Kernel::S2g>("s2g", md);
}

}  // namespace sm80

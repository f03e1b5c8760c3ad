// CuTe's layouts of kernels for SM90: wgmma's registers, the tiles it reads, and their descriptors.
#pragma once

#include "lines.cuh"

namespace sm90 {

using namespace cute;
using namespace lines;

using Element = half_t;

// Where descriptors point to: its address is 0 in shared memory.
alignas(1024) static Element storage[227 * 1024 / sizeof(Element)];

// The two products, for warpgroups along M.
template <int D_, int BM_, int BN_, int WARPGROUPS_>
struct Kernel {
  static constexpr int D = D_, BM = BM_, BN = BN_, WARPGROUPS = WARPGROUPS_;
  static constexpr bool WIDE = D % 64 == 0;
  static constexpr auto K = GMMA::Major::K, MN = GMMA::Major::MN;

  using Groups = Layout<Shape<Int<WARPGROUPS>, _1, _1>>;
  using QkTile = Shape<Int<BM>, Int<BN>, Int<D>>;
  using PvTile = Shape<Int<BM>, Int<D>, Int<BN>>;
  // S = Q K^T, both operands in shared memory; O = P V, P in registers.
  using Qk = decltype(make_tiled_mma(
      GMMA::ss_op_selector<Element, Element, float, QkTile, K, K>(), Groups{}));
  using Pv = decltype(make_tiled_mma(
      GMMA::rs_op_selector<Element, Element, float, PvTile, K, MN>(), Groups{}));

  using AtomK = std::conditional_t<WIDE, GMMA::Layout_K_SW128_Atom<Element>,
                                   GMMA::Layout_K_SW64_Atom<Element>>;
  using AtomMn = std::conditional_t<WIDE, GMMA::Layout_MN_SW128_Atom<Element>,
                                    GMMA::Layout_MN_SW64_Atom<Element>>;
  using SmemQ = decltype(tile_to_shape(AtomK{}, Shape<Int<BM>, Int<D>>{}));
  using SmemK = decltype(tile_to_shape(AtomK{}, Shape<Int<BN>, Int<D>>{}));
  // Rows first, as a copy of boxes of rows leaves them.
  using SmemVt = decltype(tile_to_shape(AtomMn{}, Shape<Int<D>, Int<BN>>{}, Step<_2, _1>{}));
};

// A tile's offsets in elements, whatever its address.
template <class Smem>
void elements(char const* name, Smem const& smem) {
  offsets(name, as_position_independent_swizzle_layout(smem));
}

// One line an instruction of each warpgroup, which take neighbouring rows; `fragment` takes a
// warpgroup.
template <class Fragment>
void descriptors(char const* name, int warpgroups, Fragment const& fragment) {
  show(name, fragment(0).layout());
  for (int warpgroup = 0; warpgroup < warpgroups; ++warpgroup) {
    auto const of = fragment(warpgroup);
    for (int repeat = 0; repeat < int(size<1>(of)); ++repeat) {
      for (int kappa = 0; kappa < int(size<2>(of)); ++kappa) {
        uint64_t const word = of(_0{}, repeat, kappa);
        int const mu = warpgroup + warpgroups * repeat;
        printf("descriptor %s %d %d %llu\n", name, mu, kappa, (unsigned long long)word);
      }
    }
  }
}

template <class Kernel>
void print_all() {
  constexpr Int<Kernel::D> d{};
  constexpr Int<Kernel::BM> m{};
  constexpr Int<Kernel::BN> n{};
  using Qk = typename Kernel::Qk;
  using Pv = typename Kernel::Pv;
  auto const mn = make_identity_tensor(make_shape(m, n));
  int const threads = size(Qk{});
  printf("sizes %d %d %d %d bulk\n", int(d), int(m), int(n), 4 * Kernel::WARPGROUPS);

  elements("smem_q", typename Kernel::SmemQ{});
  elements("smem_kv", typename Kernel::SmemK{});
  elements("smem_vt", typename Kernel::SmemVt{});

  auto const sq = make_tensor(make_smem_ptr(storage), typename Kernel::SmemQ{});
  auto const sk = make_tensor(make_smem_ptr(storage), typename Kernel::SmemK{});
  auto const svt = make_tensor(make_smem_ptr(storage), typename Kernel::SmemVt{});
  auto const qk = [](int warpgroup) { return Qk{}.get_slice(128 * warpgroup); };
  auto const pv = [](int warpgroup) { return Pv{}.get_slice(128 * warpgroup); };
  descriptors("descriptor_q", Kernel::WARPGROUPS, [&](int warpgroup) {
    return qk(warpgroup).make_fragment_A(qk(warpgroup).partition_A(sq));
  });
  descriptors("descriptor_k", 1, [&](int warpgroup) {
    return qk(warpgroup).make_fragment_B(qk(warpgroup).partition_B(sk));
  });
  descriptors("descriptor_vt", 1, [&](int warpgroup) {
    return pv(warpgroup).make_fragment_B(pv(warpgroup).partition_B(svt));
  });

  show("wgmma_c", Qk{}.get_layoutC_TV(), tile_size<0>(Qk{}), tile_size<1>(Qk{}));
  map("wgmma_c", threads, [&](int thread) { return Qk{}.get_slice(thread).partition_C(mn); });
  show("wgmma_a", Pv{}.get_layoutA_TV(), tile_size<0>(Pv{}), tile_size<2>(Pv{}));
  map("wgmma_a", threads, [&](int thread) { return Pv{}.get_slice(thread).partition_A(mn); });

  auto const numbers =
      make_tensor(counting_iterator<int>{0}, Layout<Shape<decltype(m), decltype(n)>>{});
  auto const as_c = Qk{}.get_slice(_0{}).partition_C(numbers).layout();
  auto const as_a = Pv{}.get_slice(_0{}).partition_A(numbers).layout();
  auto const c = partition_fragment_C(Qk{}, make_shape(m, n)).layout();
  registers("wgmma_c_to_a", c.compose(left_inverse(as_c).compose(as_a)));
}

}  // namespace sm90

// The address in shared memory of a pointer into the storage.
inline std::size_t __cvta_generic_to_shared(void const* pointer) {
  return static_cast<char const*>(pointer) - reinterpret_cast<char const*>(sm90::storage);
}

// Prints CuTe's own layouts of the teaching kernel, on the host: no GPU is needed.
//
// Lines that people read:     layout NAME SHAPE:STRIDE
// Lines that a test reads:    map NAME thread value row column     who owns a coordinate
//                             offset NAME row column element       where it is in shared memory
//                             register NAME value slot             which register a view's value is
// A map's value counts through the modes of the thread's partition, first mode fastest.
//
// The host's compiler is enough, with CuTe's and CUDA's headers:
//   g++ -x c++ -std=c++17 -w -I include -I $CUTLASS_DIR/include -I $CUDA_HOME/include \
//     -I $CUDA_HOME/include/cccl layouts/print.cu -o print
#include <cstdio>

#include <fa2/teaching.cuh>

namespace {

using namespace cute;
using namespace fa2::teaching;

template <class Printed>
void show(char const* name, Printed const& layout) {
  printf("layout %s ", name);
  print(layout);
  printf("\n");
}

// One line a coordinate of each thread's partition; `partition` takes a thread.
template <class Partition>
void map(char const* name, Partition const& partition) {
  for (int thread = 0; thread < THREADS; ++thread) {
    auto coordinates = partition(thread);
    for (int value = 0; value < int(size(coordinates)); ++value) {
      auto at = coordinates(value);
      printf("map %s %d %d %d %d\n", name, thread, value, int(get<0>(at)), int(get<1>(at)));
    }
  }
}

template <class Tile>
void offsets(char const* name, Tile const& tile) {
  for (int row = 0; row < int(size<0>(tile)); ++row) {
    for (int column = 0; column < int(size<1>(tile)); ++column) {
      printf("offset %s %d %d %d\n", name, row, column, int(tile(row, column)));
    }
  }
}

}  // namespace

int main() {
  // Every tile is 64 x 64; its coordinates are (m,d), (n,d), (d,n), (m,n) or (m,k).
  auto const tile = make_identity_tensor(Shape<Int<64>, Int<64>>{});
  auto const mma = [](int thread) { return Mma{}.get_slice(thread); };

  // Global to shared.
  show("g2s_row", G2sRow{}.get_layoutS_TV());
  show("g2s_row_tile", typename G2sRow::Tiler_MN{});
  show("g2s_col", G2sCol{}.get_layoutS_TV());
  map("g2s_row", [&](int thread) { return G2sRow{}.get_slice(thread).partition_S(tile); });
  map("g2s_col", [&](int thread) { return G2sCol{}.get_slice(thread).partition_S(tile); });

  // Shared memory.
  show("smem_row", TileRow{});
  show("smem_col", TileCol{});
  offsets("smem_row", TileRow{});
  offsets("smem_col", TileCol{});

  // The operands and sums of the products.
  show("mma_a", Mma{}.get_layoutA_TV());
  show("mma_b", Mma{}.get_layoutB_TV());
  show("mma_c", Mma{}.get_layoutC_TV());
  map("mma_a", [&](int thread) { return mma(thread).partition_A(tile); });
  map("mma_b", [&](int thread) { return mma(thread).partition_B(tile); });
  map("mma_c", [&](int thread) { return mma(thread).partition_C(tile); });

  // Shared to register: what a lane addresses, and what its registers hold afterwards.
  show("s2r_a_source", S2rA{}.get_layoutS_TV());
  show("s2r_a", S2rA{}.get_layoutD_TV());
  show("s2r_b_source", S2rB{}.get_layoutS_TV());
  show("s2r_b", S2rB{}.get_layoutD_TV());
  show("s2r_bt_source", S2rBt{}.get_layoutS_TV());
  show("s2r_bt", S2rBt{}.get_layoutD_TV());
  map("s2r_a_source", [&](int thread) { return S2rA{}.get_slice(thread).partition_S(tile); });
  map("s2r_a", [&](int thread) { return S2rA{}.get_slice(thread).partition_D(tile); });
  map("s2r_b_source", [&](int thread) { return S2rB{}.get_slice(thread).partition_S(tile); });
  map("s2r_b", [&](int thread) { return S2rB{}.get_slice(thread).partition_D(tile); });
  map("s2r_bt_source", [&](int thread) { return S2rBt{}.get_slice(thread).partition_S(tile); });
  map("s2r_bt", [&](int thread) { return S2rBt{}.get_slice(thread).partition_D(tile); });

  // Fragments, and P from C to A.
  auto const c = partition_fragment_C(Mma{}, Shape<Int<BM>, Int<BN>>{});
  auto const c_to_a = fa2::c_to_a_layout<Mma, BM, BN>();
  show("fragment_a", make_layout(partition_shape_A(Mma{}, Shape<Int<BM>, Int<D>>{})));
  show("fragment_b", make_layout(partition_shape_B(Mma{}, Shape<Int<BN>, Int<D>>{})));
  show("fragment_c", c.layout());
  show("c_to_a", c.layout().compose(c_to_a));
  for (int value = 0; value < int(size(c_to_a)); ++value) {
    printf("register c_to_a %d %d\n", value, int(c.layout()(c_to_a(value))));
  }

  // The epilogue.
  show("r2s", R2sC{}.get_layoutD_TV());
  show("s2g", S2gRow{}.get_layoutD_TV());
  map("r2s", [&](int thread) { return R2sC{}.get_slice(thread).partition_D(tile); });
  map("s2g", [&](int thread) { return S2gRow{}.get_slice(thread).partition_D(tile); });
  return 0;
}

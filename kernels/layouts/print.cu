// Prints CuTe's own layouts of the kernels, on the host: no GPU is needed.
//
//   sizes D BM BN warps copies          begins a kernel; copies: half-row, whole-row or bulk
//   layout NAME SHAPE:STRIDE            (thread, value) -> row + rows column in the tile of one
//                                       step, (row, column) -> element, value -> register, or
//                                       (0, repeat, step) -> start of a wgmma in 16 bytes
//   tile NAME rows columns              the tile of one step, where NAME has threads and values
//   map NAME thread value row column    who owns a coordinate of the whole tile
//   offset NAME row column element      where it is in shared memory
//   register NAME value register        which register a view's value is
//   descriptor NAME mu kappa word       what a wgmma is told of an operand, its tile at address 0
// A map's value counts through the modes of the thread's partition, first mode fastest. The names
// are those of `cargo xtask layout`, and tests/layouts compares every line with it.
//
// The host's compiler is enough, with CuTe's and CUDA's headers:
//   g++ -x c++ -std=c++17 -w -I include -I $CUTLASS_DIR/include -I $CUDA_HOME/include \
//     -I $CUDA_HOME/include/cccl layouts/print.cu -o print

// On the host there is no shared memory: what CuTe makes of a pointer to a tile.
#include <cstddef>
inline std::size_t __cvta_generic_to_shared(void const* tile);
#define CUTE_CVTA_GENERIC_TO_SHARED_ACTIVATED 1
// wgmma with every number of columns.
#define CUTE_SM90_EXTENDED_MMA_SHAPES_ENABLED

#include "sm80.cuh"
#include "sm90.cuh"

int main() {
  using fa2::FwdConfig;
  using fa2::MaskKind;
  {
    using namespace sm80;
    print_all<Teaching>();
    // Rows of 64 bytes, and two 16-row tiles a warp.
    print_all<General<FwdConfig<fa2::f16, 96, MaskKind::none, 128, 64, 4, 1>>>();
    // Two atoms of 128-byte rows side by side, and K/V tiles smaller than Q's.
    print_all<General<FwdConfig<fa2::f16, 128, MaskKind::none, 64, 32, 4, 1>>>();
  }
  {
    using namespace sm90;
    print_all<Kernel<64, 64, 64, 1>>();
    // Two and four atoms side by side, and widths that are no power of two.
    print_all<Kernel<128, 128, 176, 2>>();
    print_all<Kernel<256, 128, 80, 2>>();
    // Rows of 64 bytes, three atoms of them, for three warpgroups; and one step of V.
    print_all<Kernel<96, 192, 128, 3>>();
    print_all<Kernel<32, 64, 16, 1>>();
  }
  return 0;
}

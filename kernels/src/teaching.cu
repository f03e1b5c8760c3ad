// The teaching kernel: FlashAttention-2 at one fixed size, so that every map can be written down.
//
// D = 64, BM = BN = 64, 128 threads = 4 warps along M, f16 in, f32 sums, 2 or 3 stages, any number
// of whole blocks; Q, K, V and O are contiguous [heads, seq, 64]. docs/claims.md names the facts.
#include <fa2/mask.cuh>
#include <fa2/params.cuh>
#include <fa2/softmax.cuh>
#include <fa2/teaching.cuh>

namespace fa2::teaching {

// scale log2(e) with scale = 1 / sqrt(D) = 1 / 8.
constexpr float SCALE_LOG2 = 0.125f * 1.44269504088896340736f;

// Row maximum, row sum and O on one exponent base, which moves with every block.
struct Softmax {
  float row_max[2] = {-INFINITY, -INFINITY};
  float row_sum[2] = {0.0f, 0.0f};

  // Takes a block: the scores become P, and O is on P's base afterwards.
  template <class AccS, class AccO>
  CUTE_DEVICE void step(AccS& acc_s, AccO& acc_o) {
    auto scores = row_col_view(acc_s);  // (2,16)
    auto output = row_col_view(acc_o);  // (2,16)
    float highest[2];
    block_max(scores, highest);
    CUTE_UNROLL
    for (int i = 0; i < 2; ++i) {
      // max(c x) = c max(x) for c > 0: the scale is applied after the maximum (claim S2). Every
      // row sees a key of every visited block, so the maximum is finite.
      float const new_max = fmaxf(row_max[i], quad_max(highest[i]));
      float const rescale = exp2_approx((row_max[i] - new_max) * SCALE_LOG2);
      float const base = new_max * SCALE_LOG2;
      row_max[i] = new_max;
      float sum = 0.0f;
      CUTE_UNROLL
      for (int j = 0; j < cute::size<1>(scores); ++j) {
        scores(i, j) = exp2_approx(fmaf(scores(i, j), SCALE_LOG2, -base));
        sum += scores(i, j);
      }
      row_sum[i] = row_sum[i] * rescale + sum;
      CUTE_UNROLL
      for (int j = 0; j < cute::size<1>(output); ++j) {
        output(i, j) *= rescale;
      }
    }
  }
};

template <MaskKind MASK, int STAGES>
CUTE_DEVICE void forward(TeachingParams const& params, Element* shared) {
  using namespace cute;
  int const thread = threadIdx.x;
  int const seq = params.seq;
  int const m_blocks = seq / BM;
  int const head = blockIdx.x / m_blocks;
  // The last rows first: under a causal mask they take longest.
  int const m_block = m_blocks - 1 - int(blockIdx.x) % m_blocks;
  int const tiles = MASK == MaskKind::causal ? m_block + 1 : m_blocks;
  int64_t const head_offset = int64_t(head) * seq * D;

  // Storage: the tensors of this head, their blocks, and the tiles in shared memory.
  auto const matrix = make_layout(make_shape(seq, Int<D>{}), make_stride(Int<D>{}, _1{}));
  auto const transposed = make_layout(make_shape(Int<D>{}, seq), make_stride(_1{}, Int<D>{}));
  auto const in = [&](void const* p) {
    return make_gmem_ptr(static_cast<Element const*>(p) + head_offset);
  };
  auto mq = make_tensor(in(params.q), matrix);       // (seq,D)
  auto mk = make_tensor(in(params.k), matrix);       // (seq,D)
  auto mvt = make_tensor(in(params.v), transposed);  // (D,seq): the same addresses (claim K3)
  auto mo = make_tensor(make_gmem_ptr(static_cast<Element*>(params.o) + head_offset), matrix);
  auto gq = local_tile(mq, Shape<Int<BM>, Int<D>>{}, make_coord(m_block, 0));   // (BM,D)
  auto gk = local_tile(mk, Shape<Int<BN>, Int<D>>{}, make_coord(_, 0));         // (BN,D,tiles)
  auto gvt = local_tile(mvt, Shape<Int<D>, Int<BN>>{}, make_coord(0, _));       // (D,BN,tiles)
  auto go = local_tile(mo, Shape<Int<BM>, Int<D>>{}, make_coord(m_block, 0));   // (BM,D)
  Element* const k_stages = shared + BM * D;
  Element* const v_stages = k_stages + STAGES * BN * D;
  auto sq = make_tensor(make_smem_ptr(shared), TileRow{});                      // (BM,D)
  auto sk = make_tensor(make_smem_ptr(k_stages), StagesRow<STAGES>{});          // (BN,D,STAGES)
  auto svt = make_tensor(make_smem_ptr(v_stages), StagesCol<STAGES>{});         // (D,BN,STAGES)

  // Partitions of the copies from global memory.
  auto thr_row = G2sRow{}.get_slice(thread);
  auto thr_col = G2sCol{}.get_slice(thread);
  auto tq_gq = thr_row.partition_S(gq);    // (CPY,CPY_M,CPY_K)
  auto tq_sq = thr_row.partition_D(sq);    // (CPY,CPY_M,CPY_K)
  auto tk_gk = thr_row.partition_S(gk);    // (CPY,CPY_N,CPY_K,tiles)
  auto tk_sk = thr_row.partition_D(sk);    // (CPY,CPY_N,CPY_K,STAGES)
  auto tv_gvt = thr_col.partition_S(gvt);  // (CPY,CPY_N,CPY_K,tiles)
  auto tv_svt = thr_col.partition_D(svt);  // (CPY,CPY_N,CPY_K,STAGES)

  // Fragments, and the same registers in the order of ldmatrix.
  auto thr_mma = Mma{}.get_slice(thread);
  auto ts_rq = thr_mma.partition_fragment_A(gq);           // (8,1,4)
  auto ts_rk = thr_mma.partition_fragment_B(gk(_, _, 0));  // (4,8,4)
  auto to_rvt = make_tensor<Element>(
      partition_shape_B(Mma{}, Shape<Int<D>, Int<BN>>{}));             // (4,8,4)
  auto acc_o = partition_fragment_C(Mma{}, Shape<Int<BM>, Int<D>>{});  // (4,1,8)
  auto thr_a = S2rA{}.get_slice(thread);
  auto thr_b = S2rB{}.get_slice(thread);
  auto thr_bt = S2rBt{}.get_slice(thread);
  auto ts_sq = thr_a.partition_S(sq);       // (CPY,CPY_M,CPY_K)
  auto ts_rq_copy = thr_a.retile_D(ts_rq);  // (CPY,CPY_M,CPY_K)
  auto ts_sk = thr_b.partition_S(sk);       // (CPY,CPY_N,CPY_K,STAGES)
  auto ts_rk_copy = thr_b.retile_D(ts_rk);  // (CPY,CPY_N,CPY_K)
  auto to_svt = thr_bt.partition_S(svt);        // (CPY,CPY_N,CPY_K,STAGES)
  auto to_rvt_copy = thr_bt.retile_D(to_rvt);   // (CPY,CPY_N,CPY_K)

  auto const prefetch = [&](int tile) {
    int const stage = tile % STAGES;
    copy(G2sRow{}, tk_gk(_, _, _, tile), tk_sk(_, _, _, stage));
    copy(G2sCol{}, tv_gvt(_, _, _, tile), tv_svt(_, _, _, stage));
    cp_async_fence();
  };

  // Prologue: min(tiles, STAGES - 1) blocks; Q joins the first group.
  copy(G2sRow{}, tq_gq, tq_sq);
  CUTE_UNROLL
  for (int tile = 0; tile < STAGES - 1; ++tile) {
    if (tile < tiles) {
      prefetch(tile);
    }
  }

  clear(acc_o);
  Softmax softmax;
  CUTE_NO_UNROLL
  for (int tile = 0; tile < tiles; ++tile) {
    int const stage = tile % STAGES;
    // In the tail nothing is committed any more, so the wait drains (claim P2).
    if (tile + STAGES - 1 <= tiles) {
      cp_async_wait<STAGES - 2>();
    } else {
      cp_async_wait<0>();
    }
    // Orders: copies of this block by all threads < its reads; reads of the block before < the
    // refill of its stage below.
    __syncthreads();
    if (tile + STAGES - 1 < tiles) {
      prefetch(tile + STAGES - 1);
    }
    if (tile == 0) {
      copy(S2rA{}, ts_sq, ts_rq_copy);
    }

    auto acc_s = partition_fragment_C(Mma{}, Shape<Int<BM>, Int<BN>>{});  // (4,1,8)
    clear(acc_s);
    copy(S2rB{}, ts_sk(_, _, _, stage), ts_rk_copy);
    gemm(Mma{}, ts_rq, ts_rk, acc_s);
    if (MASK == MaskKind::causal && tile == m_block) {
      auto at = thr_mma.partition_C(make_identity_tensor(Shape<Int<BM>, Int<BN>>{}));  // (4,1,8)
      CUTE_UNROLL
      for (int i = 0; i < size(acc_s); ++i) {
        acc_s(i) = get<1>(at(i)) > get<0>(at(i)) ? -INFINITY : acc_s(i);
      }
    }
    softmax.step(acc_s, acc_o);

    // P is rounded into new registers; from C to A only its view changes (claim L8).
    auto p_as_c = rounded<Element>(acc_s);            // ((2,2),1,8)
    auto to_rp = c_to_a<Mma, BM, BN>(p_as_c);         // ((2,2,2),1,4)
    copy(S2rBt{}, to_svt(_, _, _, stage), to_rvt_copy);
    gemm(Mma{}, to_rp, to_rvt, acc_o);
  }

  // Epilogue: normalise; through Q's tile into 16-byte stores (claim E1).
  auto output = row_col_view(acc_o);  // (2,16)
  CUTE_UNROLL
  for (int i = 0; i < 2; ++i) {
    float const inverse = reciprocal_approx(quad_sum(softmax.row_sum[i]));
    CUTE_UNROLL
    for (int j = 0; j < size<1>(output); ++j) {
      output(i, j) *= inverse;
    }
  }
  auto ro = rounded<Element>(acc_o);                   // ((2,2),1,8)
  auto thr_r2s = R2sC{}.get_slice(thread);
  auto to_ro = thr_r2s.retile_S(ro);                   // (CPY,CPY_M,CPY_N)
  auto to_so = thr_r2s.partition_D(sq);                // (CPY,CPY_M,CPY_N)
  // Orders: this warp's reads of its rows of Q < its stores of O over them. With one block no barrier
  // lies between, and no other warp reads them.
  __syncwarp();
  copy(R2sC{}, to_ro, to_so);
  // Orders: all warps' stores of O into Q's tile < the row-wise loads below.
  __syncthreads();
  auto thr_s2g = S2gRow{}.get_slice(thread);
  auto to_so_row = thr_s2g.partition_S(sq);  // (CPY,CPY_M,CPY_K)
  auto to_go_row = thr_s2g.partition_D(go);  // (CPY,CPY_M,CPY_K)
  copy(S2gRow{}, to_so_row, to_go_row);
}

}  // namespace fa2::teaching

// The build script reads these lines: FA2_TEACHING(name, mask, stages).
#define FA2_TEACHING(NAME, MASK, STAGES)                                                           \
  extern "C" __global__ void __launch_bounds__(fa2::teaching::THREADS)                             \
      NAME(const __grid_constant__ fa2::TeachingParams params) {                                   \
    extern __shared__ __align__(fa2::SHARED_ALIGNMENT) unsigned char fa2_shared[];                 \
    fa2::teaching::forward<fa2::MaskKind::MASK, STAGES>(                                           \
        params, reinterpret_cast<fa2::teaching::Element*>(fa2_shared));                            \
  }

FA2_TEACHING(fa2_teaching_none_2, none, 2)
FA2_TEACHING(fa2_teaching_none_3, none, 3)
FA2_TEACHING(fa2_teaching_causal_2, causal, 2)
FA2_TEACHING(fa2_teaching_causal_3, causal, 3)

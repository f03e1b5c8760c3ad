// The general kernels of bf16, head_dim 256.
#include <fa2/forward.cuh>

FA2_FORWARD(fa2_fwd_bf16_d256_none, bf16, 256, none, 64, 64, 4, 1)
FA2_FORWARD(fa2_fwd_bf16_d256_causal, bf16, 256, causal, 64, 64, 4, 1)

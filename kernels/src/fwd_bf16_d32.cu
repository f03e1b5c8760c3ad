// The general kernels of bf16, head_dim 32.
#include <fa2/forward.cuh>

FA2_FORWARD(fa2_fwd_bf16_d32_none, bf16, 32, none, 128, 128, 4, 2)
FA2_FORWARD(fa2_fwd_bf16_d32_causal, bf16, 32, causal, 128, 128, 4, 2)

// The general kernels of bf16, head_dim 64.
#include <fa2/forward.cuh>

FA2_FORWARD(fa2_fwd_bf16_d64_none, bf16, 64, none, 128, 112, 4, 2)
FA2_FORWARD(fa2_fwd_bf16_d64_causal, bf16, 64, causal, 128, 112, 4, 2)
FA2_FORWARD(fa2_fwd_bf16_d64_none_small, bf16, 64, none, 128, 96, 4, 1)
FA2_FORWARD(fa2_fwd_bf16_d64_causal_small, bf16, 64, causal, 128, 96, 4, 1)

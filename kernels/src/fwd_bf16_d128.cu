// The general kernels of bf16, head_dim 128.
#include <fa2/forward.cuh>

FA2_FORWARD(fa2_fwd_bf16_d128_none, bf16, 128, none, 128, 48, 4, 2)
FA2_FORWARD(fa2_fwd_bf16_d128_causal, bf16, 128, causal, 128, 48, 4, 2)
FA2_FORWARD(fa2_fwd_bf16_d128_none_small, bf16, 128, none, 128, 32, 4, 1)
FA2_FORWARD(fa2_fwd_bf16_d128_causal_small, bf16, 128, causal, 128, 32, 4, 1)

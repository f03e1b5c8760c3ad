// The general kernels of bf16, head_dim 96.
#include <fa2/forward.cuh>

FA2_FORWARD(fa2_fwd_bf16_d96_none, bf16, 96, none, 128, 64, 4, 2)
FA2_FORWARD(fa2_fwd_bf16_d96_causal, bf16, 96, causal, 128, 64, 4, 2)
FA2_FORWARD(fa2_fwd_bf16_d96_none_small, bf16, 96, none, 128, 64, 4, 1)
FA2_FORWARD(fa2_fwd_bf16_d96_causal_small, bf16, 96, causal, 128, 64, 4, 1)

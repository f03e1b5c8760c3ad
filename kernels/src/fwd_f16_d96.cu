// The general kernels of f16, head_dim 96.
#include <fa2/forward.cuh>

FA2_FORWARD(fa2_fwd_f16_d96_none, f16, 96, none, 128, 64, 4, 2)
FA2_FORWARD(fa2_fwd_f16_d96_causal, f16, 96, causal, 128, 64, 4, 2)
FA2_FORWARD(fa2_fwd_f16_d96_none_small, f16, 96, none, 128, 64, 4, 1)
FA2_FORWARD(fa2_fwd_f16_d96_causal_small, f16, 96, causal, 128, 64, 4, 1)

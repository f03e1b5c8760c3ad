// The general kernels of f16, head_dim 64.
#include <fa2/forward.cuh>

FA2_FORWARD(fa2_fwd_f16_d64_none, f16, 64, none, 128, 112, 4, 2)
FA2_FORWARD(fa2_fwd_f16_d64_causal, f16, 64, causal, 128, 112, 4, 2)
FA2_FORWARD(fa2_fwd_f16_d64_none_small, f16, 64, none, 128, 96, 4, 1)
FA2_FORWARD(fa2_fwd_f16_d64_causal_small, f16, 64, causal, 128, 96, 4, 1)

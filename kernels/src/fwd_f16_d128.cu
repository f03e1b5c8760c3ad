// The general kernels of f16, head_dim 128.
#include <fa2/forward.cuh>

FA2_FORWARD(fa2_fwd_f16_d128_none, f16, 128, none, 128, 48, 4, 2)
FA2_FORWARD(fa2_fwd_f16_d128_causal, f16, 128, causal, 128, 48, 4, 2)
FA2_FORWARD(fa2_fwd_f16_d128_none_small, f16, 128, none, 128, 32, 4, 1)
FA2_FORWARD(fa2_fwd_f16_d128_causal_small, f16, 128, causal, 128, 32, 4, 1)

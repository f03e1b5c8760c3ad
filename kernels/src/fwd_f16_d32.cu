// The general kernels of f16, head_dim 32.
#include <fa2/forward.cuh>

FA2_FORWARD(fa2_fwd_f16_d32_none, f16, 32, none, 128, 128, 4, 2)
FA2_FORWARD(fa2_fwd_f16_d32_causal, f16, 32, causal, 128, 128, 4, 2)

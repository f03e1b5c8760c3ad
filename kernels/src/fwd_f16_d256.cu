// The general kernels of f16, head_dim 256.
#include <fa2/forward.cuh>

FA2_FORWARD(fa2_fwd_f16_d256_none, f16, 256, none, 64, 64, 4, 1)
FA2_FORWARD(fa2_fwd_f16_d256_causal, f16, 256, causal, 64, 64, 4, 1)

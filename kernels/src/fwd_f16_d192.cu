// The general kernels of f16, head_dim 192.
#include <fa2/forward.cuh>

FA2_FORWARD(fa2_fwd_f16_d192_none, f16, 192, none, 64, 64, 4, 1)
FA2_FORWARD(fa2_fwd_f16_d192_causal, f16, 192, causal, 64, 64, 4, 1)
FA2_FORWARD(fa2_fwd_f16_d192_none_small, f16, 192, none, 64, 32, 4, 1)
FA2_FORWARD(fa2_fwd_f16_d192_causal_small, f16, 192, causal, 64, 32, 4, 1)

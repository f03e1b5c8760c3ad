"""FlashAttention-4 as functions: the CuTe DSL kernels of the package flash-attn-4, compiled at the first call.

The public function would have autograd queue the backward pass on the stream of the forward pass, which no CUDA graph
can hold. These are the two functions beneath it, in flash_attn/cute/interface.py of version 4.0.0b36.
"""

import functools

PACKAGE = "flash-attn-4"
INSTALL = f'python3 -m pip install --pre "{PACKAGE}[cu13]"'


@functools.cache
def interface():
    """The package's functions. It takes seconds to import."""
    import flash_attn.cute.interface

    return flash_attn.cute.interface


def forward(causal, q, k, v):
    """The output and the log-sum-exp, from tensors stored [B, S, H, D]."""
    return interface()._flash_attn_fwd(q, k, v, causal=causal, return_lse=True)[:2]


def attention_call(_torch, _path, causal):
    """The function of (q, k, v), each seen as [B, H, S, D] and stored [B, S, H, D], as is what it gives."""
    return lambda q, k, v: forward(causal, *(x.transpose(1, 2) for x in (q, k, v)))[0].transpose(1, 2)


def backward_call(_torch, _path, causal, q, k, v, grad):
    """The function of nothing that computes dq, dk, dv on these inputs; the forward pass runs here, once."""
    # `grad` is stored as `q` is.
    q, k, v, grad = (x.transpose(1, 2) for x in (q, k, v, grad))
    out, lse = forward(causal, q, k, v)

    def backward():
        gradients = interface()._flash_attn_bwd(q, k, v, out, grad, lse, causal=causal)
        return [x.transpose(1, 2) for x in gradients]

    return backward

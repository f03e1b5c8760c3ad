"""FlashAttention-3 as functions: Dao-AILab's kernels for Hopper, as the package dew-flash-attn-cu13 builds them.

The package is made for JAX, but its library is not: it holds handlers of XLA's interface, which `xla_ffi` calls. Their
arguments and results are those that the package's own dew_flash_attn/__init__.py gives, in version 0.3.6.
"""

import ctypes
import functools
import importlib.util
import math
import pathlib

import xla_ffi

PACKAGE = "dew-flash-attn-cu13"
# JAX, which the package asks for, is not needed here.
INSTALL = f"python3 -m pip install --no-deps {PACKAGE}==0.3.6"
# Rows that the backward pass's scratch is rounded up to, in each sequence and once more.
SCRATCH_ROWS = 128


@functools.cache
def library():
    """The package's library of FlashAttention-3. Importing the package would import JAX."""
    package = importlib.util.find_spec("dew_flash_attn")
    return ctypes.CDLL(pathlib.Path(package.origin).with_name("libdew_flash_attn3.so"))


@functools.cache
def runtime(torch):
    """What answers the library's questions."""
    if torch.cuda.get_device_capability()[0] != 9:
        raise RuntimeError("FlashAttention-3's kernels are for compute capability 9.0")
    return xla_ffi.Runtime(torch)


def call(torch, name, arguments, results, causal):
    """Queues one of the library's handlers on tensors stored [B, S, H, D]."""
    scale = 1 / math.sqrt(arguments[0].shape[-1])
    attributes = {"is_causal": causal, "softmax_scale": scale, "window_size_left": -1, "window_size_right": -1}
    runtime(torch).call(xla_ffi.handler(library(), name), arguments, results, attributes)


def forward(torch, causal, q, k, v):
    """The output and the log-sum-exp, from tensors stored [B, S, H, D]."""
    batch, rows, heads, _ = q.shape
    out = torch.empty_like(q)
    # The last two hold partial results of split keys, which the library does not have.
    lse, *partial = (
        torch.empty(shape, device=q.device, dtype=torch.float32)
        for shape in ((batch, heads, rows), (1, 1, 1, 1), (1, 1, 1))
    )
    call(torch, "dew_flash3_mha_fwd", (q, k, v), (out, lse, *partial), causal)
    return out, lse


def attention_call(torch, _path, causal):
    """The function of (q, k, v), each seen as [B, H, S, D] and stored [B, S, H, D], as is what it gives."""
    return lambda q, k, v: forward(torch, causal, *(x.transpose(1, 2) for x in (q, k, v)))[0].transpose(1, 2)


def backward_call(torch, _path, causal, q, k, v, grad):
    """The function of nothing that computes dq, dk, dv on these inputs; the forward pass runs here, once."""
    # `grad` is stored as `q` is.
    q, k, v, grad = (x.transpose(1, 2) for x in (q, k, v, grad))
    out, lse = forward(torch, causal, q, k, v)
    batch, rows, heads, _ = q.shape
    scratch_size = heads * (batch * rows + SCRATCH_ROWS * (batch + 1))

    def backward():
        gradients = [torch.empty_like(x) for x in (q, k, v)]
        scratch = [torch.empty(scratch_size, device=q.device, dtype=torch.float32) for _ in range(2)]
        call(torch, "dew_flash3_mha_bwd", (grad, q, k, v, out, lse), (*gradients, *scratch), causal)
        return [x.transpose(1, 2) for x in gradients]

    return backward

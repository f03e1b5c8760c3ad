"""PyTorch's attention kernels as functions, and the check of what they give against f64."""

import math

# Rows of Q that are compared, at each end: the ends are where a mask or a ragged tile goes wrong.
CHECKED_ROWS = 128


def attention_call(torch, path, causal):
    """The function of (q, k, v) that `path` stands for.

    scaled_dot_product_attention picks from these operators. Called directly, no other can step in.
    """
    if path == "torch_flash":
        return lambda q, k, v: torch.ops.aten._scaled_dot_product_flash_attention(q, k, v, 0.0, causal)[0]
    return lambda q, k, v: torch.ops.aten._scaled_dot_product_cudnn_attention(q, k, v, None, True, 0.0, causal)[0]


def backward_call(torch, path, causal, q, k, v, grad):
    """The function of nothing that computes dq, dk, dv on these inputs; the forward pass runs here, once."""
    aten = torch.ops.aten
    if path == "torch_flash":
        out, lse, cum_q, cum_k, max_q, max_k, seed, offset, _ = aten._scaled_dot_product_flash_attention(
            q, k, v, 0.0, causal
        )
        return lambda: aten._scaled_dot_product_flash_attention_backward(
            grad, q, k, v, out, lse, cum_q, cum_k, max_q, max_k, 0.0, causal, seed, offset
        )
    out, lse, cum_q, cum_k, max_q, max_k, seed, offset, _ = aten._scaled_dot_product_cudnn_attention(
        q, k, v, None, True, 0.0, causal
    )
    return lambda: aten._scaled_dot_product_cudnn_attention_backward(
        grad, q, k, v, out, lse, seed, offset, None, cum_q, cum_k, max_q, max_k, 0.0, causal
    )


def make_inputs(torch, shape):
    """One set of q, k, v, each stored [B, S, H, D] and seen as [B, H, S, D]."""
    dtype = {"f16": torch.float16, "bf16": torch.bfloat16}[shape.dtype]

    def draw(length, heads):
        return torch.randn(shape.b, length, heads, shape.d, device="cuda", dtype=dtype).transpose(1, 2)

    return draw(shape.sq, shape.h), draw(shape.sk, shape.hkv), draw(shape.sk, shape.hkv)


def naive_attention(torch, shape, rows, q, k, v):
    """softmax(Q K^T / sqrt(D)) V for some rows of one head, in the type of its inputs.

    The causal mask is aligned bottom-right: the last row sees the last key. A row that sees no key is 0.
    """
    scores = q @ k.T / math.sqrt(shape.d)
    if shape.causal:
        keys = torch.arange(shape.sk, device="cuda")
        scores = scores.masked_fill(keys[None, :] > rows[:, None] + (shape.sk - shape.sq), float("-inf"))
    return torch.softmax(scores, -1).nan_to_num(0.0) @ v


def what_is_wrong(torch, shape, inputs, output):
    """Why `output` must not be timed, or None.

    In the first and the last head it may be off from f64 by twice what a naive computation in its own type is, and
    by one rounding of the largest value more.
    """
    q, k, v = inputs
    rows = torch.arange(shape.sq, device="cuda")
    if shape.sq > 2 * CHECKED_ROWS:
        rows = torch.cat([rows[:CHECKED_ROWS], rows[-CHECKED_ROWS:]])
    for batch, head in {(0, 0), (shape.b - 1, shape.h - 1)}:
        kv_head = head // (shape.h // shape.hkv)
        part = q[batch, head][rows], k[batch, kv_head], v[batch, kv_head]
        truth = naive_attention(torch, shape, rows, *(x.double() for x in part))
        naive = naive_attention(torch, shape, rows, *part)
        allowed = 2 * (naive - truth).abs().max() + torch.finfo(output.dtype).eps * truth.abs().max()
        error = (output[batch, head][rows] - truth).abs().max()
        # Not `error > allowed`: a NaN is wrong too.
        if not error <= allowed:
            return f"off by {error:.2e} where {allowed:.2e} is allowed"
    return None


def naive_gradients(torch, shape, q, k, v, grad):
    """dq, dk, dv of one head by autograd over `naive_attention`, in the type of its inputs."""
    leaves = [x.detach().clone().requires_grad_() for x in (q, k, v)]
    output = naive_attention(torch, shape, torch.arange(shape.sq, device="cuda"), *leaves)
    return torch.autograd.grad(output, leaves, grad)


def what_is_wrong_backward(torch, shape, inputs, gradients):
    """As `what_is_wrong`, of the gradients in the last head."""
    q, k, v, grad = (x[-1, -1] for x in inputs)
    truth = naive_gradients(torch, shape, *(x.double() for x in (q, k, v, grad)))
    naive = naive_gradients(torch, shape, q, k, v, grad)
    for name, ours, low, exact in zip(("dq", "dk", "dv"), (x[-1, -1] for x in gradients), naive, truth):
        # dK and dV sum over all rows: their rounding grows with the largest of the sums.
        allowed = 2 * (low - exact).abs().max() + torch.finfo(ours.dtype).eps * exact.abs().max()
        error = (ours - exact).abs().max()
        if not error <= allowed:
            return f"{name} is off by {error:.2e} where {allowed:.2e} is allowed"
    return None

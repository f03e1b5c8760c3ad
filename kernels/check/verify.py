"""Every kernel against an f64 reference; outputs and padding are NaN before a launch."""

import math

import torch

from launch import TORCH, Case, TeachingParams, general_params

TOLERANCE = {"f16": 2e-3, "bf16": 1.6e-2}
LSE_TOLERANCE = 1e-3
HEAD_DIMS = (32, 64, 96, 128, 192, 256)


def tensor(shape, dtype, layout, gain, fill=True):
    """A [b, h, s, d] view of a NaN-filled buffer, and the buffer."""
    b, h, s, d = shape
    if layout == "bhsd":
        buffer = torch.full((b, h, s, d), math.nan, dtype=dtype, device="cuda")
        view = buffer
    elif layout == "bshd":
        buffer = torch.full((b, s, h, d), math.nan, dtype=dtype, device="cuda")
        view = buffer.transpose(1, 2)
    else:  # rows, heads and batches with gaps of NaN
        buffer = torch.full((b, h + 1, s + 3, d + 8), math.nan, dtype=dtype, device="cuda")
        view = buffer[:, :h, 1 : s + 1, :d]
    if fill:
        view.copy_((torch.randn(shape, device="cuda") * gain).to(dtype))
    return view, buffer


def reference(q, k, v, causal, diagonal, scale):
    q, k, v = (x.double() for x in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(group, dim=1) for x in (k, v))
    s = (q @ k.transpose(-1, -2)) * scale
    if causal:
        row = torch.arange(q.shape[2], device="cuda")[:, None]
        column = torch.arange(k.shape[2], device="cuda")[None, :]
        s = s.masked_fill(column > row + diagonal, -math.inf)
    if s.shape[-1] == 0:
        return torch.zeros_like(q), torch.full(q.shape[:3], -math.inf, dtype=torch.float64, device="cuda")
    lse = torch.logsumexp(s, -1)
    p = torch.exp(s - torch.where(lse.isinf(), 0.0, lse)[..., None])
    return p @ v, lse


def cases_of(kernel):
    d = kernel.head_dim
    below = max((x for x in HEAD_DIMS if x < d), default=0)
    shapes = [
        (1, 1, 1, 1, 1), (1, 1, 1, 128, 128), (2, 4, 2, 97, 1025), (2, 4, 1, 1025, 97), (1, 2, 2, 17, 0),
        (1, 2, 1, 1, 777), (1, 3, 3, 300, 1), (2, 6, 3, 513, 513), (1, 2, 2, 64, 16), (1, 1, 1, 129, 255),
    ]  # fmt: skip
    cases = [Case(*shape, d) for shape in shapes]
    cases += [Case(2, 4, 2, 97, 1025, d, top_left=True), Case(2, 4, 1, 1025, 97, d, top_left=True)]
    cases += [Case(*shape, d, layout="bshd") for shape in shapes[2:4]]
    cases += [Case(*shape, d, layout="gaps") for shape in shapes[:8]]
    cases += [Case(1, 2, 1, 200, 333, x, layout="gaps") for x in {d - 8, below + 8}]
    cases += [Case(1, 5, 1, 700, 700, d, section=2), Case(1, 2, 2, 320, 320, d, gain=0.0)]
    cases += [Case(1, 2, 2, 640, 640, d, gain=4.0), Case(70000, 1, 1, 3, 16, d)]
    return cases


def close(got, want, tolerance):
    got = got.double()
    # An infinite bound would let any finite value pass for the LSE of an empty row.
    both = (got == want) | (want.isfinite() & ((got - want).abs() <= tolerance * (1 + want.abs())))
    error = torch.where(got == want, 0.0, (got - want).abs())
    return bool(both.all()), float(error.max()) if error.numel() else 0.0


def check_general(driver, kernel, function, case):
    dtype = TORCH[kernel.dtype]
    q, _ = tensor((case.b, case.hq, case.sq, case.d), dtype, case.layout, case.gain)
    k, _ = tensor((case.b, case.hkv, case.sk, case.d), dtype, case.layout, case.gain)
    v, _ = tensor((case.b, case.hkv, case.sk, case.d), dtype, case.layout, 1.0)
    o, o_buffer = tensor((case.b, case.hq, case.sq, case.d), dtype, case.layout, 1.0, fill=False)
    lse = torch.full((case.b, case.hq, case.sq), math.nan, device="cuda")
    scale = 1 / math.sqrt(case.d)
    params, grid, diagonal = general_params(kernel, case, q, k, v, o, lse, scale)
    driver.launcher(kernel, function, params, grid)()
    torch.cuda.synchronize()
    want_o, want_lse = reference(q, k, v, kernel.causal, diagonal, scale)
    # Large scores leave rounding noise of the products in the LSE and, through P, in O.
    factor = max(1.0, case.gain)
    o_ok, o_error = close(o, want_o, TOLERANCE[kernel.dtype] * factor)
    lse_ok, lse_error = close(lse, want_lse, LSE_TOLERANCE * factor)
    o.fill_(math.nan)
    outside_ok = bool(o_buffer.isnan().all())
    if not (o_ok and lse_ok and outside_ok):
        print(f"  FAILED {kernel.name} {case}: O {o_error:.2e} LSE {lse_error:.2e} outside untouched: {outside_ok}")
        return False, o_error
    return True, o_error


def check_large(driver, kernel, function):
    """Strides of more than 2^31 elements: 64-bit offsets."""
    dtype, d, s, far = TORCH[kernel.dtype], kernel.head_dim, 100, (1 << 31) + 64
    if torch.cuda.mem_get_info()[0] < 40 << 30:
        return True
    storage = torch.empty(far + (1 << 20), dtype=dtype, device="cuda")
    views = [storage.as_strided((2, 1, s, d), (far, far, d, 1), i * s * d) for i in range(3)]
    for view in views:
        view.copy_(torch.randn(view.shape, device="cuda").to(dtype))
    o = storage.as_strided((2, 1, s, d), (far, far, d, 1), 3 * s * d)
    o.fill_(math.nan)
    lse = torch.full((2, 1, s), math.nan, device="cuda")
    scale = 1 / math.sqrt(d)
    params, grid, diagonal = general_params(kernel, Case(2, 1, 1, s, s, d), *views, o, lse, scale)
    driver.launcher(kernel, function, params, grid)()
    want, _ = reference(*views, kernel.causal, diagonal, scale)
    ok, error = close(o, want, TOLERANCE[kernel.dtype])
    if not ok:
        print(f"  FAILED {kernel.name} with far strides: {error:.2e}")
    return ok


def check_teaching(driver, kernel, function):
    cases = [(1, 1, 64), (1, 1, 128), (1, 2, 192), (2, 1, 256), (1, 4, 320), (2, 3, 512), (1, 8, 1024), (4, 2, 2048)]
    cases += [(1, 1, 4096), (1, 2, 448), (3, 3, 640), (1, 16, 768), (2, 2, 1536)]
    worst, good = 0.0, True
    for b, h, n in cases:
        for gain in (0.0, 1.0, 4.0) if n == 320 else (1.0,):
            q, k = (torch.randn(b * h, n, 64, device="cuda").mul_(gain).half() for _ in range(2))
            v = torch.randn(b * h, n, 64, device="cuda").half()
            o = torch.full_like(q, math.nan)
            params = TeachingParams(q.data_ptr(), k.data_ptr(), v.data_ptr(), o.data_ptr(), n, b * h)
            driver.launcher(kernel, function, params, n // 64 * b * h)()
            torch.cuda.synchronize()
            want, _ = reference(q[None], k[None], v[None], kernel.causal, 0, 0.125)
            ok, error = close(o[None], want, 2e-3)
            worst = max(worst, error)
            if not ok:
                print(f"  FAILED {kernel.name} B={b} H={h} N={n} gain {gain}: {error:.2e}")
                good = False
    return good, worst

#!/usr/bin/env python3
"""Runs every kernel of a fatbin on a GPU, compares O and the LSE with an f64 reference, and times them.

    check.py FATBIN                  check all kernels, then time them beside PyTorch's flash backend
    check.py FATBIN --only d128      those whose name holds the text
    check.py FATBIN --no-bench       only check
    check.py FATBIN --json FILE      write the timings too

Needs torch and libcuda only. The kernels' table is read from ../src/*.cu, as the build script reads it. Outputs and all
padding are NaN before a launch: what a kernel must not read would show, and what it must not write is looked at.
"""

import argparse
import ctypes
import dataclasses
import json
import math
import pathlib
import re
import statistics
import sys

import torch

LOG2_E = math.log2(math.e)
MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
TORCH = {"f16": torch.float16, "bf16": torch.bfloat16}
TOLERANCE = {"f16": 2e-3, "bf16": 1.6e-2}
LSE_TOLERANCE = 1e-3
HEAD_DIMS = (32, 64, 96, 128, 192, 256)


class Strides(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("batch", "head", "row")]


class FwdParams(ctypes.Structure):
    _fields_ = (
        [(name, ctypes.c_uint64) for name in ("q", "k", "v", "o", "lse")]
        + [(name, Strides) for name in ("q_strides", "k_strides", "v_strides", "o_strides")]
        + [
            (name, ctypes.c_uint32)
            for name in ("seq_q", "seq_k", "head_dim", "heads_q", "group_size", "heads_total", "section", "m_blocks")
        ]
        + [("diagonal", ctypes.c_int32), ("scale_log2", ctypes.c_float)]
    )


class TeachingParams(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("q", "k", "v", "o")] + [
        ("seq", ctypes.c_uint32),
        ("heads_total", ctypes.c_uint32),
    ]


assert ctypes.sizeof(FwdParams) == 176 and ctypes.sizeof(TeachingParams) == 40


@dataclasses.dataclass(frozen=True)
class Kernel:
    name: str
    family: str
    dtype: str
    head_dim: int
    causal: bool
    block_m: int
    block_n: int
    warps: int
    stages: int

    @property
    def shared(self):
        return 2 * self.head_dim * (self.block_m + 2 * self.stages * self.block_n)


@dataclasses.dataclass(frozen=True)
class Case:
    b: int
    hq: int
    hkv: int
    sq: int
    sk: int
    d: int
    top_left: bool = False
    layout: str = "bhsd"
    gain: float = 1.0
    section: int = 0


def table():
    kernels = []
    for path in sorted((pathlib.Path(__file__).resolve().parent.parent / "src").glob("*.cu")):
        for call, words in re.findall(r"^(FA2_FORWARD|FA2_TEACHING)\((\w.*)\)$", path.read_text(), re.M):
            words = [word.strip() for word in words.split(",")]
            if call == "FA2_TEACHING":
                name, mask, stages = words
                kernels.append(Kernel(name, "teaching", "f16", 64, mask == "causal", 64, 64, 4, int(stages)))
            else:
                name, element, d, mask, *tile = words
                kernels.append(Kernel(name, "general", element, int(d), mask == "causal", *map(int, tile)))
    return kernels


class Driver:
    def __init__(self, image):
        self.cu = ctypes.CDLL("libcuda.so.1")
        torch.cuda.init()
        torch.empty(1, device="cuda")
        self.module = ctypes.c_void_p()
        self.image = ctypes.create_string_buffer(image, len(image))
        self.call("cuModuleLoadData", ctypes.byref(self.module), self.image)

    def call(self, name, *arguments):
        code = getattr(self.cu, name)(*arguments)
        if code != 0:
            text = ctypes.c_char_p()
            self.cu.cuGetErrorString(code, ctypes.byref(text))
            raise RuntimeError(f"{name}: {code} {(text.value or b'').decode()}")

    def function(self, kernel):
        function = ctypes.c_void_p()
        if self.cu.cuModuleGetFunction(ctypes.byref(function), self.module, kernel.name.encode()) != 0:
            return None
        self.call("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED, kernel.shared)
        return function

    def launcher(self, kernel, function, params, grid):
        """A closure that launches on torch's current stream; `params` lives as long as it does."""
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(params))
        one = ctypes.c_uint(1)

        def launch():
            self.call(
                "cuLaunchKernel", function, ctypes.c_uint(grid), one, one, ctypes.c_uint(32 * kernel.warps), one, one,
                ctypes.c_uint(kernel.shared), ctypes.c_void_p(torch.cuda.current_stream().cuda_stream), arguments, None,
            )  # fmt: skip

        launch.keeps = (params, arguments)
        return launch


def strides(x):
    return Strides(*x.stride()[:3])


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


def general_params(kernel, case, q, k, v, o, lse, scale):
    m_blocks = -(-case.sq // kernel.block_m)
    heads = case.b * case.hq
    if case.section:
        section = min(case.section, heads)
    elif kernel.causal:
        per_head = 4 * case.sk * case.d
        section = min(heads, max(1, min(case.hkv, (13 << 20) // max(per_head, 1))) * (case.hq // case.hkv))
    else:
        section = 1
    diagonal = 0 if case.top_left or not kernel.causal else case.sk - case.sq
    params = FwdParams(
        q.data_ptr(), k.data_ptr(), v.data_ptr(), o.data_ptr(), lse.data_ptr() if lse is not None else 0,
        strides(q), strides(k), strides(v), strides(o),
        case.sq, case.sk, case.d, case.hq, case.hq // case.hkv, heads, section, m_blocks, diagonal, scale * LOG2_E,
    )  # fmt: skip
    return params, m_blocks * heads, diagonal


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


def graph_of(call, count):
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(count):
            call()
    return graph


def times(calls, count, rounds=9):
    """Microseconds a call: (median, min, max) of each, the implementations rotating in order."""
    graphs = [graph_of(call, count) for call in calls]
    results = [[] for _ in calls]
    for graph in graphs:
        graph.replay()
    for turn in range(rounds):
        for at in range(len(calls)):
            which = (at + turn) % len(calls)
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            graphs[which].replay()
            end.record()
            end.synchronize()
            results[which].append(start.elapsed_time(end) * 1e3 / count)
    return [(statistics.median(r), min(r), max(r)) for r in results]


def flash(q, k, v, causal, scale):
    return lambda: torch.ops.aten._scaled_dot_product_flash_attention(q, k, v, 0.0, causal, False, scale=scale)


def bench_general(driver, usable, rows):
    print("\nB*S = 16k, hidden 2048: microseconds, TFLOP/s, ratio to PyTorch's flash backend (above 1: faster)")
    for kernel, function in usable:
        if kernel.family != "general" or kernel.head_dim not in (64, 128, 256):
            continue
        d, dtype = kernel.head_dim, TORCH[kernel.dtype]
        for s in (512, 1024, 2048, 4096, 8192, 16384):
            b, h = 16384 // s, 2048 // d
            q, k, v = (tensor((b, h, s, d), dtype, "bshd", 1.0)[0] for _ in range(3))
            o = torch.empty_like(q)
            lse = torch.empty(b, h, s, device="cuda")
            scale = 1 / math.sqrt(d)
            params, grid, _ = general_params(kernel, Case(b, h, h, s, s, d), q, k, v, o, lse, scale)
            ours = driver.launcher(kernel, function, params, grid)
            flops = 4 * b * h * s * s * d / (2 if kernel.causal else 1)
            count = max(3, int(4e-3 / (flops / 300e12)))
            (mine, low, high), (peer, *_) = times([ours, flash(q, k, v, kernel.causal, scale)], count)
            print(
                f"  {kernel.name:32} S={s:5}  {mine:9.1f} us [{low:.1f}, {high:.1f}]  {flops / mine / 1e6:6.1f} TFLOP/s"
                f"  flash {flops / peer / 1e6:6.1f}  {peer / mine:5.3f}x"
            )
            rows.append(dict(kernel=kernel.name, b=b, h=h, s=s, d=d, us=mine, min=low, max=high, flash_us=peer))


def bench_teaching(driver, usable, rows):
    print("\nThe article's rows: microseconds (100 forwards in a graph), ratio to PyTorch's flash backend")
    for heads, n in ((1, 64), (1, 512), (1, 2048), (1, 4096), (8, 4096), (32, 2048)):
        for causal in (False, True):
            kernels = [(k, f) for k, f in usable if k.family == "teaching" and k.causal == causal]
            kernels.sort(key=lambda pair: pair[0].stages)
            if not kernels:
                continue
            q, k, v = (torch.randn(1, heads, n, 64, device="cuda").half() for _ in range(3))
            calls, outputs = [], []
            for kernel, function in kernels:
                o = torch.empty_like(q)
                outputs.append(o)
                params = TeachingParams(q.data_ptr(), k.data_ptr(), v.data_ptr(), o.data_ptr(), n, heads)
                calls.append(driver.launcher(kernel, function, params, n // 64 * heads))
            *mine, (peer, *_) = times([*calls, flash(q, k, v, causal, 0.125)], 100)
            text = "  ".join(f"{x.stages}-stage {us:8.2f} ({peer / us:5.2f}x)" for (x, _), (us, *_) in zip(kernels, mine))
            print(f"  B*H={heads:2} N={n:4} {'causal' if causal else 'full  '}  {text}  flash {peer:8.2f}")
            for (x, _), (us, low, high) in zip(kernels, mine):
                rows.append(dict(kernel=x.name, b=1, h=heads, s=n, d=64, us=us, min=low, max=high, flash_us=peer))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fatbin", type=pathlib.Path)
    parser.add_argument("--only", default="", help="part of the kernels' names")
    parser.add_argument("--no-check", action="store_true")
    parser.add_argument("--no-bench", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    driver = Driver(options.fatbin.read_bytes())
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    usable, failed = [], 0
    for kernel in table():
        if options.only not in kernel.name:
            continue
        function = driver.function(kernel)
        if function is None:
            print(f"{kernel.name}: not in this fatbin")
            continue
        usable.append((kernel, function))
        if options.no_check:
            continue
        if kernel.family == "teaching":
            good, worst = check_teaching(driver, kernel, function)
        else:
            results = [check_general(driver, kernel, function, case) for case in cases_of(kernel)]
            good = all(ok for ok, _ in results) and check_large(driver, kernel, function)
            worst = max(error for _, error in results)
            torch.cuda.empty_cache()
        failed += not good
        print(f"{kernel.name}: {'ok' if good else 'FAILED'}, largest error of O {worst:.2e}", flush=True)
    if not options.no_bench:
        rows = []
        bench_teaching(driver, usable, rows)
        bench_general(driver, usable, rows)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + "\n")
    if failed:
        sys.exit(f"{failed} kernels failed")


if __name__ == "__main__":
    main()

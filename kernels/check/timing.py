"""Every kernel in CUDA graphs, timed in turns with PyTorch's flash backend."""

import math
import statistics

import torch

from launch import TORCH, Case, TeachingParams, general_params
from verify import tensor


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

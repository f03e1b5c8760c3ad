#!/usr/bin/env python3
"""Times PyTorch's attention kernels and their peers at the shapes of fa2-bench, and sets our numbers beside theirs.

    peers.py --grid paper --out peers.json                              measure (needs torch and an NVIDIA GPU)
    peers.py --shapes shapes.json --merge ours.json --out forward.json  measure, and merge our record
    peers.py --grid paper --pass bwd --merge ours.json --out backward.json
    peers.py --grid paper --paths torch_cudnn,fa3 --alternate           measure two paths round by round
    peers.py --beside "fa2-bench forward --paced --out ours.json" --out peers.json   ours in turn with them (beside.py)
    peers.py --pass bwd --beside "fa2-bench backward --paced --out ours.json" --out peers.json
    peers.py --merge ours.json peers.json --out forward.json            only merge (needs neither)

The paths torch_flash and torch_cudnn are PyTorch's own. fa3 and fa4 are FlashAttention-3 and -4, measured where their
packages are installed: see fa3_path.py and fa4_path.py.

Records have the format of benches/record. Run this and fa2-bench on one machine in one session, or their ratios mean
nothing: records of two GPUs or two drivers don't merge.

Inputs come in sets that take turns, so that no call finds its inputs in the L2 cache. All paths write the log-sum-exp,
as ours does. A CUDA graph holds the calls of a timed window; where a path can't be captured, its calls are queued one
by one between the same two events, and its rows say so. A path that fails at a shape, or is wrong there, has no row and
a line on standard error that says why.
"""

import argparse
import dataclasses
import datetime
import functools
import importlib.metadata
import json
import random
import statistics
import subprocess
import sys

import fa3_path
import fa4_path
import torch_paths
from beside import Bench
from record import read_record, row_key, table, write_record
from torch_paths import make_inputs, what_is_wrong, what_is_wrong_backward

# What computes a path.
PATHS = {"torch_flash": torch_paths, "torch_cudnn": torch_paths, "fa3": fa3_path, "fa4": fa4_path}
INPUT_SETS = 2
WINDOW_MS = 2
WARM_UP_WINDOWS = 3
METHOD = (
    f"CUDA events around a CUDA graph of calls that fill about {WINDOW_MS} ms; warm-up; {{order}}; "
    f"{INPUT_SETS} input sets alternate; inputs N(0,1), BSHD storage; the log-sum-exp is written"
)
ALONE = "each path over all shapes before the next"
ALTERNATED = "at each shape the paths take turns round by round, in an order drawn anew each round"


@dataclasses.dataclass(frozen=True)
class Shape:
    """One attention problem."""

    dtype: str
    b: int
    h: int
    hkv: int
    sq: int
    sk: int
    d: int
    causal: bool

    def flops(self, step):
        """Two matrix products over all of S, five in the backward pass; a causal mask leaves half."""
        products = {"fwd": 2, "bwd": 5}[step]
        return products * 2 * self.b * self.h * self.sq * self.sk * self.d / (2 if self.causal else 1)


def paper_grid():
    """The grid of the FlashAttention-2 paper: 16k tokens a batch, 2048 columns over all heads."""
    tokens, hidden = 16 * 1024, 2048
    return [
        Shape(dtype, tokens // s, hidden // d, hidden // d, s, s, d, causal)
        for dtype in ("f16", "bf16")
        for d in (64, 128, 256)
        for causal in (False, True)
        for s in (512, 1024, 2048, 4096, 8192, 16384)
    ]


def article_grid():
    """The rows of the article's table: batch times heads, and length."""
    rows = ((1, 64), (1, 512), (1, 2048), (1, 4096), (8, 4096), (32, 2048))
    return [Shape("f16", 1, h, h, s, s, 64, causal) for causal in (False, True) for h, s in rows]


GRIDS = {"paper": paper_grid, "article": article_grid}


def read_shapes(path):
    """Shapes from a JSON list, or from JSON lines. Other fields of an object are ignored: rows of a record will do."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        lines = [line for line in text.splitlines() if line.strip()]
        items = json.loads(text) if text.lstrip().startswith("[") else [json.loads(line) for line in lines]
        return [Shape(**{field.name: item[field.name] for field in dataclasses.fields(Shape)}) for item in items]
    except (OSError, ValueError, KeyError, TypeError) as error:
        names = ", ".join(field.name for field in dataclasses.fields(Shape))
        sys.exit(f"{path}: {error!r}. Give a JSON list, or one object a line, of objects with {names}")


def open_torch():
    """PyTorch, if it is here and sees a GPU."""
    try:
        import torch
    except ImportError:
        sys.exit("This Python lacks PyTorch, which measures: python3 -m pip install torch, or only --merge")
    if not torch.cuda.is_available():
        sys.exit("PyTorch sees no NVIDIA GPU: check nvidia-smi and that torch was built with CUDA, or only --merge")
    return torch


def version_of(module):
    """The version of the package that computes a path, or None where it is not installed."""
    try:
        return importlib.metadata.version(module.PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return None


def installed_paths():
    """PyTorch's paths, and those of its peers that are here. That PyTorch is missing, `open_torch` says."""
    return [path for path, module in PATHS.items() if module is torch_paths or version_of(module)]


def chosen_paths(text):
    """The paths of a list with commas; ValueError says which can't be measured here."""
    paths = text.split(",")
    unknown = [path for path in paths if path not in PATHS]
    if unknown:
        raise ValueError(f"there is no {', '.join(unknown)}; there are {', '.join(PATHS)}")
    for path in paths:
        if path not in installed_paths():
            module = PATHS[path]
            raise ValueError(f"{path} needs the package {module.PACKAGE}, which this Python lacks: {module.INSTALL}")
    return paths


class Window:
    """As many calls of one path as fill a timed window."""

    def __init__(self, torch, call, input_sets):
        self.torch, self.call, self.input_sets = torch, call, input_sets
        self.calls, self.replay, self.note = len(input_sets), self.enqueue, ""
        first = min(self.time() for _ in range(WARM_UP_WINDOWS))
        # Whole turns over the input sets.
        self.calls *= max(1, round(WINDOW_MS / (first * self.calls)))
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph):
                self.enqueue()
            self.replay = graph.replay
        except RuntimeError:
            self.note = "event window, not a CUDA graph"
        for _ in range(WARM_UP_WINDOWS):
            self.time()

    def enqueue(self):
        """Queues the calls one by one."""
        for call in range(self.calls):
            self.call(*self.input_sets[call % len(self.input_sets)])

    def time(self):
        """Milliseconds a call, on the GPU."""
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        self.replay()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / self.calls


def prepared(torch, shape, step, path, input_sets):
    """A call and its input sets, and why it must not be timed, or None."""
    if step == "fwd":
        call = PATHS[path].attention_call(torch, path, shape.causal)
        return call, input_sets, what_is_wrong(torch, shape, input_sets[0], call(*input_sets[0]))
    sets = []
    for inputs in input_sets:
        grad = torch.randn_like(inputs[0])
        sets.append((PATHS[path].backward_call(torch, path, shape.causal, *inputs, grad), (*inputs, grad)))
    wrong = what_is_wrong_backward(torch, shape, sets[0][1], sets[0][0]())
    return (lambda call: call()), [(call,) for call, _ in sets], wrong


def window_of(torch, shape, step, path):
    """The window of `path` at `shape`, or None where it does not compute it rightly."""
    input_sets = [make_inputs(torch, shape) for _ in range(INPUT_SETS)]
    try:
        call, sets, wrong = prepared(torch, shape, step, path, input_sets)
        if wrong is None:
            return Window(torch, call, sets)
    # A peer may fail in any way: that costs its row, and must not cost the rows of the others.
    except Exception as error:
        wrong = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
    print(f"  {path}: no row: {wrong}", file=sys.stderr)
    return None


def measure_together(torch, shape, step, paths, rounds, bench=None):
    """The rows of `paths` at `shape`. Of several, every round times each once, and `bench` has its round."""
    windows = {path: window for path in paths if (window := window_of(torch, shape, step, path))}
    times = {path: [] for path in windows}

    def time(path):
        times[path].append(windows[path].time())

    turns = [functools.partial(time, path) for path in windows]
    if bench:
        turns.append(bench.round)
    draw = random.Random(0)
    for _ in range(rounds):
        for turn in draw.sample(turns, len(turns)):
            turn()
    return [row_of(shape, step, path, times[path], window.note) for path, window in windows.items()]


def row_of(shape, step, path, times, note):
    """A row of a record, from the milliseconds of each round."""
    median = statistics.median(times)
    return {
        "pass": step,
        "path": path,
        **dataclasses.asdict(shape),
        "note": note,
        "ms": [round(ms, 5) for ms in (min(times), median, max(times))],
        "tflops": round(shape.flops(step) / median / 1e9, 1),
        "gbps": None,
    }


def measure(shapes, step, paths, rounds, alternate, bench=None):
    """A record of all shapes: of `shapes`, or of those of `bench`."""
    torch = open_torch()
    torch.manual_seed(0)
    rows = []
    if bench:
        work = ((paths, Shape(**fields)) for fields in bench.shapes())
    elif alternate:
        work = [(paths, shape) for shape in shapes]
    else:
        # A path after the other: a kernel at the power limit, as cuDNN's, lowers the clocks of the one behind it.
        work = [([path], shape) for path in paths for shape in shapes]
    for done, (together, shape) in enumerate(work, 1):
        of = "" if bench else f"/{len(work)}"
        print(f"[{done}{of}] {', '.join(together)} {shape}", file=sys.stderr, flush=True)
        rows += measure_together(torch, shape, step, together, rounds, bench)
        torch.cuda.empty_cache()
    if not rows:
        sys.exit("No path computed any of the shapes: the reasons stand above")
    versions = {"torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": str(torch.backends.cudnn.version())}
    peers = [PATHS[path] for path in paths if PATHS[path] is not torch_paths]
    versions |= {module.PACKAGE: version_of(module) for module in peers}
    return {
        "gpu": torch.cuda.get_device_name(),
        "driver": output_of("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"),
        "date": datetime.date.today().isoformat(),
        "commit": output_of("git", "rev-parse", "--short", "HEAD"),
        "versions": versions,
        "method": f"{METHOD.format(order=ALTERNATED if alternate or bench else ALONE)}; {rounds} rounds",
        "rows": rows,
    }


def output_of(*command):
    """What a command prints, or nothing where it can't run: a record is worth keeping without it."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def merge(records):
    """One record of all rows. Where two have a row of one path and shape, the later one counts."""
    first = records[0]
    for record in records[1:]:
        for field in ("gpu", "driver"):
            if record[field] != first[field]:
                sys.exit(f"Not merged: one record has {field} {first[field]!r}, another {record[field]!r}")
    methods = list(dict.fromkeys(record["method"] for record in records))
    rows = {row_key(row): row for record in records for row in record["rows"]}
    return {
        **first,
        "versions": {name: version for record in records for name, version in record["versions"].items()},
        "method": " | ".join(methods),
        "rows": list(rows.values()),
    }


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--shapes", metavar="FILE", help="shapes to measure, as JSON")
    what.add_argument("--grid", choices=list(GRIDS), help="a set of shapes to measure")
    what.add_argument("--beside", metavar="COMMAND", help="measure in turn with this paced fa2-bench, at its shapes")
    parser.add_argument("--pass", dest="step", choices=["fwd", "bwd"], default="fwd", help="what to time [%(default)s]")
    parser.add_argument("--paths", help=f"what to measure, of {','.join(PATHS)} [those installed]")
    parser.add_argument("--alternate", action="store_true", help="at each shape, let the paths take turns by rounds")
    parser.add_argument("--dims", type=int, nargs="+", metavar="D", help="only shapes of these head sizes")
    parser.add_argument("--rounds", type=int, default=15, help="timed windows of each path and shape [%(default)s]")
    parser.add_argument("--merge", nargs="+", default=[], metavar="RECORD", help="records to merge, ours first")
    parser.add_argument("--out", metavar="FILE", help="where to write the record")
    args = parser.parse_args()

    try:
        paths = installed_paths() if args.paths is None else chosen_paths(args.paths)
    except ValueError as error:
        parser.error(f"--paths: {error}")
    if args.rounds < 1:
        parser.error(f"--rounds: {args.rounds} is below 1")
    records = [read_record(path) for path in args.merge]
    if args.beside:
        records.append(measure([], args.step, paths, args.rounds, True, Bench(args.beside, WINDOW_MS)))
    elif args.shapes or args.grid:
        shapes = read_shapes(args.shapes) if args.shapes else GRIDS[args.grid]()
        shapes = [shape for shape in shapes if args.dims is None or shape.d in args.dims]
        records.append(measure(shapes, args.step, paths, args.rounds, args.alternate))
    if not records:
        parser.error("there is nothing to do: give --shapes, --grid or --beside, or --merge")
    record = merge(records)
    if args.out:
        write_record(args.out, record)
    print(table(record))


if __name__ == "__main__":
    main()

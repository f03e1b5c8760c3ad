"""Records of measurements: read, written, and as a table. `fa2-bench plot` draws them.
"""

import collections
import json
import sys

SHAPE = ("dtype", "b", "h", "hkv", "sq", "sk", "d", "causal")
# The order of a table's columns.
PATHS = ("hopper", "cubecl", "cute", "torch_flash", "torch_cudnn", "fa2", "fa3", "fa4", "composed", "burn")
# Ratios of a table.
RATIOS = (
    ("hopper", "torch_cudnn"),
    ("hopper", "torch_flash"),
    ("hopper", "fa3"),
    ("hopper", "fa4"),
    ("hopper", "cubecl"),
    ("cubecl", "torch_flash"),
    ("cute", "torch_flash"),
    ("cubecl", "cute"),
    ("cubecl", "burn"),
)


def read_record(path):
    """A record from a file."""
    try:
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
        for field in ("gpu", "driver", "versions", "method", "rows"):
            record[field]
        for row in record["rows"]:
            row_key(row), row["tflops"], row["ms"]
        return record
    except OSError as error:
        sys.exit(f"{path}: {error.strerror}")
    except (ValueError, KeyError, TypeError) as error:
        sys.exit(f"{path} is no record of measurements: {error!r}")


def write_record(path, record):
    """A record to a file, a row a line: a new run then differs by lines."""
    head = {name: value for name, value in record.items() if name != "rows"}
    rows = ",\n".join("    " + json.dumps(row) for row in record["rows"])
    text = json.dumps(head, indent=2).removesuffix("\n}") + f',\n  "rows": [\n{rows}\n  ]\n}}\n'
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        sys.exit(f"{path}: {error.strerror}")


def row_key(row):
    """What tells a row from all others."""
    return (row["pass"], row["path"], row["note"], *(row[name] for name in SHAPE))


def paths_of(rows):
    """The paths of some rows, in the order of a table; unknown ones come last."""
    place = {path: i for i, path in enumerate(PATHS)}
    return sorted({row["path"] for row in rows}, key=lambda path: (place.get(path, len(place)), path))


def table(record):
    """A record as text: TFLOP/s of each path, a shape a line, then ours over the peers'."""
    rows = record["rows"]
    paths = paths_of(rows)
    ratios = [(ours, peer) for ours, peer in RATIOS if ours in paths and peer in paths]
    by_shape = collections.defaultdict(dict)
    for row in rows:
        shape = (row["pass"], *(row[name] for name in SHAPE))
        # Of several rows of one path, told apart by their notes, the fastest stands for the path.
        by_shape[shape][row["path"]] = max(row["tflops"], by_shape[shape].get(row["path"], 0.0))
    heads = ["pass", "dtype", "mask", "D", "B", "H", "S", *paths, *(f"{ours}/{peer}" for ours, peer in ratios)]
    lines = [heads]
    for shape, tflops in by_shape.items():
        step, dtype, b, h, hkv, sq, sk, d, causal = shape
        cells = [step, dtype, "causal" if causal else "full", d, b, h if h == hkv else f"{h}/{hkv}"]
        cells.append(sq if sq == sk else f"{sq}x{sk}")
        cells += [f"{tflops[path]:.1f}" if path in tflops else "-" for path in paths]
        for ours, peer in ratios:
            both = ours in tflops and peer in tflops
            cells.append(f"{tflops[ours] / tflops[peer]:.3f}" if both else "-")
        lines.append([str(cell) for cell in cells])
    widths = [max(map(len, column)) for column in zip(*lines)]
    text = "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in lines)
    return f"{record['gpu']}, driver {record['driver']}, TFLOP/s\n{text}"

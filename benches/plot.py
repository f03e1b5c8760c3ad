#!/usr/bin/env python3
"""Shows a record of measurements: peers.py prints it with `table`, and run by itself this draws an SVG.

    plot.py benches/record/h200/forward.json --dtype f16 --out docs/forward.svg

The figure has TFLOP/s over the length S, a panel for each head dimension and mask, a line for each path: the median of
the rounds, in a band from their slowest to their fastest.
"""

import argparse
import collections
import json
import sys

SHAPE = ("dtype", "b", "h", "hkv", "sq", "sk", "d", "causal")
# How a path is drawn, in the order of the legend. Ours stands out; the colors can be told apart by the color-blind.
STYLES = {
    "cubecl": ("burn-fa2 (CubeCL)", "#d55e00", 2.4),
    "cubecl_sm80": ("burn-fa2 (CubeCL, SM80)", "#e69f00", 1.6),
    "cute": ("CuTe C++", "#009e73", 1.6),
    "torch_flash": ("PyTorch FLASH (FA2)", "#0072b2", 1.6),
    "torch_cudnn": ("PyTorch cuDNN", "#56b4e9", 1.6),
    "fa2": ("FA2", "#004488", 1.6),
    "fa3": ("FA3", "#cc79a7", 1.6),
    "fa4": ("FA4", "#882255", 1.6),
    "composed": ("burn-fa2 (composed)", "#999999", 1.6),
    "burn": ("Burn's own", "#000000", 1.6),
}
# Ratios are of the first path to each of the others.
OURS, PEERS = "cubecl", ("torch_flash", "burn")


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
    """The paths of some rows, in the order of the legend; ones without a style come last."""
    place = {path: i for i, path in enumerate(STYLES)}
    return sorted({row["path"] for row in rows}, key=lambda path: (place.get(path, len(place)), path))


def table(record):
    """A record as text: TFLOP/s of each path, a shape a line, then ours over the peers'."""
    rows = record["rows"]
    paths = paths_of(rows)
    ratios = [(OURS, peer) for peer in PEERS if OURS in paths and peer in paths]
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


def points(rows):
    """The rows that a figure has room for: one for each path, head dimension, mask and length.

    A line over S has no place for grouped heads or Sq != Sk. Of rows told apart by their notes, the fastest stands for
    the path, as in the table.
    """
    best = {}
    for row in rows:
        if row["h"] != row["hkv"] or row["sq"] != row["sk"]:
            continue
        point = (row["path"], row["d"], row["causal"], row["sq"])
        other = best.setdefault(point, row)
        if (other["b"], other["h"]) != (row["b"], row["h"]):
            sys.exit(f"Two shapes share the point {point}, with B = {other['b']} and {row['b']}: draw a record with one")
        if row["tflops"] > other["tflops"]:
            best[point] = row
    return list(best.values())


def draw(record, rows, out):
    """Writes `rows` as an SVG."""
    try:
        import matplotlib
    except ImportError:
        sys.exit("plot.py draws with matplotlib, which this Python lacks: python3 -m pip install matplotlib")
    matplotlib.use("svg")
    # A fixed salt and no date: the same record gives the same file. Text stays text.
    matplotlib.rcParams.update({"svg.hashsalt": "fa2", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot

    dims = sorted({row["d"] for row in rows})
    masks = sorted({row["causal"] for row in rows})
    size = (3.4 * len(dims), 2.7 * len(masks) + 0.9)
    figure, axes = pyplot.subplots(len(masks), len(dims), figsize=size, squeeze=False, sharex=True, sharey=True)
    for i, causal in enumerate(masks):
        for j, dim in enumerate(dims):
            panel = axes[i][j]
            draw_panel(panel, [row for row in rows if row["d"] == dim and row["causal"] == causal])
            panel.set_title(f"D = {dim}, {'causal' if causal else 'full'}", fontsize=9)
            if i == len(masks) - 1:
                panel.set_xlabel("S")
            if j == 0:
                panel.set_ylabel("TFLOP/s")
    # Once all panels are drawn: a limit set at one also ends the scaling of the axis they share.
    axes[0][0].set_ylim(bottom=0)
    # A path may be missing from a panel: collect the legend from all.
    legend = {label: line for panel in axes.flat for line, label in zip(*panel.get_legend_handles_labels())}
    figure.suptitle(f"{record['gpu']}, {rows[0]['pass']}, {rows[0]['dtype']}", fontsize=10)
    figure.tight_layout(rect=(0, 0.5 / size[1], 1, 1))
    figure.legend(legend.values(), legend.keys(), loc="lower center", ncols=len(legend), frameon=False)
    figure.savefig(out, metadata={"Date": None})


def draw_panel(panel, rows):
    """One panel: TFLOP/s over S, a line and a band for each path."""
    lengths = sorted({row["sq"] for row in rows})
    for path in paths_of(rows):
        label, color, width = STYLES.get(path, (path, "#bbbbbb", 1.6))
        line = sorted((row for row in rows if row["path"] == path), key=lambda row: row["sq"])
        x = [row["sq"] for row in line]
        # FLOP = time * rate, so a round's rate follows from its time: the shortest round is the top of the band.
        low, high = ([row["tflops"] * row["ms"][1] / row["ms"][end] for row in line] for end in (2, 0))
        panel.fill_between(x, low, high, color=color, alpha=0.2, linewidth=0)
        y = [row["tflops"] for row in line]
        panel.plot(x, y, color=color, linewidth=width, marker="o", markersize=3, label=label)
    panel.set_xscale("log", base=2)
    panel.set_xticks(lengths, [f"{s // 1024}k" if s % 1024 == 0 else str(s) for s in lengths])
    panel.grid(alpha=0.3, linewidth=0.5)
    panel.spines[["top", "right"]].set_visible(False)


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("record", help="the JSON file to draw")
    parser.add_argument("--out", required=True, metavar="FILE.svg", help="where to write the figure")
    parser.add_argument("--pass", dest="step", default="fwd", help="fwd, bwd, fwdbwd or decode [%(default)s]")
    parser.add_argument("--dtype", default="f16", help="f16 or bf16 [%(default)s]")
    parser.add_argument("--paths", help="paths to draw, separated by commas [all]")
    args = parser.parse_args()

    record = read_record(args.record)
    wanted = args.paths.split(",") if args.paths else paths_of(record["rows"])
    rows = [row for row in record["rows"] if (row["pass"], row["dtype"]) == (args.step, args.dtype)]
    rows = points(row for row in rows if row["path"] in wanted)
    if not rows:
        sys.exit(f"{args.record} has no row of pass {args.step}, {args.dtype}, {', '.join(wanted)}: nothing to draw")
    draw(record, rows, args.out)


if __name__ == "__main__":
    main()

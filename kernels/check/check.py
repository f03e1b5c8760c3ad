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
import json
import pathlib
import sys

import torch

import launch
import timing
import verify


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
    driver = launch.Driver(options.fatbin.read_bytes())
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    usable, failed = [], 0
    for kernel in launch.table():
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
            good, worst = verify.check_teaching(driver, kernel, function)
        else:
            results = [verify.check_general(driver, kernel, function, case) for case in verify.cases_of(kernel)]
            good = all(ok for ok, _ in results) and verify.check_large(driver, kernel, function)
            worst = max(error for _, error in results)
            torch.cuda.empty_cache()
        failed += not good
        print(f"{kernel.name}: {'ok' if good else 'FAILED'}, largest error of O {worst:.2e}", flush=True)
    if not options.no_bench:
        rows = []
        timing.bench_teaching(driver, usable, rows)
        timing.bench_general(driver, usable, rows)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + "\n")
    if failed:
        sys.exit(f"{failed} kernels failed")


if __name__ == "__main__":
    main()

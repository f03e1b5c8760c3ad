#!/usr/bin/env python3
"""Runs the kernels beside this file on the GPU and in ptx-machine, and compares them bit by bit.

    compare.py PATH/TO/ptx-machine [NAME ...] [--cpu-only]

Needs the CUDA driver (libcuda) and the standard library only. Each kernel takes two pointers, the
source and the result; its first comments say how many blocks and threads it has, what words of 32
bits a thread reads, and how many it writes.
"""

import argparse
import ctypes
import hashlib
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

# Sources of each kernel.
SEEDS = 8

# Values at which arithmetic changes its mind: zeros, subnormals, one, limits, infinity, NaN.
FLOATS = [0, 1, 0x007FFFFF, 0x00800000, 0x33000000, 0x3F800000, 0x3F7FFFFF, 0x4B000000, 0x477FE000]
FLOATS += [0x477FF000, 0x4F000000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x7FFFFFFF, 0x3F801000]
HALVES = [0, 1, 0x03FF, 0x0400, 0x1000, 0x3800, 0x3C00, 0x3C01, 0x4000, 0x7BFF, 0x7C00, 0x7E00]
BRAINS = [0, 1, 0x007F, 0x0080, 0x3F00, 0x3F80, 0x3F81, 0x4000, 0x7F7F, 0x7F80, 0x7FC0]
INTEGERS = [0, 1, 2, 31, 32, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x10000, 0xFFFF]


def single(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def half(value):
    return struct.unpack("<H", struct.pack("<e", value))[0]


def pair(draw):
    return draw() | draw() << 16


def special(rng, values, bits):
    """One of `values` with either sign, as often as not; else random bits."""
    if rng.random() < 0.5:
        return rng.getrandbits(bits)
    return rng.choice(values) | rng.getrandbits(1) << (bits - 1)


def float_word(rng):
    """Random bits rarely meet: half of the others have exponents near that of 1."""
    if rng.random() < 0.5:
        return special(rng, FLOATS, 32)
    return rng.getrandbits(1) << 31 | rng.randint(110, 150) << 23 | rng.getrandbits(23)


def small(rng):
    return float(rng.randint(-8, 8))


WORDS = {
    "int": lambda rng: rng.choice(INTEGERS) if rng.random() < 0.3 else rng.getrandbits(32),
    "float": float_word,
    "half": lambda rng: pair(lambda: special(rng, HALVES, 16)),
    "brain": lambda rng: pair(lambda: special(rng, BRAINS, 16)),
    "half_integer": lambda rng: pair(lambda: half(small(rng))),
    "brain_integer": lambda rng: pair(lambda: single(small(rng)) >> 16),
    "float_integer": lambda rng: single(small(rng)),
}


class Case:
    """A kernel with its source."""

    def __init__(self, path, seed):
        self.path = path
        self.text = path.read_text()
        header = {}
        for line in self.text.splitlines():
            if not line.startswith("//"):
                break
            key, colon, value = line[2:].strip().partition(": ")
            if colon:
                header[key] = value
        self.grid, self.block = int(header["grid"]), int(header["block"])
        self.results = int(header["results"])
        kinds, rng = header["words"].split(), random.Random(f"{path.stem} {seed}")
        words = [WORDS[kind](rng) for _ in range(self.grid * self.block) for kind in kinds]
        self.source = struct.pack(f"<{len(words)}I", *words)
        self.result_bytes = 4 * self.results * self.grid * self.block


class Gpu:
    """The driver's first device."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        code = getattr(self.cuda, name)(*arguments)
        if code != 0:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorName(code, ctypes.byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'?').decode()} ({code})")

    def allocate(self, data):
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(len(data)))
        self.call("cuMemcpyHtoD_v2", pointer, data, ctypes.c_size_t(len(data)))
        return pointer

    def run(self, case):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), case.text.encode() + b"\0")
        self.call("cuModuleGetFunction", ctypes.byref(function), module, case.path.stem.encode())
        pointers = [self.allocate(case.source), self.allocate(bytes(case.result_bytes))]
        addresses = [ctypes.cast(ctypes.byref(pointer), ctypes.c_void_p) for pointer in pointers]
        arguments = (ctypes.c_void_p * 2)(*addresses)
        shape = (case.grid, 1, 1, case.block, 1, 1)
        self.call("cuLaunchKernel", function, *shape, 0, None, arguments, None)
        self.call("cuCtxSynchronize")
        result = ctypes.create_string_buffer(case.result_bytes)
        self.call("cuMemcpyDtoH_v2", result, pointers[1], ctypes.c_size_t(case.result_bytes))
        for pointer in pointers:
            self.call("cuMemFree_v2", pointer)
        self.call("cuModuleUnload", module)
        return result.raw


def run_machine(machine, case):
    with tempfile.TemporaryDirectory() as folder:
        source, result = Path(folder, "source.bin"), Path(folder, "result.bin")
        source.write_bytes(case.source)
        command = [machine, "run", str(case.path), "--kernel", case.path.stem]
        command += ["--grid", f"{case.grid},1,1", "--block", f"{case.block},1,1"]
        command += ["--buffer", f"source={source}", "--buffer", f"result=zeros:{case.result_bytes}"]
        command += ["--arg", "source", "--arg", "result", "--out", f"result={result}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        return result.read_bytes()


def instruction_of(case, index):
    """The line that last writes result `index`, for the report."""
    name = f"%o{index}"
    lines = [line.strip() for line in case.text.splitlines()]
    writes = [line for line in lines if name in line.replace(",", " ").replace("}", " ").replace("{", " ").split()]
    return next((line for line in writes if not line.startswith((".", "st."))), name)


def compare(case, expected, found):
    """Counts equal and different words, and reports the first difference of each result."""
    expected, found = (struct.unpack(f"<{len(data) // 4}I", data) for data in (expected, found))
    kinds = len(case.source) // (4 * case.grid * case.block)
    source = struct.unpack(f"<{len(case.source) // 4}I", case.source)
    different, reported = 0, set()
    for index, (gpu, machine) in enumerate(zip(expected, found)):
        if gpu == machine:
            continue
        different += 1
        thread, result = divmod(index, case.results)
        if result not in reported:
            reported.add(result)
            words = " ".join(f"{word:08X}" for word in source[thread * kinds : (thread + 1) * kinds])
            line = instruction_of(case, result)
            print(f"  {line}  of {words}: GPU {gpu:08X}, machine {machine:08X}")
    return len(expected) - different, different


def compare_all(machine, paths):
    """Prints what differs between the GPU and the machine, and returns how many words do."""
    try:
        gpu = Gpu()
    except (OSError, RuntimeError) as error:
        sys.exit(f"no GPU: {error}; --cpu-only runs the machine alone")
    equal, different = 0, 0
    for path in paths:
        same, other = 0, 0
        for seed in range(SEEDS):
            case = Case(path, seed)
            try:
                counts = compare(case, gpu.run(case), run_machine(machine, case))
            except RuntimeError as error:
                print(f"  {path.stem}: {error}")
                counts = (0, case.result_bytes // 4)
            same, other = same + counts[0], other + counts[1]
        print(f"{path.stem}: {same} equal, {other} different")
        equal, different = equal + same, different + other
    print(f"{equal} equal, {different} different")
    return different


def hash_all(machine, paths):
    """Prints a hash of what the machine gives for each kernel, and returns how many it can't run."""
    failed = 0
    for path in paths:
        digest = hashlib.sha256()
        try:
            for seed in range(SEEDS):
                digest.update(run_machine(machine, Case(path, seed)))
            print(f"{path.stem}: {digest.hexdigest()}")
        except RuntimeError as error:
            print(f"{path.stem}: {error}")
            failed += 1
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("machine", help="the program ptx-machine")
    parser.add_argument("names", nargs="*", help="kernels, without .ptx; all of them if none is named")
    parser.add_argument(
        "--cpu-only",
        action="store_true",
        help="run the machine alone and print a hash of each kernel's results, to compare two builds of it",
    )
    arguments = parser.parse_args()
    paths = {path.stem: path for path in sorted(Path(__file__).parent.glob("*.ptx"))}
    unknown = [name for name in arguments.names if name not in paths]
    if unknown:
        parser.error(f"no kernel {', '.join(unknown)}; there are {', '.join(paths)}")
    chosen = [path for name, path in paths.items() if not arguments.names or name in arguments.names]
    run = hash_all if arguments.cpu_only else compare_all
    sys.exit(run(arguments.machine, chosen) != 0)


if __name__ == "__main__":
    main()

"""The kernels of a fatbin: their table, their arguments, and their launch through the driver."""

import ctypes
import dataclasses
import math
import pathlib
import re

import torch

LOG2_E = math.log2(math.e)
MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
TORCH = {"f16": torch.float16, "bf16": torch.bfloat16}


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

"""Compares the kernels' dequantisation with ggml, bit for bit, on random and edge blocks, for every instruction set.

    python dequantize_oracle.py LIBRARY [EMULATOR...]

LIBRARY is the built libkernels_c.so. The answer comes from libggml-base of the pinned node-llama-cpp
(bench/peers); without it the script says so and leaves with 77. For another architecture, use dequantize_dump:
    python dequantize_oracle.py --dump PROGRAM [ARGS...]   (e.g. qemu-aarch64 -L ... build/dequantize_dump)
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[3]
# name: (ggml's function, elements per block, bytes per block, offsets of f16 fields)
TYPES = {
    "q8_0": ("dequantize_row_q8_0", 32, 34, (0,)),
    "q4_0": ("dequantize_row_q4_0", 32, 18, (0,)),
    "q4_1": ("dequantize_row_q4_1", 32, 20, (0, 2)),
    "q5_0": ("dequantize_row_q5_0", 32, 22, (0,)),
    "q5_1": ("dequantize_row_q5_1", 32, 24, (0, 2)),
    "q2_k": ("dequantize_row_q2_K", 256, 84, (80, 82)),
    "q3_k": ("dequantize_row_q3_K", 256, 110, (108,)),
    "q4_k": ("dequantize_row_q4_K", 256, 144, (0, 2)),
    "q5_k": ("dequantize_row_q5_K", 256, 176, (0, 2)),
    "q6_k": ("dequantize_row_q6_K", 256, 210, (208,)),
    "f16": ("ggml_fp16_to_fp32_row", 1, 2, (0,)),
    "bf16": ("ggml_bf16_to_fp32_row", 1, 2, ()),
}
EDGE_HALVES = [0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x3C00, 0xBC00, 0x7BFF, 0xFBFF, 0x3555]


def ggml() -> ctypes.CDLL | None:
    found = sorted(ROOT.glob("bench/peers/node_modules/@node-llama-cpp/*/bins/*/libggml-base*"))
    for path in found:
        try:
            return ctypes.CDLL(str(path))
        except OSError:  # another architecture's
            continue
    return None


def rows(name: str, rng: np.random.Generator) -> np.ndarray:
    """Random blocks, then blocks of one repeated byte, each with edge halves as scales. No NaN or infinity as scale:
    0 * infinity has no one bit pattern."""
    _, _, size, halves = TYPES[name]
    count = 4096 if size > 2 else 65536
    blocks = rng.integers(0, 256, (count, size), dtype=np.uint8)
    if name == "f16":
        blocks = np.arange(65536, dtype="<u2").view(np.uint8).reshape(-1, 2).copy()
        keep = (blocks.view("<u2").ravel() & 0x7C00) != 0x7C00
        return blocks[keep]
    if name == "bf16":
        blocks = np.arange(65536, dtype="<u2").view(np.uint8).reshape(-1, 2).copy()
        keep = (blocks.view("<u2").ravel() & 0x7F80) != 0x7F80
        return blocks[keep]
    for i, fill in enumerate((0x00, 0xFF, 0x7F, 0x80, 0x55, 0xAA)):
        blocks[i * 64 : (i + 1) * 64] = fill
    for at in halves:
        scale = rng.integers(0, 1 << 16, count).astype("<u2")
        scale = np.where((scale & 0x7C00) == 0x7C00, scale & 0x83FF, scale).astype("<u2")
        scale[:640] = np.resize(EDGE_HALVES, 640)
        blocks[:, at : at + 2] = scale.view(np.uint8).reshape(-1, 2)
    return blocks


def expected(base: ctypes.CDLL, name: str, blocks: np.ndarray) -> np.ndarray:
    function, per_block, _, _ = TYPES[name]
    out = np.zeros(len(blocks) * per_block, np.float32)
    getattr(base, function)(
        blocks.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(out.size)
    )
    return out


def from_library(path: str):
    library = ctypes.CDLL(path)
    library.rlx_isa.restype = ctypes.c_char_p
    library.rlx_dequantize.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    sets, i = [], 0
    while (name := library.rlx_isa(i)) is not None:
        sets.append(name)
        i += 1

    def run(isa: bytes, name: str, blocks: np.ndarray, elements: int) -> np.ndarray:
        out = np.full(elements, np.nan, np.float32)
        kind = library.rlx_type(name.encode())
        if kind < 0 or library.rlx_dequantize(isa, kind, blocks.ctypes.data, out.ctypes.data, elements) != 0:
            raise SystemExit(f"no kernel for {name} in {isa.decode()}")
        return out

    return sets, run


def from_program(command: list[str]):
    sets = [s.encode() for s in subprocess.run([*command, "list"], capture_output=True, check=True, text=True).stdout.split()]

    def run(isa: bytes, name: str, blocks: np.ndarray, elements: int) -> np.ndarray:
        answer = subprocess.run(
            [*command, isa.decode(), name], input=blocks.tobytes(), capture_output=True, check=True
        ).stdout
        out = np.frombuffer(answer, np.float32)
        if out.size != elements:
            raise SystemExit(f"{name}: got {out.size} values, expected {elements}")
        return out

    return sets, run


def main(arguments: list[str]) -> int:
    base = ggml()
    if base is None:
        print("not available: libggml-base (npm ci in bench/peers)")
        return 77
    sets, run = from_program(arguments[1:]) if arguments[0] == "--dump" else from_library(arguments[0])
    wrong = 0
    for isa in sets:
        for name, (_, per_block, _, _) in TYPES.items():
            blocks = np.ascontiguousarray(rows(name, np.random.default_rng(len(name))))
            want = expected(base, name, blocks)
            got = run(isa, name, blocks, want.size)
            same = np.array_equal(got.view(np.uint32), want.view(np.uint32))
            if not same:
                wrong += 1
                at = int(np.flatnonzero(got.view(np.uint32) != want.view(np.uint32))[0])
                print(f"{isa.decode()} {name}: element {at} of {want.size}: got {got[at]!r}, ggml gives {want[at]!r}")
        print(f"{isa.decode():10} {len(TYPES)} types compared with ggml")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

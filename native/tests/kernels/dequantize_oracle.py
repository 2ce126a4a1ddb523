"""Compares the kernels' dequantisation with ggml, bit for bit, on random and edge blocks, for every instruction set.

    python dequantize_oracle.py [--isas=NAME,...] [EMULATOR...] PROGRAM

PROGRAM is the built dequantize_dump; `--isas` names the instruction sets that it must have. The answer comes from
libggml-base of the pinned node-llama-cpp (bench/peers); without it the script says so and leaves with 77, which ctest counts as
a skip, and in continuous integration, where setup has just installed it, with 1.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[3]
# Offsets of the f16 scales in a block, where edge values are written. Types without an entry get
# random bytes only.
HALVES = {
    "q8_0": (0,),
    "q4_0": (0,),
    "q4_1": (0, 2),
    "q5_0": (0,),
    "q5_1": (0, 2),
    "q2_k": (80, 82),
    "q3_k": (108,),
    "q4_k": (0, 2),
    "q5_k": (0, 2),
    "q6_k": (208,),
    "iq4_nl": (0,),
    "iq4_xs": (0,),
    "iq1_s": (0,),
    "iq2_xxs": (0,),
    "iq2_xs": (0,),
    "iq2_s": (0,),
    "iq3_xxs": (0,),
    "iq3_s": (0,),
    "tq1_0": (52,),
    "tq2_0": (64,),
    "q1_0": (0,),
    "q2_0": (0,),
}
ROWS = {"f16": "ggml_fp16_to_fp32_row", "bf16": "ggml_bf16_to_fp32_row"}
# 0 * infinity, and so a NaN, has no one bit pattern: which elements are NaN is compared there.
AWKWARD_HALVES = [0x7C00, 0xFC00, 0x7E00, 0x7C01, 0xFE00]
EDGE_HALVES = [0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x3C00, 0xBC00, 0x7BFF, 0xFBFF, 0x3555]


def ggml() -> ctypes.CDLL | None:
    found = sorted(ROOT.glob("bench/peers/node_modules/@node-llama-cpp/*/bins/*/libggml-base*"))
    for path in found:
        try:
            return ctypes.CDLL(str(path))
        except OSError:  # another architecture's
            continue
    return None


def rows(name: str, size: int, rng: np.random.Generator) -> np.ndarray:
    """Random blocks, then blocks of one repeated byte, each with edge halves as scales; every half where that is the type."""
    count = 4096 if size > 2 else 65536
    blocks = rng.integers(0, 256, (count, size), dtype=np.uint8)
    if name in ("f16", "bf16"):
        return np.arange(65536, dtype="<u2").view(np.uint8).reshape(-1, 2).copy()
    for i, fill in enumerate((0x00, 0xFF, 0x7F, 0x80, 0x55, 0xAA)):
        blocks[i * 64 : (i + 1) * 64] = fill
    for at in HALVES.get(name, ()):
        scale = rng.integers(0, 1 << 16, count).astype("<u2")
        scale = np.where((scale & 0x7C00) == 0x7C00, scale & 0x83FF, scale).astype("<u2")
        scale[:640] = np.resize(EDGE_HALVES, 640)
        scale[640:1280] = np.resize(AWKWARD_HALVES, 640)
        blocks[:, at : at + 2] = scale.view(np.uint8).reshape(-1, 2)
    return blocks


def expected(base: ctypes.CDLL, name: str, per_block: int, blocks: np.ndarray) -> np.ndarray:
    function = ROWS.get(name, "dequantize_row_" + name.replace("_k", "_K"))
    out = np.zeros(len(blocks) * per_block, np.float32)
    getattr(base, function)(
        blocks.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(out.size)
    )
    return out


def ask(command: list[str], given: bytes = b"") -> bytes:
    return subprocess.run(command, input=given, stdout=subprocess.PIPE, check=True).stdout


def main(arguments: list[str]) -> int:
    base = ggml()
    if base is None:
        print("not available: libggml-base (npm ci in bench/peers)")
        return 77 if os.environ.get("CI", "") in ("", "false") else 1
    command = [argument for argument in arguments if not argument.startswith("--isas=")]
    wanted = {isa for argument in arguments if argument.startswith("--isas=") for isa in argument[7:].split(",")}
    isas = ask([*command, "isas"]).decode().split()
    if missing := sorted(wanted - set(isas)):
        print(f"instruction sets without a comparison: {', '.join(missing)}")
        return 1
    types = [line.split() for line in ask([*command, "types"]).decode().splitlines()]
    # f32 has nothing to unpack.
    types = [(name, int(elements), int(size)) for name, elements, size in types if name != "f32"]
    wrong = 0
    for isa in isas:
        for name, per_block, size in types:
            blocks = np.ascontiguousarray(rows(name, size, np.random.default_rng(len(name))))
            want = expected(base, name, per_block, blocks)
            got = np.frombuffer(ask([*command, isa, name], blocks.tobytes()), np.float32)
            if got.size != want.size:
                raise SystemExit(f"{isa} {name}: got {got.size} values, expected {want.size}")
            same = (got.view(np.uint32) == want.view(np.uint32)) | (np.isnan(got) & np.isnan(want))
            differ = np.flatnonzero(~same)
            if differ.size > 0:
                wrong += 1
                at = int(differ[0])
                print(f"{isa} {name}: element {at} of {want.size}: got {got[at]!r}, ggml gives {want[at]!r}")
        print(f"{isa:10} {len(types)} types compared with ggml")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

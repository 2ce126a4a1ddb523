"""ggml's own quantisers and dequantisers, through ctypes.

The library comes with the reference engine of the benchmarks (bench/peers); RLX_GGML_LIBRARY names another copy.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from functools import lru_cache
from pathlib import Path

import numpy as np
from gguf import GGML_QUANT_SIZES
from gguf import GGMLQuantizationType as Ggml

_REPOSITORY = Path(__file__).resolve().parents[2]
_PLAIN: dict[Ggml, np.dtype] = {Ggml.F32: np.dtype("<f4"), Ggml.F16: np.dtype("<f2"), Ggml.I32: np.dtype("<i4")}


def _find_library() -> Path:
    named = os.environ.get("RLX_GGML_LIBRARY")
    if named:
        return Path(named)
    system = {"linux": "linux", "darwin": "mac"}.get(sys.platform, "win")
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(platform.machine().lower(), "arm64")
    packages = _REPOSITORY / "bench" / "peers" / "node_modules" / "@node-llama-cpp"
    found = sorted(packages.glob(f"{system}-{machine}*/bins/*/*ggml-base.*"), key=lambda path: (len(str(path)), path))
    if not found:
        raise SystemExit(
            f"[sample] ggml: no ggml-base library for {system}-{machine} under bench/peers; "
            "install the peers there or set RLX_GGML_LIBRARY"
        )
    return found[0]


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(_find_library()))
    library.ggml_quantize_chunk.restype = ctypes.c_size_t
    library.ggml_quantize_chunk.argtypes = [
        ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p,
        ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p,
    ]
    library.ggml_quantize_requires_imatrix.restype = ctypes.c_bool
    library.ggml_quantize_requires_imatrix.argtypes = [ctypes.c_int]
    return library


def row_bytes(kind: Ggml, columns: int) -> int:
    block, size = GGML_QUANT_SIZES[kind]
    return columns // block * size


def quantise(kind: Ggml, values: np.ndarray) -> np.ndarray:
    """Float rows to bytes: (rows, columns) f32 to (rows, bytes) u8. Where ggml wants importances, all columns count alike."""
    rows, columns = values.shape
    source = np.ascontiguousarray(values, dtype=np.float32)
    if kind in _PLAIN:
        return source.astype(_PLAIN[kind]).view(np.uint8)
    target = np.empty((rows, row_bytes(kind, columns)), dtype=np.uint8)
    library = _library()
    alike = np.ones(columns, dtype=np.float32)
    importance = alike.ctypes.data if library.ggml_quantize_requires_imatrix(int(kind)) else None
    written = library.ggml_quantize_chunk(
        int(kind), source.ctypes.data, target.ctypes.data, 0, rows, columns, importance
    )
    if written != target.nbytes:
        raise RuntimeError(f"[sample] quantise {kind.name}: got {written} bytes, expected {target.nbytes}")
    return target


def dequantise(kind: Ggml, data: np.ndarray) -> np.ndarray:
    """The exact f32 values of packed bytes, flat."""
    source = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
    if kind in _PLAIN:
        return source.view(_PLAIN[kind]).astype(np.float32)
    if kind == Ggml.BF16:
        return (source.view("<u2").astype(np.uint32) << 16).view(np.float32)
    block, size = GGML_QUANT_SIZES[kind]
    count = source.size // size * block
    target = np.empty(count, dtype=np.float32)
    # ggml spells its K types q4_K.
    function = getattr(_library(), "dequantize_row_" + kind.name.lower().replace("_k", "_K"))
    function(ctypes.c_void_p(source.ctypes.data), ctypes.c_void_p(target.ctypes.data), ctypes.c_int64(count))
    return target

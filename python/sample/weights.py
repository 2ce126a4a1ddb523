"""Random weights whose activations stay sane, made fast.

Small tensors get fresh normal values. Large ones are put together from a pool of ready-made packed blocks in
random order, which costs little more than writing them.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator

import numpy as np
from gguf import GGMLQuantizationType as Ggml

from .ggml import quantise, row_bytes
from .shapes import ModelShape, TensorSpec

_FRESH_LIMIT = 1 << 20
_POOL_VALUES = 1 << 20
_CHUNK_BYTES = 16 * 1024 * 1024
# Standard deviation of the logits over the vocabulary: enough for a top token that stands out.
_LOGIT_SPREAD = 2.2


def _llama3_factors(shape: ModelShape) -> np.ndarray:
    """Frequency divisors: 1 for short wavelengths, `factor` for long ones, a smooth ramp between."""
    low, high = 1.0, 4.0
    steps = np.arange(0, shape.head_dim, 2, dtype=np.float64) / shape.head_dim
    wavelength = 2 * math.pi * shape.rope_base**steps
    smooth = (shape.rope_original_context / wavelength - low) / (high - low)
    ramp = 1.0 / ((1 - smooth) / shape.rope_factor + smooth)
    long = wavelength > shape.rope_original_context / low
    short = wavelength < shape.rope_original_context / high
    return np.where(short, 1.0, np.where(long, shape.rope_factor, ramp)).astype(np.float32)


def _rotation_factors(shape: ModelShape) -> np.ndarray:
    if shape.still_dims == 0:
        return _llama3_factors(shape)
    # Divided by this much, an angle is nothing: the pair stays where it is.
    turning = np.arange(0, shape.head_dim, 2) < shape.head_dim - shape.still_dims
    return np.where(turning, 1.0, 1e30).astype(np.float32)


def _deviation(shape: ModelShape, tensor: TensorSpec) -> float:
    """Weights of unit gain, with attention scores and logits of a real spread."""
    kind = tensor.name.split(".")[-2]
    if kind == "token_embd":
        return _LOGIT_SPREAD / math.sqrt(shape.width) if shape.tied else 0.5
    if kind == "output":
        return _LOGIT_SPREAD / math.sqrt(shape.width)
    gain = {"attn_q": 0.9, "attn_k": 0.9, "ffn_down": 1.4}.get(kind, 1.0)
    return gain / math.sqrt(tensor.shape[-1])


class RandomWeights:
    """Packed random tensors of one model; the same seed gives the same bytes.

    `outliers` is how much larger one channel in 64 is behind the norms of a layer, as in trained models.
    """

    def __init__(self, shape: ModelShape, seed: int, outliers: float = 1.0) -> None:
        self._shape = shape
        self._seed = seed
        self._outliers = outliers
        self._pools: dict[tuple[Ggml, int, float], np.ndarray] = {}

    def pieces(self, tensor: TensorSpec, kind: Ggml) -> Iterator[np.ndarray]:
        rng = np.random.default_rng([self._seed, zlib.crc32(tensor.name.encode())])
        if len(tensor.shape) == 1:
            yield self._vector(tensor, rng)
        elif tensor.elements <= _FRESH_LIMIT:
            values = rng.standard_normal(tensor.shape, dtype=np.float32) * np.float32(_deviation(self._shape, tensor))
            yield quantise(kind, values)
        else:
            yield from self._from_pool(tensor, kind, rng)

    def _vector(self, tensor: TensorSpec, rng: np.random.Generator) -> np.ndarray:
        if tensor.name == "rope_freqs.weight":
            return _rotation_factors(self._shape)
        noise = rng.standard_normal(tensor.shape, dtype=np.float32)
        if tensor.name.endswith(".bias"):
            return noise * np.float32(0.3)
        mean = 1.1 if tensor.name.endswith(("q_norm.weight", "k_norm.weight")) else 1.0
        norm = np.float32(mean) + noise * np.float32(0.1)
        if self._outliers != 1.0 and tensor.name.endswith(("attn_norm.weight", "ffn_norm.weight")):
            norm[rng.permutation(len(norm))[: len(norm) // 64]] *= np.float32(self._outliers)
        return norm

    def _from_pool(self, tensor: TensorSpec, kind: Ggml, rng: np.random.Generator) -> Iterator[np.ndarray]:
        columns = tensor.shape[-1]
        unit = 256 if columns % 256 == 0 else 32 if columns % 32 == 0 else columns
        pool = self._pool(kind, unit, _deviation(self._shape, tensor))
        left = tensor.elements // unit
        step = max(1, _CHUNK_BYTES // pool.shape[1])
        while left > 0:
            count = min(step, left)
            yield np.take(pool, rng.integers(0, len(pool), count), axis=0)
            left -= count

    def _pool(self, kind: Ggml, unit: int, deviation: float) -> np.ndarray:
        key = (kind, unit, deviation)
        if key not in self._pools:
            rng = np.random.default_rng([self._seed, unit, int(kind)])
            values = rng.standard_normal((_POOL_VALUES // unit, unit), dtype=np.float32)
            self._pools[key] = quantise(kind, values * np.float32(deviation))
            if self._pools[key].shape[1] != row_bytes(kind, unit):
                raise RuntimeError(f"[sample] pool {kind.name}: rows of {self._pools[key].shape[1]} bytes")
        return self._pools[key]

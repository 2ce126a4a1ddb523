"""Shapes of decoder models: what a GGUF header has to say, and the presets.

The two large presets have the exact shapes of Qwen3-0.6B and Llama-3.2-1B. The tiny ones are the same
families at test size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Family = Literal["llama", "qwen2", "qwen3"]
RopeScaling = Literal["none", "linear", "old-linear", "llama3", "yarn"]
Tokenizer = Literal["spm", "qwen2", "llama-bpe", "gpt-2", "deepseek-coder", "smollm", "default"]


@dataclass(frozen=True)
class ModelShape:
    """Everything about a model except its weights."""

    name: str
    family: Family
    layers: int
    width: int
    heads: int
    kv_heads: int
    head_dim: int
    feed_forward: int
    vocab: int
    tied: bool
    context: int
    tokenizer: Tokenizer
    norm_epsilon: float = 1e-6
    rope_base: float = 10000.0
    rope_scaling: RopeScaling = "none"
    rope_factor: float = 8.0
    rope_original_context: int = 512
    rope_dims: int | None = None
    rope_attention_factor: float | None = None
    # The last dimensions of each head, held still by rotation factors.
    still_dims: int = 0


@dataclass(frozen=True)
class TensorSpec:
    """A tensor by name, in row-major order: (rows, columns), or (length,) for vectors."""

    name: str
    shape: tuple[int, ...]

    @property
    def elements(self) -> int:
        total = 1
        for size in self.shape:
            total *= size
        return total


_TINY = ModelShape(
    name="Tiny Llama", family="llama", layers=3, width=256, heads=4, kv_heads=2, head_dim=64, feed_forward=768,
    vocab=1024, tied=False, context=2048, tokenizer="spm", norm_epsilon=1e-5,
)

PRESETS: dict[str, ModelShape] = {
    "qwen3-0.6b": ModelShape(
        name="Qwen3 0.6B shape, random weights", family="qwen3", layers=28, width=1024, heads=16, kv_heads=8,
        head_dim=128, feed_forward=3072, vocab=151936, tied=True, context=40960, tokenizer="qwen2",
        rope_base=1_000_000.0,
    ),
    "llama-3.2-1b": ModelShape(
        name="Llama 3.2 1B shape, random weights", family="llama", layers=16, width=2048, heads=32, kv_heads=8,
        head_dim=64, feed_forward=8192, vocab=128256, tied=True, context=131072, tokenizer="llama-bpe",
        norm_epsilon=1e-5, rope_base=500_000.0, rope_scaling="llama3", rope_factor=32.0, rope_original_context=8192,
    ),
    # Width 896 is no multiple of 256: the shape whose "Q4_K_M" files hold Q5_0 and Q8_0.
    "qwen2.5-0.5b": ModelShape(
        name="Qwen2.5 0.5B shape, random weights", family="qwen2", layers=24, width=896, heads=14, kv_heads=2,
        head_dim=64, feed_forward=4864, vocab=151936, tied=True, context=32768, tokenizer="qwen2",
        rope_base=1_000_000.0,
    ),
    "tiny-llama": _TINY,
    "tiny-llama3": replace(
        _TINY, name="Tiny Llama 3", tied=True, tokenizer="llama-bpe", rope_base=500_000.0, rope_scaling="llama3",
        rope_factor=32.0, rope_original_context=64,
    ),
    "tiny-qwen2": replace(
        _TINY, name="Tiny Qwen2", family="qwen2", tokenizer="qwen2", norm_epsilon=1e-6, rope_base=1_000_000.0,
    ),
    "tiny-qwen3": replace(
        _TINY, name="Tiny Qwen3", family="qwen3", tied=True, tokenizer="qwen2", norm_epsilon=1e-6,
        rope_base=1_000_000.0,
    ),
    # Rows of 96, 128 and 160: the K types fall back, heads are not the width, three heads share one.
    "tiny-odd": replace(
        _TINY, name="Tiny odd shape", family="qwen3", layers=2, width=160, heads=3, kv_heads=1, head_dim=32,
        feed_forward=288, tied=False, tokenizer="gpt-2",
    ),
}


def tensors(shape: ModelShape) -> list[TensorSpec]:
    """All tensors in the order in which llama.cpp's converter writes them."""
    query = shape.heads * shape.head_dim
    key = shape.kv_heads * shape.head_dim
    found: list[TensorSpec] = []
    if not shape.tied:
        found.append(TensorSpec("output.weight", (shape.vocab, shape.width)))
    if shape.rope_scaling == "llama3" or shape.still_dims > 0:
        found.append(TensorSpec("rope_freqs.weight", (shape.head_dim // 2,)))
    found.append(TensorSpec("token_embd.weight", (shape.vocab, shape.width)))
    for layer in range(shape.layers):
        block = f"blk.{layer}."
        found.append(TensorSpec(block + "attn_norm.weight", (shape.width,)))
        if shape.family == "qwen2":
            found.append(TensorSpec(block + "attn_q.bias", (query,)))
            found.append(TensorSpec(block + "attn_k.bias", (key,)))
            found.append(TensorSpec(block + "attn_v.bias", (key,)))
        if shape.family == "qwen3":
            found.append(TensorSpec(block + "attn_q_norm.weight", (shape.head_dim,)))
            found.append(TensorSpec(block + "attn_k_norm.weight", (shape.head_dim,)))
        found.append(TensorSpec(block + "attn_q.weight", (query, shape.width)))
        found.append(TensorSpec(block + "attn_k.weight", (key, shape.width)))
        found.append(TensorSpec(block + "attn_v.weight", (key, shape.width)))
        found.append(TensorSpec(block + "attn_output.weight", (shape.width, query)))
        found.append(TensorSpec(block + "ffn_norm.weight", (shape.width,)))
        found.append(TensorSpec(block + "ffn_gate.weight", (shape.feed_forward, shape.width)))
        found.append(TensorSpec(block + "ffn_up.weight", (shape.feed_forward, shape.width)))
        found.append(TensorSpec(block + "ffn_down.weight", (shape.width, shape.feed_forward)))
    found.append(TensorSpec("output_norm.weight", (shape.width,)))
    return found

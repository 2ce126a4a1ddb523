"""The Qwen3 decoder in JAX: RMS norms, rotary attention with normalised queries and keys, gated feed-forward."""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from .shapes import ModelShape, tensors

Parameters = dict[str, jax.Array]

SAMPLE = ModelShape(
    name="RLX Sample", family="qwen3", layers=4, width=256, heads=4, kv_heads=2, head_dim=64, feed_forward=512,
    vocab=1024, tied=True, context=1024, tokenizer="qwen2", norm_epsilon=1e-6, rope_base=10000.0,
)


@dataclass(frozen=True)
class _Block:
    """The weights of one layer, by short name."""

    parameters: Parameters
    layer: int

    def __call__(self, name: str) -> jax.Array:
        return self.parameters[f"blk.{self.layer}.{name}.weight"]


def initial(shape: ModelShape, seed: int) -> Parameters:
    """Weights under their GGUF names: matrices [out, in], norms 1, residual outputs small."""
    key = jax.random.PRNGKey(seed)
    parameters: Parameters = {}
    for tensor in tensors(shape):
        key, draw = jax.random.split(key)
        if len(tensor.shape) == 1:
            parameters[tensor.name] = jnp.ones(tensor.shape, jnp.float32)
            continue
        scale = 1 / math.sqrt(tensor.shape[-1])
        if tensor.name.endswith(("attn_output.weight", "ffn_down.weight")):
            scale /= math.sqrt(2 * shape.layers)
        parameters[tensor.name] = scale * jax.random.normal(draw, tensor.shape, jnp.float32)
    return parameters


def _norm(x: jax.Array, weight: jax.Array, epsilon: float) -> jax.Array:
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + epsilon) * weight


def _rotate(x: jax.Array, base: float) -> jax.Array:
    """Rotary positions on [batch, time, heads, head_dim], halves paired."""
    half = x.shape[-1] // 2
    frequency = base ** (-jnp.arange(half, dtype=jnp.float32) / half)
    angle = jnp.arange(x.shape[1], dtype=jnp.float32)[:, None] * frequency
    cos, sin = jnp.cos(angle)[None, :, None, :], jnp.sin(angle)[None, :, None, :]
    first, second = x[..., :half], x[..., half:]
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


def _attention(x: jax.Array, block: _Block, shape: ModelShape) -> jax.Array:
    rows, time, _ = x.shape
    split = (rows, time, -1, shape.head_dim)
    q = _norm((x @ block("attn_q").T).reshape(split), block("attn_q_norm"), shape.norm_epsilon)
    k = _norm((x @ block("attn_k").T).reshape(split), block("attn_k_norm"), shape.norm_epsilon)
    v = (x @ block("attn_v").T).reshape(split)
    q, k = _rotate(q, shape.rope_base), _rotate(k, shape.rope_base)
    group = shape.heads // shape.kv_heads
    q = q.reshape(rows, time, shape.kv_heads, group, shape.head_dim)
    scores = jnp.einsum("btkgd,bskd->bkgts", q, k) / math.sqrt(shape.head_dim)
    causal = jnp.tril(jnp.ones((time, time), bool))
    chances = jax.nn.softmax(jnp.where(causal, scores, -1e30), axis=-1)
    mixed = jnp.einsum("bkgts,bskd->btkgd", chances, v).reshape(rows, time, -1)
    return mixed @ block("attn_output").T


def _feed_forward(x: jax.Array, block: _Block) -> jax.Array:
    gate = jax.nn.silu(x @ block("ffn_gate").T)
    return (gate * (x @ block("ffn_up").T)) @ block("ffn_down").T


def logits(parameters: Parameters, tokens: jax.Array, shape: ModelShape) -> jax.Array:
    """Scores of the next token at every position of [batch, time] tokens."""
    embedding = parameters["token_embd.weight"]
    x = embedding[tokens]
    for layer in range(shape.layers):
        block = _Block(parameters, layer)
        x = x + _attention(_norm(x, block("attn_norm"), shape.norm_epsilon), block, shape)
        x = x + _feed_forward(_norm(x, block("ffn_norm"), shape.norm_epsilon), block)
    return _norm(x, parameters["output_norm.weight"], shape.norm_epsilon) @ embedding.T


def loss(
    parameters: Parameters, tokens: jax.Array, targets: jax.Array, weights: jax.Array, shape: ModelShape
) -> jax.Array:
    """Weighted mean cross-entropy."""
    scores = logits(parameters, tokens, shape)
    chosen = jnp.take_along_axis(scores, targets[..., None], axis=-1)[..., 0]
    surprise = jax.nn.logsumexp(scores, axis=-1) - chosen
    return jnp.sum(surprise * weights) / jnp.sum(weights)

"""What the models of Hugging Face are made of, in NumPy."""

import math

import numpy as np


def silu(x):
    return x / (1 + np.exp(-x))


def gelu(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(q, k, v, scale, cap=0, window=0, both_ways=None):
    """[heads, tokens, size] each; heads of k and v are shared by neighbours. `both_ways`: which keys a token sees, if not those before it."""
    share = q.shape[0] // k.shape[0]
    k, v = np.repeat(k, share, 0), np.repeat(v, share, 0)
    scores = q @ k.transpose(0, 2, 1) * scale
    if cap:
        scores = cap * np.tanh(scores / cap)
    i = np.arange(q.shape[1])
    seen = i[None, :] <= i[:, None]
    if window:
        seen &= i[None, :] > i[:, None] - window
    out = softmax(np.where(seen if both_ways is None else both_ways, scores, -np.inf)) @ v
    return out.transpose(1, 0, 2).reshape(q.shape[1], -1)


def rope_of(config, size, length, local=False):
    """cos and sin [tokens, turned]: the two halves of a head turn together."""
    turned = int(size * config.get("partial_rotary_factor", 1))
    base = config.get("rope_local_base_freq", 10000.0) if local else config.get("rope_theta", 10000.0)
    rates = 1 / base ** (np.arange(0, turned, 2) / turned)
    scaling = {} if local else config.get("rope_scaling") or {}
    kind, factor, magnitude = scaling.get("rope_type", scaling.get("type", "default")), scaling.get("factor", 1), 1.0
    original = scaling.get("original_max_position_embeddings", config["max_position_embeddings"])
    if kind == "linear":
        rates = rates / factor
    elif kind == "llama3":
        low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
        waves = 2 * math.pi / rates
        smooth = (original / waves - low) / (high - low)
        mixed = (1 - smooth) * rates / factor + smooth * rates
        rates = np.where(waves < original / high, rates, np.where(waves > original / low, rates / factor, mixed))
    elif kind == "yarn":
        turn = lambda count: turned * math.log(original / (count * 2 * math.pi)) / (2 * math.log(base))
        fast, slow = scaling.get("beta_fast", 32), scaling.get("beta_slow", 1)
        low, high = max(math.floor(turn(fast)), 0), min(math.ceil(turn(slow)), turned - 1)
        ramp = np.clip((np.arange(turned // 2) - low) / max(high - low, 0.001), 0, 1)
        rates = rates / factor * ramp + rates * (1 - ramp)
        grown = lambda scale: 0.1 * scale * math.log(factor) + 1
        magnitude = grown(scaling.get("mscale", 1)) / grown(scaling.get("mscale_all_dim", 0))
    elif kind == "longrope":
        original = config["original_max_position_embeddings"]
        growth = config["max_position_embeddings"] / original
        # llama.cpp picks by the size of the context, as it was made for: the long ones here.
        rates = rates / np.array(scaling["long_factor"])
        magnitude = math.sqrt(1 + math.log(growth) / math.log(original)) if growth > 1 else 1
        magnitude = scaling.get("long_mscale", magnitude)
    angles = np.arange(length)[:, None] * rates[None, :]
    return np.cos(np.concatenate([angles, angles], -1)) * magnitude, np.sin(np.concatenate([angles, angles], -1)) * magnitude


def turn(x, rope):
    cos, sin = rope
    size = cos.shape[-1]
    a, rest = x[..., :size], x[..., size:]
    swapped = np.concatenate([-a[..., size // 2 :], a[..., : size // 2]], -1)
    return np.concatenate([a * cos + swapped * sin, rest], -1)


def layer_norm(x, weights, name, eps):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weights[name + ".weight"] + weights[name + ".bias"]

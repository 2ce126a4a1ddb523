"""LFM2 in NumPy: layers with a short convolution beside layers that attend."""

import numpy as np

from .hf_math import attention, rope_of, silu, turn

LFM2 = ("Lfm2ForCausalLM", "Lfm2MoeForCausalLM")


def lfm2(config, weights, tokens):
    """Logits [tokens, vocabulary]."""
    heads, width, length, eps = config["num_attention_heads"], config["hidden_size"], len(tokens), config["norm_eps"]
    size = width // heads
    rope = rope_of(config, size, length)
    linear = lambda name, x: x @ weights[name + ".weight"].T
    norm = lambda name, x: x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weights[name + ".weight"]
    mlp = lambda at, x: linear(at + "w2", silu(linear(at + "w1", x)) * linear(at + "w3", x))

    def convolve(at, x):
        b, c, y = np.split(linear(at + "in_proj", x), 3, -1)
        taps = weights[at + "conv.weight"][:, 0]
        count = taps.shape[-1]
        before = np.concatenate([np.zeros((count - 1, width)), b * y])
        mixed = sum(before[k : k + length] * taps[:, k] for k in range(count))
        return linear(at + "out_proj", c * mixed)

    def attend(at, x):
        q, k, v = (linear(f"{at}{p}_proj", x).reshape(length, -1, size).transpose(1, 0, 2) for p in "qkv")
        q, k = norm(at + "q_layernorm", q), norm(at + "k_layernorm", k)
        return linear(at + "out_proj", attention(turn(q, rope), turn(k, rope), v, size**-0.5))

    def feed(at, x):
        if at + "gate.weight" not in weights:
            return mlp(at, x)
        shares, out = 1 / (1 + np.exp(-linear(at + "gate", x))), np.zeros_like(x)
        for t in range(length):
            best = np.argsort(-(shares[t] + weights[at + "expert_bias"]), kind="stable")[: config["num_experts_per_tok"]]
            for e in best:
                out[t] += shares[t][e] / shares[t][best].sum() * mlp(f"{at}experts.{e}.", x[t])
        return out

    x = weights["model.embed_tokens.weight"][tokens]
    for layer, kind in enumerate(config["layer_types"]):
        at = f"model.layers.{layer}."
        y = norm(at + "operator_norm", x)
        x = x + (convolve(at + "conv.", y) if kind == "conv" else attend(at + "self_attn.", y))
        x = x + feed(at + "feed_forward.", norm(at + "ffn_norm", x))
    return norm("model.embedding_norm", x) @ weights["model.embed_tokens.weight"].T

"""Qwen3-Next and Qwen3.5 in NumPy: layers with a gated delta net beside layers whose attention is gated."""

import numpy as np

from .hf_math import attention, rope_of, silu, softmax, turn

DELTA = ("Qwen3NextForCausalLM", "Qwen3_5ForCausalLM", "Qwen3_5ForConditionalGeneration", "Qwen3_5MoeForConditionalGeneration")

_sigmoid = lambda x: 1 / (1 + np.exp(-x))


def delta(kind, config, weights, tokens):
    """Logits [tokens, vocabulary]."""
    config = {**config, **config.get("text_config", {})}
    start = "model.language_model." if kind.endswith("ConditionalGeneration") else "model."
    heads, width, length, eps = config["num_attention_heads"], config["hidden_size"], len(tokens), config["rms_norm_eps"]
    size = config["head_dim"]
    parameters = config.get("rope_parameters") or {}
    rope = rope_of({**config, **{k: v for k, v in parameters.items() if k in ("rope_theta", "partial_rotary_factor")}}, size, length)
    rms = lambda x: x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
    norm = lambda name, x: rms(x) * (1 + weights[name + ".weight"])
    linear = lambda name, x: x @ weights[name + ".weight"].T

    def gated(gate_up, down, x):
        gate, up = np.split(x @ gate_up.T, 2, -1)
        return (silu(gate) * up) @ down.T

    def mlp(at, x):
        return linear(at + "down_proj", silu(linear(at + "gate_proj", x)) * linear(at + "up_proj", x))

    def feed(at, x):
        if at + "gate.weight" not in weights:
            return mlp(at, x)
        shares, out = softmax(linear(at + "gate", x)), np.zeros_like(x)
        for t in range(length):
            best = np.argsort(-shares[t], kind="stable")[: config["num_experts_per_tok"]]
            for e in best:
                if at + "experts.gate_up_proj" in weights:
                    y = gated(weights[at + "experts.gate_up_proj"][e], weights[at + "experts.down_proj"][e], x[t])
                else:
                    y = mlp(f"{at}experts.{e}.", x[t])
                out[t] += shares[t][e] / shares[t][best].sum() * y
        return out + mlp(at + "shared_expert.", x) * _sigmoid(linear(at + "shared_expert_gate", x))

    def attend(at, x):
        q, gate = np.split(linear(at + "q_proj", x).reshape(length, heads, 2 * size), 2, -1)
        k, v = (linear(f"{at}{p}_proj", x).reshape(length, -1, size) for p in "kv")
        q, k = norm(at + "q_norm", q), norm(at + "k_norm", k)
        q, k, v = (part.transpose(1, 0, 2) for part in (q, k, v))
        out = attention(turn(q, rope), turn(k, rope), v, size**-0.5)
        return linear(at + "o_proj", out * _sigmoid(gate.reshape(length, -1)))

    def remember(at, x):
        n_k, n_v = config["linear_num_key_heads"], config["linear_num_value_heads"]
        d = config["linear_key_head_dim"]
        each = n_v // n_k
        if at + "in_proj_qkvz.weight" in weights:
            # Key head by key head: q, k, its values, its gates.
            parts = np.split(linear(at + "in_proj_qkvz", x).reshape(length, n_k, -1), [d, 2 * d, (2 + each) * d], -1)
            q, k, v, z = (part.reshape(length, -1) for part in parts)
            mixed = np.concatenate([q, k, v], -1)
            b, a = (part.reshape(length, n_v) for part in np.split(linear(at + "in_proj_ba", x).reshape(length, n_k, -1), 2, -1))
        else:
            mixed, z = linear(at + "in_proj_qkv", x), linear(at + "in_proj_z", x)
            b, a = linear(at + "in_proj_b", x), linear(at + "in_proj_a", x)
        kernel = weights[at + "conv1d.weight"][:, 0, :]
        taps = kernel.shape[-1]
        padded = np.concatenate([np.zeros((taps - 1, mixed.shape[-1])), mixed])
        mixed = silu(sum(padded[i : i + length] * kernel[:, i] for i in range(taps)))
        q, k, v = np.split(mixed, [n_k * d, 2 * n_k * d], -1)
        unit = lambda y: y / np.sqrt((y * y).sum(-1, keepdims=True) + 1e-6)
        q, k = (np.repeat(unit(part.reshape(length, n_k, d)), each, 1) for part in (q, k))
        v, z = v.reshape(length, n_v, d), z.reshape(length, n_v, d)
        kept = np.exp(-np.exp(weights[at + "A_log"]) * np.log1p(np.exp(a + weights[at + "dt_bias"])))
        learned = _sigmoid(b)
        state, out = np.zeros((n_v, d, d)), np.zeros((length, n_v, d))
        for t in range(length):
            state = state * kept[t][:, None, None]
            known = np.einsum("hkv,hk->hv", state, k[t])
            state = state + np.einsum("hk,hv->hkv", k[t], (v[t] - known) * learned[t][:, None])
            out[t] = np.einsum("hkv,hk->hv", state, q[t]) * d**-0.5
        out = rms(out) * weights[at + "norm.weight"] * silu(z)
        return linear(at + "out_proj", out.reshape(length, -1))

    x = weights[start + "embed_tokens.weight"][tokens]
    for layer in range(config["num_hidden_layers"]):
        at = f"{start}layers.{layer}."
        y = norm(at + "input_layernorm", x)
        x = x + (attend(at + "self_attn.", y) if config["layer_types"][layer] == "full_attention" else remember(at + "linear_attn.", y))
        x = x + feed(at + "mlp.", norm(at + "post_attention_layernorm", x))
    x = norm(start + "norm", x)
    return x @ weights[start + "embed_tokens.weight" if config.get("tie_word_embeddings") else "lm_head.weight"].T

"""Llamas and their near relatives, and GPT-2, in NumPy."""

import math

import numpy as np

from .hf_math import attention, gelu, layer_norm, rope_of, silu, softmax, turn


def states(kind, config, weights, tokens):
    """A decoder's rows behind the last norm; both ways for EmbeddingGemma."""
    is_gemma, is_olmo = kind.startswith("Gemma"), kind.startswith(("Olmo2", "Olmo3"))
    sandwich = kind.startswith(("Gemma2", "Gemma3"))
    heads, eps = config["num_attention_heads"], config["rms_norm_eps"]
    shared = config.get("num_key_value_heads", heads)
    width = config["hidden_size"]
    size = config.get("head_dim") or width // heads
    length = len(tokens)
    ropes = {local: rope_of(config, size, length, local) for local in (False, True)}
    if kind == "Olmo3ForCausalLM":
        ropes[True] = rope_of({**config, "rope_scaling": None}, size, length)

    def norm(name, x):
        w = weights[name + ".weight"] + (1 if is_gemma else 0)
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * w

    def linear(name, x):
        y = x @ weights[name + ".weight"].T
        return y + weights[name + ".bias"] if name + ".bias" in weights else y

    act = gelu if is_gemma else silu

    def gated(at, x, names=("gate_proj", "up_proj", "down_proj")):
        gate, up, down = (at + name for name in names)
        return linear(down, act(linear(gate, x)) * linear(up, x))

    def fused(w_in, w_out, x):
        gate, up = np.split(x @ w_in.T, 2, -1)
        return (silu(gate) * up) @ w_out.T

    def feed(at, x):
        if kind.startswith("Phi3"):
            return fused(weights[at + "mlp.gate_up_proj.weight"], weights[at + "mlp.down_proj.weight"], x)
        if kind.startswith("GraniteMoe"):
            moe = at + "block_sparse_moe."
            router = x @ weights[moe + "router.layer.weight"].T
            one = lambda e, t: fused(weights[moe + "input_linear.weight"][e], weights[moe + "output_linear.weight"][e], t)
            out = mixture(router, one, x, True)
            if at + "shared_mlp.input_linear.weight" in weights:
                out += fused(weights[at + "shared_mlp.input_linear.weight"], weights[at + "shared_mlp.output_linear.weight"], x)
            return out
        if kind.startswith("Mixtral"):
            moe = at + "block_sparse_moe."
            return mixture(linear(moe + "gate", x), lambda e, t: gated(f"{moe}experts.{e}.", t, ("w1", "w3", "w2")), x, True)
        if "Moe" in kind:
            moe = at + "mlp."
            one = lambda e, t: gated(f"{moe}experts.{e}.", t)
            if moe + "experts.gate_up_proj" in weights:
                one = lambda e, t: fused(weights[moe + "experts.gate_up_proj"][e], weights[moe + "experts.down_proj"][e], t)
            out = mixture(linear(moe + "gate", x), one, x, config.get("norm_topk_prob", False))
            if moe + "shared_expert_gate.weight" in weights:
                out += gated(moe + "shared_expert.", x) / (1 + np.exp(-linear(moe + "shared_expert_gate", x)))
            return out
        return gated(at + "mlp.", x)

    def mixture(router, expert, x, normalised):
        out = np.zeros_like(x)
        shares = softmax(router)
        for t in range(length):
            best = np.argsort(-shares[t], kind="stable")[: config["num_experts_per_tok"]]
            total = shares[t][best].sum() if normalised else 1
            for e in best:
                out[t] += shares[t][e] / total * expert(e, x[t])
        return out

    def attend(layer, at, x):
        split = lambda y, count: y.reshape(length, count, size).transpose(1, 0, 2)
        if kind.startswith("Phi3"):
            q, k, v = np.split(linear(at + "self_attn.qkv_proj", x), [heads * size, (heads + shared) * size], -1)
        else:
            q, k, v = (linear(f"{at}self_attn.{p}_proj", x) for p in "qkv")
        if is_olmo:
            q, k = norm(at + "self_attn.q_norm", q), norm(at + "self_attn.k_norm", k)
        q, k, v = split(q, heads), split(k, shared), split(v, shared)
        if not is_olmo and at + "self_attn.q_norm.weight" in weights:
            q, k = norm(at + "self_attn.q_norm", q), norm(at + "self_attn.k_norm", k)
        period = {"Gemma2ForCausalLM": 2, "Gemma3ForCausalLM": 6, "Gemma3TextModel": 6, "Olmo3ForCausalLM": 4}.get(kind, 0)
        local = bool(period) and (layer + 1) % period != 0
        if config.get("layer_types"):
            local = config["layer_types"][layer] == "sliding_attention"
        rope = ropes[local and kind.startswith(("Gemma3", "Olmo3"))]
        scale = config.get("attention_multiplier") or (config.get("query_pre_attn_scalar") or size) ** -0.5
        cap = config.get("attn_logit_softcapping") or 0 if kind.startswith("Gemma2") else 0
        window = config["sliding_window"] if local else 0
        seen = _around(length, window) if kind in ("Gemma3TextModel", "LlamaBidirectionalModel") else None
        return linear(at + "self_attn.o_proj", attention(turn(q, rope), turn(k, rope), v, scale, cap, window, seen))

    x = weights["model.embed_tokens.weight"][tokens]
    x = x * (math.sqrt(width) if is_gemma else config.get("embedding_multiplier", 1))
    grown = config.get("residual_multiplier", 1)
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        if is_olmo:
            x = x + norm(at + "post_attention_layernorm", attend(layer, at, x))
            x = x + norm(at + "post_feedforward_layernorm", feed(at, x))
            continue
        y = attend(layer, at, norm(at + "input_layernorm", x))
        x = x + (norm(at + "post_attention_layernorm", y) if sandwich else y) * grown
        y = feed(at, norm(at + ("pre_feedforward_layernorm" if sandwich else "post_attention_layernorm"), x))
        x = x + (norm(at + "post_feedforward_layernorm", y) if sandwich else y) * grown
    return norm("model.norm", x)


def _around(length, window):
    """Half of the window to each side; everything without one."""
    i = np.arange(length)
    return np.abs(i[None, :] - i[:, None]) <= (window // 2 if window else length)


def decoder(kind, config, weights, tokens):
    is_granite = kind.startswith("Granite")
    x = states(kind, config, weights, tokens)
    tied = config.get("tie_word_embeddings", kind.startswith("Gemma") or is_granite)
    logits = x @ weights["model.embed_tokens.weight" if tied else "lm_head.weight"].T
    logits = logits / (config.get("logits_scaling", 1) if is_granite else 1)
    cap = config.get("final_logit_softcapping") or 0
    return cap * np.tanh(logits / cap) if cap else logits


def gpt2(config, weights, tokens):
    heads, eps, length = config["n_head"], config["layer_norm_epsilon"], len(tokens)
    linear = lambda name, x: x @ weights[name + ".weight"] + weights[name + ".bias"]
    x = weights["wte.weight"][tokens] + weights["wpe.weight"][:length]
    for layer in range(config["n_layer"]):
        at = f"h.{layer}."
        qkv = linear(at + "attn.c_attn", layer_norm(x, weights, at + "ln_1", eps))
        q, k, v = (part.reshape(length, heads, -1).transpose(1, 0, 2) for part in np.split(qkv, 3, -1))
        x = x + linear(at + "attn.c_proj", attention(q, k, v, q.shape[-1] ** -0.5))
        x = x + linear(at + "mlp.c_proj", gelu(linear(at + "mlp.c_fc", layer_norm(x, weights, at + "ln_2", eps))))
    return layer_norm(x, weights, "ln_f", eps) @ weights["wte.weight"].T

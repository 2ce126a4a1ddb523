"""Llama 4, Cohere 2 with experts, Phi-MoE and Apertus in NumPy.

Phi-MoE is the one of GGUF: norms without a mean, experts picked by a softmax. The published model picks them in another way.
"""

import numpy as np

from .hf_math import attention, rope_of, silu, softmax, turn
from .hf_variants import turn_pairs

LATER = (
    "Llama4ForConditionalGeneration",
    "Cohere2MoeForCausalLM",
    "PhiMoEForCausalLM",
    "ApertusForCausalLM",
)
_sigmoid = lambda x: 1 / (1 + np.exp(-x))
_softplus = lambda x: np.log1p(np.exp(x))


def later(kind, config, weights, tokens):
    """Logits [tokens, vocabulary]."""
    config = {**config, **config.get("text_config", {})}
    weights = {name.removeprefix("language_model."): value for name, value in weights.items()}
    is_llama, is_cohere = kind.startswith("Llama4"), kind.startswith("Cohere2")
    heads, width, length = config["num_attention_heads"], config["hidden_size"], len(tokens)
    size = config.get("head_dim") or width // heads
    rms_eps = config.get("rms_norm_eps")
    eps = rms_eps if rms_eps is not None else config["layer_norm_eps"]
    rope = rope_of(config, size, length)

    def bare(x):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)

    def norm(name, x):
        x = x - x.mean(-1, keepdims=True) if rms_eps is None else x
        return bare(x) * weights[name + ".weight"] + weights.get(name + ".bias", 0)

    def linear(name, x):
        return x @ weights[name + ".weight"].T + weights.get(name + ".bias", 0)

    def mlp(at, x, names=("gate_proj", "up_proj", "down_proj")):
        gate, up, down = (at + name for name in names)
        return linear(down, silu(linear(gate, x)) * linear(up, x))

    def best(scores):
        return np.argsort(-scores, kind="stable")[: config["num_experts_per_tok"]]

    def llama_experts(at, x):
        out, logits = np.zeros_like(x), linear(at + "router", x)
        for t in range(length):
            for e in best(logits[t]):
                y = x[t] * _sigmoid(logits[t][e])
                gate, up = np.split(y @ weights[at + "experts.gate_up_proj"][e], 2, -1)
                out[t] += (silu(gate) * up) @ weights[at + "experts.down_proj"][e]
        return out + mlp(at + "shared_expert.", x)

    def cohere_experts(at, x):
        out, logits = np.zeros_like(x), linear(at + "gate", x)
        for t in range(length):
            chosen = best(logits[t])
            if config["expert_selection_fn"] == "softmax":
                shares = softmax(logits[t][chosen])
            else:
                shares = _sigmoid(logits[t][chosen])
                shares = shares / shares.sum() if config["norm_topk_prob"] else shares
            for e, share in zip(chosen, shares):
                out[t] += share * mlp(f"{at}experts.{e}.", x[t])
        if not config["num_shared_experts"]:
            return out
        return (out + mlp(at + "shared_experts.", x)) / 2

    def phi_experts(at, x):
        out, shares = np.zeros_like(x), softmax(linear(at + "gate", x))
        for t in range(length):
            chosen = best(shares[t])
            for e in chosen:
                out[t] += shares[t][e] / shares[t][chosen].sum() * mlp(f"{at}experts.{e}.", x[t], ("w1", "w3", "w2"))
        return out

    def xielu(at, x):
        number = lambda name: weights[f"{at}act_fn.{name}"].reshape(())
        beta, eps = number("beta"), number("eps")
        rising, falling = _softplus(number("alpha_p")), beta + _softplus(number("alpha_n"))
        return np.where(x > 0, rising * x * x, (np.expm1(np.minimum(x, eps)) - x) * falling) + beta * x

    def feed(at, x):
        if is_llama:
            at += "feed_forward."
            return llama_experts(at, x) if at + "router.weight" in weights else mlp(at, x)
        if kind.startswith("PhiMoE"):
            return phi_experts(at + "block_sparse_moe.", x)
        at += "mlp."
        if is_cohere:
            return cohere_experts(at, x) if at + "gate.weight" in weights else mlp(at, x)
        return linear(at + "down_proj", xielu(at, linear(at + "up_proj", x)))

    def attend(layer, at, x):
        q, k, v = (linear(f"{at}self_attn.{p}_proj", x).reshape(length, -1, size).transpose(1, 0, 2) for p in "qkv")
        window = 0
        if is_llama:
            # All 64 positions are in one chunk, and too early for queries to grow.
            if (layer + 1) % 4 != 0:
                q, k = turn_pairs(q, rope), turn_pairs(k, rope)
                q, k = (bare(q), bare(k)) if config["use_qk_norm"] else (q, k)
        elif is_cohere:
            local = config["layer_types"][layer] == "sliding_attention"
            window = config["sliding_window"] if local else 0
            if local or layer < config["first_k_dense_replace"]:
                q, k = turn_pairs(q, rope), turn_pairs(k, rope)
        else:
            if kind.startswith("Apertus"):
                q, k = norm(at + "self_attn.q_norm", q), norm(at + "self_attn.k_norm", k)
            q, k = turn(q, rope), turn(k, rope)
        return linear(at + "self_attn.o_proj", attention(q, k, v, size**-0.5, 0, window))

    before = ("attention_layernorm", "feedforward_layernorm") if kind.startswith("Apertus") else ("input_layernorm", "post_attention_layernorm")
    x = weights["model.embed_tokens.weight"][tokens]
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        if is_cohere:
            y = norm(at + "input_layernorm", x)
            x = x + attend(layer, at, y) + feed(at, y)
            continue
        x = x + attend(layer, at, norm(at + before[0], x))
        x = x + feed(at, norm(at + before[1], x))
    x = norm("model.norm", x)
    if "lm_head.weight" in weights:
        return linear("lm_head", x)
    return x @ weights["model.embed_tokens.weight"].T * config.get("logit_scale", 1)

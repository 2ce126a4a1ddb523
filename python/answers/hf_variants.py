"""Models of Hugging Face that differ from a llama in norms, in what they turn, or in how a block is put together.

As in hf_answers.py nothing here knows GGUF: the formulas are those of the published models.
"""

import math

import numpy as np

from .hf_math import attention, gelu, layer_norm, rope_of, silu, softmax, turn

# "norm": rms, layer (mean and variance), bare (without weights), one (weights stored less 1).
# "pairs": neighbours turn together, not halves. "block": pre, post, around (norms before and behind), parallel.
# "names": of the norms before and behind both branches, of attention's output, of the last norm.
_PRE = ("input_layernorm", "post_attention_layernorm")
_SILU = {"mlp": ("gate_proj", "up_proj", "down_proj")}
VARIANTS = {
    "SmolLM3ForCausalLM": _SILU,
    "OlmoForCausalLM": {**_SILU, "norm": "bare"},
    "OlmoeForCausalLM": {"wide": True},
    "CohereForCausalLM": {**_SILU, "norm": "layer", "pairs": True, "block": "parallel"},
    "Cohere2ForCausalLM": {**_SILU, "norm": "layer", "pairs": True, "block": "parallel"},
    "Exaone4ForCausalLM": {**_SILU, "block": "post", "names": ("post_attention_layernorm", "post_feedforward_layernorm")},
    "Glm4ForCausalLM": {"block": "around", "pairs": True, "behind": ("post_self_attn_layernorm", "post_mlp_layernorm")},
    "Mistral3ForConditionalGeneration": _SILU,
    "PhiForCausalLM": {"plain": ("fc1", "fc2", gelu), "norm": "layer", "block": "parallel", "out": "self_attn.dense", "last": "final_layernorm"},
    "SeedOssForCausalLM": _SILU,
    "Starcoder2ForCausalLM": {"plain": ("c_fc", "c_proj", gelu), "norm": "layer"},
    "StableLmForCausalLM": {**_SILU, "norm": "layer"},
    "NemotronForCausalLM": {"plain": ("up_proj", "down_proj", lambda x: np.maximum(x, 0) ** 2), "norm": "one"},
    "MiniCPMForCausalLM": _SILU,
    "Ernie4_5ForCausalLM": {**_SILU, "pairs": True},
    "InternLM2ForCausalLM": {"gate": "feed_forward.", "mlp": ("w1", "w3", "w2"), "out": "attention.wo", "embed": "tok_embeddings", "head": "output", "names": ("attention_norm", "ffn_norm")},
    "FalconForCausalLM": {"plain": ("dense_h_to_4h", "dense_4h_to_h", gelu), "norm": "layer", "out": "self_attention.dense", "last": "ln_f", "start": "transformer.", "layers": "h.", "embed": "word_embeddings"},
    "GPTNeoXForCausalLM": {"plain": ("dense_h_to_4h", "dense_4h_to_h", gelu), "norm": "layer", "out": "attention.dense", "last": "final_layer_norm", "start": "gpt_neox.", "embed": "embed_in", "head": "embed_out"},
}


def variant(kind, config, weights, tokens):
    """Logits [tokens, vocabulary]."""
    style = VARIANTS[kind]
    config = {**config.get("text_config", {}), **config}
    start = style.get("start", "model.")
    heads, width, length = config["num_attention_heads"], config["hidden_size"], len(tokens)
    shared = config.get("num_kv_heads") or config.get("num_key_value_heads", heads)
    size = config.get("head_dim") or width // heads
    eps = next((config[key] for key in ("rms_norm_eps", "layer_norm_eps", "norm_eps", "norm_epsilon") if key in config), 1e-5)
    if style.get("norm") == "layer":
        eps = next(config[key] for key in ("layer_norm_eps", "layer_norm_epsilon", "norm_epsilon") if key in config)
    if style.get("norm") == "bare":
        eps = 1e-5
    rope = _rope(kind, config, size, length)

    def norm(name, x):
        how = style.get("norm", "rms")
        if how == "rms":
            return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weights[name + ".weight"]
        if how == "layer" and name + ".bias" in weights:
            return layer_norm(x, weights, name, eps)
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
        if how == "bare":
            return x
        if how == "layer":
            return x * weights[name + ".weight"]
        return x * (weights[name + ".weight"] + 1) + weights[name + ".bias"]

    def linear(name, x):
        y = x @ weights[name + ".weight"].T
        return y + weights[name + ".bias"] if name + ".bias" in weights else y

    def gated(at, x, names):
        gate, up, down = (at + name for name in names)
        return linear(down, silu(linear(gate, x)) * linear(up, x))

    def feed(at, x):
        if "plain" in style:
            up, down, act = style["plain"]
            return linear(f"{at}mlp.{down}", act(linear(f"{at}mlp.{up}", x)))
        if "mlp" in style:
            return gated(at + style.get("gate", "mlp."), x, style["mlp"])
        if kind == "Glm4ForCausalLM":
            gate, up = np.split(linear(at + "mlp.gate_up_proj", x), 2, -1)
            return linear(at + "mlp.down_proj", silu(gate) * up)
        shares = softmax(linear(at + "mlp.gate", x))
        out = np.zeros_like(x)
        for t in range(length):
            for e in np.argsort(-shares[t], kind="stable")[: config["num_experts_per_tok"]]:
                out[t] += shares[t][e] * gated(f"{at}mlp.experts.{e}.", x[t], _SILU["mlp"])
        return out

    def qkv(at, x):
        if kind == "GPTNeoXForCausalLM":
            fused = linear(at + "attention.query_key_value", x).reshape(length, heads, 3, size)
            return [fused[:, :, part].transpose(1, 0, 2) for part in range(3)]
        for name in ("attention.wqkv", "self_attention.query_key_value"):
            if at + name + ".weight" in weights:
                # Key head by key head: its queries, k, v.
                parts = linear(at + name, x).reshape(length, shared, heads // shared + 2, size)
                split = [parts[:, :, :-2].reshape(length, heads, size), parts[:, :, -2], parts[:, :, -1]]
                return [part.transpose(1, 0, 2) for part in split]
        q, k, v = (linear(f"{at}self_attn.{p}_proj", x) for p in "qkv")
        limit = config.get("clip_qkv")
        if limit:
            q, k, v = (np.clip(part, -limit, limit) for part in (q, k, v))
        if style.get("wide"):
            q, k = norm(at + "self_attn.q_norm", q), norm(at + "self_attn.k_norm", k)
        q, k, v = (part.reshape(length, -1, size).transpose(1, 0, 2) for part in (q, k, v))
        if not style.get("wide") and at + "self_attn.q_norm.weight" in weights:
            q, k = norm(at + "self_attn.q_norm", q), norm(at + "self_attn.k_norm", k)
        return [q, k, v]

    def attend(layer, at, x):
        q, k, v = qkv(at, x)
        turns, window = _turns(kind, config, layer)
        if turns:
            q, k = _turn(style, q, rope), _turn(style, k, rope)
        warmth = (config.get("rope_parameters") or {}).get("llama_4_scaling_beta")
        if warmth:
            original = config["rope_parameters"]["original_max_position_embeddings"]
            q = q * (1 + warmth * np.log(1 + np.floor(np.arange(length) / original)))[None, :, None]
        return linear(at + style.get("out", "self_attn.o_proj"), attention(q, k, v, size**-0.5, 0, window))

    x = weights[start + style.get("embed", "embed_tokens") + ".weight"][tokens] * config.get("scale_emb", 1)
    layers = config["num_hidden_layers"]
    grown = config["scale_depth"] / math.sqrt(layers) if "scale_depth" in config else 1
    block = style.get("block", "pre")
    if kind == "GPTNeoXForCausalLM":
        block = "both" if config.get("use_parallel_residual", True) else "pre"
    first, second = style.get("names", _PRE)
    for layer in range(layers):
        at = f"{start}{style.get('layers', 'layers.')}{layer}."
        if kind == "FalconForCausalLM":
            two = at + "ln_attn.weight" in weights
            y, z = (norm(at + name, x) for name in (("ln_attn", "ln_mlp") if two else ("input_layernorm",) * 2))
            x = x + attend(layer, at, y) + feed(at, z)
        elif block == "parallel":
            y = norm(at + first, x)
            x = x + attend(layer, at, y) + feed(at, y)
        elif block == "both":
            x = x + attend(layer, at, norm(at + first, x)) + feed(at, norm(at + second, x))
        elif block == "post":
            x = x + norm(at + first, attend(layer, at, x))
            x = x + norm(at + second, feed(at, x))
        elif block == "around":
            behind = [at + name for name in style["behind"]]
            x = x + norm(behind[0], attend(layer, at, norm(at + first, x)))
            x = x + norm(behind[1], feed(at, norm(at + second, x)))
        else:
            x = x + attend(layer, at, norm(at + first, x)) * grown
            x = x + feed(at, norm(at + second, x)) * grown
    x = norm(start + style.get("last", "norm"), x)
    if "dim_model_base" in config:
        x = x / (width / config["dim_model_base"])
    head = style.get("head", "lm_head")
    tied = config.get("tie_word_embeddings", False)
    logits = linear(head, x) if not tied else x @ weights[start + style.get("embed", "embed_tokens") + ".weight"].T
    return logits * config.get("logit_scale", 1)


def _rope(kind, config, size, length):
    more = {}
    if kind == "GPTNeoXForCausalLM":
        more = {"partial_rotary_factor": config["rotary_pct"], "rope_theta": config["rotary_emb_base"]}
    parameters = config.get("rope_parameters")
    if parameters:
        more = {"rope_theta": parameters["rope_theta"], "rope_scaling": parameters}
    return rope_of({**config, **more}, size, length)


def _turns(kind, config, layer):
    """Whether a layer turns its heads, and its window."""
    if kind == "SmolLM3ForCausalLM":
        return bool(config["no_rope_layers"][layer]), 0
    if kind == "Cohere2ForCausalLM":
        local = config["layer_types"][layer] == "sliding_attention"
        return local, config["sliding_window"] if local else 0
    return True, 0


def _turn(style, x, rope):
    return turn_pairs(x, rope) if style.get("pairs") else turn(x, rope)


def turn_pairs(x, rope):
    """Neighbours turn together."""
    cos, sin = rope
    turned = cos.shape[-1]
    # The angles of halves, in the order of neighbours.
    cos, sin = (np.repeat(part[:, : turned // 2], 2, -1) for part in (cos, sin))
    a, rest = x[..., :turned], x[..., turned:]
    swapped = np.stack([-a[..., 1::2], a[..., 0::2]], -1).reshape(a.shape)
    return np.concatenate([a * cos + swapped * sin, rest], -1)

"""Mixtures of experts in NumPy: which layers have them, how they are picked, what is shared."""

import numpy as np

from .hf_math import attention, rope_of, silu, softmax, turn
from .hf_variants import turn_pairs

MIXTURES = (
    "GptOssForCausalLM",
    "Glm4MoeForCausalLM",
    "Dots1ForCausalLM",
    "Ernie4_5_MoeForCausalLM",
    "MiniMaxM2ForCausalLM",
    "BailingMoeV2ForCausalLM",
    "HunYuanDenseV1ForCausalLM",
    "HunYuanMoEV1ForCausalLM",
)
_FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
_sigmoid = lambda x: 1 / (1 + np.exp(-x))


def _unpacked(weights, name):
    """MXFP4: [experts, rows, blocks, 16] bytes, the lower half first, and exponents."""
    blocks = weights[name + "_blocks"].astype(np.uint8)
    values = _FP4[np.stack([blocks & 15, blocks >> 4], -1).reshape(*blocks.shape[:-1], 32)]
    return (values * 2.0 ** (weights[name + "_scales"][..., None] - 127)).reshape(*blocks.shape[:2], -1)


def mixture(kind, config, weights, tokens):
    """Logits [tokens, vocabulary]."""
    heads, width, length, eps = config["num_attention_heads"], config["hidden_size"], len(tokens), config["rms_norm_eps"]
    shared = config.get("num_key_value_heads", heads)
    size = config.get("head_dim") or width // heads
    more = {}
    if "rotary_dim" in config:
        more["partial_rotary_factor"] = config["rotary_dim"] / size
    alpha = (config.get("rope_scaling") or {}).get("alpha")
    if alpha:
        more = {"rope_theta": config["rope_theta"] * alpha ** (size / (size - 2)), "rope_scaling": None}
    rope = rope_of({**config, **more}, size, length)
    is_oss = kind == "GptOssForCausalLM"

    def norm(name, x):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weights[name + ".weight"]

    def linear(name, x):
        y = x @ weights[name + ".weight"].T
        return y + weights[name + ".bias"] if name + ".bias" in weights else y

    def mlp(at, x, names=("gate_proj", "up_proj", "down_proj")):
        gate, up, down = (at + name for name in names)
        return linear(down, silu(linear(gate, x)) * linear(up, x))

    def picked(logits, bias):
        """Experts and their shares, for one token."""
        count = config.get("num_experts_per_tok") or config.get("moe_k") or config["moe_topk"]
        count = count[0] if isinstance(count, list) else count
        if is_oss:
            best = np.argsort(-logits, kind="stable")[:count]
            return best, softmax(logits[best])
        softly = kind in ("Ernie4_5_MoeForCausalLM", "HunYuanMoEV1ForCausalLM")
        scores = softmax(logits) if softly else _sigmoid(logits)
        choice = scores + (bias if bias is not None else 0)
        groups = config.get("n_group", 1)
        if groups > 1:
            parts = choice.reshape(groups, -1)
            tops = np.sort(parts, -1)[:, -2:].sum(-1)
            kept = np.argsort(-tops, kind="stable")[: config["topk_group"]]
            choice = np.where(np.isin(np.arange(groups), kept)[:, None], parts, -np.inf).reshape(-1)
        best = np.argsort(-choice, kind="stable")[:count]
        shares = scores[best]
        if config.get("norm_topk_prob", True):
            shares = shares / shares.sum()
        return best, shares * config.get("routed_scaling_factor", 1)

    def oss_product(name, e, x):
        # Unpacked to BF16 they are stored as [in, out].
        matrix = weights[name][e].T if name in weights else _unpacked(weights, name)[e]
        return matrix @ x + weights[name + "_bias"][e]

    def oss_expert(at, e, x):
        both = oss_product(at + "experts.gate_up_proj", e, x)
        gate, up = np.minimum(both[0::2], 7), np.clip(both[1::2], -7, 7)
        y = (up + 1) * gate * _sigmoid(1.702 * gate)
        return oss_product(at + "experts.down_proj", e, y)

    def feed(at, x):
        gate, bias, one = at + "mlp.gate", None, lambda e, t: mlp(f"{at}mlp.experts.{e}.", t)
        if kind == "MiniMaxM2ForCausalLM":
            moe = at + "block_sparse_moe."
            gate, bias = moe + "gate", weights[moe + "e_score_correction_bias"]
            one = lambda e, t: mlp(f"{moe}experts.{e}.", t, ("w1", "w3", "w2"))
        elif is_oss:
            gate, one = at + "mlp.router", lambda e, t: oss_expert(at + "mlp.", e, t)
        elif kind == "HunYuanMoEV1ForCausalLM":
            gate = at + "mlp.gate.wg"
        elif gate + ".weight" not in weights:
            return mlp(at + "mlp.", x)
        for name in ("mlp.gate.e_score_correction_bias", "mlp.gate.expert_bias", "mlp.moe_statics.e_score_correction_bias"):
            if at + name in weights:
                bias = weights[at + name].reshape(-1)
        logits, out = linear(gate, x), np.zeros_like(x)
        for t in range(length):
            for e, share in zip(*picked(logits[t], bias)):
                out[t] += share * one(e, x[t])
        for name in ("mlp.shared_experts.", "mlp.shared_mlp."):
            if at + name + "gate_proj.weight" in weights:
                out = out + mlp(at + name, x)
        return out

    def with_sinks(q, k, v, sinks, window):
        k, v = np.repeat(k, heads // shared, 0), np.repeat(v, heads // shared, 0)
        i = np.arange(length)
        seen = (i[None, :] <= i[:, None]) & (i[None, :] > i[:, None] - (window or length + 1))
        scores = np.where(seen, q @ k.transpose(0, 2, 1) * size**-0.5, -np.inf)
        scores = np.concatenate([scores, np.broadcast_to(sinks[:, None, None], (heads, length, 1))], -1)
        return (softmax(scores)[..., :-1] @ v).transpose(1, 0, 2).reshape(length, -1)

    def attend(layer, at, x):
        split = lambda y: y.reshape(length, -1, size).transpose(1, 0, 2)
        if at + "attention.query_key_value.weight" in weights:
            q, k, v = np.split(linear(at + "attention.query_key_value", x), [heads * size, (heads + shared) * size], -1)
        else:
            q, k, v = (linear(f"{at}self_attn.{p}_proj", x) for p in "qkv")
        if kind == "MiniMaxM2ForCausalLM":
            q, k = norm(at + "self_attn.q_norm", q), norm(at + "self_attn.k_norm", k)
        q, k, v = split(q), split(k), split(v)
        normed = lambda *names: [norm(at + n, y) if at + n + ".weight" in weights else y for n, y in zip(names, (q, k))]
        if kind == "BailingMoeV2ForCausalLM":
            q, k = normed("attention.query_layernorm", "attention.key_layernorm")
        elif kind != "MiniMaxM2ForCausalLM":
            q, k = normed("self_attn.q_norm", "self_attn.k_norm")
        around = turn_pairs if kind.startswith("Ernie") else turn
        q, k = around(q, rope), around(k, rope)
        if kind.startswith("HunYuan"):
            q, k = normed("self_attn.query_layernorm", "self_attn.key_layernorm")
        if is_oss:
            window = config["sliding_window"] if config["layer_types"][layer] == "sliding_attention" else 0
            return linear(at + "self_attn.o_proj", with_sinks(q, k, v, weights[at + "self_attn.sinks"], window))
        out = attention(q, k, v, size**-0.5)
        return linear(at + ("attention.dense" if at + "attention.dense.weight" in weights else "self_attn.o_proj"), out)

    embed = weights["model.word_embeddings.weight" if kind.startswith("Bailing") else "model.embed_tokens.weight"]
    x = embed[tokens]
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        x = x + attend(layer, at, norm(at + "input_layernorm", x))
        x = x + feed(at, norm(at + "post_attention_layernorm", x))
    x = norm("model.norm", x)
    return x @ (embed if config.get("tie_word_embeddings") else weights["lm_head.weight"]).T

"""Encoders of Hugging Face in NumPy: the row of every token."""

import math

import numpy as np

from .hf_math import layer_norm, rope_of, silu, softmax, turn
from .hf_t5 import t5_rows

_gelu = lambda x: 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def _both_ways(q, k, v, reach=None):
    scores = q @ k.transpose(0, 2, 1) * q.shape[-1] ** -0.5
    if reach is not None:
        i = np.arange(q.shape[1])
        scores = np.where(np.abs(i[None, :] - i[:, None]) <= reach, scores, -np.inf)
    out = softmax(scores) @ v
    return out.transpose(1, 0, 2).reshape(q.shape[1], -1)


def rows(config, weights, tokens):
    kind, length = config["architectures"][0], len(tokens)
    if kind.endswith("T5EncoderModel"):
        return t5_rows(config, weights, tokens)
    kind = kind.replace("ForSequenceClassification", "Model")
    forms = {
        "NomicBertModel": _nomic,
        "ModernBertModel": _modern,
        "BertModel": _bert,
        "DistilBertModel": _distil,
        "XLMRobertaModel": _jina3 if "lora_adaptations" in config else _bert,
        "JinaBertModel": _jina2,
    }
    return forms[kind](config, weights, tokens, length)


def scores(config, weights, x):
    """What a head behind the rows of a text says of it."""
    linear = lambda name, x: x @ weights[name + ".weight"].T + weights.get(name + ".bias", 0)
    kind = config["architectures"][0]
    if kind.startswith("ModernBert"):
        y = _gelu(linear("head.dense", x.mean(0)))
        y = y - y.mean()
        y = y / np.sqrt((y * y).mean() + config["norm_eps"]) * weights["head.norm.weight"]
        return linear("classifier", y)
    inner, last = ("classifier.dense", "classifier.out_proj") if "Roberta" in kind else ("pooler.dense", "classifier")
    return linear(last, np.tanh(linear(inner, x[0])))


def _bert(config, weights, tokens, length):
    heads, eps = config["num_attention_heads"], config["layer_norm_eps"]
    linear = lambda name, x: x @ weights[name + ".weight"].T + weights[name + ".bias"]
    x = weights["embeddings.word_embeddings.weight"][tokens]
    # RoBERTa begins to count behind the number of its padding token.
    first = config["pad_token_id"] + 1 if "Roberta" in config["architectures"][0] else 0
    x = x + weights["embeddings.position_embeddings.weight"][first : first + length]
    x = x + weights["embeddings.token_type_embeddings.weight"][0]
    x = layer_norm(x, weights, "embeddings.LayerNorm", eps)
    for layer in range(config["num_hidden_layers"]):
        at = f"encoder.layer.{layer}."
        q, k, v = (
            linear(f"{at}attention.self.{part}", x).reshape(length, heads, -1).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        y = linear(at + "attention.output.dense", _both_ways(q, k, v))
        x = layer_norm(x + y, weights, at + "attention.output.LayerNorm", eps)
        y = linear(at + "output.dense", _gelu(linear(at + "intermediate.dense", x)))
        x = layer_norm(x + y, weights, at + "output.LayerNorm", eps)
    return x


def _distil(config, weights, tokens, length):
    heads, eps = config["n_heads"], 1e-12
    linear = lambda name, x: x @ weights[name + ".weight"].T + weights[name + ".bias"]
    x = weights["embeddings.word_embeddings.weight"][tokens] + weights["embeddings.position_embeddings.weight"][:length]
    x = layer_norm(x, weights, "embeddings.LayerNorm", eps)
    for layer in range(config["n_layers"]):
        at = f"transformer.layer.{layer}."
        q, k, v = (linear(f"{at}attention.{part}_lin", x).reshape(length, heads, -1).transpose(1, 0, 2) for part in "qkv")
        x = layer_norm(x + linear(at + "attention.out_lin", _both_ways(q, k, v)), weights, at + "sa_layer_norm", eps)
        y = linear(at + "ffn.lin2", _gelu(linear(at + "ffn.lin1", x)))
        x = layer_norm(x + y, weights, at + "output_layer_norm", eps)
    return x


def _heads(flat, heads):
    return [part.reshape(flat.shape[0], heads, -1).transpose(1, 0, 2) for part in np.split(flat, 3, -1)]


def _nomic(config, weights, tokens, length):
    heads, eps = config["n_head"], config["layer_norm_epsilon"]
    linear = lambda name, x: x @ weights[name + ".weight"].T + weights.get(name + ".bias", 0)
    settings = {"rope_theta": config["rotary_emb_base"], "max_position_embeddings": config["n_positions"]}
    rope = rope_of(settings, config["n_embd"] // heads, length)
    x = weights["embeddings.word_embeddings.weight"][tokens] + weights["embeddings.token_type_embeddings.weight"][0]
    x = layer_norm(x, weights, "emb_ln", eps)
    for layer in range(config["n_layer"]):
        at = f"encoder.layers.{layer}."
        q, k, v = _heads(linear(at + "attn.Wqkv", x), heads)
        y = linear(at + "attn.out_proj", _both_ways(turn(q, rope), turn(k, rope), v))
        x = layer_norm(x + y, weights, at + "norm1", eps)
        if at + "mlp.fc11.weight" in weights:
            y = linear(at + "mlp.fc2", linear(at + "mlp.fc11", x) * silu(linear(at + "mlp.fc12", x)))
        elif at + "mlp.fc1.weight" in weights:
            y = linear(at + "mlp.fc2", _gelu(linear(at + "mlp.fc1", x)))
        else:
            y = _nomic_experts(config, weights, at + "mlp.", x)
        x = layer_norm(x + y, weights, at + "norm2", eps)
    return x


def _nomic_experts(config, weights, at, x):
    """Without the bias of the experts, which GGUF has no place for."""
    shares, out = softmax(x @ weights[at + "router.layer.weight"].T), np.zeros_like(x)
    w1, w2 = (weights[f"{at}experts.mlp.{name}"].reshape(config["num_experts"], config["n_inner"], -1) for name in ("w1", "w2"))
    for t in range(len(x)):
        for e in np.argsort(-shares[t], kind="stable")[: config["moe_top_k"]]:
            out[t] += shares[t][e] * (_gelu(w1[e] @ x[t]) @ w2[e])
    return out


def _jina2(config, weights, tokens, length):
    heads, eps = config["num_attention_heads"], config["layer_norm_eps"]
    linear = lambda name, x: x @ weights[name + ".weight"].T + weights.get(name + ".bias", 0)
    # Scores fall with the distance, in each head more slowly than in the one before.
    slopes = lambda count: [2.0 ** (-8 * (h + 1) / count) for h in range(count)]
    whole = 2 ** int(math.log2(heads))
    slope = np.array(slopes(whole) + slopes(2 * whole)[0::2][: heads - whole])
    i = np.arange(length)
    bias = -np.abs(i[None, :] - i[:, None])[None] * slope[:, None, None]

    x = weights["embeddings.word_embeddings.weight"][tokens] + weights["embeddings.token_type_embeddings.weight"][0]
    x = layer_norm(x, weights, "embeddings.LayerNorm", eps)
    for layer in range(config["num_hidden_layers"]):
        at = f"encoder.layer.{layer}."
        q, k, v = (linear(f"{at}attention.self.{part}", x) for part in ("query", "key", "value"))
        is_code = at + "mlp.up_gated_layer.weight" in weights
        if is_code:
            q, k = layer_norm(q, weights, at + "attention.self.layer_norm_q", eps), layer_norm(k, weights, at + "attention.self.layer_norm_k", eps)
        q, k, v = (part.reshape(length, heads, -1).transpose(1, 0, 2) for part in (q, k, v))
        scores = q @ k.transpose(0, 2, 1) * q.shape[-1] ** -0.5 + bias
        y = linear(at + "attention.output.dense", (softmax(scores) @ v).transpose(1, 0, 2).reshape(length, -1))
        y = layer_norm(x + y, weights, at + "attention.output.LayerNorm", eps)
        x = layer_norm(x + y, weights, at + "layer_norm_1", eps) if is_code else y
        if is_code:
            up, gate = np.split(linear(at + "mlp.up_gated_layer", x), 2, -1)
            y = linear(at + "mlp.down_layer", up * _gelu(gate))
        else:
            gate, up = np.split(linear(at + "mlp.gated_layers", x), 2, -1)
            y = linear(at + "mlp.wo", _gelu(gate) * up)
        x = layer_norm(x + y, weights, at + ("layer_norm_2" if is_code else "mlp.layernorm"), eps)
    return x


def _jina3(config, weights, tokens, length):
    heads, eps = config["num_attention_heads"], config["layer_norm_eps"]
    weights = {name.replace(".parametrizations.weight.original", ".weight"): value for name, value in weights.items()}
    linear = lambda name, x: x @ weights[name + ".weight"].T + weights[name + ".bias"]
    rope = rope_of({**config, "rope_theta": config["rotary_emb_base"]}, config["hidden_size"] // heads, length)
    x = weights["embeddings.word_embeddings.weight"][tokens] + weights["embeddings.token_type_embeddings.weight"][0]
    x = layer_norm(x, weights, "emb_ln", eps)
    for layer in range(config["num_hidden_layers"]):
        at = f"encoder.layers.{layer}."
        q, k, v = _heads(linear(at + "mixer.Wqkv", x), heads)
        y = linear(at + "mixer.out_proj", _both_ways(turn(q, rope), turn(k, rope), v))
        x = layer_norm(x + y, weights, at + "norm1", eps)
        x = layer_norm(x + linear(at + "mlp.fc2", _gelu(linear(at + "mlp.fc1", x))), weights, at + "norm2", eps)
    return x


def _modern(config, weights, tokens, length):
    heads, eps = config["num_attention_heads"], config["norm_eps"]
    size = config["hidden_size"] // heads
    linear = lambda name, x: x @ weights[name + ".weight"].T
    ropes = {name: rope_of({**config, "rope_theta": config[name + "_rope_theta"]}, size, length) for name in ("local", "global")}

    def norm(name, x):
        x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weights[name + ".weight"]

    x = norm("embeddings.norm", weights["embeddings.tok_embeddings.weight"][tokens])
    for layer in range(config["num_hidden_layers"]):
        at = f"layers.{layer}."
        sees_all = layer % config["global_attn_every_n_layers"] == 0
        rope = ropes["global" if sees_all else "local"]
        y = x if layer == 0 else norm(at + "attn_norm", x)
        q, k, v = _heads(linear(at + "attn.Wqkv", y), heads)
        reach = None if sees_all else config["local_attention"] // 2
        x = x + linear(at + "attn.Wo", _both_ways(turn(q, rope), turn(k, rope), v, reach))
        a, gate = np.split(linear(at + "mlp.Wi", norm(at + "mlp_norm", x)), 2, -1)
        x = x + linear(at + "mlp.Wo", _gelu(a) * gate)
    return norm("final_norm", x)

"""Toy folders as Hugging Face has them, and what such a model computes, written in NumPy from the formulas in float64.

Nothing here knows GGUF: names, shapes and the order of rows are those of the published models.
"""

import json
import math
import struct
import zlib
from pathlib import Path

import ml_dtypes
import numpy as np

_TYPES = {"F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16, "I64": np.int64}


# ------------------------------------------------------------------------------------------------------ writing


def write(folder, config, tensors, dtype="F32", shards=1, tokenizer=None, seed=1):
    """`tensors`: [name, sizes]. Random values; matrices as `dtype`. Several shards get an index."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    is_gemma = config["architectures"][0].startswith("Gemma")
    values = {name: _random(name, tuple(sizes), seed, is_gemma).astype(_TYPES[dtype]) for name, sizes in tensors}
    names = list(values)
    parts = [names[i::shards] for i in range(shards)]
    index = {}
    for i, part in enumerate(parts):
        file = "model.safetensors" if shards == 1 else f"model-{i + 1:05}-of-{shards:05}.safetensors"
        _save(folder / file, {name: values[name] for name in part}, dtype)
        index |= dict.fromkeys(part, file)
    if shards > 1:
        (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": index}))
    for name, text in (tokenizer or {}).items():
        (folder / name).write_text(text if isinstance(text, str) else json.dumps(text, ensure_ascii=False))


def _save(path, tensors, dtype):
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, value in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(value.shape), "data_offsets": [at, at + value.nbytes]}
        at += value.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(value.tobytes() for value in tensors.values()))


def _random(name, shape, seed, is_gemma):
    """Feed-forward networks add little to the stream: ggml rounds what goes into gelu to half, and that should not decide."""
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    noise = rng.standard_normal(shape, dtype=np.float32)
    if "norm" in name.lower() or ".ln_" in name or name.startswith("ln_"):
        scale = 0.15 if "post_feedforward" in name else 1
        return (noise * np.float32(0.1) + (0 if name.endswith("bias") else 1)) * np.float32(scale) - (1 if is_gemma else 0)
    if len(shape) == 1:
        return noise * np.float32(0.3)
    if "embed" in name or name.startswith(("wte", "wpe")):
        return noise * np.float32(0.5)
    wide = shape[0] if ".c_" in name else shape[-1]
    small = 0.15 if any(part in name for part in ("down_proj", "mlp.c_proj", ".w2.", "output_linear")) else 1
    return noise * np.float32((2.2 if "lm_head" in name else 1.2) * small / math.sqrt(wide))


# ------------------------------------------------------------------------------------------------------ reading


def _load(folder):
    """All tensors as float64."""
    found = {}
    for path in sorted(Path(folder).glob("*.safetensors")):
        raw = path.read_bytes()
        (length,) = struct.unpack_from("<Q", raw)
        for name, info in json.loads(raw[8 : 8 + length]).items():
            if name == "__metadata__":
                continue
            begin, end = info["data_offsets"]
            data = np.frombuffer(raw[8 + length + begin : 8 + length + end], dtype=_TYPES[info["dtype"]])
            found[name] = data.astype(np.float64).reshape(info["shape"])
    return found


def logprobs(folder, tokens):
    """Log-probabilities [tokens, vocabulary] of a folder's model at every position."""
    config = json.loads((Path(folder) / "config.json").read_text())
    weights = _load(folder)
    tokens = [int(t) for t in tokens]
    kind = config["architectures"][0]
    logits = _gpt2(config, weights, tokens) if kind == "GPT2LMHeadModel" else _decoder(kind, config, weights, tokens)
    top = logits.max(-1, keepdims=True)
    return logits - top - np.log(np.exp(logits - top).sum(-1, keepdims=True))


def _silu(x):
    return x / (1 + np.exp(-x))


def _gelu(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _attention(q, k, v, scale, cap=0, window=0):
    """[heads, tokens, size] each; heads of k and v are shared by neighbours."""
    share = q.shape[0] // k.shape[0]
    k, v = np.repeat(k, share, 0), np.repeat(v, share, 0)
    scores = q @ k.transpose(0, 2, 1) * scale
    if cap:
        scores = cap * np.tanh(scores / cap)
    i = np.arange(q.shape[1])
    seen = i[None, :] <= i[:, None]
    if window:
        seen &= i[None, :] > i[:, None] - window
    out = _softmax(np.where(seen, scores, -np.inf)) @ v
    return out.transpose(1, 0, 2).reshape(q.shape[1], -1)


def _rope_of(config, size, length, local=False):
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
        low, high = max(math.floor(turn(32)), 0), min(math.ceil(turn(1)), turned - 1)
        ramp = np.clip((np.arange(turned // 2) - low) / max(high - low, 0.001), 0, 1)
        rates = rates / factor * ramp + rates * (1 - ramp)
        magnitude = 0.1 * math.log(factor) + 1
    elif kind == "longrope":
        original = config["original_max_position_embeddings"]
        growth = config["max_position_embeddings"] / original
        # llama.cpp picks by the size of the context, as it was made for: the long ones here.
        rates = rates / np.array(scaling["long_factor"])
        magnitude = math.sqrt(1 + math.log(growth) / math.log(original)) if growth > 1 else 1
    angles = np.arange(length)[:, None] * rates[None, :]
    return np.cos(np.concatenate([angles, angles], -1)) * magnitude, np.sin(np.concatenate([angles, angles], -1)) * magnitude


def _turn(x, rope):
    cos, sin = rope
    size = cos.shape[-1]
    a, rest = x[..., :size], x[..., size:]
    swapped = np.concatenate([-a[..., size // 2 :], a[..., : size // 2]], -1)
    return np.concatenate([a * cos + swapped * sin, rest], -1)


def _decoder(kind, config, weights, tokens):
    is_gemma, is_olmo = kind.startswith("Gemma"), kind.startswith("Olmo2")
    is_granite = kind.startswith("Granite")
    sandwich = kind.startswith(("Gemma2", "Gemma3"))
    heads, eps = config["num_attention_heads"], config["rms_norm_eps"]
    shared = config.get("num_key_value_heads", heads)
    width = config["hidden_size"]
    size = config.get("head_dim") or width // heads
    length = len(tokens)
    ropes = {local: _rope_of(config, size, length, local) for local in (False, True)}

    def norm(name, x):
        w = weights[name + ".weight"] + (1 if is_gemma else 0)
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * w

    def linear(name, x):
        y = x @ weights[name + ".weight"].T
        return y + weights[name + ".bias"] if name + ".bias" in weights else y

    act = _gelu if is_gemma else _silu

    def gated(at, x, names=("gate_proj", "up_proj", "down_proj")):
        gate, up, down = (at + name for name in names)
        return linear(down, act(linear(gate, x)) * linear(up, x))

    def fused(w_in, w_out, x):
        gate, up = np.split(x @ w_in.T, 2, -1)
        return (_silu(gate) * up) @ w_out.T

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
            out = mixture(linear(moe + "gate", x), lambda e, t: gated(f"{moe}experts.{e}.", t), x, config.get("norm_topk_prob", False))
            if moe + "shared_expert_gate.weight" in weights:
                out += gated(moe + "shared_expert.", x) / (1 + np.exp(-linear(moe + "shared_expert_gate", x)))
            return out
        return gated(at + "mlp.", x)

    def mixture(router, expert, x, normalised):
        out = np.zeros_like(x)
        shares = _softmax(router)
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
        period = {"Gemma2ForCausalLM": 2, "Gemma3ForCausalLM": 6}.get(kind, 0)
        local = bool(period) and (layer + 1) % period != 0
        if config.get("layer_types"):
            local = config["layer_types"][layer] == "sliding_attention"
        rope = ropes[local and kind.startswith("Gemma3")]
        scale = config.get("attention_multiplier") or (config.get("query_pre_attn_scalar") or size) ** -0.5
        cap = config.get("attn_logit_softcapping") or 0 if kind.startswith("Gemma2") else 0
        window = config["sliding_window"] if local else 0
        return linear(at + "self_attn.o_proj", _attention(_turn(q, rope), _turn(k, rope), v, scale, cap, window))

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
    x = norm("model.norm", x)
    tied = config.get("tie_word_embeddings", is_gemma or is_granite)
    logits = x @ weights["model.embed_tokens.weight" if tied else "lm_head.weight"].T
    logits = logits / (config.get("logits_scaling", 1) if is_granite else 1)
    cap = config.get("final_logit_softcapping") or 0
    return cap * np.tanh(logits / cap) if cap else logits


def _layer_norm(x, weights, name, eps):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weights[name + ".weight"] + weights[name + ".bias"]


def _gpt2(config, weights, tokens):
    heads, eps, length = config["n_head"], config["layer_norm_epsilon"], len(tokens)
    linear = lambda name, x: x @ weights[name + ".weight"] + weights[name + ".bias"]
    x = weights["wte.weight"][tokens] + weights["wpe.weight"][:length]
    for layer in range(config["n_layer"]):
        at = f"h.{layer}."
        qkv = linear(at + "attn.c_attn", _layer_norm(x, weights, at + "ln_1", eps))
        q, k, v = (part.reshape(length, heads, -1).transpose(1, 0, 2) for part in np.split(qkv, 3, -1))
        x = x + linear(at + "attn.c_proj", _attention(q, k, v, q.shape[-1] ** -0.5))
        x = x + linear(at + "mlp.c_proj", _gelu(linear(at + "mlp.c_fc", _layer_norm(x, weights, at + "ln_2", eps))))
    return _layer_norm(x, weights, "ln_f", eps) @ weights["wte.weight"].T


# ------------------------------------------------------------------------------------------------------ encoders


def embedding(folder, tokens):
    """The mean of a BERT's last vectors, of length 1."""
    config = json.loads((Path(folder) / "config.json").read_text())
    weights = {name.removeprefix("bert."): value for name, value in _load(folder).items()}
    heads, eps, length = config["num_attention_heads"], config["layer_norm_eps"], len(tokens)
    linear = lambda name, x: x @ weights[name + ".weight"].T + weights[name + ".bias"]
    x = weights["embeddings.word_embeddings.weight"][[int(t) for t in tokens]]
    x = x + weights["embeddings.position_embeddings.weight"][:length] + weights["embeddings.token_type_embeddings.weight"][0]
    x = _layer_norm(x, weights, "embeddings.LayerNorm", eps)
    erf = np.vectorize(math.erf)
    for layer in range(config["num_hidden_layers"]):
        at = f"encoder.layer.{layer}."
        q, k, v = (
            linear(f"{at}attention.self.{part}", x).reshape(length, heads, -1).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        y = _softmax(q @ k.transpose(0, 2, 1) * q.shape[-1] ** -0.5) @ v
        y = linear(at + "attention.output.dense", y.transpose(1, 0, 2).reshape(length, -1))
        x = _layer_norm(x + y, weights, at + "attention.output.LayerNorm", eps)
        y = linear(at + "intermediate.dense", x)
        y = linear(at + "output.dense", 0.5 * y * (1 + erf(y / math.sqrt(2))))
        x = _layer_norm(x + y, weights, at + "output.LayerNorm", eps)
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)

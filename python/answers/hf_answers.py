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

from .hf_decoders import decoder, gpt2, states
from .hf_delta import DELTA, delta
from .hf_encoders import rows as encoder_rows
from .hf_encoders import scores as head_scores
from .hf_later import LATER, later
from .hf_lfm2 import LFM2, lfm2
from .hf_math import softmax
from .hf_mixtures import MIXTURES, mixture
from .hf_t5 import t5
from .hf_variants import VARIANTS, variant

_TYPES = {"U8": np.uint8, "F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16, "I64": np.int64}


# ------------------------------------------------------------------------------------------------------ writing


def write(folder, config, tensors, dtype="F32", shards=1, tokenizer=None, seed=1, modules=None):
    """`tensors`: [name, sizes]. Random values; matrices as `dtype`. Several shards get an index.

    `modules`: what sentence-transformers puts behind the model, each with a folder, a type, a configuration and tensors.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    is_gemma = config["architectures"][0].startswith(("Gemma", "Nemotron", "Qwen3Next", "Qwen3_5"))
    values = {name: _random(name, tuple(sizes), seed, is_gemma) for name, sizes in tensors}
    values = {name: value if value.dtype == np.uint8 else value.astype(_TYPES[dtype]) for name, value in values.items()}
    names = list(values)
    parts = [names[i::shards] for i in range(shards)]
    index = {}
    for i, part in enumerate(parts):
        file = "model.safetensors" if shards == 1 else f"model-{i + 1:05}-of-{shards:05}.safetensors"
        _save(folder / file, {name: values[name] for name in part}, dtype)
        index |= dict.fromkeys(part, file)
    if shards > 1:
        (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": index}))
    if modules:
        steps = [{"idx": i, "name": str(i), "path": module["path"], "type": module["type"]} for i, module in enumerate(modules)]
        (folder / "modules.json").write_text(json.dumps(steps))
    for module in modules or []:
        part = folder / module["path"]
        part.mkdir(exist_ok=True)
        (part / "config.json").write_text(json.dumps(module["config"]))
        if module["tensors"]:
            matrices = {name: _random(module["path"] + name, tuple(sizes), seed, False) for name, sizes in module["tensors"]}
            _save(part / "model.safetensors", matrices, "F32")
    for name, text in (tokenizer or {}).items():
        (folder / name).write_text(text if isinstance(text, str) else json.dumps(text, ensure_ascii=False))


def _save(path, tensors, dtype):
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, value in tensors.items():
        stored = "U8" if value.dtype == np.uint8 else dtype
        header[name] = {"dtype": stored, "shape": list(value.shape), "data_offsets": [at, at + value.nbytes]}
        at += value.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(value.tobytes() for value in tensors.values()))


def _random(name, shape, seed, is_gemma):
    """Feed-forward networks add little to the stream: ggml rounds what goes into gelu to half, and that should not decide."""
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    if name.endswith("_blocks"):
        return rng.integers(0, 256, shape, dtype=np.uint8)
    if name.endswith("_scales"):
        return rng.integers(120, 124, shape, dtype=np.uint8)
    noise = np.asarray(rng.standard_normal(shape, dtype=np.float32))
    if "parametrizations" in name and ".original" in name:
        return _random(name.replace(".parametrizations.weight.original", ".weight"), shape, seed, is_gemma)
    if "norm" in name.lower() or "emb_ln" in name or ".ln_" in name or name.startswith("ln_"):
        scale = 0.15 if "post_feedforward" in name else 1
        return (noise * np.float32(0.1) + (0 if name.endswith("bias") else 1)) * np.float32(scale) - (1 if is_gemma and "linear_attn" not in name else 0)
    if len(shape) <= 1:
        return noise * np.float32(0.3)
    if name.startswith("shared."):
        return noise
    if "embed" in name or name.startswith(("wte", "wpe")):
        return noise * np.float32(0.5)
    wide = shape[0] if name.startswith("h.") else shape[-1]
    small = 0.15 if any(part in name for part in ("down_proj", "mlp.c_proj", ".w2.", "output_linear", "mlp.fc2", "4h_to_h", "mlp.Wo", "output.dense", "DenseReluDense.wo", "mlp.wo", "down_layer", "experts.mlp.w2", "ffn.lin2")) else 1
    if "4h_to_h" in name or name.startswith("model.") and "mlp.c_proj" in name:
        small = 0.06
    if name.endswith("Attention.q.weight"):
        small = 0.2  # T5's scores are not divided.
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


def logprobs(folder, tokens, source=None):
    """Log-probabilities [tokens, vocabulary] of a folder's model at every position; `source`: the text that an encoder reads."""
    config = json.loads((Path(folder) / "config.json").read_text())
    weights = _load(folder)
    tokens = [int(t) for t in tokens]
    kind = config["architectures"][0]
    if source:
        logits = t5(config, weights, tokens, [int(t) for t in source])
    elif kind in VARIANTS:
        logits = variant(kind, config, weights, tokens)
    elif kind in MIXTURES:
        logits = mixture(kind, config, weights, tokens)
    elif kind in LFM2:
        logits = lfm2(config, weights, tokens)
    elif kind in LATER:
        logits = later(kind, config, weights, tokens)
    elif kind in DELTA:
        logits = delta(kind, config, weights, tokens)
    else:
        logits = gpt2(config, weights, tokens) if kind == "GPT2LMHeadModel" else decoder(kind, config, weights, tokens)
    top = logits.max(-1, keepdims=True)
    return logits - top - np.log(np.exp(logits - top).sum(-1, keepdims=True))


# ------------------------------------------------------------------------------------------------------ encoders


def rows(folder, tokens):
    """What an encoder makes of each token: [tokens, width]."""
    config = json.loads((Path(folder) / "config.json").read_text())
    tokens, kind = [int(t) for t in tokens], config["architectures"][0]
    if kind.startswith(("Qwen3", "Gemma3", "LlamaBi")):
        x = states(kind, config, {"model." + name: value for name, value in _bare(folder).items()}, tokens)
    else:
        x = encoder_rows(config, _bare(folder), tokens)
    for part in sorted(Path(folder).glob("*_Dense")):
        x = x @ _load(part)["linear.weight"].T
    return x


def _bare(folder):
    """Tensors without what models of a kind may begin their names with."""
    start = ("bert.", "roberta.", "distilbert.", "model.")
    return {next((name[len(s) :] for s in start if name.startswith(s)), name): value for name, value in _load(folder).items()}


def scores(folder, tokens):
    """What a reranker says of a text: one number or some."""
    config = json.loads((Path(folder) / "config.json").read_text())
    weights, x = _bare(folder), rows(folder, tokens)
    if config["architectures"][0] == "Qwen3ForCausalLM":
        ids = json.loads((Path(folder) / "tokenizer.json").read_text())["model"]["vocab"]
        return softmax(x[-1] @ weights["embed_tokens.weight"][[ids["yes"], ids["no"]]].T)
    return head_scores(config, weights, x)


def embedding(folder, tokens):
    """The mean of a BERT's last vectors, of length 1."""
    mean = rows(folder, tokens).mean(0)
    return mean / np.linalg.norm(mean)

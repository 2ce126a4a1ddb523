"""Toy files of any family: the keys and the tensors are given, the weights are random.

The list of tensors comes from the code under test; llama.cpp refuses a file whose tensors are not those that it expects.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
from gguf import GGUFValueType, GGUFWriter
from gguf import GGMLQuantizationType as Ggml

from .files import Entry, write_exact, write_file
from .ggml import quantise
from .mix import FILE_TYPES, fit
from .shapes import PRESETS
from .vocabulary import add_vocabulary

# Tensors that stay f32 in every file.
_PLAIN = ("_norm.weight", "ffn_gate_inp.weight", "ffn_gate_inp_shexp.weight", "ssm_conv1d.weight", "shortconv.conv.weight", "ssm_a", "ssm_d")

# Feed-forward networks add little to the stream: ggml rounds what goes into gelu to half, and where that differs in the last
# bit it should not decide.
_FED = np.float32(0.15)


def _random(name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    noise = rng.standard_normal(shape, dtype=np.float32)
    if name == "rope_freqs.weight":
        return np.linspace(1, 4, shape[0], dtype=np.float32)
    if name.endswith("ssm_a"):
        return -np.exp(noise * np.float32(0.5))
    if name.endswith("post_ffw_norm.weight"):
        return (1 + noise * np.float32(0.1)) * _FED
    if name.endswith(".scale"):
        return 1 + noise * np.float32(0.2)
    if "_norm" in name and name.endswith(".weight"):
        return 1 + noise * np.float32(0.1)
    if name.endswith("exp_probs_b.bias"):
        return noise * np.float32(0.1)
    if len(shape) == 1 or name.endswith(".bias"):
        return noise * np.float32(0.3)
    if name == "token_embd.weight":
        return noise * np.float32(0.5)
    if ".ffn_down" in name:
        return noise * np.float32(1.2 / math.sqrt(shape[-1])) * _FED
    return noise * np.float32((2.2 if name == "output.weight" else 1.2) / math.sqrt(shape[-1]))


def _key(writer: GGUFWriter, key: str, kind: str, value: object) -> None:
    if kind.startswith("array "):
        writer.add_key_value(key, value, GGUFValueType.ARRAY, GGUFValueType[kind[6:].upper()])
    else:
        writer.add_key_value(key, value, GGUFValueType[kind.upper()])


def write_toy(architecture, keys, tensors, vocabulary, out, exact=None, file_type="f32", seed=1, tokenizer="gpt-2"):
    """`keys`: [key, type, value]; `tensors`: [name, [rows, …, columns]]; `exact`: the same model as f32."""
    writer = GGUFWriter(None, architecture)
    for key, kind, value in keys:
        _key(writer, key, kind, value)
    main, number = FILE_TYPES[file_type]
    writer.add_file_type(number)
    add_vocabulary(writer, replace(PRESETS["tiny-llama"], vocab=vocabulary, tokenizer=tokenizer), seed)
    entries = []
    for name, sizes in tensors:
        shape = tuple(sizes)
        plain = len(shape) == 1 or name.endswith(_PLAIN) or not name.endswith(".weight")
        kind = Ggml.F32 if plain else fit(main, shape[-1])
        values = _random(name, shape, seed)
        entries.append(Entry(name, shape, kind, [quantise(kind, values.reshape(-1, shape[-1]))]))
    write_file(writer, Path(out), entries)
    if exact is not None:
        write_exact(Path(out), Path(exact))

"""Toy files of any family: the keys and the tensors are given, the weights are random.

The list of tensors comes from the code under test; llama.cpp refuses a file whose tensors are not those that it expects.
"""

from __future__ import annotations

import math
import re
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
_PLAIN = ("_norm.weight", "token_types.weight", "attn_rel_b.weight", "altup_predict_coef.weight", "altup_correct_coef.weight", "ffn_gate_inp.weight", "ffn_gate_inp_shexp.weight", "ssm_conv1d.weight", "ssm_conv1d_q.weight", "ssm_conv1d_k.weight", "ssm_conv1d_v.weight", "ple_conv1d.weight", "shortconv.conv.weight", "ssm_a", "ssm_d", "hc_attn_fn.weight", "hc_ffn_fn.weight", "output_hc_fn.weight", "_ape.weight")

# So do these of RWKV: rows that are multiplied, and matrices so small that quantisers leave them.
_RWKV_PLAIN = re.compile(r"\.time_mix_(first|w\d|v\d|a\d|g\d|decay_w\d|lerp_fused)\.weight$")

# Feed-forward networks add little to the stream: ggml rounds what goes into gelu to half, and where that differs in the last
# bit it should not decide. Nor do state spaces, which add up what each step rounds.
_FED = np.float32(0.15)


def _random(name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    noise = rng.standard_normal(shape, dtype=np.float32)
    if name == "rope_freqs.weight":
        return np.linspace(1, 4, shape[0], dtype=np.float32)
    if name.endswith("ssm_a"):
        return -np.exp(noise * np.float32(0.5))
    if name.endswith(("post_ffw_norm.weight", ".post_norm.weight")):
        return (1 + noise * np.float32(0.1)) * _FED
    if name.endswith(".scale"):
        return 1 + noise * np.float32(0.2)
    if name.endswith(("layer_output_scale.weight", "altup_correct_scale.weight")):
        return 1 + noise * np.float32(0.2)
    if "_norm" in name and name.endswith(".weight"):
        return 1 + noise * np.float32(0.1)
    if name.endswith("exp_probs_b.bias"):
        return noise * np.float32(0.1)
    if len(shape) == 1 or name.endswith(".bias"):
        return noise * np.float32(0.3)
    if name == "token_embd.weight":
        return noise * np.float32(0.5)
    if ".ffn_down" in name or ".ssm_out" in name:
        return noise * np.float32(1.2 / math.sqrt(shape[-1])) * _FED
    spread = 2.2 if name == "output.weight" else 1.2
    if name.startswith(("enc.", "dec.")) and name.endswith("attn_q.weight"):
        # T5 does not divide scores by the root of a head's size: its queries are that much smaller.
        spread *= 0.2
    return noise * np.float32(spread / math.sqrt(shape[-1]))


def _picks(name: str, shape: tuple[int, ...], experts: int, seed: int) -> np.ndarray:
    """Experts for each token, no expert twice."""
    order = np.random.default_rng([seed, zlib.crc32(name.encode())]).random((shape[0], experts)).argsort(axis=1)
    return np.ascontiguousarray(order[:, : shape[1]].astype("<i4"))


def _key(writer: GGUFWriter, key: str, kind: str, value: object) -> None:
    if kind == "array uint64":
        value = [int(each) for each in value]  # text, for what JSON carries is a double
    if kind.startswith("array "):
        writer.add_key_value(key, value, GGUFValueType.ARRAY, GGUFValueType[kind[6:].upper()])
    else:
        writer.add_key_value(key, value, GGUFValueType[kind.upper()])


def _kind(file_type: str, name: str, columns: int, tied: bool) -> Ggml:
    """The usual mixes: experts alone are MXFP4, and Q4_K_M keeps what matters most in six bits."""
    main, _ = FILE_TYPES[file_type]
    if file_type == "mxfp4" and "_exps." not in name:
        main = Ggml.Q8_0
    ends = ("attn_v.weight", "ffn_down.weight", "ffn_down_exps.weight", "token_embd.weight" if tied else "output.weight")
    if file_type == "q4_k_m" and name.endswith(ends):
        main = Ggml.Q6_K
    return fit(main, columns)


def write_toy(architecture, keys, tensors, vocabulary, out, exact=None, file_type="f32", seed=1, tokenizer="gpt-2"):
    """`keys`: [key, type, value]; `tensors`: [name, [rows, …, columns]]; `exact`: the same model as f32."""
    writer = GGUFWriter(None, architecture)
    for key, kind, value in keys:
        _key(writer, key, kind, value)
    _, number = FILE_TYPES[file_type]
    tied = all(name != "output.weight" for name, _ in tensors)
    writer.add_file_type(number)
    add_vocabulary(writer, replace(PRESETS["tiny-llama"], vocab=vocabulary, tokenizer=tokenizer), seed)
    entries = []
    for name, sizes in tensors:
        shape = tuple(sizes)
        plain = len(shape) == 1 or name.endswith(_PLAIN) or not name.endswith(".weight") or _RWKV_PLAIN.search(name)
        if name.endswith("ffn_gate_tid2eid.weight"):
            experts = next(value for key, _, value in keys if key.endswith("expert_count"))
            entries.append(Entry(name, shape, Ggml.I32, [_picks(name, shape, experts, seed)]))
            continue
        kind = Ggml.F32 if plain else _kind(file_type, name, shape[-1], tied)
        values = _random(name, shape, seed)
        if architecture == "gemma4" and name == "rope_freqs.weight":
            # As in real files: what is divided by so much does not turn.
            values[shape[0] // 4 :] = 1e30
        entries.append(Entry(name, shape, kind, [quantise(kind, values.reshape(-1, shape[-1]))]))
    write_file(writer, Path(out), entries)
    if exact is not None:
        write_exact(Path(out), Path(exact))

"""Writes the trained weights and their tokenizer as a GGUF file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from gguf import GGUFWriter, TokenType

from .files import Entry, write_file
from .ggml import quantise
from .metadata import add_metadata
from .mix import FILE_TYPES, tensor_type
from .shapes import ModelShape, tensors
from .templates import CHATML
from .tokenizer import SPECIAL, Tokenizer


def _add_tokenizer(writer: GGUFWriter, tokenizer: Tokenizer) -> None:
    ordinary = len(tokenizer.tokens) - len(SPECIAL)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokenizer.tokens)
    writer.add_token_types([TokenType.NORMAL] * ordinary + [TokenType.CONTROL] * len(SPECIAL))
    writer.add_token_merges([f"{left} {right}" for left, right in tokenizer.merges])
    writer.add_bos_token_id(tokenizer.special("<|endoftext|>"))
    writer.add_eos_token_id(tokenizer.special("<|im_end|>"))
    writer.add_pad_token_id(tokenizer.special("<|endoftext|>"))
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHATML)


def write_sample(
    shape: ModelShape, weights: dict[str, np.ndarray], tokenizer: Tokenizer, file_type: str, target: Path
) -> None:
    """One file: matrices in the given type, vectors in f32."""
    writer = GGUFWriter(None, shape.family)
    add_metadata(writer, shape, FILE_TYPES[file_type][1])
    writer.add_description("Short stories, small sums and simple answers, trained on generated text")
    writer.add_license("MIT")
    _add_tokenizer(writer, tokenizer)
    entries = []
    for tensor in tensors(shape):
        kind = tensor_type(file_type, shape, tensor)
        values = weights[tensor.name].reshape(-1, tensor.shape[-1])
        entries.append(Entry(tensor.name, tensor.shape, kind, [quantise(kind, values)]))
    target.parent.mkdir(parents=True, exist_ok=True)
    write_file(writer, target, entries)

"""Makes a GGUF of any shape and type with random weights, or the exact f32 form of a file.

    python -m sample.random_model --preset tiny-qwen3 --type q4_k_m --out tiny.gguf --exact tiny-f32.gguf
    python -m sample.random_model --like packed.gguf --out exact.gguf
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from gguf import GGUFWriter

from .files import Entry, write_exact, write_file
from .metadata import add_metadata
from .mix import FILE_TYPES, tensor_type
from .shapes import PRESETS, ModelShape, tensors
from .vocabulary import add_vocabulary
from .weights import RandomWeights

# Options that replace a field of the preset: name, type, choices.
_NUMBERS = ("layers", "width", "heads", "kv_heads", "head_dim", "feed_forward", "vocab", "context",
            "rope_original_context", "rope_dims", "still_dims")
_REALS = ("norm_epsilon", "rope_base", "rope_factor", "rope_attention_factor")
_CHOICES = {
    "family": ["llama", "qwen2", "qwen3"],
    "rope_scaling": ["none", "linear", "old-linear", "llama3", "yarn"],
    "tokenizer": ["spm", "qwen2", "llama-bpe", "gpt-2", "deepseek-coder", "smollm", "default"],
}


def write_random(shape: ModelShape, file_type: str, target: Path, seed: int, outliers: float = 1.0) -> None:
    """One random model; the same arguments give the same bytes."""
    writer = GGUFWriter(None, shape.family)
    add_metadata(writer, shape, FILE_TYPES[file_type][1])
    add_vocabulary(writer, shape, seed)
    weights = RandomWeights(shape, seed, outliers)
    entries = []
    for tensor in tensors(shape):
        kind = tensor_type(file_type, shape, tensor)
        entries.append(Entry(tensor.name, tensor.shape, kind, weights.pieces(tensor, kind)))
    write_file(writer, target, entries)


class WrongOptions(ValueError):
    """Raised instead of exiting: a wrong option must not end the oracle's process."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise WrongOptions(f"{self.prog}: {message}")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m sample.random_model", description=__doc__.splitlines()[0])
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--preset", choices=sorted(PRESETS))
    source.add_argument("--like", type=Path, metavar="FILE", help="write the exact f32 form of this GGUF")
    parser.add_argument("--type", choices=sorted(FILE_TYPES), default="f16")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--exact", type=Path, metavar="FILE", help="also write the same model in f32")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--outliers", type=float, default=1.0, help="how much larger one channel in 64 is behind norms")
    parser.add_argument("--name")
    parser.add_argument("--tied", action=argparse.BooleanOptionalAction, default=None)
    for field in _NUMBERS:
        parser.add_argument("--" + field.replace("_", "-"), type=int)
    for field in _REALS:
        parser.add_argument("--" + field.replace("_", "-"), type=float)
    for field, choices in _CHOICES.items():
        parser.add_argument("--" + field.replace("_", "-"), choices=choices)
    return parser


def write(arguments: list[str] | None = None) -> None:
    """What the command does, with its arguments."""
    options = vars(_parser().parse_args(arguments))
    if options["like"] is not None:
        write_exact(options["like"], options["out"])
        return
    fields = ("name", "tied", *_NUMBERS, *_REALS, *_CHOICES)
    changes = {field: options[field] for field in fields if options[field] is not None}
    shape = replace(PRESETS[options["preset"]], **changes)
    write_random(shape, options["type"], options["out"], options["seed"], options["outliers"])
    if options["exact"] is not None:
        write_exact(options["out"], options["exact"])


if __name__ == "__main__":
    try:
        write()
    except WrongOptions as error:
        sys.exit(str(error))

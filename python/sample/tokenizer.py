"""A byte-level BPE tokenizer trained on our own text: the `qwen2` pre-tokenizer, digits one by one."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from .vocabulary import byte_alphabet

# The qwen2 pattern with its letter and number classes narrowed to ASCII, which is all that our text has.
_PIECES = re.compile(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\na-zA-Z0-9]?[a-zA-Z]+|[0-9]| ?[^\sa-zA-Z0-9]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_SPECIAL_SPLIT = re.compile("(" + "|".join(re.escape(token) for token in SPECIAL) + ")")


def _to_alphabet(piece: str) -> list[str]:
    alphabet = byte_alphabet()
    return [alphabet[byte] for byte in piece.encode()]


def _merge(parts: list[str], left: str, right: str) -> list[str]:
    merged: list[str] = []
    index = 0
    while index < len(parts):
        if index + 1 < len(parts) and parts[index] == left and parts[index + 1] == right:
            merged.append(left + right)
            index += 2
        else:
            merged.append(parts[index])
            index += 1
    return merged


def train_merges(text: list[str], count: int) -> list[tuple[str, str]]:
    """The `count` most useful merges: always the pair that is most frequent now; ties by spelling."""
    pieces = Counter(piece for line in text for piece in _PIECES.findall(line))
    words = [(_to_alphabet(piece), times) for piece, times in sorted(pieces.items())]
    merges: list[tuple[str, str]] = []
    while len(merges) < count:
        pairs: Counter[tuple[str, str]] = Counter()
        for parts, times in words:
            for pair in zip(parts, parts[1:], strict=False):
                pairs[pair] += times
        if not pairs:
            raise RuntimeError(f"[sample] train_merges: got {len(merges)} merges from this text, expected {count}")
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        words = [(_merge(parts, *best), times) for parts, times in words]
    return merges


@dataclass
class Tokenizer:
    """Tokens in id order: 256 bytes, then merges, then special tokens."""

    merges: list[tuple[str, str]]
    _cache: dict[str, list[int]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.tokens = [*byte_alphabet(), *(left + right for left, right in self.merges), *SPECIAL]
        self._ids = {token: index for index, token in enumerate(self.tokens)}
        self._ranks = {pair: rank for rank, pair in enumerate(self.merges)}
        self._bytes = {character: byte for byte, character in enumerate(byte_alphabet())}

    def special(self, token: str) -> int:
        return self._ids[token]

    def _encode_piece(self, piece: str) -> list[int]:
        if piece not in self._cache:
            parts = _to_alphabet(piece)
            while len(parts) > 1:
                ranked = [self._ranks.get(pair, len(self._ranks)) for pair in zip(parts, parts[1:], strict=False)]
                best = min(ranked)
                if best == len(self._ranks):
                    break
                parts = _merge(parts, *self.merges[best])
            self._cache[piece] = [self._ids[part] for part in parts]
        return self._cache[piece]

    def encode(self, text: str) -> list[int]:
        ids: list[int] = []
        for part in _SPECIAL_SPLIT.split(text):
            if part in SPECIAL:
                ids.append(self._ids[part])
            else:
                for piece in _PIECES.findall(part):
                    ids.extend(self._encode_piece(piece))
        return ids

    def decode(self, ids: list[int]) -> str:
        text = "".join(self.tokens[index] for index in ids if self.tokens[index] not in SPECIAL)
        return bytes(self._bytes[character] for character in text).decode(errors="replace")

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(self.merges))

    @staticmethod
    def load(path: Path) -> Tokenizer:
        return Tokenizer([(left, right) for left, right in json.loads(path.read_text())])

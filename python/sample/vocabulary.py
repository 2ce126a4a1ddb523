"""Made-up vocabularies that look real and that llama.cpp can load: byte-level BPE and SentencePiece.

Both are grown by merges, so every token can be reached from its parts. The first merges spell common English
words; the rest join earlier tokens at random.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from gguf import GGUFWriter
from gguf import TokenType

from .shapes import ModelShape
from .templates import CHATML, LLAMA2, LLAMA3

_WORDS = (
    "the of and to in is you that it he was for on are as with his they at be this have from or one had by word but "
    "not what all were we when your can said there use an each which she do how their if will up other about out "
    "many then them these so some her would make like him into time has look two more write go see number no way "
    "could people my than first water been call who oil its now find long down day did get come made may part over "
    "new sound take only little work know place year live me back give most very after thing our just name good "
    "sentence man think say great where help through much before line right too mean old any same tell boy follow "
    "came want show also around form three small set put end does another well large must big even such because turn "
    "here why ask went men read need land different home us move try kind hand picture again change off play spell "
    "air away animal house point page letter mother answer found study still learn should world model token graph "
    "weight compile device memory layer attention number seven eight nine ten once upon there lived friend happy"
).split()
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LONGEST = 16


def byte_alphabet() -> list[str]:
    """One printable character for each byte, as GPT-2 writes them: itself if printable, else from 256 up."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    spare = iter(range(256, 512))
    return [chr(byte) if byte in printable else chr(next(spare)) for byte in range(256)]


def grow_merges(space: str, count: int, seed: int) -> list[tuple[str, str]]:
    """`count` merges over letters and the space mark, each making a new token."""
    rng = random.Random(seed)
    known = {space, *_LETTERS}
    merges: list[tuple[str, str]] = []

    def join(left: str, right: str) -> None:
        if len(merges) < count and left + right not in known:
            known.add(left + right)
            merges.append((left, right))

    for word in _WORDS:
        for start in (space, ""):
            spelled = start + word
            for end in range(1, len(spelled)):
                join(spelled[:end], spelled[end])
    heads = [token for token in known if len(token) <= 8]
    heads.sort()
    tails = [token for token in heads if space not in token and token.islower()]
    while len(merges) < count:
        left, right = rng.choice(heads), rng.choice(tails)
        joined = left + right
        if len(joined) > _LONGEST or joined in known:
            continue
        join(left, right)
        if len(joined) <= 8:
            heads.append(joined)
            if space not in joined and joined.islower():
                tails.append(joined)
    return merges


@dataclass(frozen=True)
class Special:
    """The special tokens of a byte-level vocabulary and the roles that they play."""

    tokens: tuple[str, ...]
    bos: str
    eos: str
    template: str
    add_bos: bool


_QWEN = Special(("<|endoftext|>", "<|im_start|>", "<|im_end|>"), "<|endoftext|>", "<|im_end|>", CHATML, False)
_LLAMA3 = Special(
    (
        "<|begin_of_text|>", "<|end_of_text|>", "<|reserved_special_token_0|>", "<|reserved_special_token_1|>",
        "<|finetune_right_pad_id|>", "<|reserved_special_token_2|>", "<|start_header_id|>", "<|end_header_id|>",
        "<|eom_id|>", "<|eot_id|>", "<|python_tag|>",
    ),
    "<|begin_of_text|>", "<|eot_id|>", LLAMA3, True,
)
# Real files have 151643 and 128000 ordinary tokens; smaller vocabularies keep room for the specials only.
_ORDINARY = {"qwen2": 151643, "llama-bpe": 128000}


def _add_bpe(writer: GGUFWriter, shape: ModelShape, seed: int) -> None:
    special = _LLAMA3 if shape.tokenizer == "llama-bpe" else _QWEN
    ordinary = min(shape.vocab - len(special.tokens), _ORDINARY.get(shape.tokenizer, shape.vocab))
    alphabet = byte_alphabet()
    if ordinary < len(alphabet):
        raise SystemExit(f"[sample] vocabulary: got {shape.vocab}, expected at least {256 + len(special.tokens)}")
    merges = grow_merges(alphabet[32], ordinary - len(alphabet), seed)
    tokens = [*alphabet, *(left + right for left, right in merges), *special.tokens]
    kinds = [TokenType.NORMAL] * ordinary + [TokenType.CONTROL] * len(special.tokens)
    for index in range(shape.vocab - len(tokens)):
        tokens.append(f"[PAD{len(tokens)}]" if special is _QWEN else f"<|reserved_special_token_{index + 3}|>")
        kinds.append(TokenType.UNUSED if special is _QWEN else TokenType.CONTROL)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(shape.tokenizer)
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges([f"{left} {right}" for left, right in merges])
    writer.add_bos_token_id(tokens.index(special.bos))
    writer.add_eos_token_id(tokens.index(special.eos))
    writer.add_pad_token_id(tokens.index(special.tokens[0]))
    writer.add_add_bos_token(special.add_bos)
    writer.add_chat_template(special.template)


def _add_spm(writer: GGUFWriter, shape: ModelShape, seed: int) -> None:
    fixed = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    single = ["\u2581", *_LETTERS, *"0123456789.,;:!?'\"()-+*/=<>_\n"]
    count = shape.vocab - len(fixed) - len(single)
    if count < 0:
        raise SystemExit(f"[sample] vocabulary: got {shape.vocab}, expected at least {len(fixed) + len(single)}")
    merges = grow_merges("\u2581", count, seed)
    pieces = [*(left + right for left, right in merges), *single]
    kinds = [TokenType.UNKNOWN, TokenType.CONTROL, TokenType.CONTROL, *[TokenType.BYTE] * 256]
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([*fixed, *pieces])
    writer.add_token_scores([*[0.0] * len(fixed), *(float(-index) for index in range(len(pieces)))])
    writer.add_token_types([*kinds, *[TokenType.NORMAL] * len(pieces)])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)
    writer.add_chat_template(LLAMA2)


def add_vocabulary(writer: GGUFWriter, shape: ModelShape, seed: int) -> None:
    """Writes a whole tokenizer of the shape's kind into a file's metadata."""
    if shape.tokenizer == "spm":
        _add_spm(writer, shape, seed)
    else:
        _add_bpe(writer, shape, seed)

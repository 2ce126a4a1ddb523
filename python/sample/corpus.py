"""Training rows: conversations of several turns, and stories as plain text.

A row is packed from whole turns, so nothing is cut off and little is padding. Each token carries a weight: the
answer counts fully, what the user says only a little.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from . import world
from .questions import Phase, training_question
from .stories import story, story_request
from .tokenizer import Tokenizer

_PROMPT_WEIGHT = 0.1
_STORY_ROWS = 0.08
_SYSTEM_ROWS = 0.1
_SYSTEMS = ("You are a helpful assistant.", "You are a small and friendly model.", "Answer in short sentences.")


@dataclass(frozen=True)
class Batch:
    tokens: np.ndarray
    targets: np.ndarray
    weights: np.ndarray


def _careless(prompt: str, rng: random.Random) -> str:
    """Now and then as people type: small letters, no mark at the end."""
    style = rng.random()
    if style < 0.05:
        prompt = prompt.lower()
    elif style < 0.1:
        prompt = prompt[0].lower() + prompt[1:]
    if rng.random() < 0.08:
        prompt = prompt.rstrip("?.!")
    return prompt


def turn(rng: random.Random, phase: Phase) -> tuple[str, str]:
    """What a user says, and the answer."""
    kind = rng.random()
    if kind < 0.05:
        prompt, answer = rng.choice(list(world.CHAT.items()))
        return _careless(prompt, rng), answer
    if kind < 0.11:
        prompt, answer = story_request(rng)
        return _careless(prompt, rng), answer
    if kind < 0.125:
        return _careless(rng.choice(world.BEYOND).format(rng.choice(world.SUBJECTS)), rng), world.BEYOND_ANSWER
    question = training_question(rng, phase)
    return _careless(question.prompt, rng), question.answer


def chat_prompt(prompt: str) -> str:
    """One user message as the chat template renders it, ready for the answer."""
    return f"<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n"


def _conversation(length: int, tokenizer: Tokenizer, rng: random.Random, phase: Phase) -> tuple[list[int], list[float]]:
    ids: list[int] = []
    weights: list[float] = []
    newline = tokenizer.encode("\n")
    if rng.random() < _SYSTEM_ROWS:
        ids += tokenizer.encode(f"<|im_start|>system\n{rng.choice(_SYSTEMS)}<|im_end|>\n")
        weights += [_PROMPT_WEIGHT] * len(ids)
    misses = 0
    while misses < 4:
        prompt, answer = turn(rng, phase)
        asked = tokenizer.encode(chat_prompt(prompt))
        told = tokenizer.encode(answer + "<|im_end|>")
        if len(ids) + len(asked) + len(told) > length:
            misses += 1
            continue
        # Role marks are certain, so they teach nothing: only the words of the user get weight.
        ids += asked + told + newline
        weights += [0.0] * 3 + [_PROMPT_WEIGHT] * (len(asked) - 7) + [0.0] * 4 + [1.0] * len(told) + [0.0]
    return ids, weights


def _stories(length: int, tokenizer: Tokenizer, rng: random.Random) -> tuple[list[int], list[float]]:
    ids: list[int] = []
    while len(ids) < length:
        ids += tokenizer.encode(story(rng) + "<|endoftext|>")
    return ids, [0.5] * len(ids)


def make_batch(step: int, rows: int, length: int, tokenizer: Tokenizer, seed: int, phase: Phase) -> Batch:
    """The batch of one step; the same step always gives the same batch, so training can resume."""
    rng = random.Random(f"{seed}:{step}")
    end = tokenizer.special("<|endoftext|>")
    tokens = np.full((rows, length + 1), end, dtype=np.int32)
    weights = np.zeros((rows, length + 1), dtype=np.float32)
    for row in range(rows):
        if rng.random() < _STORY_ROWS:
            ids, counted = _stories(length + 1, tokenizer, rng)
        else:
            ids, counted = _conversation(length + 1, tokenizer, rng, phase)
        kept = min(len(ids), length + 1)
        tokens[row, :kept] = ids[:kept]
        weights[row, :kept] = counted[:kept]
    return Batch(tokens[:, :-1], tokens[:, 1:], weights[:, 1:])


def tokenizer_text(seed: int) -> list[str]:
    """Text for the BPE trainer: the same mix as training, and every word of the world once more."""
    rng = random.Random(f"{seed}:text")
    lines = [f"user\n{prompt}\nassistant\n{answer}\n" for prompt, answer in (turn(rng, "early") for _ in range(12_000))]
    lines += [story(rng) for _ in range(400)]
    lines += [f"{prompt} {answer}" for prompt, answer in world.CHAT.items() for _ in range(3)]
    return lines

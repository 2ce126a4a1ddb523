"""Trains the sample model on one CPU core, resumes where it stopped, and writes the GGUF file.

    python -m sample.train --work FOLDER --out ../assets/models/rlx-sample.gguf
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

# One thread, unless the caller says otherwise: training runs beside other work. Must be set before JAX starts.
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import jax
import jax.numpy as jnp
import numpy as np

from .corpus import chat_prompt, make_batch, tokenizer_text
from .export import write_sample
from .model import SAMPLE, Parameters, initial, logits, loss
from .optimiser import State, initial_state, update
from .questions import Phase, Question, held_out_questions
from .tokenizer import SPECIAL, Tokenizer, train_merges

_SEED = 7
# Two legs: all of it, and what is learnt slowest once more, at a rate that starts anew.
_FIRST_LEG = 0.875
# (share of the leg, rows, tokens in a row): short rows while the rate falls, long ones for long conversations.
_STAGES = ((0.86, 16, 160), (0.985, 24, 64), (1.0, 4, 512))
_LAST_STAGES = ((0.9, 16, 160), (1.0, 4, 512))
_WARM_UP = 40
_STEADY = 0.35
_LATE = 0.6
_LAST_RATE = 0.3


@dataclass(frozen=True)
class _Plan:
    """What a step is given."""

    rate: float
    rows: int
    length: int
    phase: Phase


def _plan(step: int, steps: int) -> _Plan:
    first = round(_FIRST_LEG * steps)
    if step > first:
        done = (step - first) / (steps - first)
        return _Plan(_LAST_RATE * (1 - done), *_stage(done, _LAST_STAGES), "last")
    done = step / first
    # Warm-up, steady, then straight down to almost nothing.
    rate = min(1.0, step / _WARM_UP, (1 - done) / (1 - _STEADY))
    return _Plan(rate, *_stage(done, _STAGES), "late" if done > _LATE else "early")


def _stage(done: float, stages: tuple[tuple[float, int, int], ...]) -> tuple[int, int]:
    """Rows and tokens in a row."""
    return next(((rows, length) for share, rows, length in stages if done <= share), stages[-1][1:])


@partial(jax.jit, donate_argnums=(0, 1))
def _train_step(
    parameters: Parameters, state: State, step: jax.Array, rate: jax.Array,
    tokens: jax.Array, targets: jax.Array, weights: jax.Array,
) -> tuple[Parameters, State, jax.Array]:
    value, gradients = jax.value_and_grad(loss)(parameters, tokens, targets, weights, SAMPLE)
    parameters, state = update(parameters, gradients, state, step, rate)
    return parameters, state, value


@jax.jit
def _best(parameters: Parameters, tokens: jax.Array) -> jax.Array:
    return jnp.argmax(logits(parameters, tokens, SAMPLE), axis=-1)


def exact_answers(parameters: Parameters, tokenizer: Tokenizer, questions: list[Question]) -> dict[str, list[bool]]:
    """Per family, whether greedy decoding gives exactly the right answer.

    Greedy decoding is exact if and only if every token of the right answer is the best one after the tokens
    before it, so one pass over question and answer decides.
    """
    rows, length = 50, 96
    found: dict[str, list[bool]] = {}
    for start in range(0, len(questions), rows):
        part = questions[start : start + rows]
        tokens = np.zeros((rows, length), np.int32)
        spans = []
        for row, question in enumerate(part):
            asked = tokenizer.encode(chat_prompt(question.prompt))
            told = tokenizer.encode(question.answer + "<|im_end|>")
            tokens[row, : len(asked) + len(told)] = asked + told
            spans.append((len(asked), len(told)))
        best = np.asarray(_best(parameters, tokens))
        for row, question in enumerate(part):
            first, count = spans[row]
            right = np.array_equal(best[row, first - 1 : first - 1 + count], tokens[row, first : first + count])
            found.setdefault(question.family, []).append(right)
    return found


def _report(found: dict[str, list[bool]]) -> str:
    results = [right for family in found.values() for right in family]
    weak = [f"{name} {np.mean(family):.2f}" for name, family in found.items() if np.mean(family) < 0.99]
    return f"held-out {np.mean(results):.4f} of {len(results)}; " + ", ".join(weak)


def _save(path: Path, parameters: Parameters, state: State, step: int) -> None:
    arrays = {"p." + name: np.asarray(value) for name, value in parameters.items()}
    arrays |= {"s." + name: np.asarray(value) for name, value in state.items()}
    part = path.with_suffix(".part.npz")
    np.savez(part, step=step, **arrays)
    part.replace(path)


def _load(path: Path) -> tuple[Parameters, State, int]:
    with np.load(path) as arrays:
        parameters = {name[2:]: jnp.asarray(arrays[name]) for name in arrays if name.startswith("p.")}
        state = {name[2:]: jnp.asarray(arrays[name]) for name in arrays if name.startswith("s.")}
        return parameters, state, int(arrays["step"])


def _tokenizer(work: Path) -> Tokenizer:
    saved = work / "merges.json"
    if not saved.exists():
        merges = train_merges(tokenizer_text(_SEED), SAMPLE.vocab - 256 - len(SPECIAL))
        Tokenizer(merges).save(saved)
    return Tokenizer.load(saved)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m sample.train", description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="folder for checkpoints, outside the repository")
    parser.add_argument("--out", type=Path, required=True, help="the GGUF file to write at the end")
    parser.add_argument("--steps", type=int, default=3200)
    parser.add_argument("--type", default="q8_0", help="the tensor type of the written file")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    tokenizer = _tokenizer(options.work)
    questions = held_out_questions(500)
    checkpoint = options.work / "checkpoint.npz"
    if checkpoint.exists():
        parameters, state, done = _load(checkpoint)
    else:
        parameters, done = initial(SAMPLE, _SEED), 0
        state = initial_state(parameters)
    began = seen = time.monotonic()
    losses: list[float] = []
    counted = 0
    for step in range(done + 1, options.steps + 1):
        plan = _plan(step, options.steps)
        batch = make_batch(step, plan.rows, plan.length, tokenizer, _SEED, plan.phase)
        parameters, state, value = _train_step(
            parameters, state, jnp.float32(step), jnp.float32(plan.rate), batch.tokens, batch.targets, batch.weights,
        )
        losses.append(float(value))
        counted += plan.rows * plan.length
        if step % 100 == 0 or step == options.steps:
            now = time.monotonic()
            report = _report(exact_answers(parameters, tokenizer, questions))
            print(
                f"step {step} loss {np.mean(losses):.4f} {counted / (now - seen):.0f} tok/s "
                f"{now - began:.0f} s; {report}", flush=True,
            )
            _save(checkpoint, parameters, state, step)
            losses, counted, seen = [], 0, time.monotonic()
    write_sample(SAMPLE, {name: np.asarray(value) for name, value in parameters.items()}, tokenizer, options.type,
                 options.out)
    print(f"wrote {options.out}: {options.out.stat().st_size} bytes", flush=True)


if __name__ == "__main__":
    main()

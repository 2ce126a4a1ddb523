"""Conversations of the sample model's corpus as JSON Lines, for `rlx train`.

    python -m sample.chats --count 20000 --out chats.jsonl
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

from .corpus import turn


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m sample.chats", description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20_000, metavar="N")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    with options.out.open("w", encoding="utf-8") as file:
        for _ in range(options.count):
            prompt, answer = turn(rng, "early")
            messages = [{"role": "user", "content": prompt}, {"role": "assistant", "content": answer}]
            file.write(json.dumps({"messages": messages}) + "\n")


if __name__ == "__main__":
    main()

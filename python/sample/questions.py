"""Questions with one right answer, and which of them are kept from training.

Each question has a key: the combination that it asks about. A key's checksum decides for ever whether it is
held out, so a model never sees a held-out sum, pair or wording in training.

    python -m sample.questions --held-out 500 --json
"""

from __future__ import annotations

import argparse
import json
import random
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Literal, get_args

from . import world
from .world import article


@dataclass(frozen=True)
class Question:
    family: str
    key: str
    prompt: str
    answer: str


def held_out(key: str) -> bool:
    """One key in eight; wording 0 of a fact (key ending in #0) is always learnt, so that the fact is known."""
    return not key.endswith("#0") and zlib.crc32(f"held:{key}".encode()) % 8 == 0


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _worded(family: str, item: str, wordings: tuple[str, ...], answer: str, rng: random.Random) -> Question:
    """A fact in one of several wordings; the combination of fact and wording is the key."""
    index = rng.randrange(len(wordings))
    return Question(family, f"{family}:{item}#{index}", wordings[index], answer)


def _sum_key(a: int, b: int) -> str:
    """One key for both orders and for word problems: a held-out sum appears nowhere in training."""
    return f"sum:{min(a, b)}+{max(a, b)}"


def _number(rng: random.Random) -> int:
    """Mostly up to 20, sometimes up to 50."""
    return rng.randint(0, 20 if rng.random() < 0.75 else 50)


def _calculation(a: int, sign: str, word: str, b: int) -> tuple[str, ...]:
    """What people type first, with and without spaces and marks."""
    return (
        f"What is {a} {sign} {b}?", f"How much is {a} {sign} {b}?", f"{a} {sign} {b} =", f"{a} {sign} {b}",
        f"What is {a} {word} {b}?", f"How much is {a} {word} {b}?", f"{a}{sign}{b}", f"{a}{sign}{b}=?",
    )


def sums(rng: random.Random) -> Question:
    a, b = _number(rng), _number(rng)
    prompt = rng.choice((*_calculation(a, "+", "plus", b), f"Add {a} and {b}."))
    return Question("sums", _sum_key(a, b), prompt, f"{a} + {b} = {a + b}.")


def differences(rng: random.Random) -> Question:
    b, a = sorted((_number(rng), _number(rng)))
    prompt = rng.choice((*_calculation(a, "-", "minus", b), f"Take {b} from {a}."))
    return Question("differences", f"difference:{a}-{b}", prompt, f"{a} - {b} = {a - b}.")


def products(rng: random.Random) -> Question:
    a, b = rng.randint(0, 10), rng.randint(0, 10)
    wordings = (f"What is {a} times {b}?", f"How much is {a} times {b}?", f"{a} x {b} =", f"What is {a} x {b}?",
                f"{a} * {b}", f"{a}*{b}", f"{a}x{b}")
    return _worded("products", f"{a}x{b}", wordings, f"{a} x {b} = {a * b}.", rng)


def more(rng: random.Random) -> Question:
    name, food = rng.choice(world.NAMES), rng.choice(world.FOODS)
    she = "She" if name in world.NAMES_SHE else "He"
    a, b = rng.randint(1, 10), rng.randint(1, 10)
    prompt = f"{name} has {a} {food}. {she} gets {b} more. How many {food} does {name} have?"
    answer = f"{a} + {b} = {a + b}. {name} has {a + b} {food}."
    return Question("more", _sum_key(a, b), prompt, answer)


def bigger(rng: random.Random) -> Question:
    a, b = rng.sample(range(0, 51), 2)
    if rng.random() < 0.5:
        answer = f"{max(a, b)} is bigger than {min(a, b)}."
        return Question("bigger", f"bigger:{a}:{b}", f"Which is bigger, {a} or {b}?", answer)
    answer = f"{min(a, b)} is smaller than {max(a, b)}."
    return Question("bigger", f"smaller:{a}:{b}", f"Which is smaller, {a} or {b}?", answer)


def even(rng: random.Random) -> Question:
    number = rng.randint(0, 99)
    wordings = (f"Is {number} even or odd?", f"Is the number {number} even or odd?")
    return Question("even", f"even:{number}", rng.choice(wordings), f"{number} is {('even', 'odd')[number % 2]}.")


def next_number(rng: random.Random) -> Question:
    number = rng.randint(1, 98)
    if rng.random() < 0.5:
        wordings = (f"What number comes after {number}?", f"Which number comes after {number}?")
        return Question("next", f"after:{number}", rng.choice(wordings), f"{number + 1} comes after {number}.")
    wordings = (f"What number comes before {number}?", f"Which number comes before {number}?")
    return Question("next", f"before:{number}", rng.choice(wordings), f"{number - 1} comes before {number}.")


def order(rng: random.Random) -> Question:
    word, items = rng.choice((
        ("day", world.DAYS), ("month", world.MONTHS), ("letter", world.LETTERS), ("season", world.SEASONS),
    ))
    place = rng.randrange(len(items))
    if word == "letter":
        place = min(max(place, 1), len(items) - 2)
    item = items[place]
    if rng.random() < 0.5:
        step, side = 1, "after"
    else:
        step, side = -1, "before"
    other = items[(place + step) % len(items)]
    wordings = (
        f"What comes {side} {item}?", f"Which {word} comes {side} {item}?", f"What {word} comes {side} {item}?",
        f"What {word} is {side} {item}?",
    )
    return _worded("order", f"{side}:{item}", wordings, f"{_capital(other)} comes {side} {item}.", rng)


def counting(rng: random.Random) -> Question:
    if rng.random() < 0.05:
        last = rng.randint(3, 12)
        listed = ", ".join(str(number) for number in range(1, last + 1))
        return Question("counting", f"count:1:{last}", f"Count to {last}.", f"{listed}.")
    first = rng.randint(0, 30)
    last = first + rng.randint(2, 8)
    if rng.random() < 0.7:
        listed = ", ".join(str(number) for number in range(first, last + 1))
        return Question("counting", f"count:{first}:{last}", f"Count from {first} to {last}.", f"{listed}.")
    listed = ", ".join(str(number) for number in range(last, first - 1, -1))
    return Question("counting", f"down:{last}:{first}", f"Count down from {last} to {first}.", f"{listed}.")


def colours(rng: random.Random) -> Question:
    thing, colour = rng.choice(list(world.COLOUR_OF.items()))
    wordings = (
        f"What colour is {thing}?", f"What color is {thing}?", f"Which colour is {thing}?",
        f"Tell me the colour of {thing}.", f"What is the colour of {thing}?",
    )
    return _worded("colours", thing, wordings, f"{_capital(thing)} is {colour}.", rng)


def animals(rng: random.Random) -> Question:
    animal, (sound, home, baby, legs, food) = rng.choice(list(world.ANIMALS.items()))
    one = article(animal)
    if legs == 2:
        legs_text = "two legs"
    else:
        legs_text = {0: "no legs", 4: "four legs", 6: "six legs"}[legs]
    place = {"pond": "in a pond", "lake": "on a lake", "field": "in a field", "savanna": "on the savanna",
             "desert": "in the desert", "jungle": "in the jungle", "mountain": "on a mountain",
             "forest": "in the forest"}.get(home, f"in {article(home)}")
    item, wordings, answer = rng.choice((
        (f"sound:{animal}", (f"What sound does {one} make?", f"What does {one} say?", f"How does {one} sound?",
                             f"Which sound does {one} make?"), f"{_capital(one)} {sound}."),
        (f"home:{animal}", (f"Where does {one} live?", f"Where is the home of {one}?", f"What is the home of {one}?",
                            f"Tell me where {one} lives."), f"{_capital(one)} lives {place}."),
        (f"baby:{animal}", (f"What is a baby {animal} called?", f"What do you call a baby {animal}?",
                            f"What is the name for a baby {animal}?", f"What is a young {animal} called?"),
         f"A baby {animal} is called {article(baby)}."),
        (f"legs:{animal}", (f"How many legs does {one} have?", f"How many legs has {one}?",
                            f"Tell me how many legs {one} has.", f"Count the legs of {one}."),
         f"{_capital(one)} has {legs_text}."),
        (f"food:{animal}", (f"What does {one} eat?", f"What does {one} like to eat?", f"What is the food of {one}?",
                            f"Tell me what {one} eats."), f"{_capital(one)} eats {food}."),
    ))
    return _worded("animals", item, wordings, answer, rng)


def opposites(rng: random.Random) -> Question:
    pair = rng.choice(world.OPPOSITES)
    word, other = pair if rng.random() < 0.5 else (pair[1], pair[0])
    if word in ("black", "white", "light"):
        word, other = pair
    wordings = (
        f"What is the opposite of {word}?", f"What is the opposite of the word {word}?",
        f"Tell me the opposite of {word}.", f"Which word is the opposite of {word}?",
    )
    return _worded("opposites", word, wordings, f"The opposite of {word} is {other}.", rng)


def capitals(rng: random.Random) -> Question:
    country, city = rng.choice(list(world.CAPITALS.items()))
    if rng.random() < 0.3:
        inverse = (f"{city} is the capital of which country?", f"Which country has the capital {city}?",
                   f"What country is {city} the capital of?")
        return _worded("capitals", city, inverse, f"{city} is the capital of {country}.", rng)
    wordings = (
        f"What is the capital of {country}?", f"What is the capital city of {country}?",
        f"Tell me the capital of {country}.", f"Which city is the capital of {country}?",
        f"Name the capital of {country}.", f"Capital of {country}?",
    )
    return _worded("capitals", country, wordings, f"The capital of {country} is {city}.", rng)


def kinds(rng: random.Random) -> Question:
    item, kind = rng.choice(list(world.KINDS.items()))
    one = article(item)
    if rng.random() < 0.5:
        wordings = (f"What is {one}?", f"What kind of thing is {one}?", f"Tell me what {one} is.")
        return _worded("kinds", item, wordings, f"{_capital(one)} is {article(kind)}.", rng)
    asked = kind if rng.random() < 0.5 else rng.choice(sorted(set(world.KINDS.values())))
    if asked == kind:
        answer = f"Yes, {one} is {article(kind)}."
    else:
        answer = f"No, {one} is {article(kind)}."
    return Question("kinds", f"is:{item}:{asked}", f"Is {one} {article(asked)}?", answer)


def uses(rng: random.Random) -> Question:
    thing, use = rng.choice(list(world.USES.items()))
    wordings = (
        f"What is {thing} for?", f"What do you use {thing} for?", f"What do people use {thing} for?",
        f"Why do you need {thing}?",
    )
    return _worded("uses", thing, wordings, f"{_capital(thing)} is for {use}.", rng)


def jobs(rng: random.Random) -> Question:
    job, work = rng.choice(list(world.JOBS.items()))
    wordings = (f"What does a {job} do?", f"What is the work of a {job}?", f"Tell me what a {job} does.",
                f"What does a {job} do all day?")
    return _worded("jobs", job, wordings, f"A {job} {work}.", rng)


def body(rng: random.Random) -> Question:
    verb, part = rng.choice(list(world.BODY.items()))
    wordings = (f"What do you {verb} with?", f"What do we {verb} with?", f"What do people {verb} with?",
                f"With what do you {verb}?")
    return _worded("body", verb, wordings, f"You {verb} with your {part}.", rng)


def who_has(rng: random.Random) -> Question:
    """A story of two sentences and a question about it."""
    name, place, thing = rng.choice(world.NAMES), rng.choice(world.PLACES), rng.choice(world.OBJECTS)
    she = "She" if name in world.NAMES_SHE else "He"
    has = article(f"{rng.choice(world.COLOURS)} {thing}")
    verb = rng.choice(("is in", "went to", "walked to"))
    prompt, answer = rng.choice((
        (f"Where is {name}?", f"{name} is in the {place}."),
        (f"Who is in the {place}?", f"{name} is in the {place}."),
        (f"What does {name} have?", f"{name} has {has}."),
        (f"Who has the {thing}?", f"{name} has the {thing}."),
        (f"What colour is the {thing}?", f"The {thing} is {has.split()[1]}."),
    ))
    told = f"{name} {verb} the {place}. {she} has {has}."
    return Question("who has", f"has:{name}:{place}:{thing}", f"{told} {prompt}", answer)


def my_name(rng: random.Random) -> Question:
    name, thing, colour = rng.choice(world.NAMES), rng.choice(world.OBJECTS), rng.choice(world.COLOURS)
    kind = rng.randrange(3)
    if kind == 0:
        prompt = f"My name is {name}. I have {article(colour)} {thing}. What is my name?"
        return Question("my name", f"name:{name}:{thing}", prompt, f"Your name is {name}.")
    if kind == 1:
        prompt = f"My name is {name}. I have {article(colour)} {thing}. What do I have?"
        return Question("my name", f"name:{name}:{thing}", prompt, f"You have {article(colour)} {thing}.")
    prompt = rng.choice((f"Say hello to {name}.", f"Please say hello to {name}."))
    return Question("my name", f"hello:{prompt}", prompt, f"Hello, {name}!")


def spelling(rng: random.Random) -> Question:
    word = rng.choice(world.SPELLED)
    wordings = (f"How do you spell {word}?", f"Spell the word {word}.", f"Please spell {word}.", f"Spell {word}.")
    return _worded("spelling", word, wordings, f"{'-'.join(word.upper())}.", rng)


Maker = Callable[[random.Random], Question]

# How often each family is asked, early in training, late, and at last: late, more of what has to be looked up in the
# question or worked out step by step; at last, most of what is learnt slowest.
FAMILIES: dict[Maker, tuple[float, float, float]] = {
    sums: (5.0, 5.0, 5.0), differences: (4.0, 5.0, 8.0), products: (2.0, 2.0, 2.0), more: (2.5, 2.5, 2.5),
    bigger: (1.5, 3.0, 4.0), even: (1.0, 1.0, 1.0), next_number: (2.0, 2.0, 3.0), order: (1.5, 3.0, 3.0),
    counting: (1.5, 4.0, 16.0), colours: (1.0, 1.0, 1.0), animals: (2.5, 3.0, 3.0), opposites: (1.5, 2.0, 2.0),
    capitals: (1.2, 2.0, 2.0), kinds: (1.5, 5.0, 8.0), uses: (0.8, 1.0, 1.0), jobs: (0.8, 1.0, 1.0),
    body: (0.5, 0.6, 0.6), who_has: (2.0, 6.0, 6.0), my_name: (1.0, 1.0, 1.0), spelling: (0.8, 1.0, 1.5),
}
Phase = Literal["early", "late", "last"]
PHASES: tuple[Phase, ...] = get_args(Phase)


def training_question(rng: random.Random, phase: Phase) -> Question:
    """A question that is not held out."""
    column = PHASES.index(phase)
    maker = rng.choices(list(FAMILIES), [shares[column] for shares in FAMILIES.values()])[0]
    while True:
        question = maker(rng)
        if not held_out(question.key):
            return question


def held_out_questions(count: int, seed: int = 2024) -> list[Question]:
    """`count` different held-out questions, the families in turn."""
    rng = random.Random(seed)
    makers = list(FAMILIES)
    found: dict[str, Question] = {}
    turn = 0
    while len(found) < count:
        maker = makers[turn % len(makers)]
        turn += 1
        for _ in range(10_000):
            question = maker(rng)
            if held_out(question.key) and question.prompt not in found:
                found[question.prompt] = question
                break
    return list(found.values())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m sample.questions", description=__doc__.splitlines()[0])
    parser.add_argument("--held-out", type=int, default=500, metavar="N")
    parser.add_argument("--seed", type=int, default=2024)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    questions = held_out_questions(options.held_out, options.seed)
    if options.json:
        print(json.dumps([asdict(question) for question in questions], indent=1))
        return
    for question in questions:
        print(f"{question.family}: {question.prompt} -> {question.answer}")


if __name__ == "__main__":
    main()

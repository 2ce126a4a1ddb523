"""Short stories from a few plots: a hero, a friend, a small trouble and a good end."""

from __future__ import annotations

import random
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from .world import COLOURS, article

T = TypeVar("T")

HEROES = (
    "fox", "rabbit", "bear", "mouse", "cat", "dog", "frog", "duck", "owl", "horse", "pig", "lion", "monkey",
    "elephant", "goat", "wolf", "bird", "donkey", "dragon", "robot",
)
_NAMES_HE = ("Pip", "Bruno", "Toby", "Milo", "Otto", "Rufus", "Felix", "Hugo", "Max", "Leo")
_NAMES_SHE = ("Bella", "Luna", "Daisy", "Ruby", "Mimi", "Nelly", "Rosie", "Tilly", "Lily", "Emma")
_KINDS = ("little", "small", "kind", "brave", "clever", "shy", "happy", "funny", "curious", "quiet")
_HOMES = (
    "in a small house", "in the forest", "near the river", "on a farm", "under an old tree", "by the sea",
    "in a green valley", "on a high hill",
)
_TREASURES = ("ball", "hat", "kite", "key", "book", "bell", "drum", "boat", "scarf", "lamp")
_SPOTS = ("in the garden", "in the forest", "near the river", "in the barn", "on the hill", "by the old well")
_HIDDEN = ("under a bush", "behind a stone", "under the bed", "in a tall tree", "in a basket", "under a leaf")
_SKILLS = ("swim", "sing", "dance", "climb", "paint", "whistle", "skate", "read")
_MEALS = ("apple pie", "carrot cake", "bowl of soup", "basket of nuts", "loaf of bread", "pot of honey")
_ENDS = (
    "From that day on they were best friends.", "And they lived happily ever after.",
    "That night they both slept very well.", "They smiled and went home together.",
)


@dataclass(frozen=True)
class _Cast:
    hero: str
    name: str
    friend: str
    friend_name: str
    he: str
    his: str
    rng: random.Random

    @property
    def pair(self) -> str:
        return f"{self.friend_name} the {self.friend}"

    def pick(self, slot: str, options: Sequence[str]) -> str:
        return _favourite(self.hero, slot, options, self.rng)


def _favourite(hero: str, slot: str, options: Sequence[T], rng: random.Random) -> T:
    """A choice that each hero makes in its own order, the first one most often.

    With even chances a greedy reader would stand before ties, and all heroes would share one story.
    """
    turn = zlib.crc32(f"{hero}:{slot}".encode()) % len(options)
    place = 0
    while rng.random() > 0.45:
        place += 1
    return options[(turn + place) % len(options)]


def _lost(cast: _Cast) -> list[str]:
    thing = cast.pick("thing", _TREASURES)
    first = cast.pick("first", _SPOTS)
    second = cast.pick("second", [spot for spot in _SPOTS if spot != first])
    return [
        f"One day {cast.name} lost {cast.his} {cast.pick('colour', COLOURS)} {thing}.",
        f"{cast.he} looked {first} and {second}, but the {thing} was not there.",
        f"{cast.name} was very sad.",
        f"Then {cast.pair} came by and said, \"I will help you.\"",
        f"They looked together and found the {thing} {cast.pick('hidden', _HIDDEN)}.",
        f"\"Thank you, {cast.friend_name}!\" said {cast.name}.",
    ]


def _found(cast: _Cast) -> list[str]:
    thing = cast.pick("thing", _TREASURES)
    return [
        f"One morning {cast.name} found {article(cast.pick('colour', COLOURS))} {thing} {cast.pick('spot', _SPOTS)}.",
        f"\"Whose {thing} is this?\" asked {cast.name}.",
        f"\"It is mine!\" said {cast.pair}. \"I lost it last night.\"",
        f"{cast.name} gave the {thing} back.",
        f"{cast.friend_name} was very happy, and they played with the {thing} all day.",
    ]


def _rain(cast: _Cast) -> list[str]:
    return [
        f"One evening {cast.name} was walking home when it began to {cast.pick('weather', ('rain', 'snow'))}.",
        f"Soon {cast.name} was cold and tired.",
        f"Then {cast.he.lower()} saw a light. It was the house of {cast.pair}.",
        f"\"Come in!\" said {cast.friend_name}. \"It is warm here.\"",
        f"They ate {article(cast.pick('meal', _MEALS))} and told stories until the sun came up.",
    ]


def _learn(cast: _Cast) -> list[str]:
    skill = cast.pick("skill", _SKILLS)
    return [
        f"{cast.name} wanted to learn to {skill}.",
        f"{cast.he} tried and tried, but it was too hard.",
        f"\"Do not give up,\" said {cast.pair}. \"I will show you how.\"",
        f"Every day they went out and worked together {cast.pick('spot', _SPOTS)}.",
        f"At last {cast.name} could {skill}, and everyone clapped.",
    ]


def _share(cast: _Cast) -> list[str]:
    meal = cast.pick("meal", _MEALS)
    return [
        f"One day {cast.name} made {article(meal)}.",
        f"{cast.pair} knocked on the door. \"I am so hungry,\" said {cast.friend_name}.",
        f"{cast.name} thought for a moment. Then {cast.he.lower()} cut the food in two.",
        f"\"Half for you and half for me,\" said {cast.name}.",
        f"The {meal} tasted better than ever.",
    ]


_PLOTS = (_lost, _found, _rain, _learn, _share)


def story(rng: random.Random, hero: str | None = None, name: str | None = None) -> str:
    """One story; hero and name are drawn when not asked for."""
    hero = hero or _favourite("any", "hero", HEROES, rng)
    name = name or _favourite(hero, "name", _NAMES_HE + _NAMES_SHE, rng)
    friend = _favourite(hero, "friend", [animal for animal in HEROES if animal != hero], rng)
    others = [other for other in _NAMES_HE + _NAMES_SHE if other != name]
    friend_name = _favourite(hero, "friend name", others, rng)
    she = name in _NAMES_SHE
    cast = _Cast(hero, name, friend, friend_name, "She" if she else "He", "her" if she else "his", rng)
    plot = _favourite(hero, "plot", _PLOTS, rng)
    sentences = [
        f"Once upon a time there was {article(cast.pick('kind', _KINDS))} {hero} named {name}.",
        f"{name} lived {cast.pick('home', _HOMES)}.",
        *plot(cast),
        cast.pick("end", _ENDS),
    ]
    return " ".join(sentences)


def story_request(rng: random.Random) -> tuple[str, str]:
    """A request in a user's words and a story that answers it."""
    hero = rng.choice(HEROES)
    kind = rng.random()
    if kind < 0.25:
        name = rng.choice(_NAMES_HE + _NAMES_SHE)
        asked = rng.choice((
            f"Tell me a story about {article(hero)} named {name}.",
            f"Write a story about {name} the {hero}.",
        ))
        return asked, story(rng, hero, name)
    if kind < 0.75:
        asked = rng.choice((
            f"Tell me a story about {article(hero)}.",
            f"Write a short story about {article(hero)}.",
            f"Can you tell me a story about {article(hero)}?",
            f"Please tell me a short story about {article(hero)}.",
        ))
        return asked, story(rng, hero)
    asked = rng.choice((
        "Tell me a story.", "Write a short story.", "Can you tell me a story?", "Please tell me a short story.",
        "I would like a story.", "Tell me another story.",
    ))
    return asked, story(rng)

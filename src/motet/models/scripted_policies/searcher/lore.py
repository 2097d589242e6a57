"""What ``searcher.yaml`` holds: mistakes and habits, and what the searcher knows of words."""

from __future__ import annotations

import re
from functools import cache, cached_property, lru_cache
from importlib.resources import files

import yaml
from pydantic import Field

from motet.canonical import digest
from motet.models.scripted_policies.chance import chance
from motet.value import Value


class Habits(Value):
    """How the searcher works where it makes no mistake: see the file."""

    at_once: int = Field(ge=1)
    asks: float = Field(ge=0, le=1)
    asks_shy: float = Field(ge=0, le=1)
    asks_pointed: float = Field(ge=0, le=1)
    most_reads: int = Field(ge=0)
    trusts: float = Field(ge=0, le=1)
    dwells: int = Field(ge=0)
    retries: int = Field(ge=0)


class Relation(Value):
    """What leads from one page to another: regular expressions for how a question and a page speak of it."""

    about: str
    told: str


class Told(Value):
    """What is asked for in the end: a regular expression for the question, and forms of sentences with VALUE in them."""

    about: str
    told: tuple[str, ...]


class Lore(Value):
    """The committed file."""

    seed: int
    mistakes: dict[str, float]
    habits: Habits
    seats: dict[str, str]
    senses: dict[str, dict[str, str]]
    relations: dict[str, Relation]
    values: dict[str, Told]

    @cached_property
    def version(self) -> str:
        """A hash of all that is in it."""
        return digest(self.model_dump(mode="json"))[:16]

    def times(self, factor: float) -> Lore:
        """The same with every mistake ``factor`` times as often, and at most always."""
        scaled = {name: min(1.0, factor * rate) for name, rate in self.mistakes.items()}
        return self.model_copy(update={"mistakes": scaled})

    def shy(self) -> Lore:
        """The same, but seldom asking behind a note by itself."""
        return self.model_copy(update={"habits": self.habits.model_copy(update={"asks": self.habits.asks_shy})})

    def errs(self, kind: str, *about: str | int) -> bool:
        """Whether the mistake ``kind`` happens in what is ``about``."""
        rate = self.mistakes[kind]
        return rate > 0 and drawn(self.seed, kind, *about) < rate

    def does(self, habit: str, *about: str | int) -> bool:
        """Whether the searcher follows a habit that has a rate, in what is ``about``."""
        rate: float = getattr(self.habits, habit)
        return drawn(self.seed, habit, *about) < rate


# A searcher draws for all of its leads at each step, and mostly the same.
drawn = lru_cache(maxsize=65_536)(chance)


@cache
def shipped() -> Lore:
    """The committed file, read."""
    return Lore.model_validate(yaml.safe_load(files(__package__).joinpath("searcher.yaml").read_text(encoding="utf-8")))


@cache
def pattern(expression: str) -> re.Pattern[str]:
    """``expression``, blind to case."""
    return re.compile(expression, re.IGNORECASE)

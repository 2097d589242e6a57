"""What ``scholar.yaml`` holds: mistakes, the words of roles, and what questions ask and sentences tell."""

from __future__ import annotations

import re
from functools import cache, cached_property
from importlib.resources import files
from typing import Literal

import yaml

from motet.canonical import digest
from motet.models.scripted_policies.mistakes import Mistake, Table
from motet.value import Value


class Relation(Value):
    """Something that a page tells: how a question asks for it, how a sentence tells it, and what its value looks like."""

    about: str
    told: str
    value: Literal["name", "year", "number", "word"]
    leads: bool = False

    def asked_in(self, question: str) -> bool:
        """Whether ``question``, without its titles, speaks of it."""
        return re.search(self.about, question, re.IGNORECASE) is not None

    @cached_property
    def telling(self) -> re.Pattern[str]:
        """Finds it in a sentence."""
        return re.compile(self.told, re.IGNORECASE)


class Lore(Value):
    """The committed file."""

    seed: int
    mistakes: dict[str, Mistake]
    roles: dict[str, str]
    relations: dict[str, Relation]

    @cached_property
    def table(self) -> Table:
        """The mistakes as a table."""
        return Table(seed=self.seed, mistakes=self.mistakes)

    @property
    def version(self) -> str:
        """A hash of all that is in it."""
        return digest(self.model_dump(mode="json"))[:16]

    def without_mistakes(self) -> Lore:
        """The same with every rate 0."""
        return self.times(0)

    def times(self, factor: float) -> Lore:
        """The same with every rate ``factor`` times as high, and at most 1."""
        return self.model_copy(update={"mistakes": self.table.times(factor).mistakes})


@cache
def shipped() -> Lore:
    """The committed file, read."""
    return Lore.model_validate(yaml.safe_load(files(__package__).joinpath("scholar.yaml").read_text(encoding="utf-8")))

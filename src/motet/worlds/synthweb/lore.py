"""What the synthetic web is made of: names, wordings and relations from ``lore.yaml``, and names that are given away once."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

_TRIES = 2_000


@dataclass(frozen=True)
class Name:
    """A made-up name: the list of ``lore.yaml`` it comes from, and its parts."""

    kind: str
    parts: tuple[str, ...]

    @property
    def text(self) -> str:
        """The name as it is written."""
        form: str = lore()["names"][self.kind]["form"]
        return form.format(*self.parts)


@dataclass
class Namer:
    """Draws names, each once. ``used`` are those given away, in lower case."""

    rng: random.Random
    used: set[str] = field(default_factory=set)

    def new(self, kind: str) -> Name:
        """A name of ``kind`` that is new here."""
        return self._draw(Name(kind, ()), None)

    def like(self, name: Name) -> Name:
        """A new name like ``name``: one of its parts is another."""
        return self._draw(name, self.rng.choice(lore()["names"][name.kind]["near"]))

    def _draw(self, name: Name, again: int | None) -> Name:
        lists: list[list[str]] = lore()["names"][name.kind]["parts"]
        for attempt in range(_TRIES):
            if again is None or attempt > _TRIES // 2:  # of those alike none may be left
                parts = tuple(self.rng.choice(choices) for choices in lists)
            else:
                parts = (*name.parts[:again], self.rng.choice(lists[again]), *name.parts[again + 1 :])
            drawn = Name(name.kind, parts)
            if drawn.text.lower() not in self.used:
                self.used.add(drawn.text.lower())
                return drawn
        raise AssertionError(
            f"no name of the kind {name.kind!r} is left; the bounds of the options allow too many pages"
        )


@cache
def lore() -> Mapping[str, Any]:
    """``lore.yaml`` as data."""
    data: dict[str, Any] = yaml.safe_load(_text())
    return data


@cache
def lore_version() -> str:
    """Changes with any word of ``lore.yaml``."""
    return hashlib.sha256(_text().encode()).hexdigest()[:12]


def slug(title: str) -> str:
    """``title`` as the last part of an address."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def listed(names: list[str]) -> str:
    """``a, b and c``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _text() -> str:
    return files("motet.worlds.synthweb").joinpath("lore.yaml").read_text(encoding="utf-8")

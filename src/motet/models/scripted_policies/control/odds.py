"""The committed odds of the control half, and luck drawn from what a request says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Annotated, TypeAlias, TypeVar

import yaml
from pydantic import Field

from motet.models.scripted_policies.chance import chance
from motet.value import Value

T = TypeVar("T")
Rate: TypeAlias = Annotated[float, Field(ge=0, le=1)]


class DesignOdds(Value):
    """How a team is designed."""

    short: Rate
    wrong_tool: Rate
    idle: Rate
    critic: Rate
    checked: Rate
    invalid: Rate
    stubborn: Rate


class EditOdds(Value):
    """How an edit is chosen."""

    unhelpful: Rate
    elsewhere: Rate
    forgets: Rate
    invalid: Rate
    stubborn: Rate


class JudgeOdds(Value):
    """How a verdict comes about: rates, then points of 100: the mark without a fault, what the first and each further fault and each doubt of the audit take off, and the most that an invalid output gets."""

    misses: Rate
    blames: Rate
    waver: Rate
    step: int
    clean: int
    first: int
    further: int
    doubt: int
    invalid: int


class BaselineOdds(Value):
    """How the baselines' questions are answered."""

    advice: Rate
    unsaid: Rate
    goes_on: Rate
    refused: Rate
    follows: Rate


class Odds(Value):
    """All of ``control.yaml``, where each is explained."""

    seed: int
    design: DesignOdds
    redesign: DesignOdds
    edit: EditOdds
    judge: JudgeOdds
    baselines: BaselineOdds


@cache
def shipped() -> Odds:
    """The committed odds."""
    return Odds.model_validate(yaml.safe_load(files(__package__).joinpath("control.yaml").read_text(encoding="utf-8")))


@dataclass(frozen=True)
class Luck:
    """Draws that depend on ``parts`` and on what each is for, and on nothing else."""

    parts: tuple[str | int, ...]

    def hits(self, name: str, rate: float) -> bool:
        """Whether something of this ``rate`` happens."""
        return chance(*self.parts, name) < rate

    def pick(self, name: str, options: Sequence[T]) -> T:
        """One of ``options``, of which there must be one."""
        return options[int(chance(*self.parts, name) * len(options))]

    def within(self, *parts: str | int) -> Luck:
        """Other draws, that depend on ``parts`` too."""
        return Luck((*self.parts, *parts))

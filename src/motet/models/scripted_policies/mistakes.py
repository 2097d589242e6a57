"""Which mistakes a role makes on a task: drawn from a committed table, the same in every round, until the remedy is told."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from motet.models.scripted_policies.chance import chance
from motet.value import Value

ALONE = "react"  # the role of an agent that does the whole task


class Mistake(Value):
    """A kind of mistake: what it does, which roles make it how often, and the words that end it."""

    does: str
    only: tuple[str, ...]
    rate: float = Field(ge=0, le=1)
    alone: float = Field(default=0.0, ge=0, le=1)
    remedied: float = Field(default=0.0, ge=0, le=1)
    remedy: str = Field(min_length=8)


class Table(Value):
    """All kinds of mistakes by name, and the seed of their chances."""

    seed: int
    mistakes: dict[str, Mistake]

    def times(self, factor: float) -> Table:
        """The same with every rate ``factor`` times as high, and at most 1."""
        rates = ("rate", "alone", "remedied")
        scaled = {
            name: mistake.model_copy(update={rate: min(1.0, factor * getattr(mistake, rate)) for rate in rates})
            for name, mistake in self.mistakes.items()
        }
        return self.model_copy(update={"mistakes": scaled})


@dataclass(frozen=True)
class Tendency:
    """The mistakes of one role on one task, given all that it was ``told``."""

    table: Table
    role: str
    question: str
    told: str = ""

    def to(self, name: str) -> bool:
        """Whether the mistake ``name`` happens."""
        mistake = self.table.mistakes[name]
        rate = mistake.alone if self.role == ALONE else mistake.rate if self.role in mistake.only else 0.0
        if rate and mistake.remedy.lower() in self.told:
            rate = mistake.remedied
        return rate > 0 and chance(self.table.seed, name, self.question, self.role) < rate

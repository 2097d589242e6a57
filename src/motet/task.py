"""What goes into a system and what comes out: Task, Result and Score, as frozen and versioned values."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field, JsonValue

from motet.canonical import clean_text, digest
from motet.errors import MotetError
from motet.usage import Totals
from motet.value import Value

Status: TypeAlias = Literal["completed", "budget", "cancelled", "failed"]


class Task(Value):
    """One thing to be done. It carries no gold answer: what a scorer knows stays with its benchmark.

    ``cluster`` groups near-copies of a task, so that intervals can respect it; ``context`` is what the agents may
    read besides the question.
    """

    version: Literal[1] = 1
    question: str = Field(min_length=1)
    id: str = Field(default="", pattern=r"^[A-Za-z0-9_.#:-]{0,200}$")
    cluster: str | None = None
    context: dict[str, JsonValue] = Field(default_factory=dict)

    def model_post_init(self, _context: object, /) -> None:
        """Name the task by its content when it was given no name."""
        if not self.id:
            object.__setattr__(self, "id", digest({"question": self.question, "context": self.context})[:12])


class Source(Value):
    """Where a statement comes from: a document and, where known, the place in it."""

    ref: str
    title: str = ""
    quote: str = ""


class Failure(Value):
    """An error as a value: which boundary it belongs to, its kind, and one line for a person."""

    boundary: str
    kind: str
    message: str
    scope: str = ""

    @classmethod
    def of(cls, error: BaseException, *, scope: str = "") -> Failure:
        """Describe ``error``; anything that is no MotetError is a bug and says so."""
        message = clean_text(str(error) or repr(error))
        if isinstance(error, MotetError):
            return cls(boundary=error.boundary, kind=error.kind, message=message, scope=scope)
        return cls(boundary="bug", kind=type(error).__name__, message=message, scope=scope)


class Result(Value):
    """What a system made of a task. A run that stopped early carries its best answer so far.

    ``usage`` counts what this process paid for; ``earlier`` what the same run had paid for before it was resumed;
    ``inherited`` what came from verified records.
    """

    version: Literal[1] = 1
    status: Status
    answer: str | None = None
    sources: tuple[Source, ...] = ()
    error: Failure | None = None
    usage: Totals = Totals()
    earlier: Totals = Totals()
    inherited: Totals = Totals()
    run_id: str = ""
    details: dict[str, JsonValue] = Field(default_factory=dict)


class Score(Value):
    """One scorer's verdict on one result. ``value`` is in 0..1 unless the scorer says otherwise."""

    scorer: str
    value: float
    correct: bool | None = None
    details: dict[str, JsonValue] = Field(default_factory=dict)

"""A candidate: a team as it was tried on a task, with what came of it and what the judge said. And the rounds of an evolution."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field

from motet.inherit.audit import Audit
from motet.inherit.edits import Edit
from motet.inherit.execution import Execution
from motet.inherit.workflow import Text, Workflow
from motet.value import Value
from motet.words import listed, shown
from motet.worlds.world import Write

# How a candidate came about: designed first, edited from the one before, or designed anew. The other methods that try teams: mutated from one, crossed from two, changed
# in one more round.
Origin: TypeAlias = Literal["initial", "edit", "restart", "mutation", "crossover", "round"]

# What can be tried in a round and fail, in the same words.
Attempted: TypeAlias = Literal[
    "design", "select", "edit", "restart", "parents", "adapt", "mutation", "crossover", "capabilities", "structure"
]


def _rounded(value: object) -> object:
    return round(value) if isinstance(value, float) and value == value and abs(value) < 1e6 else value


# A judge's mark: a whole number from 0 to 100. A fraction is rounded.
Mark: TypeAlias = Annotated[int, Field(ge=0, le=100), BeforeValidator(_rounded)]


class Blame(Value):
    """A node that the judge finds at fault, and what is wrong in its work."""

    node: Text
    problem: Text = ""


class Verdict(Value):
    """What a judge says of a candidate: marks, a critique, the nodes that helped and those to blame. Completion likelihood is recorded and not ranked."""

    quality_score: Mark
    completion_likelihood: Mark
    requirement_coverage: Mark
    artifact_grounding: Mark
    critique: Text = ""
    keep: tuple[Text, ...] = ()
    fix: tuple[Blame, ...] = ()

    def words(self) -> str:
        """Marks, critique and blame in a few lines, for the meta-model."""
        lines = [
            f"quality {self.quality_score}, completion {self.completion_likelihood}, coverage {self.requirement_coverage}, "
            f"grounding {self.artifact_grounding} of 100",
            self.critique,
        ]
        if self.keep:
            lines.append(f"helped: {listed(self.keep)}")
        lines += [f"to blame: {shown(blame.node)}: {blame.problem}" for blame in self.fix]
        return "\n".join(line for line in lines if line)


class Candidate(Value):
    """A team that was tried. ``parent`` is the round whose team it came from, ``dropped`` and ``edits`` what was changed; ``plan`` is what its executor wrote.

    ``note`` says what its round had to do without.
    """

    index: int
    origin: Origin
    execution: Execution
    audit: Audit
    parent: int | None = None
    dropped: tuple[Text, ...] = ()
    edits: tuple[Edit, ...] = ()
    verdict: Verdict | None = None
    plan: tuple[Write, ...] = ()
    note: Text = ""

    @property
    def workflow(self) -> Workflow:
        """The team."""
        return self.execution.workflow

    @property
    def quality(self) -> int | None:
        """The judge's mark for the whole; ``None`` where it gave none."""
        return self.verdict.quality_score if self.verdict else None

    def feedback(self) -> str:
        """All that is known about how well it did, without a right answer, in words."""
        said = self.verdict.words() if self.verdict else "the judge gave no verdict"
        if self.audit.valid and not self.audit.problems:
            return said
        verdict = "valid" if self.audit.valid else "invalid"
        return "\n".join([said, f"audit: the output is {verdict}", *(f"- {line}" for line in self.audit.problems)])


class Spent(Value):
    """A round that gave no candidate: what was tried in it, and why it failed."""

    index: int
    trying: Attempted
    why: str

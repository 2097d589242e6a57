"""What an execution is as a value: each node's outcome, how it came to be, and why."""

from __future__ import annotations

from typing import Literal

from motet.inherit.keys import Determinants
from motet.inherit.records import NodeRecord
from motet.inherit.workflow import Workflow
from motet.runs.run import ToolUse
from motet.task import Failure, Source
from motet.usage import Totals
from motet.value import Value


class Outcome(Value):
    """What became of a node.

    ``how`` says whether it was done in this run's scope, ``why`` the reason, and ``changed`` which determinants differ from those in the last candidate. ``run_id`` and
    ``scope`` say who computed the result, ``usage`` and ``model`` what it cost there.
    """

    node: str
    status: Literal["completed", "failed", "skipped"]
    how: Literal["ran", "reused", "skipped"]
    why: str
    changed: tuple[str, ...] = ()
    output: str | None = None
    trace: tuple[ToolUse, ...] = ()
    sources: tuple[Source, ...] = ()
    failure: Failure | None = None
    usage: Totals = Totals()
    model: str = ""
    read_only: bool = True
    determinants: Determinants | None = None
    run_id: str = ""
    scope: str = ""

    @property
    def key(self) -> str | None:
        """The key of its record; ``None`` where it can have none."""
        return self.determinants.key if self.determinants else None

    @property
    def record(self) -> NodeRecord | None:
        """The result as a record; ``None`` where there is no result or no key."""
        if self.status != "completed" or self.determinants is None or self.output is None:
            return None
        names = ("determinants", "output", "trace", "sources", "usage", "model", "read_only", "run_id", "scope")
        return NodeRecord(**{name: getattr(self, name) for name in names})

    @property
    def ended(self) -> str:
        """How a node ended that gave nothing to reuse, in words that follow its name."""
        if self.status == "skipped":
            return "was skipped"
        if self.failure is not None:
            return f"failed: {self.failure.message}"
        return "may write" if not self.read_only else "met a tool that failed"

    @property
    def reusable(self) -> bool:
        """Whether it may stand in for doing the work again."""
        return self.record is not None and self.record.reusable


class Execution(Value):
    """A workflow with what became of each node, in the workflow's order.

    ``environment`` is the world's state before; ``affected`` the nodes that an edit, a refresh, a changed world or the want of a clean result could reach, compared with
    the last candidate; ``replicas`` numbers equal nodes whose replies may differ.
    """

    version: Literal[1] = 1
    workflow: Workflow
    environment: str | None
    affected: tuple[str, ...]
    replicas: dict[str, int]
    outcomes: dict[str, Outcome]

    @property
    def output(self) -> str | None:
        """What the last node gave; ``None`` where it failed or was skipped."""
        return self.outcomes[self.workflow.output].output

    @property
    def errors(self) -> tuple[Outcome, ...]:
        """The nodes that failed; those skipped after them do not count."""
        return tuple(outcome for outcome in self.outcomes.values() if outcome.status == "failed")

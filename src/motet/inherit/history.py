"""The history of an evolution as a value: what each round tried, what came of it, what it cost and what it inherited. Reports and pictures are made from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from pydantic import Field

from motet.inherit.candidate import Candidate, Origin, Spent, Verdict
from motet.inherit.differences import diff
from motet.inherit.judge import ROLE as JUDGE
from motet.inherit.meta import ROLE as META
from motet.inherit.selection import choose, ranked_prefix
from motet.inherit.workflow import Workflow
from motet.runs.ledger import Ledger
from motet.value import Value


class NodeRow(Value):
    """A node of a candidate. ``tokens`` is what its result cost whoever computed it: in this round where it ``ran``, earlier where it was ``reused``."""

    how: Literal["ran", "reused", "skipped"]
    status: Literal["completed", "failed", "skipped"]
    why: str
    changed: tuple[str, ...] = ()
    tokens: int
    key: str | None = None
    output: str | None = None


class Round(Value):
    """A round. Without an ``origin`` it was spent: ``why`` says on what, else what the round had to do without. ``live`` and ``inherited`` are worker tokens, ``meta`` and ``judge`` control tokens.

    ``affected`` is the share of nodes that the change could reach. ``change`` is the difference to the parent, in words.
    """

    index: int
    origin: Origin | None = None
    why: str = ""
    parent: int | None = None
    dropped: tuple[str, ...] = ()
    edits: tuple[str, ...] = ()
    change: str = ""
    workflow: Workflow | None = None
    nodes: dict[str, NodeRow] = Field(default_factory=dict)
    affected: float = 1.0
    errors: int = 0
    valid: bool = False
    problems: tuple[str, ...] = ()
    verdict: Verdict | None = None
    writes: int = 0
    live: int = 0
    inherited: int = 0
    meta: int = 0
    judge: int = 0


class History(Value):
    """All rounds in their order. ``chosen`` is the round whose candidate is the result, ``None`` while there is none; ``ranked`` the choice after each candidate.

    Tokens of Select, Edit and judge are with the round.
    """

    version: Literal[1] = 1
    rounds: tuple[Round, ...]
    chosen: int | None
    ranked: tuple[int, ...]

    @property
    def tried(self) -> tuple[Round, ...]:
        """The rounds that gave a candidate."""
        return tuple(item for item in self.rounds if item.origin is not None)


def history(
    candidates: Sequence[Candidate],
    spent: Sequence[Spent],
    *,
    ledger: Ledger,
    scope: str,
    choice: Callable[[list[Candidate]], Candidate] = choose,
) -> History:
    """What ``candidates``, of which there must be one, and the ``spent`` rounds amount to, with what the ledger holds of each round below ``scope``.

    ``choice`` says which candidate is best.
    """
    by_index = {candidate.index: candidate for candidate in candidates}
    rounds = [_round(candidate, by_index, ledger=ledger, scope=scope) for candidate in candidates]
    rounds += [
        Round(index=item.index, why=f"{item.trying}: {item.why}", **control_tokens(ledger, scope, item.index))
        for item in spent
    ]
    return History(
        rounds=tuple(sorted(rounds, key=lambda item: item.index)),
        chosen=choice([*candidates]).index,
        ranked=ranked_prefix(candidates, choice=choice),
    )


def round_scope(scope: str, index: int) -> str:
    """The scope of a round below a task's."""
    return f"{scope}/{round_name(index)}"


def round_name(index: int) -> str:
    """What a round's scope is called."""
    return f"round-{index}"


def _round(candidate: Candidate, by_index: dict[int, Candidate], *, ledger: Ledger, scope: str) -> Round:
    execution, workflow = candidate.execution, candidate.workflow
    outcomes = execution.outcomes
    parent = by_index.get(candidate.parent) if candidate.parent is not None else None
    return Round(
        index=candidate.index,
        origin=candidate.origin,
        why=candidate.note,
        parent=candidate.parent,
        dropped=candidate.dropped,
        edits=tuple(edit.kind for edit in candidate.edits),
        change=diff(parent.workflow, workflow).words() if parent else "",
        workflow=workflow,
        nodes={
            id_: NodeRow(
                how=outcome.how,
                status=outcome.status,
                why=outcome.why,
                changed=outcome.changed,
                tokens=outcome.usage.tokens,
                key=outcome.key,
                output=outcome.output,
            )
            for id_, outcome in outcomes.items()
        },
        affected=len(execution.affected) / len(workflow.nodes),
        errors=len(execution.errors),
        valid=candidate.audit.valid,
        problems=candidate.audit.problems,
        verdict=candidate.verdict,
        writes=len(candidate.plan),
        live=sum(outcome.usage.tokens for outcome in outcomes.values() if outcome.how == "ran"),
        inherited=sum(outcome.usage.tokens for outcome in outcomes.values() if outcome.how == "reused"),
        **control_tokens(ledger, scope, candidate.index),
    )


def control_tokens(ledger: Ledger, scope: str, index: int) -> dict[str, int]:
    """What meta-model and judge took in the round ``index`` below ``scope``, as fields of Round."""
    spent = ledger.by(lambda line: line.role, under=round_scope(scope, index))
    return {name: spent[role].tokens if role in spent else 0 for name, role in (("meta", META), ("judge", JUDGE))}

"""The history of an evolution from what the store holds of its run: also while it is at work, and after it was stopped."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from pydantic import ValidationError

from motet.inherit.candidate import Blame, Verdict
from motet.inherit.differences import diff
from motet.inherit.history import History, NodeRow, Round, control_tokens, round_scope
from motet.inherit.trial import TEAM
from motet.inherit.workflow import Workflow
from motet.runs.ledger import Ledger
from motet.store.queries import CallRow, EventRow

UNFINISHED = "unfinished"

_ROUND = re.compile(r"(?P<task>.*?)/round-(?P<index>\d+)(?:/team/(?P<node>[^/]+))?")


class Spot(NamedTuple):
    """Where in an evolution something happened: the task's scope, the round, and the node if in one."""

    task: str
    round: int
    node: str | None


def spot_of(scope: str) -> Spot | None:
    """The spot that ``scope`` is; ``None`` for one that is neither a round's nor a node's."""
    found = _ROUND.fullmatch(scope)
    return Spot(found["task"], int(found["index"]), found["node"]) if found else None


def retell(events: Sequence[EventRow], calls: Sequence[CallRow], ledger: Ledger) -> History | None:
    """The history as far as it goes; ``None`` for a run without an evolution, and of several the first.

    A round that has a team and no audit yet has ``UNFINISHED`` as its ``why``, and only those nodes that have ended.
    """
    notes: defaultdict[int, _Notes] = defaultdict(_Notes)
    task: str | None = None
    chosen: int | None = None
    for call in calls:
        spot, value = spot_of(call.scope), _value(call)
        if spot is None or value is None or call.superseded or spot.task != (task or spot.task):
            continue
        if spot.node is not None and "how" in value:
            notes[spot.round].node(spot.node)["decided"] = value
        elif spot.node is None and call.name == TEAM and "workflow" in value:
            task = spot.task
            notes[spot.round].team = value
    for event in events:
        payload = event.payload if isinstance(event.payload, dict) else {}
        spot, (system, _, kind) = spot_of(event.scope), event.kind.partition(".")
        if system != "inherit":
            continue
        if spot is not None and spot.task == (task or spot.task):
            task = spot.task
            if spot.node is not None:
                notes[spot.round].node(spot.node)[kind] = payload
            else:
                notes[spot.round].told[kind] = payload
        elif kind == "chosen" and event.scope == task:
            chosen = payload.get("round") if isinstance(payload.get("round"), int) else None  # type: ignore[assignment]
    if task is None:
        return None
    teams = {index: team for index, note in notes.items() if (team := note.workflow) is not None}
    rounds = [_round(index, note, teams, ledger=ledger, task=task) for index, note in sorted(notes.items())]
    return History(rounds=tuple(found for found in rounds if found is not None), chosen=chosen, ranked=())


def decided(calls: Sequence[CallRow], index: int, node: str) -> dict[str, Any] | None:
    """What the journal holds of how ``node`` came by its result in the round ``index``: how, why, what changed, the key, and the record where it was inherited.

    ``None`` for a node about which nothing was to be decided.
    """
    for call in calls:
        spot, value = spot_of(call.scope), _value(call)
        if spot is not None and spot[1:] == (index, node) and not call.superseded and value and "how" in value:
            return value
    return None


@dataclass
class _Notes:
    """What is known of a round: the team from the journal, its own events by kind, and those of its nodes."""

    team: dict[str, Any] = field(default_factory=dict)
    told: dict[str, Any] = field(default_factory=dict)
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)

    def node(self, id_: str) -> dict[str, Any]:
        """What is known of a node, to be added to."""
        return self.nodes.setdefault(id_, {})

    @property
    def workflow(self) -> Workflow | None:
        """The team as a document."""
        try:
            return Workflow.model_validate(self.team["workflow"]) if self.team else None
        except ValidationError:
            return None


def _round(index: int, note: _Notes, teams: dict[int, Workflow], *, ledger: Ledger, task: str) -> Round | None:
    control = control_tokens(ledger, task, index)
    workflow = teams.get(index)
    if workflow is None:
        spent = note.told.get("spent")
        return Round(index=index, why=f"{spent.get('trying')}: {spent.get('why')}", **control) if spent else None
    scope = round_scope(task, index)
    parent = note.team.get("parent")
    nodes = {
        id_: row
        for id_ in workflow.by_id
        if (row := _node(note.nodes.get(id_, {}), ledger, f"{scope}/team/{id_}")) is not None
    }
    audited = note.told.get("audited", {})
    return Round(
        index=index,
        origin=note.team.get("origin"),
        why="" if audited else UNFINISHED,
        parent=parent,
        dropped=tuple(note.team.get("dropped", ())),
        edits=tuple(note.team.get("edits", ())),
        change=diff(teams[parent], workflow).words() if parent in teams else "",
        workflow=workflow,
        nodes=nodes,
        errors=sum(row.status == "failed" for row in nodes.values()),
        valid=bool(audited.get("valid")),
        problems=tuple(audited["problems"]) if isinstance(audited.get("problems"), list) else (),
        verdict=_verdict(note.told.get("judged")),
        writes=audited.get("writes", 0),
        live=sum(row.tokens for row in nodes.values() if row.how == "ran"),
        inherited=sum(row.tokens for row in nodes.values() if row.how == "reused"),
        **control,
    )


def _node(note: dict[str, Any], ledger: Ledger, scope: str) -> NodeRow | None:
    if "skipped" in note:
        return NodeRow(how="skipped", status="skipped", why=_why(note["skipped"]), tokens=0)
    failed = note.get("failed")
    found = _decision(note)
    if found is None:
        # It was asked the same as a node that failed, so nothing was decided.
        return None if failed is None else NodeRow(how="reused", status="failed", why=_why(failed), tokens=0)
    how: Literal["ran", "reused"] = "reused" if found.get("how") == "reused" else "ran"
    if how == "ran" and failed is None and "done" not in note:
        return None
    record, changed = found.get("record"), found.get("changed")
    return NodeRow(
        how=how,
        status="completed" if failed is None else "failed",
        why=_why(found),
        changed=tuple(map(str, changed)) if isinstance(changed, list) else (),
        tokens=ledger.total(under=scope).tokens,
        key=found.get("key"),
        output=record["output"] if isinstance(record, dict) else note.get("done", {}).get("output"),
    )


def _decision(note: dict[str, Any]) -> dict[str, Any] | None:
    """How a node came by its result: from the journal, where nothing is cut; else from the event."""
    if "decided" in note:
        return dict(note["decided"])
    return next(({**note[how], "how": how} for how in ("reused", "ran") if how in note), None)


def _why(told: dict[str, Any]) -> str:
    return str(told.get("why", ""))


def _verdict(told: dict[str, Any] | None) -> Verdict | None:
    if told is None:
        return None
    try:
        return Verdict(
            quality_score=told["quality"],
            completion_likelihood=told["completion"],
            requirement_coverage=told["coverage"],
            artifact_grounding=told["grounding"],
            critique=told.get("critique", ""),
            fix=tuple(Blame(node=id_) for id_ in told["blamed"]),
        )
    except (KeyError, TypeError, ValidationError):
        return None  # an event that was too long, or of another version


def _value(call: CallRow) -> dict[str, Any] | None:
    """What a journaled input holds."""
    if call.kind != "input" or not isinstance(call.reply, dict):
        return None
    value = call.reply.get("value")
    return value if isinstance(value, dict) else None

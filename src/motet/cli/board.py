"""What is going on in a run, scope by scope, put together from its events: what the live view draws."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from motet.cli.story import call_text, counted, origin_words
from motet.cli.terminal import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from motet.runs.events import Event

_TAIL = 400  # characters of streaming text that are kept

# What an event says of a node, in a word.
_NODE = {"ran": "runs", "done": "done", "reused": "reused", "failed": "failed", "skipped": "skipped"}


@dataclass
class Lane:
    """One scope. ``doing`` is what it does now; ``tail`` the end of the text that streams in; ``touched`` when it was last heard of."""

    scope: str
    step: int = 0
    doing: str = "asks a model"
    tail: str = ""
    trouble: str = ""
    done: bool = False
    touched: float = 0.0


@dataclass
class Round:
    """A round in which a team is tried: how the team came about, what becomes of its ``nodes`` by id, and how the round ended."""

    index: int
    how: str = ""
    nodes: dict[str, str] = field(default_factory=dict)
    outcome: str = ""

    def words(self) -> str:
        """One line."""
        nodes = " ".join(f"{id_}{f' ({state})' if state else ''}" for id_, state in self.nodes.items())
        return " · ".join(part for part in (f"round {self.index}", self.how, nodes, self.outcome) if part)


@dataclass
class Board:
    """All scopes, the rounds of teams by scope, and the sums over them. ``replayed`` counts replies that came from the journal and cost nothing now."""

    lanes: dict[str, Lane] = field(default_factory=dict)
    rounds: dict[str, Round] = field(default_factory=dict)
    calls: int = 0
    replayed: int = 0
    retries: int = 0
    tokens: int = 0
    unknown: int = 0
    money: float = 0.0
    priced: bool = False

    def hear(self, event: Event) -> None:
        """Take in an event."""
        payload: Mapping[str, Any] = event.payload
        if not event.scope:
            return
        if event.kind.startswith("inherit."):
            self._hear_team(event.scope, event.kind.partition(".")[2], payload)
            return
        lane = self._lane(event.scope)
        lane.touched = event.time
        match event.kind:
            case "model.replied":
                self._count(payload)
                lane.tail = lane.trouble = ""
                lane.doing = "works on the reply"
            case "model.retry":
                self.retries += 1
                lane.tail = ""
                lane.trouble = one_line(
                    f"attempt {payload['attempt']} failed, again in {payload['wait']:.1f} s: {payload['error']}",
                    width=90,
                )
            case "model.failed":
                lane.trouble = one_line(f"{payload['error']}: {payload['message']}", width=90)
            case "tool.called":
                lane.doing = call_text(payload["tool"], payload["arguments"])
            case "tool.replied":
                outcome = "failed" if payload["error"] else f"{payload['characters']:,} characters"
                lane.doing = f"{call_text(payload['tool'], payload['arguments'])} → {outcome}"
            case "agent.step":
                lane.step = int(payload["step"])
            case "task.finished":
                lane.done = True
                lane.doing, lane.tail = str(payload["status"]), ""
            case _:
                pass

    def _hear_team(self, scope: str, kind: str, payload: Mapping[str, Any]) -> None:
        """What is told of teams: a round's own scope is kept as a Round, and whoever worked below it leaves the board when that is over."""
        above, _, node = scope.rpartition("/team/")
        if above:
            state = _NODE.get(kind)
            if state is not None:
                self._round(above).nodes[node] = state
            if kind in ("done", "reused", "failed", "skipped"):
                self._leave(scope)
            return
        match kind:
            case "round":
                self._leave(scope)
                found = self._round(scope)
                found.how = origin_words(payload)
                # A list that was too long for an event is told by its size; the nodes then come as they are heard of.
                found.nodes = (
                    {node["id"]: "" for node in payload["nodes"]} if isinstance(payload["nodes"], list) else {}
                )
            case "judged":
                self._leave(scope)
                self._round(scope).outcome = f"quality {payload['quality']}"
            case "unjudged":
                self._leave(scope)
                self._round(scope).outcome = "no verdict"
            case "spent":
                self._leave(scope)
                self._round(scope).outcome = one_line(f"no team: {payload['why']}", width=90)
            case "chosen":
                self._round(f"{scope}/round-{payload['round']}").outcome += " · chosen"
            case _:
                pass

    def _round(self, scope: str) -> Round:
        if scope not in self.rounds:
            number = scope.rpartition("/round-")[2]
            self.rounds[scope] = Round(int(number) if number.isdecimal() else len(self.rounds))
        return self.rounds[scope]

    def _leave(self, scope: str) -> None:
        for lane in self.lanes.values():
            if lane.scope == scope or lane.scope.startswith(f"{scope}/"):
                lane.done = True

    def read(self, scope: str, text: str) -> None:
        """Take in a piece of a reply."""
        lane = self._lane(scope)
        lane.tail = (lane.tail + text)[-_TAIL:]
        lane.trouble = ""
        lane.touched = time.time()

    def sums(self) -> list[str]:
        """The sums, in words."""
        shown = [
            counted(self.calls, "call"),
            f"{self.tokens:,} tokens" + (f" + {self.unknown} unknown" if self.unknown else ""),
        ]
        if self.priced:
            shown.append(f"${self.money:.4f}")
        if self.replayed:
            shown.append(f"{self.replayed} from the journal")
        if self.retries:
            shown.append(counted(self.retries, "failed attempt"))
        return shown

    def _lane(self, scope: str) -> Lane:
        if scope not in self.lanes:
            self.lanes[scope] = Lane(scope)
        return self.lanes[scope]

    def _count(self, payload: Mapping[str, Any]) -> None:
        if payload.get("replayed"):
            self.replayed += 1
            return
        self.calls += 1
        if payload["prompt"] is None or payload["completion"] is None:
            self.unknown += 1
        else:
            self.tokens += payload["prompt"] + payload["completion"]
        money = payload.get("money")
        if money is not None:
            self.priced = True
            self.money += money

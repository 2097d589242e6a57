"""What is going on in a run, scope by scope, put together from its events: what the live view draws."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from motet.cli.story import call_text, counted
from motet.cli.terminal import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from motet.runs.events import Event

_TAIL = 400  # characters of streaming text that are kept


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
class Board:
    """All scopes and the sums over them. ``replayed`` counts replies that came from the journal and cost nothing now."""

    lanes: dict[str, Lane] = field(default_factory=dict)
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

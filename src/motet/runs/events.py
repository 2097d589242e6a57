"""Events: what a run tells as it happens, to the store and to whoever watches.

Kinds are dotted nouns and verbs: ``run.started``, ``run.resumed``, ``run.finished``, ``task.started``, ``task.finished``, ``model.replied``,
``model.retry``, ``model.failed``, ``tool.called``, ``tool.replied``, ``agent.step``, ``agent.nudge``, ``answer.kept``. Systems add their own under
their own first word.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import TypeAlias

from pydantic import JsonValue

from motet.canonical import canonical, clean_text
from motet.store.schema import events
from motet.store.store import Fence, Row, Store
from motet.value import Value

PAYLOAD_LIMIT = 4000  # bytes of JSON kept in the row; text beyond it is cut, since whole texts are in the journal


class Event(Value):
    """One thing that happened. ``seq`` counts up by one within a run; an event that is only for watchers (``seq`` 0) is not stored."""

    seq: int
    time: float
    scope: str
    kind: str
    payload: dict[str, JsonValue]


Watcher: TypeAlias = Callable[[Event], None]


class Events:
    """The event stream of one sitting: numbers events, stores them lazily, and tells the watchers at once."""

    def __init__(self, store: Store, fence: Fence, *, last: int = 0) -> None:
        self._store = store
        self._fence = fence
        self._seq = last
        self._watchers: list[Watcher] = []

    def watch(self, watcher: Watcher) -> None:
        """Call ``watcher`` with every event from now on. It is called in the event loop and must be quick."""
        self._watchers.append(watcher)

    @property
    def watched(self) -> bool:
        """Whether anybody watches."""
        return bool(self._watchers)

    def emit(self, kind: str, *, scope: str, payload: dict[str, JsonValue], stored: bool = True) -> None:
        """Tell the watchers, and store the event unless it was stored by an earlier sitting."""
        now = time.time()
        if stored:
            self._seq += 1
            text = _text(payload)
            if len(text.encode()) > PAYLOAD_LIMIT:
                payload = shorten(payload)
                text = _text(payload)
            row = {"run_id": self._fence.run_id, "seq": self._seq, "time": now, "scope": scope, "kind": kind}
            self._store.append(Row(events, {**row, "payload": text}), fence=self._fence)
        if self._watchers:
            event = Event.model_construct(
                seq=self._seq if stored else 0, time=now, scope=scope, kind=kind, payload=payload
            )
            for watcher in self._watchers:
                watcher(event)


def _text(payload: dict[str, JsonValue]) -> str:
    """``payload`` as JSON that every store and browser can read."""
    try:
        return clean_text(json.dumps(payload, ensure_ascii=False, allow_nan=False))
    except ValueError:
        return canonical(payload).decode()


def shorten(payload: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """``payload`` with every long text cut and every nested value that is too big named by its size."""
    room = max(PAYLOAD_LIMIT // (8 * max(len(payload), 1)), 40)
    short: dict[str, JsonValue] = {}
    for key, value in payload.items():
        if isinstance(value, str):
            short[key] = value if len(value) <= room else f"{value[:room]}… ({len(value):,} characters)"
        elif isinstance(value, list | dict):
            size = len(json.dumps(value, ensure_ascii=False))
            short[key] = value if size <= room else f"({size:,} characters of JSON)"
        else:
            short[key] = value
    return short

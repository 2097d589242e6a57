"""Conversations, rebuilt from what each call added to the one before it in its scope."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Protocol

from motet.errors import Damaged


class CallLike(Protocol):
    """The columns of a call that a conversation is rebuilt from."""

    @property
    def run_id(self) -> str: ...
    @property
    def scope(self) -> str: ...
    @property
    def ordinal(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def kept(self) -> int: ...
    @property
    def messages(self) -> str: ...


class Histories:
    """Follows calls in the order they were written (by id, at least within each scope) and gives the messages of each.

    Failed calls hold their whole list and are no part of the chain, so only answered model calls move it on.
    """

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], tuple[str, ...]] = {}

    def follow(self, call: CallLike) -> tuple[str, ...]:
        """The hashes of all messages of ``call``. Raises Damaged when they do not fit the calls before it."""
        previous = self._last.get((call.run_id, call.scope), ())
        added = message_names(call)
        if not 0 <= call.kept <= len(previous):
            raise Damaged(
                f"{place(call)} continues a conversation of {call.kept} messages, and the one before it has {len(previous)}"
            )
        messages = (*previous[: call.kept], *added)
        if call.kind == "model" and call.state == "done":
            self._last[call.run_id, call.scope] = messages
        return messages


def message_names(call: CallLike) -> Sequence[str]:
    """The message blobs that ``call`` itself lists. Raises Damaged."""
    try:
        names = json.loads(call.messages)
    except ValueError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Damaged(f"{place(call)} has a damaged list of messages")
    return names


def place(call: CallLike) -> str:
    """A call for people."""
    return f"call {call.ordinal} of scope {call.scope!r} in run {call.run_id}"

"""An episode: the steps of a peer since its last close, raw. Source: AgentFugue, "Episode"."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from motet.models.model import Message
from motet.value import Value


class Step(Value):
    """One step as it stands in the peer's context: its messages, from the reply to what came back."""

    number: int
    messages: tuple[Message, ...]

    @property
    def tokens(self) -> int:
        """A cautious guess of its size: a token for three bytes, and four a message."""
        return sum(message.size + 12 for message in self.messages) // 3


class Episode(Value):
    """Steps that were closed together; kept whole, so that a teammate can look behind the note."""

    peer: str
    number: int
    steps: tuple[Step, ...]

    @property
    def id(self) -> str:
        """``PEER.NUMBER``, as its note is called."""
        return f"{self.peer}.{self.number}"

    @property
    def first(self) -> int:
        """The number of its first step."""
        return self.steps[0].number

    @property
    def last(self) -> int:
        """The number of its last step."""
        return self.steps[-1].number

    def raw(self) -> str:
        """All of it as text, step by step, as the hub is shown it."""
        return "\n\n".join(f"Step {step.number}\n{_text(step.messages)}" for step in self.steps)


def fitting(text: str, *, tokens: int) -> str:
    """The end of ``text`` that fits into ``tokens``, by the same guess; a cut is said."""
    size = tokens * 3
    encoded = text.encode()
    return text if len(encoded) <= size else f"(the beginning is cut off) {encoded[-size:].decode(errors='ignore')}"


def total(steps: Iterable[Step]) -> int:
    """The tokens of ``steps``."""
    return sum(step.tokens for step in steps)


def to_close(steps: Sequence[Step], *, high: int, low: int) -> int:
    """How many of the oldest ``steps`` to close: none below ``high`` tokens, else enough to leave at most ``low``; the newest step stays unless it alone is more."""
    if total(steps) < high:
        return 0
    for number in range(1, len(steps) + 1):
        if total(steps[number:]) <= low:
            return number
    return len(steps)


def _text(messages: Sequence[Message]) -> str:
    lines = []
    for message in messages:
        who = {"assistant": "peer", "tool": "tool", "user": "told", "system": "told"}[message.role]
        if message.content:
            lines.append(f"{who}: {message.content}")
        lines += [f"peer calls {call.name}({_arguments(call.arguments)})" for call in message.tool_calls]
    return "\n".join(lines)


def _arguments(written: str) -> str:
    try:
        return json.dumps(json.loads(written), ensure_ascii=False)
    except ValueError:
        return written

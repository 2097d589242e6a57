"""An episode: the steps of a peer since its last close, raw. Source: AgentFugue, "Episode"."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from motet.canonical import digest
from motet.models.model import Message
from motet.value import Value
from motet.words import json_line


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

    @property
    def digest(self) -> str:
        """Names its content."""
        return digest([[step.number, *(message.digest for message in step.messages)] for step in self.steps])

    def raw(self) -> str:
        """All of it as text, step by step, as the hub is shown it."""
        return "\n".join(map(_text, self.steps))

    def pieces(self, *, tokens: int) -> list[str]:
        """All of it as texts of at most ``tokens`` each: whole steps as far as they fit together, and a larger step in parts."""
        pieces: list[str] = []
        for step in self.steps:
            text = _text(step)
            parts = [text] if _fits(text, tokens) else _cut(text, size=max(tokens * _BYTES - 60, 1))
            for number, part in enumerate(parts):
                shown = part if number == 0 else f"Step {step.number}, part {number + 1}\n{part}"
                if pieces and _fits(f"{pieces[-1]}\n{shown}", tokens):
                    pieces[-1] += f"\n{shown}"
                else:
                    pieces.append(shown)
        return pieces


def fitting(text: str, *, tokens: int) -> str:
    """The end of ``text`` that fits into ``tokens``, by the same guess; a cut is said."""
    if _fits(text, tokens):
        return text
    told = "(the beginning is cut off) "
    size = max(tokens * _BYTES - len(told), 0)
    return told + text.encode()[-size:].decode(errors="ignore") if size else ""


def size_of(text: str) -> int:
    """The tokens of ``text``, by the same guess."""
    return -(-len(text.encode()) // _BYTES)


def total(steps: Iterable[Step]) -> int:
    """The tokens of ``steps``."""
    return sum(step.tokens for step in steps)


def to_close(steps: Sequence[Step], *, high: int, low: int) -> int:
    """How many of the oldest ``steps`` to close: none below ``high`` tokens, else enough to leave at most ``low``. The newest stays: its peer has not read it yet."""
    if total(steps) < high:
        return 0
    return next((number for number in range(1, len(steps)) if total(steps[number:]) <= low), max(len(steps) - 1, 0))


_BYTES = 3  # a token


def _fits(text: str, tokens: int) -> bool:
    return len(text.encode()) <= tokens * _BYTES


def _cut(text: str, *, size: int) -> list[str]:
    """``text`` in parts of at most ``size`` bytes, no character broken."""
    parts, data = [], text.encode()
    while data:
        part = data[:size].decode(errors="ignore") or data[:4].decode(errors="ignore")
        parts.append(part)
        data = data[len(part.encode()) :]
    return parts


def _text(step: Step) -> str:
    """A step as text. All that anybody wrote is set in, so that nothing in it passes for the heading of another step."""
    lines = [f"Step {step.number}"]
    for message in step.messages:
        who = {"assistant": "peer", "tool": "tool", "user": "told", "system": "told"}[message.role]
        if message.content:
            lines += [f"  {who}:", *(f"    {line}" for line in message.content.splitlines())]
        lines += [f"  peer calls {json_line(call.name)} {_arguments(call.arguments)}" for call in message.tool_calls]
    return "\n".join(lines)


def _arguments(written: str) -> str:
    """Arguments on one line."""
    try:
        return json.dumps(json.loads(written), ensure_ascii=False)
    except (ValueError, RecursionError):
        return json_line(written)

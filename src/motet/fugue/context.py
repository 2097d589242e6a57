"""A peer's context: what of its conversation is raw, what stands for older steps, and what came from teammates.

The messages of an agent, seen as items in their order after its opening. Between closes items are only added at the end, so a provider's prefix cache holds; a close replaces old
steps by their note, and in the same go cuts the oldest notes if notes take more than their room.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from motet.fugue.episode import Episode, Step
from motet.models.model import Message


class Item(NamedTuple):
    """A run of messages: a step, the note for an episode of one's own, or something from teammates. ``short`` is what takes its place where room is short."""

    kind: Literal["step", "own", "told"]
    number: int
    messages: tuple[Message, ...]
    short: str = ""

    @property
    def tokens(self) -> int:
        """A cautious guess of its size."""
        return sum(message.size + 12 for message in self.messages) // 3


class Context:
    """The conversation of one peer. ``messages`` is the agent's own list, which it appends to."""

    def __init__(self, messages: list[Message]) -> None:
        self.messages = messages
        self.opening = tuple(messages)
        self.items: list[Item] = []
        self._seen = len(messages)

    @property
    def tokens(self) -> int:
        """The whole conversation's size."""
        return sum(message.size + 12 for message in self.messages) // 3

    @property
    def note_tokens(self) -> int:
        """What notes take, one's own and others'."""
        return sum(item.tokens for item in self.items if item.kind != "step")

    def take_step(self, number: int) -> Step:
        """What the agent added since the last item, as its step ``number``."""
        step = Step(number=number, messages=tuple(self.messages[self._seen :]))
        self.items.append(Item("step", number, step.messages))
        self._seen = len(self.messages)
        return step

    def tell(self, text: str, *, short: str = "") -> None:
        """Add a message from outside at the end."""
        message = Message(role="user", content=text)
        self.items.append(Item("told", 0, (message,), short))
        self.messages.append(message)
        self._seen = len(self.messages)

    def replace(self, episode: Episode, text: str, *, short: str) -> None:
        """Put the note ``text`` in the place of the steps of ``episode``, or of the note that stands there."""
        numbers = {step.number for step in episode.steps}
        note = Item("own", episode.number, (Message(role="user", content=text),), short)
        kept: list[Item] = []
        placed = False
        for item in self.items:
            gone = (item.kind == "step" and item.number in numbers) or (
                item.kind == "own" and item.number == episode.number
            )
            if gone and not placed:
                kept.append(note)
                placed = True
            elif not gone:
                kept.append(item)
        self.items = kept
        self._rebuild()

    def fold(self, *, high: int, low: int) -> int:
        """Where notes take more than ``high`` tokens, cut the oldest to their titles, and if that is not enough let the oldest titles go, until they take at most ``low``.

        Returns how many were cut. Two thresholds, since each cut costs a provider's prefix cache.
        """
        if self.note_tokens <= high:
            return 0
        cut = 0
        over = self.note_tokens - low
        for position, item in enumerate(self.items):
            if over > 0 and item.kind != "step" and item.short and item.messages[0].content != item.short:
                shorter = item._replace(messages=(Message(role="user", content=item.short),))
                if shorter.tokens < item.tokens:
                    over -= item.tokens - shorter.tokens
                    self.items[position] = shorter
                    cut += 1
        kept: list[Item] = []
        for item in self.items:
            if over > 0 and item.kind != "step":
                over -= item.tokens
                cut += 1
            else:
                kept.append(item)
        self.items = kept
        self._rebuild()
        return cut

    def _rebuild(self) -> None:
        self.messages[:] = [*self.opening, *(message for item in self.items for message in item.messages)]
        self._seen = len(self.messages)

"""Visibility: what peers are shown of each other, as one switch with all its consequences. Source: AgentFugue, ablations."""

from __future__ import annotations

from typing import Literal, TypeAlias

from motet.value import Value

Visibility: TypeAlias = Literal["isolated", "private", "notes", "notes+read", "gated", "broadcast"]


class Sight(Value):
    """What a setting means. ``own``: old steps become notes. ``others``: teammates' notes come as they are written; ``raw``: their raw steps come instead.

    ``read``: a tool asks what stands behind a note. ``review``: teammates' notes come only once a peer has answered. ``shared_calls``: a call that a teammate made is answered from
    its record.
    """

    own: bool = False
    others: bool = False
    raw: bool = False
    read: bool = False
    review: bool = False
    shared_calls: bool = False

    @property
    def hub(self) -> bool:
        """Whether there is a hub at all."""
        return self.own or self.others or self.raw or self.review


SIGHTS: dict[Visibility, Sight] = {
    "isolated": Sight(),
    "private": Sight(own=True),
    "notes": Sight(own=True, others=True, shared_calls=True),
    "notes+read": Sight(own=True, others=True, read=True, shared_calls=True),
    "gated": Sight(own=True, read=True, review=True),
    "broadcast": Sight(own=True, raw=True, shared_calls=True),
}

"""``broadcast``: peers that are shown each other's raw steps rather than notes on them."""

from __future__ import annotations

from typing import Literal

from motet.fugue.system import Fugue


class Broadcast(Fugue):
    """A ``fugue`` whose peers see what teammates did as it was, once an episode is closed. Its own old steps become notes all the same, or no context would hold them."""

    visibility: Literal["broadcast"] = "broadcast"

    @property
    def name(self) -> str:
        """``broadcast``."""
        return "broadcast"

"""``best-of-n``: peers that work on the same task and know nothing of each other; a rule makes one answer of theirs."""

from __future__ import annotations

from typing import Literal

from motet.fugue.system import Fugue


class BestOfN(Fugue):
    """A ``fugue`` of ``peers`` without a hub, with the same rules; what its configuration says of notes and reads has no effect."""

    visibility: Literal["isolated"] = "isolated"

    @property
    def name(self) -> str:
        """``best-of-n``."""
        return "best-of-n"

"""What the trade of a scripted team says to whoever steers it."""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    """Something that is seen to be wrong in a team's work.

    ``node`` is whose it is, empty where somebody is missing; ``kind`` a mistake of the trade's table; ``problem`` what is wrong, in words; ``remedy`` the words that end it once they
    stand in the node's prompt; ``help`` the kind of edit that would help beside that: ``prompt``, ``add_worker``, ``insert_verifier``, ``tools``.
    """

    node: str
    kind: str
    problem: str
    remedy: str
    help: str = "prompt"

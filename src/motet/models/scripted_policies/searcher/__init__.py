"""``scripted:searcher``: a reader of linked pages that searches alone or in a team, and the hub and the judge of that team, as programs that see only their messages.

A question is taken apart by the words in ``searcher.yaml``; names may be any. It keeps leads from what it and, by their notes, its teammates have read. Its mistakes and habits are drawn
from the same file: invented rates that show how a team shares what it finds, and measure nothing. ``searcher-shy`` seldom asks behind a note unless something points it there.
"""

from motet.models.scripted_policies.searcher.lore import shipped
from motet.models.scripted_policies.searcher.policy import policy, with_lore
from motet.models.scripted_policies.sources import version_of

__all__ = ["policy", "version", "with_lore"]


def version() -> str:
    """Changes whenever the policy may answer otherwise: with what is in its file, or its sources."""
    return f"{shipped().version}-{version_of(__name__)}"

"""``scripted:scholar``: a team that answers HotpotQA's kind of questions, and an agent that does so alone, as programs that see only their messages.

A planner lists the pages that are needed, a researcher searches and follows names from page to page, a verifier tells sentences that bear the answer from others, a
synthesizer answers and cites. Questions and sentences are read by the words in ``scholar.yaml``; names may be any. Mistakes are drawn from the same file: invented
rates that show how a team is mended, and measure nothing.

For whoever steers such a team: ``trade.faults(question, outputs)`` and ``trade.hints(question)``.
"""

from motet.models.scripted_policies import control
from motet.models.scripted_policies.scholar.lore import shipped
from motet.models.scripted_policies.scholar.policy import policy, with_lore
from motet.models.scripted_policies.sources import version_of

__all__ = ["policy", "version", "with_lore"]


def version() -> str:
    """Changes whenever the policy may answer otherwise: with what is in its file, its sources, or the control half."""
    return f"{shipped().version}-{version_of(__name__, control.__name__)}"

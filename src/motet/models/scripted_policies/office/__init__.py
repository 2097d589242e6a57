"""``scripted:office``: the people of WorkBench's office, as programs that see only their messages.

A worker looks up what the task needs in the domains of its tools, a critic names faults, an integrator writes the plan of calls, a verifier corrects it, an executor
carries it out, and an agent with all tools does everything by itself. Tasks are read by intent and slots (``wording``), over the kinds of task in WorkBench's
130-task subset; names, days, texts and numbers may be any. Mistakes are drawn from a committed table (``office.yaml``, ``mistakes``): invented rates that show how a
team is mended, and measure nothing.

For whoever steers such a team: ``trade.domains(question)``, ``trade.tools_for(question, tools)`` and ``trade.faults(question, outputs)``; each fault carries the
node, the edits that would help, and the remedy, the words that end it once they stand in the node's prompt.
"""

from motet.models.scripted_policies import control
from motet.models.scripted_policies.office.policy import policy, with_mistakes
from motet.models.scripted_policies.sources import version_of

__all__ = ["policy", "version", "with_mistakes"]


def version() -> str:
    """Changes whenever the policy may answer otherwise: with its sources, its table of mistakes, or the control half."""
    return version_of(__name__, control.__name__)

"""The control half of the scripted policies: what they say as meta-model and judge, and as whatever the baselines ask beside.

A request is recognised by its instructions (``reading``), answered from what its ``craft`` knows of the trade and from what the messages say, and spoilt now and then by
committed odds (``control.yaml``): invented rates that let every mechanism of an evolution occur, and measure nothing.
"""

from motet.models.scripted_policies.control.reply import answer

__all__ = ["answer"]

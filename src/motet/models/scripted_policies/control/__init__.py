"""The control half of the scripted policies: what they say as meta-model and judge, and as whatever the baselines ask beside.

A request is recognised by its instructions (``reading``), answered from what its ``craft`` knows of the trade and from what the messages say, and spoilt now and then by
committed odds (``control.yaml``): invented rates that let every mechanism of an evolution occur, and measure nothing.
"""

from functools import cache
from importlib.resources import files

from motet.canonical import digest
from motet.models.scripted_policies.control.reply import answer

__all__ = ["answer", "version"]


@cache
def version() -> str:
    """Changes whenever the control half may answer otherwise: a hash of its sources and its odds."""
    names = {item.name: item for item in files(__package__).iterdir() if item.name.endswith((".py", ".yaml"))}
    return digest({name: names[name].read_text(encoding="utf-8") for name in sorted(names)})[:16]

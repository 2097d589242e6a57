"""What EvoAgent asks, in plain words: an expert for the task, whether one is worth asking, one answer out of two."""

from __future__ import annotations

import re

from motet.models.scripted_policies.control.craft import Craft
from motet.models.scripted_policies.control.odds import Luck, Odds
from motet.models.scripted_policies.control.reading import Asked

_EXPERT = re.compile(r"^Expert \d+ so far: (.*)$", re.MULTILINE)
_NEW = re.compile(r"^The new expert: (.*)$", re.MULTILINE)
_SO_FAR = re.compile(r"^The answer so far:\n(.*?)\n\nThe answer of an expert", re.MULTILINE | re.DOTALL)
_OTHER = re.compile(r"^The answer of an expert .*?\):\n(.*?)\n\nThe expert may be wrong\.", re.MULTILINE | re.DOTALL)


def describe(asked: Asked, craft: Craft, odds: Odds) -> str:
    """Somebody who is told one remedy, another one each time."""
    known = _EXPERT.findall(asked.text)
    luck = Luck((odds.seed, "expert", asked.question, len(known)))
    remedies = [it for it in craft.remedies("") if not any(it in text.lower() for text in known)]
    advice = luck.pick("remedy", remedies or craft.remedies(""))
    return f"You are somebody who has done much of this work. {advice[0].upper()}{advice[1:]}."


def check(asked: Asked, odds: Odds) -> str:
    """Whether the new one differs from those before; sometimes a good one is refused."""
    new = _NEW.search(asked.text)
    known = _EXPERT.findall(asked.text)
    luck = Luck((odds.seed, "check", asked.question, new[1] if new else ""))
    return "Discard" if (new and new[1] in known) or luck.hits("refused", odds.baselines.refused) else "Retain"


def refine(asked: Asked, odds: Odds) -> str:
    """One of the two answers as it is, the expert's if luck has it."""
    so_far, other = _SO_FAR.search(asked.text), _OTHER.search(asked.text)
    answers = [found[1].strip() for found in (so_far, other) if found and found[1].strip()]
    luck = Luck((odds.seed, "refine", asked.question, *answers))
    return "" if not answers else answers[-1] if luck.hits("follows", odds.baselines.follows) else answers[0]

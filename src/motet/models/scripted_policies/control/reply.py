"""Which of the control half's programs answers a request."""

from __future__ import annotations

import json

from motet.models.model import Request
from motet.models.scripted import Turn
from motet.models.scripted_policies.control import breeding, coaching, experts, judge, meta
from motet.models.scripted_policies.control.craft import Craft
from motet.models.scripted_policies.control.odds import Odds, shipped
from motet.models.scripted_policies.control.reading import Asked, Said, read


def answer(request: Request, craft: Craft, *, odds: Odds | None = None) -> Turn | None:
    """The reply to a request to a meta-model or judge; ``None`` for one to anybody else. ``odds`` are the committed ones by default."""
    asked = read(request)
    if asked is None:
        return None
    said = _reply(asked, craft, odds or shipped())
    return Turn(text=said if isinstance(said, str) else json.dumps(said, ensure_ascii=False))


def _reply(asked: Asked, craft: Craft, odds: Odds) -> Said | str:
    match asked.stage:
        case "design":
            return meta.design(asked, craft, odds)
        case "redesign":
            return meta.redesign(asked, craft, odds)
        case "select":
            return meta.select(asked, odds)
        case "edit":
            return meta.edit(asked, craft, odds)
        case "judge":
            return judge.verdict(asked, craft, odds)
        case "parents":
            return breeding.parents(asked, odds)
        case "adapt":
            return breeding.adapt(asked, craft, odds)
        case "mutate":
            return breeding.mutate(asked, craft, odds)
        case "cross":
            return breeding.cross(asked, odds)
        case "capabilities":
            return coaching.capabilities(asked, odds)
        case "structure":
            return coaching.structure(asked, craft)
        case "check":
            return experts.check(asked, odds)
        case "refine":
            return experts.refine(asked, odds)
        case "describe" | "describe_step":
            return experts.describe(asked, craft, odds)

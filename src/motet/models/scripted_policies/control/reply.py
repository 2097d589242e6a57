"""Which of the control half's programs answers a request."""

from __future__ import annotations

import json

from motet.models.model import Request
from motet.models.scripted import Turn
from motet.models.scripted_policies.control import judge, meta
from motet.models.scripted_policies.control.craft import Craft
from motet.models.scripted_policies.control.odds import Odds, shipped
from motet.models.scripted_policies.control.reading import Asked, Said, read


def answer(request: Request, craft: Craft, *, odds: Odds | None = None) -> Turn | None:
    """The reply to a request to a meta-model or judge; ``None`` for one to anybody else. ``odds`` are the committed ones by default."""
    asked = read(request)
    if asked is None:
        return None
    return Turn(text=json.dumps(_reply(asked, craft, odds or shipped()), ensure_ascii=False))


def _reply(asked: Asked, craft: Craft, odds: Odds) -> Said:
    match asked.stage:
        case "design":
            return meta.design(asked, craft, odds)
        case "redesign":
            return meta.redesign(asked, craft, odds)
        case "select":
            return meta.select(asked, craft, odds)
        case "edit":
            return meta.edit(asked, craft, odds)
    return judge.verdict(asked, craft, odds)

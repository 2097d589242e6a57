"""Who is asked decides what is said: a searcher, the hub that keeps a team's notes, a judge, or a leader."""

from __future__ import annotations

from collections.abc import Callable

from motet.models.model import Request
from motet.models.scripted import Turn
from motet.models.scripted_policies.searcher import hub, judge, meta, searching
from motet.models.scripted_policies.searcher.lore import Lore, shipped
from motet.models.scripted_policies.searcher.seat import Seat


def policy(request: Request) -> Turn:
    """The next thing to say, with the committed mistakes and habits."""
    return with_lore(shipped())(request)


def with_lore(lore: Lore) -> Callable[[Request], Turn]:
    """The policy with other rates or words."""

    def said(request: Request) -> Turn:
        system = "\n".join(message.content for message in request.messages if message.role == "system")
        place = next((name for name, words in lore.seats.items() if words in system), "")
        if place == "write":
            return Turn(text=hub.write(request, lore))
        if place == "read":
            return Turn(text=hub.read(request, lore))
        if place == "judge":
            return Turn(text=judge.choose(request, lore))
        if place == "lead":
            return (meta.split if request.reply_schema is not None else meta.synthesise)(request, lore)
        if place == "direct":
            return meta.direct(request, lore)
        return searching.turn(Seat(request, lore))

    return said

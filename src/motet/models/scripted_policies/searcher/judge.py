"""The judge's half: of several answers, the one with the most agreement, confidence and evidence behind it."""

from __future__ import annotations

import json
import re
from collections import defaultdict

from pydantic import JsonValue

from motet.models.model import Request
from motet.models.scripted_policies.forms import fill
from motet.models.scripted_policies.searcher.lore import Lore
from motet.models.scripted_policies.searcher.pages import key

_OFFER = re.compile(
    r"^Answer (\d+), of (\S+?)(?: \(confidence (\d\.\d+)\))?:\n(.*?)(?=^Answer \d+, of |^Give the number|\Z)",
    re.MULTILINE | re.DOTALL,
)
_SHORT = re.compile(r"^Answer: (.+)$", re.MULTILINE)
_UNSURE = 0.5
_BORNE = 0.5  # what a source that holds the answer's words adds


def choose(request: Request, lore: Lore) -> str:
    """The number of the answer, and why, in the form that is asked for."""
    text = next((message.content for message in request.messages if message.role == "user"), "")
    weights: defaultdict[str, float] = defaultdict(float)
    numbers: dict[str, int] = {}
    for number, _, sure, body in _OFFER.findall(text):
        found = _SHORT.findall(body)
        answer, _, sources = body.partition("\n- ")
        name = key((found[-1] if found else answer).strip())
        borne = f"-{name}-" in f"-{key(sources.replace('/', ' '))}-"
        weights[name] += (float(sure) if sure else _UNSURE) + (_BORNE if borne else 0.0)
        numbers.setdefault(name, int(number))
    ranked = sorted(weights, key=lambda name: (-weights[name], numbers[name]))
    if len(ranked) > 1 and lore.errs("overrules", text):
        ranked = ranked[1:]
    values: dict[str, JsonValue] = {
        "number": numbers[ranked[0]] if ranked else 1,
        "why": "It has the most agreement, confidence and evidence behind it.",
    }
    return json.dumps(fill(request.reply_schema or {"type": "object"}, "", values), ensure_ascii=False)

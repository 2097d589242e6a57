"""A leader's half: how a task is split for agents that do not see each other, and one answer from what they report.

A split by letters gives each agent its share of whatever the question's first page lists; a split by what the question says, in which most parts depend on others, gives each the
question up to a point.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from motet.canonical import digest
from motet.models.model import Request, ToolCall
from motet.models.scripted import Turn
from motet.models.scripted_policies.forms import fill
from motet.models.scripted_policies.searcher.asked import asked
from motet.models.scripted_policies.searcher.lore import Lore
from motet.models.scripted_policies.searcher.pages import key

_TASK = re.compile(r"\A(?:Task: )?(.*?)(?=\n\s*\n|\Z)", re.DOTALL)
_NUMBER = re.compile(r"Split this task into (\d{1,3}) parts?")
_MOST = re.compile(r"You may create (\d{1,3}) of them at most")
_REPORT = re.compile(
    r"^(\w[\w-]*)(?: reports)?: (?=Confidence|Answer|\|)(.*?)(?=^\w[\w-]* (?:was to|reports|failed|found)|^Answer the whole|\Z)",
    re.MULTILINE | re.DOTALL,
)
_SURE = re.compile(r"Confidence: (\d{1,3})")
_SHORT = re.compile(r"^Answer: (.+)$", re.MULTILINE)
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SPLIT = re.compile(r"(?<=[.?!])\s+")
_TEAM = 4  # sub-agents that are created, where more may be


def split(request: Request, lore: Lore) -> Turn:
    """The parts of a task, as a list in the form that is asked for."""
    text = _user(request)
    number = _NUMBER.search(text)
    parts: list[JsonValue] = list(_parts(_question(text), int(number[1]) if number else 2, lore))
    return Turn(
        text=json.dumps(fill(request.reply_schema or {"type": "object"}, "", {"subtasks": parts}), ensure_ascii=False)
    )


def synthesise(request: Request, lore: Lore) -> Turn:
    """One answer from the reports."""
    return Turn(text=_together([body for _, body in _REPORT.findall(_user(request))]))


def direct(request: Request, lore: Lore) -> Turn:
    """The next turn of a leader that assigns parts by a tool: all parts at once, and then the answer."""
    reports = [message.content for message in request.messages if message.role == "tool"]
    tools = {tool.name for tool in request.tools} if request.tool_choice != "none" else set()
    if reports or "assign" not in tools:
        return Turn(text=_together([body for report in reports for _, body in _REPORT.findall(report)]))
    question = _question(_user(request))
    found = _MOST.search(request.messages[0].content)
    number = min(int(found[1]) if found else _TEAM, _TEAM)
    calls = []
    for part in _parts(question, number, lore):
        arguments: dict[str, JsonValue] = {"role": "You search and read pages.", "subtask": part}
        calls.append(ToolCall(id=f"call_{digest(arguments)[:10]}", name="assign", arguments=json.dumps(arguments)))
    return Turn(tool_calls=tuple(calls))


def share(part: str) -> str:
    """The letters of the titles that a part is about; all, where it says nothing of letters."""
    found = re.search(r"whose names begin with ([A-Z](?:, [A-Z])*)\.", part)
    return found[1].replace(", ", "") if found else _LETTERS


def _parts(question: str, number: int, lore: Lore) -> Iterator[str]:
    clauses = asked(question, lore).clauses
    if lore.errs("by_clause", question) and clauses:
        first, *rest = _SPLIT.split(question)
        for place in range(number):
            upto = min(place + 1, len(clauses))
            end = rest[len(clauses) :] if upto == len(clauses) else ["Which page fits so far?"]
            yield " ".join([first, *rest[:upto], *end])
        return
    for place in range(number):
        letters = ", ".join(_LETTERS[place::number])
        yield f"Look only into those of the first page whose names begin with {letters}. {question}"


def _together(bodies: Sequence[str]) -> str:
    """All rows of tables, or the answer of which most are surest."""
    tables = [[line for line in body.splitlines() if line.startswith("|")] for body in bodies]
    if any(tables):
        first = next(table for table in tables if table)
        return "\n".join(dict.fromkeys([*first[:2], *(row for table in tables for row in table[2:])]))
    weights: dict[str, float] = {}
    said: dict[str, str] = {}
    for body in bodies:
        answer, sure = _SHORT.search(body), _SURE.search(body)
        if answer is not None:
            name = key(answer[1])
            weights[name] = weights.get(name, 0.0) + (float(sure[1]) if sure else 50.0)
            said.setdefault(name, answer[1].strip())
    best = max(weights, key=lambda name: weights[name], default="")
    return f"Answer: {said.get(best, 'not found')}"


def _user(request: Request) -> str:
    return next((message.content for message in request.messages if message.role == "user"), "")


def _question(text: str) -> str:
    found = _TASK.match(text)
    return found[1].strip() if found else text

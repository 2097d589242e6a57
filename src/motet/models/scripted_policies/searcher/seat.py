"""Where a request puts the searcher: what it is to do, who it is, the question, the calls that it may make and those that it has made."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from pydantic import JsonValue

from motet.models.model import Message, Request
from motet.models.scripted_policies.forms import names
from motet.models.scripted_policies.searcher.asked import Asked, asked
from motet.models.scripted_policies.searcher.lore import Lore
from motet.models.scripted_policies.searcher.meta import share

_WHO = re.compile(r"You are ([a-z][\w-]*), one of (\d{1,6}) agents")
_LABEL = re.compile(r"^(?:(?:Task|Question): )+", re.MULTILINE)
_LARGER = "This is one part of a larger task that others work on too: "
_LAST = re.compile(r"^You have no steps left\.", re.MULTILINE)
SEARCH, VISIT, READ = "search", "visit", "read_notes"


class Call(NamedTuple):
    """A call that stands in the conversation, with what came back."""

    tool: str
    arguments: Mapping[str, JsonValue]
    result: str


@dataclass(frozen=True)
class Seat:
    """A request as the policy reads it."""

    request: Request
    lore: Lore

    @cached_property
    def system(self) -> str:
        """All that it was instructed."""
        return "\n".join(message.content for message in self.request.messages if message.role == "system")

    @cached_property
    def opening(self) -> int:
        """The place of the message that puts the task. With JSON actions there are worked examples before it."""
        places = [place for place, message in enumerate(self.request.messages) if message.role == "user"]
        labelled = [place for place in places if _LABEL.match(self.request.messages[place].content)]
        return (labelled or places or [0])[-1 if labelled else 0]

    @cached_property
    def task(self) -> str:
        """The text of the task. Where JSON actions ask for the answer by itself, it comes after what was found."""
        text = self.request.messages[self.opening].content
        _, _, after = text.rpartition("\n\nQuestion: ")
        return after.removesuffix(" Answer in one sentence.") if after != text else _LABEL.sub("", text, count=1)

    @cached_property
    def part(self) -> str:
        """Its part of a larger task; empty for who has all of it."""
        part, found, _ = self.task.partition(_LARGER)
        return part.strip() if found else ""

    @cached_property
    def asked(self) -> Asked:
        """The question taken apart: its own part's where that is a question, else that of the larger task."""
        whole = asked(self.task.rpartition(_LARGER)[2], self.lore)
        own = asked(self.part, self.lore)
        return own if own.clauses and own.anchor == whole.anchor else whole

    @cached_property
    def share(self) -> str:
        """The letters with which the titles begin that it is to look into, in small letters."""
        return share(self.part).lower()

    @cached_property
    def who(self) -> str:
        """What tells it from others at work on the same question: its name in a team, all that it was instructed beside, and the seed that it is sampled with."""
        found = _WHO.search(self.system)
        return f"{found[1] if found else ''} {self.request.sampling.seed or 0} {self._angle}{self.part}"

    @cached_property
    def _angle(self) -> str:
        found = re.search(r"each on its own\. (.*)", self.system)
        return found[1] if found else ""

    @cached_property
    def tools(self) -> tuple[str, ...]:
        """The tools that this reply may call."""
        if self.request.tool_choice == "none" and self.request.reply_schema is None:
            return ()
        if self.request.tools:
            return tuple(tool.name for tool in self.request.tools)
        return tuple(name for name in names(self.request.reply_schema or {}) if name != "answer")

    @cached_property
    def last(self) -> bool:
        """Whether it can only answer now."""
        return not self.tools or bool(_LAST.search(self.request.messages[-1].content))

    @cached_property
    def heard(self) -> tuple[str, ...]:
        """What it was told after the task, but for what tools answered."""
        return tuple(message.content for message in self._later if message.role == "user")

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """Its calls that are still shown, with what came back."""
        results = {message.tool_call_id: message.content for message in self._later if message.role == "tool"}
        found: list[Call] = []
        for message, following in zip(self._later, [*self._later[1:], None], strict=False):
            if message.role != "assistant":
                continue
            found += [Call(call.name, _object(call.arguments), results.get(call.id, "")) for call in message.tool_calls]
            action = _object(message.content) if not message.tool_calls else {}
            arguments = action.get("arguments")
            if isinstance(arguments, dict):
                found.append(Call(str(action.get("tool")), arguments, following.content if following else ""))
        return tuple(found)

    @cached_property
    def given(self) -> str:
        """The message that puts the task, for what was found may stand in it."""
        return self.request.messages[self.opening].content

    @property
    def _later(self) -> tuple[Message, ...]:
        return self.request.messages[self.opening + 1 :]


def _object(text: str) -> dict[str, JsonValue]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}

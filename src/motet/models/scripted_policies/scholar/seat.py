"""Where a request puts the policy: its role, its search tool, the question, its part of it, what colleagues gave it, and what it has found so far."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from motet.models.model import Request
from motet.models.scripted_policies.forms import names
from motet.models.scripted_policies.mistakes import ALONE
from motet.models.scripted_policies.scholar.lore import Lore
from motet.models.scripted_policies.scholar.pages import Fact, read_citations, read_facts, read_given, read_pages

_LABEL = re.compile(r"^(?:(?:Task|Question): )+", re.MULTILINE)
_PART = re.compile(r"^Your part: (.*?)(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)
_INPUT = re.compile(
    r"^\[(\w+) from (\w+)\]\n(.*?)(?=^\[\w+ from \w+\]\n|^What stands under these headings is|\Z)",
    re.MULTILINE | re.DOTALL,
)
_STEP = re.compile(r"^\s*\d+[.)] ", re.MULTILINE)
BEARS = "Bears the answer:"  # how a verifier begins


@dataclass(frozen=True)
class Seat:
    """A request as the policy reads it."""

    request: Request
    lore: Lore

    @cached_property
    def role(self) -> str:
        """One of the team's roles, or ``react`` for an agent by itself."""
        for name, words in self.lore.roles.items():
            if words in self.system:
                return name
        # The answer to JSON actions is asked for without any instructions.
        return "researcher" if self.subtask and not self.system else ALONE

    @cached_property
    def system(self) -> str:
        """All that it was instructed."""
        return "\n".join(message.content for message in self.request.messages if message.role == "system")

    @cached_property
    def asked(self) -> str:
        """The text that puts the question. With JSON actions there are worked examples before it."""
        users = [message.content for message in self.request.messages if message.role == "user"]
        found = [(text, label) for text in users for label in _LABEL.finditer(text)]
        return found[-1][0][found[-1][1].start() :] if found else users[0] if users else ""

    @cached_property
    def question(self) -> str:
        """The question itself, the same text for every node that works on it."""
        return question_of(self.asked)

    @cached_property
    def subtask(self) -> str:
        """Its part of the task; empty for an agent that has all of it."""
        found = _PART.search(self.asked)
        return found[1].strip() if found else ""

    @cached_property
    def told(self) -> str:
        """All that may hold a remedy, in lower case."""
        return f"{self.system}\n{self.subtask}".lower()

    @cached_property
    def inputs(self) -> list[tuple[str, str]]:
        """Port and text of what colleagues gave."""
        return [(port, text) for port, _, text in _INPUT.findall(self.asked)]

    @property
    def steps(self) -> int | None:
        """How many steps a plan has that it was given."""
        plans = [text for port, text in self.inputs if port == "plan"]
        return steps_in(plans[0]) if plans else None

    @cached_property
    def evidence(self) -> list[Fact]:
        """What colleagues report, each sentence once."""
        return list(
            dict.fromkeys(fact for port, text in self.inputs if port == "evidence" for fact in read_facts(text))
        )

    @cached_property
    def bearing(self) -> list[tuple[str, int]]:
        """The citations that verifiers say bear the answer; none where nobody said so."""
        lines = [line for port, text in self.inputs if port == "critique" for line in text.splitlines()]
        return [citation for line in lines if line.startswith(BEARS) for citation in read_citations(line)]

    @cached_property
    def pages(self) -> Mapping[str, Mapping[int, str]]:
        """What it has found so far, or was given with the task."""
        found: dict[str, dict[int, str]] = {}
        for message in self.request.messages:
            if message.role in ("tool", "user"):
                found |= read_pages(message.content) | read_given(message.content)
        return found

    @cached_property
    def queries(self) -> list[str]:
        """What it has searched for so far."""
        calls = [call.arguments for message in self.request.messages for call in message.tool_calls]
        own = [m.content for m in self.request.messages if m.role == "assistant" and not m.tool_calls]
        return [query for text in (*calls, *own) if (query := _query_of(text))]

    @cached_property
    def tools(self) -> tuple[str, ...]:
        """The tools at hand."""
        if self.request.tools:
            return tuple(tool.name for tool in self.request.tools)
        return tuple(name for name in names(self.request.reply_schema or {}) if name != "answer")

    @property
    def search(self) -> str | None:
        """The tool that searches, where this reply may call it."""
        if self.request.tool_choice == "none" and self.request.reply_schema is None:
            return None
        return next((name for name in self.tools if name.endswith("search")), None)


def question_of(text: str) -> str:
    """The question that ``text`` begins with: a task says more about the form of the answer."""
    text = _LABEL.sub("", text, count=1).strip()
    sentence = re.match(r"[^\n]*?\?", text)
    return sentence[0] if sentence else text.partition("\n")[0]


def steps_in(plan: str) -> int:
    """How many steps a plan has."""
    return len(_STEP.findall(plan))


def _query_of(text: str) -> str:
    try:
        value = json.loads(text)
    except ValueError:
        return ""
    arguments = value.get("arguments", value) if isinstance(value, dict) else None
    return str(arguments.get("query", "")) if isinstance(arguments, dict) else ""

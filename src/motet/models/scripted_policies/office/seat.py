"""Where a request puts the policy: its role, its tools, the task, its part of it, what colleagues gave it, and what it has done so far."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from motet.models.model import Message, Request
from motet.models.scripted_policies.forms import names
from motet.models.scripted_policies.mistakes import ALONE
from motet.models.scripted_policies.office.asked import DOMAINS, Arguments
from motet.models.scripted_policies.office.plan import is_plan

# The words by which each role is known; those that come first in the instructions count, since a node's own prompt follows its role's.
_ROLES = {
    "executor": re.compile(r"carr(?:y|ies) out (?:a|the) plan|alone may change anything", re.IGNORECASE),
    "verifier": re.compile(r"last look at a plan|plan (?:again )?corrected", re.IGNORECASE),
    "integrator": re.compile(r"write the plan|writes the plan|exact calls to be made", re.IGNORECASE),
    "critic": re.compile(r"check the work of your team|looks? for (?:mistakes|faults)", re.IGNORECASE),
    "worker": re.compile(r"look something up in .{0,60}records|looks? up .{0,40}records", re.IGNORECASE),
}
_WRITES = re.compile(r"_(?:create|add|update|delete|send|forward|reply)_")
_ASK = re.compile(
    r"(?:^|\n)(?:\s*(?:Task|Question):)+ ?(.*?)(?=\n\s*Given with the task:|\n\s*Your part:|\Z)", re.DOTALL
)
_PART = re.compile(r"\nYour part: (.*?)(?=\n\s*\[\w+ from [a-z]\w*\]\n|\Z)", re.DOTALL)
_INPUT = re.compile(
    r"^\[(\w+) from ([a-z]\w*)\]\n(.*?)(?=^\[\w+ from [a-z]\w*\]\n|^What stands under these headings is|\Z)",
    re.DOTALL | re.MULTILINE,
)
_OBSERVATION = re.compile(r"^Observation from (\w+):\n(.*?)(?=\n\nTask: |\Z)", re.DOTALL)
REVIEW = "Check of the work:"  # how a critic begins

# Words in a subtask that mean a domain.
_DOMAIN_WORDS = {
    "calendar": r"calendar|event|meeting",
    "email": r"\be-?mails?\b|inbox|mailbox",
    "analytics": r"analytics|visit|engaged|session|metric|figure|website",
    "project_management": r"project|board|backlog|\btasks\b",
    "customer_relationship_manager": r"customer|crm|client",
    "company_directory": r"director(?:y|ies)|\baddress|\bpeople\b",
}


@dataclass(frozen=True)
class Given:
    """What a colleague gave: the port, the node, the text, and the role that such a text has been written by."""

    port: str
    node: str
    text: str

    @property
    def role(self) -> str:
        """``critic``, ``integrator`` (whoever wrote a plan) or ``worker``, by the form of the text."""
        if self.text.lstrip().startswith(REVIEW):
            return "critic"
        return "integrator" if is_plan(self.text) else "worker"


@dataclass(frozen=True)
class Seat:
    """A request as the policy reads it."""

    request: Request

    @cached_property
    def role(self) -> str:
        """One of the office's roles; for other instructions, what tools and inputs make of it: ``react`` where it may write and has no plan to follow."""
        places = [(found.start(), name) for name, words in _ROLES.items() if (found := words.search(self.system))]
        if places:
            return min(places)[1]
        if self.writers:
            return "executor" if any(given.role == "integrator" for given in self.inputs) else ALONE
        if self.tools or not self.inputs:
            return "worker"
        return "verifier" if any(given.role == "integrator" for given in self.inputs) else "integrator"

    @cached_property
    def system(self) -> str:
        """All that it was instructed."""
        return "\n".join(message.content for message in self.request.messages if message.role == "system")

    @cached_property
    def tools(self) -> tuple[str, ...]:
        """The tools at hand."""
        if self.request.tools:
            return tuple(tool.name for tool in self.request.tools)
        return tuple(name for name in names(self.request.reply_schema or {}) if name != "answer")

    @property
    def writers(self) -> tuple[str, ...]:
        """Those of its tools that change something."""
        return tuple(name for name in self.tools if writes(name))

    @property
    def may_call(self) -> bool:
        """Whether this reply may call a tool."""
        return self.request.tool_choice != "none" and bool(self.tools)

    @cached_property
    def asked(self) -> str:
        """The user's text that puts the task. With JSON actions there are worked examples before it."""
        users = [message.content for message in self.request.messages if message.role == "user"]
        return next(
            (text for text in users if "\nYour part: " in text or "Today's date" in text), users[0] if users else ""
        )

    @cached_property
    def question(self) -> str:
        """The task, the same text for every node that works on it."""
        found = _ASK.search(self.asked)
        return (found[1] if found else self.asked).strip()

    @cached_property
    def subtask(self) -> str:
        """Its part of the task; empty for an agent that has all of it."""
        found = _PART.search(self.asked)
        return found[1].strip() if found else ""

    @cached_property
    def inputs(self) -> tuple[Given, ...]:
        """What colleagues gave it."""
        return tuple(Given(port, node, text.strip()) for port, node, text in _INPUT.findall(self.asked))

    @cached_property
    def told(self) -> str:
        """All that may hold a remedy, in lower case: instructions, subtask, and what critics said."""
        reviews = [given.text for given in self.inputs if given.role == "critic"]
        return "\n".join([self.system, self.subtask, *reviews]).lower()

    @cached_property
    def domains(self) -> frozenset[str]:
        """The domains that it can look things up in: those of its tools, or of them those that its subtask names."""
        held = {domain_of(name) for name in self.tools if not writes(name)} - {""}
        named = {name for name in held if re.search(_DOMAIN_WORDS[name], self.subtask, re.IGNORECASE)}
        return frozenset(named or held)

    @cached_property
    def done(self) -> tuple[tuple[str, Arguments, str], ...]:
        """The calls made so far, with what they returned."""
        answers = {m.tool_call_id: m.content for m in self.request.messages if m.role == "tool"}
        found: list[tuple[str, Arguments, str]] = []
        messages = self.request.messages
        for index, message in enumerate(messages):
            found += [(call.name, _arguments(call.arguments), answers.get(call.id, "")) for call in message.tool_calls]
            if message.role == "assistant" and not message.tool_calls and message.content.startswith("{"):
                found += _in_json(message, messages[index + 1 : index + 2])
        return tuple(found)

    @cached_property
    def seen(self) -> Mapping[tuple[str, Arguments], str]:
        """What each reading call returned."""
        return {(name, arguments): text for name, arguments, text in self.done if not writes(name)}


def writes(tool: str) -> bool:
    """Whether a tool's name says that it changes something."""
    return _WRITES.search(tool) is not None


def domain_of(tool: str) -> str:
    """The domain that a tool's name begins with; empty for another office's tool."""
    return next((domain for domain in DOMAINS if tool.startswith(f"{domain}_")), "")


def _arguments(text: str) -> Arguments:
    try:
        value = json.loads(text)
    except ValueError:
        return ()
    return tuple(sorted((str(name), str(given)) for name, given in value.items())) if isinstance(value, dict) else ()


def _in_json(message: Message, following: tuple[Message, ...]) -> list[tuple[str, Arguments, str]]:
    try:
        action = json.loads(message.content)
    except ValueError:
        return []
    observed = _OBSERVATION.match(following[0].content) if following else None
    if not isinstance(action, dict) or observed is None or observed[1] != action.get("tool"):
        return []
    return [(observed[1], _arguments(json.dumps(action.get("arguments"))), observed[2])]

"""What a meta-model or a judge is being asked, read from its messages: the task, roles and tools, the team, what it gave, what was said of it, the menu.

Teams are read as outlines and as documents, menus by group and line by line, so that both views of the control plane can be answered.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

from motet.models.model import Message, Request

Said: TypeAlias = dict[str, Any]  # a reply as JSON
Stage: TypeAlias = Literal[
    "design",
    "select",
    "edit",
    "redesign",
    "judge",
    "parents",
    "adapt",
    "mutate",
    "cross",
    "capabilities",
    "structure",
    "describe",
    "check",
    "refine",
    "describe_step",
]
Kind: TypeAlias = Literal[
    "prompt",
    "subtask",
    "tools",
    "add_node",
    "remove_node",
    "add_edge",
    "remove_edge",
    "reorder_inputs",
    "insert_node",
]

_META = "You design and improve a team of agents"
# The words of each request, by those of whom it is put to; of several in one text the last counts, since what changes comes last.
_SEATS: Mapping[str, Mapping[Stage, str]] = {
    "You judge the work of a team of agents": {"judge": "\n\nAudit: "},
    _META: {
        "design": "Design the team for this task.",
        "select": "Drop nodes only if the judge says",
        "edit": "Choose the one change that helps most",
        "redesign": "Changes to it no longer help. Design a different team",
    },
    "You breed teams of agents": {
        "parents": "parents for this task from the pool",
        "adapt": "Fit this team to the task.",
        "mutate": "Mutate this team in exactly one component.",
        "cross": "Cross these two teams into a child.",
    },
    "You coach a team of agents": {
        "capabilities": "Say what each agent contributed",
        "structure": "Propose the team's next graph.",
    },
}
# Those that are put without instructions begin with these.
_ALONE: Mapping[Stage, str] = {
    "describe": "Describe one expert for this task",
    "check": "Is this expert worth asking?",
    "refine": "Bring two answers to a task together",
    "describe_step": "Describe one specialist",
}
_TASK = re.compile(
    r"(?:\A|\n\n)Task: (.*?)(?=\n\s*\n(?:Given with the task:|The team|The best team so far:|Design the team|Choose the team|Choose \d+ parents|"
    r"Fit this team|Mutate this team|Cross these two|Say what each agent|Propose the team's|The answer so far:|Expert \d+ so far:|The new expert:|"
    r"What came back last:|A colleague would do this next:)|\Z)",
    re.DOTALL,
)
_TEAM = re.compile(
    r"^(?:(?:The team|The team as it is|The best team so far|first):"
    r"|(?:Fit this team|Mutate this team|Say what each agent contributed|Propose the team's next graph).*\.)[ \t]*\n+",
    re.MULTILINE,
)
_HEAD = re.compile(r"^([\w-]+): (\w+), reads (.+?)(?:, tools (.+))?$")
_ROLE = re.compile(r"^([a-z]\w*): (.+?) \((reads .*)\)$", re.MULTILINE)
_PORT = re.compile(r"(\w+) from ([\w ]+?) \(([^()]*)\)")
_TOOL = re.compile(r"^(\w+) \((reads|writes)\):", re.MULTILINE)
_BLAME = re.compile(r"^to blame: '([^']+)': (.*)$", re.MULTILINE)
_TRACE = re.compile(r"^  \w+\(\{.*?\}\) -> ", re.MULTILINE)
_CUT = "… (cut here)"
_LINE = re.compile(r"^(\d+)\. (.*)$")
_GROUP = re.compile(r"^([a-z].*?)(?: \(write ([a-z, ]+)\))?: (\d+ .*)$")
_KINDS: Sequence[tuple[Kind, re.Pattern[str]]] = (
    ("prompt", re.compile(r"other prompt of (?P<node>\S+)")),
    ("subtask", re.compile(r"other subtask of (?P<node>\S+)")),
    ("tools", re.compile(r"other tools for (?P<node>\S+)")),
    ("add_node", re.compile(r"add (?P<role>\S+) (?P<how>read by|beside|after) (?P<node>\S+)")),
    ("remove_node", re.compile(r"remove node (?P<node>\S+)")),
    ("add_edge", re.compile(r"let (?P<node>\S+) also read (?P<source>\S+)")),
    ("remove_edge", re.compile(r"let (?P<node>\S+) no longer read (?P<source>\S+)")),
    ("reorder_inputs", re.compile(r"inputs of (?P<node>\S+) in the order (?P<source>.+)")),
    ("insert_node", re.compile(r"insert (?P<role>\S+) on (?P<source>\S+) > (?P<node>\S+)")),
)


@dataclass(frozen=True)
class Member:
    """A node of a team."""

    id: str
    role: str
    subtask: str
    prompt: str
    tools: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()

    def told(self, remedy: str) -> bool:
        """Whether the words of ``remedy`` stand in its texts."""
        return remedy.lower() in f"{self.prompt}\n{self.subtask}".lower()


@dataclass(frozen=True)
class Role:
    """A role as the meta-model is told of it: the ports with the roles that they take, and which tools (``no``, ``read`` or ``write``) it may hold."""

    name: str
    ports: Mapping[str, tuple[str, ...]]
    tools: Literal["no", "read", "write"]

    def may_read(self, role: str) -> bool:
        """Whether it takes what a node of ``role`` gives."""
        return any(role in roles for roles in self.ports.values())


@dataclass(frozen=True)
class Entry:
    """An entry of the menu. ``node`` is the one that is changed, read from, or followed; ``source`` another one; ``how`` where a new node comes."""

    number: int
    kind: Kind
    node: str
    role: str = ""
    source: str = ""
    how: str = ""
    fill: tuple[str, ...] = ()


@dataclass(frozen=True)
class Blame:
    """What a critique says is wrong: whose it is (empty where somebody is missing), what, and what is to be done about it."""

    node: str
    problem: str
    remedy: str


@dataclass(frozen=True)
class Asked:
    """A request as meta-model or judge. ``stage`` is what is asked for."""

    request: Request
    stage: Stage

    @cached_property
    def system(self) -> str:
        """The instructions."""
        return self.request.messages[0].content

    @cached_property
    def text(self) -> str:
        """What it is asked, without the repairs."""
        return next(message.content for message in self.request.messages if message.role == "user")

    @cached_property
    def second(self) -> Asked:
        """The same request as if it were about the second of two teams."""
        head, _, rest = self.text.partition("\n\nfirst:\n")
        _, _, second = rest.partition("\n\nsecond:\n")
        other = f"{head}\n\nfirst:\n{second}"
        messages = (self.request.messages[0], Message(role="user", content=other))
        return Asked(self.request.model_copy(update={"messages": messages}), self.stage)

    @property
    def repairs(self) -> int:
        """How often the reply came back."""
        return sum(message.role == "user" for message in self.request.messages) - 1

    @cached_property
    def question(self) -> str:
        """The task."""
        found = _TASK.search(self.text)
        return (found[1] if found else self.text).strip()

    @cached_property
    def roles(self) -> dict[str, Role]:
        """The roles that a team may have."""
        part = self.system.partition("Roles:\n")[2].partition("\n\nTools:\n")[0]
        found = {}
        for name, _, facts in _ROLE.findall(part):
            ports = {port: tuple(re.split(" or ", roles)) for port, roles, _ in _PORT.findall(facts)}
            holds: Literal["no", "read", "write"] = (
                "write" if "any tools" in facts else "read" if "tools that only read" in facts else "no"
            )
            found[name] = Role(name, ports, holds)
        return found

    @cached_property
    def tools(self) -> dict[str, bool]:
        """The tools there are, each with whether it writes."""
        return {name: does == "writes" for name, does in _TOOL.findall(self.system.partition("\n\nTools:\n")[2])}

    @cached_property
    def team(self) -> dict[str, Member]:
        """The team, by id. In the order of the ids, since outlines and documents have their own, and who is asked in either form is to say the same."""
        found = _TEAM.search(self.text)
        members = sorted(read_team(self.text[found.end() :]), key=lambda member: member.id) if found else []
        return {member.id: member for member in members}

    @cached_property
    def said(self) -> str:
        """What the judge said of it, and the audit."""
        _, _, rest = self.text.partition("What the judge said of its work:\n")
        return rest.partition("\n\n")[0]

    @cached_property
    def blamed(self) -> list[Blame]:
        """What is said to be wrong, the worst first."""
        found = [Blame(node, *_with_remedy(problem)) for node, problem in _BLAME.findall(self.said)]
        missing = [Blame("", *_with_remedy(problem)) for problem in re.findall(r"^Missing: (.*)$", self.said, re.M)]
        return [*missing, *found]

    @cached_property
    def removable(self) -> list[str]:
        """The nodes that may be dropped."""
        found = re.search(r"These can be dropped: (.*?)\. An empty list", self.text)
        return found[1].split(", ") if found else []

    @cached_property
    def menu(self) -> list[Entry]:
        """The edits to choose from."""
        _, _, rest = self.text.rpartition(_SEATS[_META]["edit"])
        return list(read_menu(rest))

    @cached_property
    def outputs(self) -> dict[str, str]:
        """What each node gave; without those that gave nothing."""
        ends_at = "\n\nAudit: " if self.stage == "judge" else "\n\nWhat the judge said of its work:\n"
        body = self.text.rpartition(ends_at)[0]
        heads = [
            (found.start(), found.end(), id_)
            for id_ in self.team
            if (found := re.search(rf"^\[{re.escape(id_)}\](?: \(.*\))?\n", body, re.MULTILINE))
        ]
        heads.sort()
        ends = [*(start for start, _, _ in heads), len(body)][1:]
        texts = {id_: _without_trace(body[after:end]) for (_, after, id_), end in zip(heads, ends, strict=True)}
        return {id_: text for id_, text in texts.items() if not text.startswith("(no output: ")}

    def is_cut(self, text: str) -> bool:
        """Whether an output is not shown to its end."""
        return text.endswith(_CUT)

    @cached_property
    def audit(self) -> tuple[bool, tuple[str, ...]]:
        """Whether the output is valid, and the problems that the audit names."""
        words = self.text.rpartition("\n\nAudit: ")[2]
        return "the output is valid" in words, tuple(re.findall(r"^- problem: (.*)$", words, re.MULTILINE))


def read(request: Request) -> Asked | None:
    """What is asked of a meta-model, a judge or an expert's describer; ``None`` for requests to anybody else."""
    first = request.messages[0]
    if first.role == "user" and not request.tools:
        alone = next((stage for stage, words in _ALONE.items() if first.content.lstrip().startswith(words)), None)
        return Asked(request, alone) if alone else None
    stages = next(
        (stages for words, stages in _SEATS.items() if first.role == "system" and words in first.content), None
    )
    if stages is None:
        return None
    text = next((message.content for message in request.messages if message.role == "user"), "")
    return Asked(request, max(stages, key=lambda stage: text.rfind(stages[stage])))


def read_team(text: str) -> Iterator[Member]:
    """The members of the team that ``text`` begins with: an outline, or a document as JSON."""
    text = text.lstrip()
    if text.startswith("{"):
        document = json.JSONDecoder().raw_decode(text)[0]
        yield from (_member(node) for node in document.get("nodes", ()))
        return
    lines = text.partition("\n\n")[0].splitlines()
    for place, line in enumerate(lines):
        head = _HEAD.match(line)
        if head and place + 2 < len(lines) and lines[place + 1].startswith("  subtask: "):
            yield Member(
                id=head[1],
                role=head[2],
                subtask=json.loads(lines[place + 1].removeprefix("  subtask: ")),
                prompt=json.loads(lines[place + 2].removeprefix("  prompt: ")),
                tools=tuple(head[4].split(", ")) if head[4] else (),
                inputs=() if head[3] == "nothing" else tuple(head[3].split(", ")),
            )


def read_menu(text: str) -> Iterator[Entry]:
    """The entries of a menu, in either of its forms."""
    for line in text.splitlines():
        if one := _LINE.match(line):
            words, _, _ = one[2].partition("; now: ")
            words, _, fill = words.partition(" (write: ")
            yield from _entry(int(one[1]), words, fill.rstrip(")"))
        elif group := _GROUP.match(line):
            for item in group[3].split(" | "):
                number, _, label = item.partition(" ")
                yield from _entry(int(number), f"{group[1]} {label}", group[2] or "")


def _entry(number: int, words: str, fill: str) -> Iterator[Entry]:
    for kind, pattern in _KINDS:
        if found := pattern.fullmatch(words.strip()):
            yield Entry(number, kind, fill=tuple(fill.split(", ")) if fill else (), **found.groupdict())
            return


def _member(node: Mapping[str, Any]) -> Member:
    return Member(
        id=str(node["id"]),
        role=str(node["role"]),
        subtask=str(node.get("subtask", "")),
        prompt=str(node.get("prompt", "")),
        tools=tuple(node.get("tools", ())),
        inputs=tuple(node.get("inputs", ())),
    )


def _with_remedy(problem: str) -> tuple[str, str]:
    what, _, remedy = problem.partition("; to do: ")
    return what.strip(), remedy.strip().rstrip(".")


def _without_trace(text: str) -> str:
    found = _TRACE.search(text)
    return (text[: found.start()] if found else text).strip()

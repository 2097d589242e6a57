"""``scripted:searcher`` at work on the synthetic web, asked as the agents ask, without a run around it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from motet.agent.dialect import NativeTools
from motet.bench.synthweb import SyntheticWeb, read_short
from motet.errors import ToolError
from motet.fugue.episode import Episode, Step
from motet.models.model import Message, Reply, Request, Sampling, ToolSpec
from motet.models.scripted import Turn
from motet.models.scripted_policies.searcher import with_lore
from motet.models.scripted_policies.searcher.lore import Lore, shipped
from motet.prompts import load_prompts
from motet.task import Task
from motet.tools.tool import Observation, Tool

Policy = Callable[[Request], Turn]
FAULTLESS = shipped().times(0)
SEARCHES = ToolSpec(name="search", description="", parameters={"type": "object"})
VISITS = ToolSpec(name="visit", description="", parameters={"type": "object"})
READS = ToolSpec(name="read_notes", description="", parameters={"type": "object"})


def lore(**rates: float) -> Lore:
    """The committed words and habits, with these mistakes alone."""
    return FAULTLESS.model_copy(update={"mistakes": {**FAULTLESS.mistakes, **rates}})


def habits(of: Lore, **habits_: Any) -> Lore:
    """``of`` with other habits."""
    return of.model_copy(update={"habits": of.habits.model_copy(update=habits_)})


def web(count: int = 4, **options: Any) -> SyntheticWeb:
    """A small synthetic web."""
    return SyntheticWeb(**{"count": count, "breadth": 6, "words": 60, **options})


class Walk:
    """An agent's conversation: ``calls`` are (tool, arguments) in their order, ``answer`` what it ended with."""

    def __init__(self, policy: Policy, benchmark: SyntheticWeb, task: Task, *, instructions: str = "") -> None:
        self.policy = policy
        self.tools: Sequence[Tool] = benchmark.setting(task).world.tools()  # type: ignore[union-attr]
        self.dialect = NativeTools(self.tools, load_prompts("motet.agent", "react"))
        self.messages = self.dialect.opening(question=task.question, context="", instructions=instructions)
        self.question = task.question
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.steps: list[Step] = []
        self.answer = ""

    def step(self, *, last: bool = False) -> bool:
        """One turn and its calls; whether it answered."""
        begun = len(self.messages)
        request = self.dialect.request(
            self.messages, max_tokens=900, sampling=Sampling(), may_call=not last, may_answer=True
        )
        said = self.policy(request)
        turn = self.dialect.read(Reply(text=said.text, tool_calls=said.tool_calls))
        self.messages.append(turn.message)
        if turn.answer is not None:
            self.answer = turn.answer
        found = [(call, asyncio.run(observe(call.tool, call.arguments))) for call in turn.calls]
        self.calls += [(call.tool.name if call.tool else "?", dict(call.arguments)) for call in turn.calls]
        self.messages += self.dialect.observed(found, question=self.question)
        self.steps.append(Step(number=len(self.steps) + 1, messages=tuple(self.messages[begun:])))
        return turn.answer is not None

    def walk(self, *, steps: int = 200) -> str:
        """The short answer, after at most ``steps`` turns."""
        for number in range(1, steps + 1):
            if self.step(last=number == steps):
                return read_short(self.answer)
        raise AssertionError("no answer")

    @property
    def visits(self) -> list[str]:
        """The addresses that it visited."""
        return [str(arguments["address"]) for tool, arguments in self.calls if tool == "visit"]

    def episode(self, peer: str = "p1", *, number: int = 1, steps: slice = slice(None)) -> Episode:
        """Its steps as a peer's episode."""
        return Episode(peer=peer, number=number, steps=tuple(self.steps[steps]))


async def observe(tool: Tool | None, arguments: Any) -> Observation:
    """What the tool says, a failure too."""
    assert tool is not None
    try:
        return await tool(arguments, key="")
    except ToolError as error:
        return Observation(text=str(error), error=True)


def answers(policy: Policy, benchmark: SyntheticWeb, *, steps: int = 200) -> list[bool]:
    """Whether each task is answered rightly by an agent alone."""
    return [
        Walk(policy, benchmark, task).walk(steps=steps).lower() == benchmark.question(task.id).answer.lower()
        for task in benchmark.tasks()
    ]


def asked(system: str, user: str, *, tools: Sequence[ToolSpec] = ()) -> Request:
    """A request of two messages."""
    messages = (Message(role="system", content=system), Message(role="user", content=user))
    return Request(messages=messages, max_tokens=900, tools=tuple(tools))


def write_request(task: Task, episode: Episode, *, claims: str = "") -> Request:
    """The hub asked for a note, as the hub asks."""
    prompts = load_prompts("motet.fugue", "hub")
    user = prompts(
        "write",
        question=task.question,
        peer=episode.peer,
        first=episode.first,
        last=episode.last,
        claims=claims,
        raw=episode.raw(),
    )
    return asked(prompts("write_system"), user)


def faultless() -> Policy:
    """The policy without mistakes."""
    return with_lore(FAULTLESS)

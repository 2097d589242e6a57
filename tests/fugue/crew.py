"""A team of peers for tests: one scripted model that speaks as every peer, as the hub and as the judge, in real runs on a real store.

A peer opens its pages one after the other and then answers. Which page comes next it reads off the conversation, so that it does the same after a close and after a resume.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from typing import Any, TypeAlias, TypeVar

from pydantic import JsonValue

from motet.fugue.measures import TeamHistory
from motet.fugue.system import Fugue
from motet.fugue.team import Team
from motet.models.model import Message, Reply, Request, ToolCall
from motet.runs.budget import Budget
from motet.runs.run import Offer, Run
from motet.store.queries import event_list
from motet.store.store import Store
from motet.task import Result, Task
from motet.tools.function import FunctionTool
from motet.tools.tool import Tool
from motet.usage import Usage
from tests.runs.desk import TASK, Answer, BreakOff, Does, Says, go, new_run, sit

Say: TypeAlias = "Callable[[Request], Answer | Awaitable[Answer]]"
Speak: TypeAlias = "Callable[[str, Request], Answer | Awaitable[Answer]]"

T = TypeVar("T")
USAGE = Usage(prompt=10, completion=5)
ALL = 10_000_000  # events
_NUMBERS = count()
_PAGE = re.compile(r"PAGE ([a-z0-9_-]+)\.(\d+):")
SMALL_ROOM = {"close_at": 300, "keep": 120, "notes": 600, "hard": 4000}


def opener(*, words: int = 30) -> FunctionTool:
    """A tool that opens a page: its name, and ``words`` words that are on no other."""

    def open_page(page: str) -> str:
        """Open a page.

        Args:
            page: Its name.
        """
        return f"PAGE {page}: " + " ".join(f"{page}-word{number}" for number in range(words))

    return FunctionTool(open_page, name="open_page", version="1")


def speaker(request: Request) -> str:
    """Who asks: ``write``, ``read``, ``judge``, or a peer's name; ``p1`` where it is alone."""
    system = request.messages[0].content
    for name, sign in (
        ("write", "You keep the notes"),
        ("read", "You answer a question of an agent"),
        ("judge", "Several agents have answered"),
    ):
        if system.startswith(sign):
            return name
    found = re.search(r"You are ([a-z0-9_-]+), one of \d+ agents", system)
    return found[1] if found else "p1"


def page_of(name: str, request: Request) -> int:
    """The last page of its own that ``name`` has opened."""
    numbers = [
        int(number)
        for message in request.messages
        if message.role == "tool"
        for peer, number in _PAGE.findall(message.content)
        if peer == name
    ]
    return max(numbers, default=0)


def call(tool: str, **arguments: JsonValue) -> Reply:
    """A reply that calls ``tool``."""
    made = ToolCall(id="c", name=tool, arguments=json.dumps(arguments))
    return Reply(text="", tool_calls=(made,), finish="tool_calls", usage=USAGE)


def reader(pages: int, *, answer: str = "forty-two") -> Speak:
    """Opens ``pages`` pages and answers."""

    def speak(name: str, request: Request) -> Answer:
        page = page_of(name, request)
        return answer if page >= pages else call("open_page", page=f"{name}.{page + 1}")

    return speak


def noted(request: Request, **more: JsonValue) -> str:
    """A note as the hub model writes it: what the steps' last page is called, quoted."""
    pages = _PAGE.findall(request.messages[-1].content)
    claims: list[JsonValue] = [
        {"claim": f"{peer} read page {number}", "source": f"{peer}.{number}", "quote": f"PAGE {peer}.{number}"}
        for peer, number in pages[-1:]
    ]
    return json.dumps({"established": claims, "tried": ["to read"], "confidence": 0.5, **more})


class Crew:
    """Runs ``fugue``. ``speak`` is what peers say, ``write``, ``read`` and ``judge`` what these roles do; ``asked`` counts by who asked."""

    def __init__(
        self,
        store: Store,
        speak: Speak,
        *,
        write: Say = noted,
        read: Say = lambda _: "They say so [p1.1 step 1].",
        judge: Say = lambda _: '{"number": 1, "why": "so"}',
        tools: Sequence[str | Tool] | None = None,
        system: Callable[..., Fugue] = Fugue,
        **config: Any,
    ) -> None:
        self.store = store
        self.model = Says(self._answer, usage=USAGE)
        self.asked: Counter[str] = Counter()
        self.run_id = ""
        self.offers: tuple[Offer, ...] = ()
        self.team: Team | None = None
        self.leaked: list[str] = []
        self._said: dict[str, Say] = {"write": write, "read": read, "judge": judge}
        self._speak = speak
        self._broken = BreakOff(self.model)
        self._namespace = f"fugue-{next(_NUMBERS)}"
        given = (opener(),) if tools is None else tuple(tools)
        self.system = system(
            model=self.model, tools=given, **{"room": SMALL_ROOM, "max_steps": 60, "peers": 2, **config}
        )

    def solve(
        self, *, task: Task = TASK, budget: Budget | None = None, patience: float | None = None, **options: Any
    ) -> Result:
        """The task in a new run; for longer than a minute only with ``patience``, in seconds."""

        async def main() -> Result:
            self.run_id = await new_run(self.store, task)
            return await self._sit(task, budget, **options)

        if patience is not None:
            return asyncio.run(asyncio.wait_for(self._watched(main), patience))
        return go(self._watched(main))

    def resume(self, *, task: Task = TASK, budget: Budget | None = None, **options: Any) -> Result:
        """The same run once more."""
        return go(self._watched(lambda: self._sit(task, budget, **options)))

    def break_off(self, position: int, *, task: Task = TASK) -> None:
        """The task in a new run that is broken off, as by Ctrl-C, at its call ``position``, counted from 0."""

        async def main() -> None:
            self.run_id = await new_run(self.store, task)
            await self._broken.at(position, lambda: self._sit(task, None))

        go(self._watched(main))

    def seen(self, name: str) -> list[Request]:
        """What the model was asked by one peer, or in one role."""
        return [request for request in self.model.requests if speaker(request) == name]

    def told(self, kind: str) -> list[Any]:
        """Payloads of the last run's events of one kind."""
        return [event.payload for event in event_list(self.store, self.run_id, limit=ALL) if event.kind == kind]

    def messages(self) -> dict[str, list[Message]]:
        """Each peer's conversation at the end of the last sitting."""
        assert self.team is not None
        return {peer.name: list(peer.agent.messages) for peer in self.team.peers}

    async def _watched(self, work: Callable[[], Awaitable[T]]) -> T:
        """``work``, after which nothing may still be under way."""
        try:
            return await work()
        finally:
            rest = asyncio.all_tasks() - {asyncio.current_task()}
            self.leaked = [repr(task) for task in rest if "fugue" in repr(task)]

    async def _sit(self, task: Task, budget: Budget | None, **options: Any) -> Result:
        async with sit(self.store, self.run_id, namespace=self._namespace, **options) as sitting:
            result = await sitting.execute(Does(self._work), task, budget=budget)
            await sitting.finish(result)
            return result

    async def _work(self, task: Task, run: Run) -> Result:
        self.team = self.system.team(task, run=run)
        try:
            return await self.team.work()
        finally:
            self.offers = run.offers

    def _answer(self, request: Request) -> Answer | Awaitable[Answer]:
        if self._broken.is_due:
            return self._broken.happen()
        who = speaker(request)
        self.asked[who] += 1
        say = self._said.get(who)
        return say(request) if say is not None else self._speak(who, request)


def story(result: Result) -> TeamHistory:
    """The team's history in a result."""
    return TeamHistory.model_validate(result.details["team"])


__all__ = ["SMALL_ROOM", "Crew", "call", "noted", "opener", "page_of", "reader", "speaker", "story"]

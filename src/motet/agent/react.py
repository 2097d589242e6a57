"""ReAct (Yao et al., arXiv 2210.03629): think, act with tools, read what came back, until there is an answer.

The agent's state is its list of messages. It is saved after each step by what the step did: every reply and observation is in the journal before it is
used, so a resumed agent walks through its old steps without asking anyone, and goes on.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic import Field, JsonValue

from motet.agent.dialect import Call, Dialect, JsonActions, NativeTools, Turn
from motet.canonical import digest
from motet.errors import ContextOverflow
from motet.models.model import Message, Model, Request, Sampling, estimate_tokens
from motet.prompts import load_prompts
from motet.runs.run import Run
from motet.system import Configured, ModelRef, Needs, ToolRef
from motet.task import Result, Source, Task
from motet.tools.tool import Observation, Tool

T = TypeVar("T")

_PATIENCE = 3  # replies in a row that cannot be used, before only an answer is asked for


class React(Configured):
    """A single agent with tools.

    ``max_steps`` counts model calls; the last one may not call tools. ``max_tokens`` bounds each reply. ``actions`` chooses how tools are called: by the
    provider's tool calls (``native``), by JSON-schema replies (``json``), or whichever the model takes (``auto``). ``max_calls`` bounds
    the tool calls of one reply. With JSON actions, ``look_first`` makes the first reply a tool call.
    """

    model: ModelRef = "embedded"
    tools: tuple[ToolRef, ...] = ()
    max_steps: int = Field(default=12, gt=0)
    max_tokens: int = Field(default=1024, gt=0)
    max_calls: int = Field(default=8, gt=0)
    sampling: Sampling = Sampling()
    instructions: str = ""
    actions: Literal["auto", "native", "json"] = "auto"
    look_first: bool = True

    @property
    def name(self) -> str:
        """``react``."""
        return "react"

    def needs(self) -> Needs:
        """The one model and the tools."""
        return Needs(models=(self.model,), tools=self.tools)

    async def solve(self, task: Task, *, run: Run) -> Result:
        """Work until there is an answer or the steps are used up."""
        agent = Agent(
            self, task, run=run, model=run.model(self.model, role=run.role or "agent"), tools=run.tools(self.tools)
        )
        return await agent.work()


class Agent:
    """One agent at work on one task. ``messages`` is what its model sees; whatever else it keeps follows from the answers it got, so a resumed agent has it too."""

    def __init__(self, config: React, task: Task, *, run: Run, model: Model, tools: Sequence[Tool]) -> None:
        self.config = config
        self.task = task
        self.run = run
        self.model = model
        self.tools = tuple(tools)
        self.prompts = load_prompts("motet.agent", "react")
        self.dialect = self._dialect()
        self.messages = self.dialect.opening(
            question=task.question,
            context=json.dumps(task.context, ensure_ascii=False) if task.context else "",
            instructions=config.instructions,
        )
        self.steps = 0
        self.observations: list[Observation] = []
        self._material: list[Observation] = []
        self._opening = len(self.messages)
        self._answered: dict[str, Observation] = {}
        self._failed: set[str] = set()
        self._stuck = False
        self._unusable = 0
        self._cut = False

    async def work(self) -> Result:
        """Take steps until there is an answer; the last step may only answer."""
        answer: str | None = None
        while answer is None and self.steps < self.config.max_steps:
            answer = await self.step()
        details: dict[str, JsonValue] = {"steps": self.steps, "tool_calls": len(self.observations)}
        if answer is None:
            answer = self.run.best.answer
            details["stopped"] = "max_steps"
        elif self._cut:
            details["cut"] = "max_tokens"
        return Result(status="completed", answer=answer, sources=self.sources(answer or ""), details=details)

    async def step(self) -> str | None:
        """One model call and the tool calls it asks for. Returns the answer if the model gave one."""
        self.steps += 1
        last = self.steps >= self.config.max_steps
        if last and self.steps > 1:
            self.messages.append(Message(role="user", content=self.prompts("out_of_steps")))
        turn = await self._turn(may_call=not last and not self._stuck)
        self.messages.append(turn.message)
        if turn.answer is not None:
            self._cut = turn.cut
            self.run.keep(turn.answer, sources=self.sources(turn.answer))
        elif turn.calls:
            # Calls made in the last step, where none were asked for, could help no answer any more.
            self._unusable = 0
            if not last:
                results = await self._call_all(turn.calls)
                self.messages += self.dialect.observed(results, question=self.task.question)
        else:
            problem = turn.problem or self.prompts("bad_action", problem="it was empty")
            self.messages.append(Message(role="user", content=problem))
            self._unusable += 1
            # A model that cannot use what it is told about its replies would only repeat them.
            self._stuck = self._unusable >= _PATIENCE
        self.run.emit(
            "agent.step",
            step=self.steps,
            calls=[call.tool.name if call.tool else "?" for call in turn.calls],
            answer=turn.answer,
            problem=turn.problem,
        )
        return turn.answer

    async def use(self, tool: Tool, arguments: Mapping[str, JsonValue]) -> Observation:
        """Call ``tool``, journaled. For agents that have tools of their own making."""
        return await self.run.tool(tool, arguments)

    def hear(self, text: str) -> str:
        """Take in something from outside between two steps; the content of the message that tells it, which is the caller's to add."""
        self._material.append(Observation(text=text))
        return self.dialect.told(text, question=self.task.question)

    def sources(self, answer: str) -> tuple[Source, ...]:
        """The sources that tools named, those whose quote holds the answer's words first; at most five."""
        words = {word for word in _words(answer) if len(word) > 3 or word.isdigit()}
        seen: dict[str, tuple[int, int, Source]] = {}
        for observation in self.observations:
            for source in observation.sources:
                shared = len(words & set(_words(source.quote)))
                known = seen.get(source.ref)
                if known is None or shared > -known[0]:
                    seen[source.ref] = (-shared, known[1] if known else len(seen), source)
        ranked = sorted(seen.values(), key=lambda item: item[:2])
        telling = [item for item in ranked if item[0] < 0] or ranked
        return tuple(source for _, _, source in telling[:5])

    def _dialect(self) -> Dialect:
        native = self.config.actions == "native" or (
            self.config.actions == "auto" and (self.model.info.native_tools or not self.tools)
        )
        if native:
            return NativeTools(self.tools, self.prompts)
        return JsonActions(self.tools, self.prompts, longest=self.model.info.reply_limit)

    async def _turn(self, *, may_call: bool) -> Turn:
        """The model's next turn; the answer by itself where the dialect asks for it so."""
        may_answer = not may_call or not self.tools or not self.config.look_first or bool(self.observations)
        final = self.dialect.answering(
            self._material,
            question=self.task.question,
            max_tokens=self._max_tokens,
            sampling=self.config.sampling,
        )
        if may_call or final is None:
            turn = await self._ask(may_call=may_call, may_answer=may_answer)
            if not turn.ready or final is None:
                return turn
        reply = await self.model.reply(final)
        return Turn(reply.message, answer=reply.text.strip() or None, cut=reply.finish == "length")

    @property
    def _max_tokens(self) -> int:
        limit = self.model.info.reply_limit
        return self.config.max_tokens if limit is None else min(self.config.max_tokens, limit)

    async def _ask(self, *, may_call: bool, may_answer: bool) -> Turn:
        """Ask the model for its next turn, with older observations cut where the conversation does not fit its window."""
        while True:
            request = self._request(may_call=may_call, may_answer=may_answer)
            try:
                return self.dialect.read(await self.model.reply(request))
            except ContextOverflow:
                if not self._shorten():
                    raise

    def _request(self, *, may_call: bool, may_answer: bool) -> Request:
        window = self.model.info.context
        while True:
            request = self.dialect.request(
                self.messages,
                max_tokens=self._max_tokens,
                sampling=self.config.sampling,
                may_call=may_call,
                may_answer=may_answer,
            )
            # The estimate is cautious, so a conversation that it finds too long may still fit; cutting is only worth it well beyond.
            if window is None or estimate_tokens(request) * 0.8 + request.max_tokens <= window or not self._shorten():
                return request

    def _shorten(self) -> bool:
        """Cut the oldest long observation to its start; when only the newest is left, cut that in half. Returns whether there was one to cut."""
        newest = len(self.messages) - 1
        for index in range(self._opening, newest + 1):
            message = self.messages[index]
            if message.role not in ("tool", "user") or len(message.content) <= _SHORT:
                continue
            if index < newest:
                text = self.prompts("shortened", start=message.content[: _SHORT // 2])
            else:
                text = self.prompts("cut", text=message.content[: len(message.content) // 2])
            self.messages[index] = message.model_copy(update={"content": text})
            self.run.emit("agent.shortened", message=index, characters=len(message.content))
            return True
        return False

    async def _call_all(self, calls: Sequence[Call]) -> list[tuple[Call, Observation]]:
        """Make the calls of one turn: side by side when all of them only read, else in the order they were written."""
        if any(call.tool is not None and call.tool.effect == "write" for call in calls):
            made = [await self._call(call, position=position) for position, call in enumerate(calls)]
        else:
            made = await gather([self._call(call, position=position) for position, call in enumerate(calls)])
        # In the order of the calls, whichever came back first: what follows must be the same when the run is resumed.
        called = [item.observation for item in made if item.how == "called"]
        self.observations += called
        self._material += called
        self._stuck = all(item.how == "repeated" for item in made)
        return [(call, item.observation) for call, item in zip(calls, made, strict=True)]

    async def _call(self, call: Call, *, position: int) -> _Made:
        if call.tool is None or call.problem is not None:
            assert call.problem is not None
            return _Made(Observation(text=call.problem, error=True), "refused")
        if position >= self.config.max_calls:
            text = self.prompts("too_many", tool=call.tool.name, limit=self.config.max_calls)
            return _Made(Observation(text=text, error=True), "refused")
        key = digest({"tool": call.tool.name, "arguments": call.arguments})
        known = self._answered.get(key)
        if known is not None:
            self.run.emit("agent.nudge", tool=call.tool.name, arguments=call.arguments)
            again = known.model_copy(update={"text": f"{known.text}\n{self.prompts('repeated')}"})
            return _Made(again, "repeated")
        observation = await self.use(call.tool, call.arguments)
        if call.tool.effect == "write":
            # The world has changed, and what was read before may read differently now.
            self._answered.clear()
            self._failed.clear()
        elif not observation.error or key in self._failed:
            # A call that failed may do better once more, and not for ever.
            self._answered[key] = observation
        else:
            self._failed.add(key)
        return _Made(observation, "called")


class _Made(NamedTuple):
    """What became of a call: the tool was called, its answer was known already, or it was refused."""

    observation: Observation
    how: Literal["called", "repeated", "refused"]


_SHORT = 400  # characters; what is shorter is not worth cutting


async def gather(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Results of ``work`` in its order, all started in that order; the first failure cancels the others and is raised as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(item) for item in work]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


def _words(text: str) -> list[str]:
    return "".join(character if character.isalnum() else " " for character in text.lower()).split()

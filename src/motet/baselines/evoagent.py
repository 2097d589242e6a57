"""``evoagent``: one agent's answer is refined with experts whom it invents for the task.

Source: Yuan et al., EvoAgent, arXiv 2406.14228. What the paper leaves open is marked as inferred. Where nothing can be written, whole answers are refined; where something can, each
single step is, and only the action that comes out of it is carried out.
"""

from __future__ import annotations

from pydantic import Field, JsonValue

from motet.agent.dialect import Turn
from motet.agent.react import Agent, React
from motet.canonical import canonical
from motet.errors import BudgetExceeded, ModelError
from motet.inherit.history import round_name
from motet.inherit.team import Team
from motet.models.model import Message, Request
from motet.prompts import load_prompts
from motet.runs.run import Run
from motet.system import Needs
from motet.task import Failure, Result, Task
from motet.words import clipped

_DESCRIPTION = 1200  # characters of an expert's description that are kept
_SEEN = 1500  # characters of the last observation that a specialist is described for


class EvoAgent(Team):
    """The system. All is asked of the worker model: there is no judge, and no graph whose nodes could have roles or workers.

    ``iterations`` experts refine an answer; each is described up to ``proposals`` times, until one is found worth asking, and the last description is taken as it is. Where a tool
    may write, ``steps`` bounds the steps, each of four model calls.
    """

    iterations: int = Field(default=3, ge=0)
    proposals: int = Field(default=5, ge=1)
    steps: int = Field(default=20, gt=0)
    inherit: bool = False

    @property
    def name(self) -> str:
        """``evoagent``."""
        return "evoagent"

    def needs(self) -> Needs:
        """The worker model, and the tools."""
        return Needs((self.worker_model or self.model,), self.tools)

    async def solve(self, task: Task, *, run: Run) -> Result:
        """Answer ``task`` and refine the answer, or act step by step where something can be written."""
        if any(tool.effect == "write" for tool in run.tools(self.tools)):
            config = self.agent.model_copy(update={"max_steps": self.steps})
            model = run.model(config.model, role=run.role or "agent")
            return await Deliberating(config, task, run=run, model=model, tools=run.tools(config.tools)).work()
        return await Refinement(self, task, run=run).work()

    @property
    def agent(self) -> React:
        """The agent that answers, and as which each expert works."""
        return React(
            model=self.worker_model or self.model,
            tools=self.tools,
            max_steps=self.max_steps,
            max_tokens=self.max_tokens,
            max_calls=self.max_calls,
            sampling=self.sampling,
        )


class Refinement:
    """Whole answers, refined one expert after the other. The last is the result: nothing ranks them."""

    def __init__(self, config: EvoAgent, task: Task, *, run: Run) -> None:
        self.config = config
        self.task = task
        self.run = run
        self.prompts = load_prompts("motet.baselines", "evoagent")
        self.experts: list[str] = []
        self.rounds: list[dict[str, JsonValue]] = []
        self._given = {
            "question": task.question,
            "context": canonical(task.context).decode() if task.context else "",
        }

    async def work(self) -> Result:
        """A first answer, then the experts. A budget that is used up ends it, and the answer so far is the result."""
        scope = self.run.child(round_name(0))
        current = await self.config.agent.solve(self.task, run=scope.child("agent").separate_answers())
        self._keep(0, current)
        stopped: BudgetExceeded | None = None
        try:
            for index in range(1, self.config.iterations + 1):
                current = await self._refine(current, index)
                self._keep(index, current)
        except BudgetExceeded as error:
            stopped = error
        details: dict[str, JsonValue] = {"rounds": [*self.rounds]}
        update: dict[str, object] = {"details": details}
        if stopped is not None:
            update |= {"status": "budget", "error": Failure.of(stopped, scope=self.run.scope)}
        return current.model_copy(update=update)

    async def _refine(self, current: Result, index: int) -> Result:
        """``current`` refined with one expert. Inferred: an expert that fails costs the iteration and nothing else."""
        scope = self.run.child(round_name(index))
        told: dict[str, JsonValue] = {"round": index}
        self.rounds.append(told)
        try:
            description = await self._describe(current, scope)
            told["expert"] = description
            if not description:
                return current
            self.experts.append(description)
            expert = self.config.agent.model_copy(update={"instructions": description})
            answer = await expert.solve(self.task, run=scope.child("expert", role="expert").separate_answers())
            told["answer"] = answer.answer
            refined = await self._say(
                "refine",
                scope,
                role="agent",
                answer=current.answer or "",
                description=description,
                expert_answer=answer.answer or "",
            )
        except ModelError as error:
            told["why"] = str(error)
            scope.emit("inherit.spent", round=index, trying="edit", why=str(error))
            return current
        sources = tuple(dict.fromkeys((*current.sources, *answer.sources)))
        return Result(status="completed", answer=refined, sources=sources) if refined else current

    async def _describe(self, current: Result, scope: Run) -> str:
        """An expert who is worth asking, or the last that was proposed; empty where none was described."""
        description = ""
        for number in range(1, self.config.proposals + 1):
            said = await self._say("describe", scope, role="meta", answer=current.answer or "", experts=self.experts)
            description = clipped(said, width=_DESCRIPTION)
            # Inferred: since the last is taken whatever is found, nobody is asked about it.
            if number == self.config.proposals or not description:
                continue
            verdict = await self._say("check", scope, role="meta", description=description, experts=self.experts)
            if "discard" not in verdict.lower():
                break
        return description

    async def _say(self, prompt: str, scope: Run, *, role: str, **values: object) -> str:
        text = self.prompts(prompt, **self._given, **values)
        return await say(self.config.agent, text, scope, role=role)

    def _keep(self, index: int, current: Result) -> None:
        if current.answer is not None:
            self.run.keep(current.answer, sources=current.sources)
        self.run.offer(str(index), current, self.run.world)


class Deliberating(Agent):
    """An agent that thinks each turn over: its own proposal, that of a specialist described for the step, then the one of both that is carried out.

    Only the last is kept in its messages. Inferred: the specialist is described from the task, the last observation and the proposal.
    """

    async def _ask(self, *, may_call: bool, may_answer: bool) -> Turn:
        words = load_prompts("motet.baselines", "evoagent")
        own = await super()._ask(may_call=may_call, may_answer=may_answer)
        action = in_words(own)
        seen = self.observations[-1].text if self.observations else ""
        told = words(
            "describe_step",
            question=self.task.question,
            context=canonical(self.task.context).decode() if self.task.context else "",
            seen=clipped(seen, width=_SEEN),
            action=action,
        )
        description = clipped(await say(self.config, told, self.run, role="meta"), width=_DESCRIPTION)
        special = await self._ask_with(
            words("specialist_step", description=description), may_call=may_call, may_answer=may_answer
        )
        both = words("integrate_step", action=action, expert_action=in_words(special))
        return await self._ask_with(both, may_call=may_call, may_answer=may_answer)

    async def _ask_with(self, further: str, *, may_call: bool, may_answer: bool) -> Turn:
        """The next turn with ``further`` as the last message, which is forgotten again."""
        self.messages.append(Message(role="user", content=further))
        try:
            return await super()._ask(may_call=may_call, may_answer=may_answer)
        finally:
            self.messages.pop()


async def say(config: React, text: str, scope: Run, *, role: str) -> str:
    """What the agent's model says to ``text`` by itself."""
    model = scope.model(config.model, role=role)
    limit = model.info.reply_limit
    tokens = config.max_tokens if limit is None else min(config.max_tokens, limit)
    request = Request(messages=(Message(role="user", content=text),), max_tokens=tokens, sampling=config.sampling)
    return (await model.reply(request)).text.strip()


def in_words(turn: Turn) -> str:
    """What a turn would do, for whoever weighs it."""
    calls = [
        f"call {call.tool.name} with {canonical(call.arguments).decode()}"
        for call in turn.calls
        if call.tool is not None and call.problem is None
    ]
    if calls:
        return "; then ".join(calls)
    if turn.answer is not None:
        return f"answer: {turn.answer}"
    return "answer now" if turn.ready else "nothing that can be done"

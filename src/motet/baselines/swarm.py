"""``swarm``: a meta agent that creates sub-agents as it goes and assigns them parts of the task, as calls of a tool.

Source: the Swarm-Multi-Agent baseline of AgentFugue. What is left open there is marked as inferred.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field, JsonValue, ValidationError

from motet.agent.react import Agent, React
from motet.baselines.workers import META, Led, Report, Workers
from motet.canonical import clean_text, digest
from motet.models.schema import schema_of
from motet.models.structured import Written
from motet.prompts import load_prompts
from motet.runs.run import Run
from motet.task import Result, Task
from motet.tools.tool import Delivery, Effect, Observation, Tool

_ROLE, _SUBTASK = 600, 2000  # characters


class Swarm(Led):
    """The system. ``peers`` is the most sub-agents that may be created.

    Inferred: the meta agent has no tool but ``assign``, so that all looking up is done by sub-agents; these may not create others.
    """

    peers: int = Field(default=8, gt=0)

    @property
    def name(self) -> str:
        """``swarm``."""
        return "swarm"

    async def solve(self, task: Task, *, run: Run) -> Result:
        """Let the meta agent work on ``task``. Raises ModelError where its model fails; a sub-agent that fails is told to it."""
        scope = run.child("meta", role=META)
        workers = Workers(self, task, run=run)
        writes = any(tool.effect == "write" for tool in run.tools(self.tools))
        prompts = load_prompts("motet.baselines", "swarm")
        meta = prompts("meta", most=self.peers)
        config = React(
            model=self.meta_model or self.model,
            max_steps=self.max_steps,
            max_tokens=self.max_tokens,
            max_calls=self.max_calls,
            sampling=self.sampling,
            instructions="\n\n".join(part for part in (meta, self.instructions) if part),
            actions=self.actions,
        )
        model = scope.model(config.model, role=META)
        tool = Assign(workers, effect="write" if writes else "read")
        result = await Meta(config, task, run=scope, model=model, tools=[tool]).work()
        return result.model_copy(
            update={
                "sources": result.sources or workers.sources(),
                "details": {**result.details, **workers.details()},
            }
        )


class Meta(Agent):
    """The meta agent.

    A call of ``assign`` is not journaled itself: all that its sub-agent asks is, in a scope of its own. So a resumed run walks through the sub-agents again, numbers them the same,
    asks nobody what was answered before, and knows what each did.
    """

    async def use(self, tool: Tool, arguments: Mapping[str, JsonValue]) -> Observation:
        """Let a sub-agent work."""
        return await tool(arguments, key="")


class Assignment(Written):
    """What ``assign`` is called with."""

    role: Annotated[str, Field(max_length=_ROLE)]
    subtask: Annotated[str, Field(min_length=1, max_length=_SUBTASK)]


class Assign:
    """The tool ``assign``. It writes where a sub-agent may: then sub-agents work one after the other."""

    name = "assign"
    delivery: Delivery = "plain"

    def __init__(self, workers: Workers, *, effect: Effect) -> None:
        self.effect = effect
        self._workers = workers
        self._prompts = load_prompts("motet.baselines", "swarm")
        self.description = self._prompts("assign")
        self.parameters = _parameters({name: self._prompts(name) for name in Assignment.model_fields})
        self.version = digest([self._prompts.version, self.parameters])[:16]

    async def __call__(self, arguments: Mapping[str, JsonValue], *, key: str) -> Observation:
        """Create a sub-agent, let it work, and give its report."""
        try:
            given = Assignment.model_validate(dict(arguments))
        except ValidationError as error:
            return Observation(text=f"{self.name} was not called: {_problems(error)}", error=True)
        most = self._workers.config.peers
        if self._workers.number >= most:
            return Observation(text=self._prompts("full", most=most), error=True)
        report = await self._workers.work(clean_text(given.subtask), role=clean_text(given.role))
        return Observation(text=self._told(report), error=report.failure is not None, sources=report.sources)

    async def confirm(self, key: str) -> Observation | None:
        """Never asked: what a sub-agent writes is confirmed by itself."""
        return None

    def _told(self, report: Report) -> str:
        row = report.row
        if report.failure is not None:
            prompt = "partial" if row.answer else "failed"
            return self._prompts(prompt, peer=row.name, failure=row.failure, answer=row.answer)
        return f"{row.name}: {row.answer}" if row.answer else self._prompts("nothing", peer=row.name)


def _parameters(descriptions: Mapping[str, str]) -> dict[str, JsonValue]:
    schema = schema_of(Assignment)
    schema.pop("description", None)
    properties = schema["properties"]
    assert isinstance(properties, dict)
    for name, text in descriptions.items():
        field = properties[name]
        assert isinstance(field, dict)
        field["description"] = text
    return schema


def _problems(error: ValidationError) -> str:
    found: Sequence[object] = [
        f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors(include_url=False)
    ]
    return "; ".join(map(str, found))

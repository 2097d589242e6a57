"""Workers: agents that are each given a part of a task by a meta agent, and what they report."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import Field, JsonValue

from motet.agent.react import React
from motet.errors import BudgetExceeded, ModelError, ToolError
from motet.fugue.measures import PeerRow, of_rows, uses
from motet.models.model import Sampling
from motet.prompts import load_prompts
from motet.runs.budget import Budget
from motet.runs.run import Run
from motet.system import Configured, ModelRef, Needs, ToolRef
from motet.task import Failure, Result, Source, Task

META = "meta"  # role in the ledger
_SOURCES = 5


class Led(Configured):
    """What a meta agent and its workers may use and spend, under the names that ``fugue`` has for it.

    ``peers`` is how many workers there are. ``meta_model`` is the meta agent's (by default ``model``). ``max_steps`` counts the model calls of each agent, ``max_tokens`` bounds each
    reply, ``instructions`` are for all, and ``peer_budget`` is for each worker.
    """

    model: ModelRef = "embedded"
    meta_model: ModelRef | None = None
    peers: int = Field(default=3, gt=0)
    tools: tuple[ToolRef, ...] = ()
    max_steps: int = Field(default=20, gt=0)
    max_tokens: int = Field(default=1024, gt=0)
    max_calls: int = Field(default=8, gt=0)
    sampling: Sampling = Sampling()
    instructions: str = ""
    actions: Literal["auto", "native", "json"] = "auto"
    peer_budget: Budget | None = None

    def needs(self) -> Needs:
        """The models of workers and meta agent, and the tools."""
        return Needs(tuple(dict.fromkeys((self.model, self.meta_model or self.model))), self.tools)

    def worker(self, number: int, *, role: str) -> React:
        """The worker ``number``, counted from 1, with ``role`` among its instructions."""
        sampling = self.sampling
        if sampling.seed is not None:
            # One seed for all would make equal workers say equal things.
            sampling = sampling.model_copy(update={"seed": sampling.seed + number - 1})
        return React(
            model=self.model,
            tools=self.tools,
            max_steps=self.max_steps,
            max_tokens=self.max_tokens,
            max_calls=self.max_calls,
            sampling=sampling,
            instructions="\n\n".join(part for part in (self.instructions, role) if part),
            actions=self.actions,
        )


class Report(NamedTuple):
    """What became of one part of the task: ``row`` has the worker's answer, or why there is none."""

    role: str
    subtask: str
    sources: tuple[Source, ...]
    failure: Failure | None
    row: PeerRow


class Workers:
    """The workers of one task, in the scope ``run``. Whatever they have found so far is the best answer so far."""

    def __init__(self, config: Led, task: Task, *, run: Run) -> None:
        self.config = config
        self.task = task
        self.run = run
        self._given: dict[int, str] = {}
        self._reports: dict[int, Report] = {}
        self._prompts = load_prompts("motet.baselines", "workers")

    @property
    def number(self) -> int:
        """How many have been given work."""
        return len(self._given)

    @property
    def reports(self) -> list[Report]:
        """What was reported, by worker."""
        return [self._reports[number] for number in sorted(self._reports)]

    async def work(self, subtask: str, *, role: str = "") -> Report:
        """Let the next worker do ``subtask``. A failure that is the worker's own is in its report; what ends the run is raised."""
        number = self.number + 1
        self._given[number] = subtask
        name = f"p{number}"
        scope = (
            self.run.child(name, budget=self.config.peer_budget, role=f"peer:{name}").separate_answers().keep_trace()
        )
        self.run.emit("team.assigned", peer=name, role=role, subtask=subtask)
        part = Task(
            question=self._prompts("part", question=self.task.question, subtask=subtask), context=self.task.context
        )
        failure: Failure | None = None
        found: Result | None = None
        try:
            who = self._prompts("who", name=name, number=self.config.peers, role=role)
            found = await self.config.worker(number, role=who).solve(part, run=scope)
        except (ModelError, ToolError) as error:
            failure = Failure.of(error, scope=scope.scope)
        except BudgetExceeded as error:
            if error.account != scope.scope and not error.account.startswith(f"{scope.scope}/"):
                raise
            failure = Failure.of(error, scope=scope.scope)
        answer = found.answer if found is not None else scope.best.answer
        calls, queries, pages = uses(scope.trace)
        steps = found.details["steps"] if found is not None else 0
        assert isinstance(steps, int)
        row = PeerRow(
            name=name,
            status="failed" if failure else "answered" if answer is not None else "none",
            answer=answer,
            failure=failure.message if failure else "",
            steps=steps,
            calls=calls,
            queries=queries,
            pages=pages,
        )
        report = Report(role, subtask, found.sources if found is not None else scope.best.sources, failure, row)
        self._reports[number] = report
        scope.emit("team.reported", peer=name, status=row.status, answer=answer, failure=row.failure)
        so_far = "\n\n".join(other.row.answer for other in self.reports if other.row.answer)
        if so_far:
            self.run.keep(so_far, sources=self.sources())
        return report

    def sources(self) -> tuple[Source, ...]:
        """The first source of each worker, then the second of each, and so on; at most five."""
        listed = [report.sources for report in self.reports]
        longest = max(map(len, listed), default=0)
        in_turn = [sources[place] for place in range(longest) for sources in listed if place < len(sources)]
        return tuple(dict.fromkeys(in_turn))[:_SOURCES]

    def details(self) -> dict[str, JsonValue]:
        """Who was given what, and what the team did, for reports."""
        team = of_rows([report.row for report in self.reports], rules={})
        return {
            "team": team.model_dump(mode="json", exclude_defaults=True),
            "parts": [
                {"peer": report.row.name, "role": report.role, "subtask": report.subtask} for report in self.reports
            ],
        }

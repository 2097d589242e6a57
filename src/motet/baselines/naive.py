"""``naive``: a meta agent splits the task, workers do the parts side by side, and the meta agent makes one answer of what they report.

Source: the Naive-Multi-Agent baseline of AgentFugue. Its prompts and what it does about failures are not published; here they are ours.
"""

from __future__ import annotations

from types import GenericAlias
from typing import Annotated, Any

from pydantic import Field, create_model

from motet.agent.react import gather
from motet.baselines.workers import META, Led, Report, Workers
from motet.canonical import canonical, clean_text
from motet.errors import BadReply
from motet.models.model import Message, Model, Request
from motet.models.structured import Written, structured
from motet.prompts import load_prompts
from motet.runs.run import Run
from motet.task import Result, Task
from motet.words import clipped

_SUBTASK = 1200  # characters of a part that are kept
_SMALL = 120  # characters of a part that a small model writes


class Naive(Led):
    """The system. ``peers`` is the number of parts.

    Where the meta agent gives no usable split, twice, each worker is given the whole task. Where no worker has anything to report, the run fails as the first of them did.
    """

    @property
    def name(self) -> str:
        """``naive``."""
        return "naive"

    async def solve(self, task: Task, *, run: Run) -> Result:
        """Split ``task``, let the parts be worked on, and put their results together. Raises ModelError where the meta agent's model fails."""
        meta = _Meta(self, task)
        parts = await meta.split(run.child("split"))
        workers = Workers(self, task, run=run)
        reports = await gather([workers.work(part) for part in parts])
        details = workers.details()
        failures = [report.failure for report in reports if report.failure is not None]
        if len(failures) == len(reports) and not any(report.row.answer for report in reports):
            return Result(status="failed", error=failures[0], details=details)
        answer = await meta.synthesise(reports, run.child("synthesis"))
        if answer is not None:
            run.keep(answer, sources=workers.sources())
        best = run.best
        return Result(status="completed", answer=best.answer, sources=best.sources, details=details)


class _Meta:
    """The meta agent: two questions that begin the same."""

    def __init__(self, config: Naive, task: Task) -> None:
        self.config = config
        self.task = task
        self.prompts = load_prompts("motet.baselines", "naive")

    async def split(self, run: Run) -> list[str]:
        """The parts, as many as there are workers."""
        model, number = self._model(run), self.config.peers
        small = model.info.reply_limit is not None
        try:
            found = await structured(model, self._request(model, "split", number=number), _split(number, small=small))
        except BadReply as error:
            run.emit("team.unsplit", why=str(error))
            return [self.task.question] * number
        given: Any = found.value
        # A part that says nothing is the whole task's.
        parts = [clipped(clean_text(part).strip(), width=_SUBTASK) for part in given.subtasks]
        return [part or self.task.question for part in parts]

    async def synthesise(self, reports: list[Report], run: Run) -> str | None:
        """The answer that the reports come to; ``None`` where the reply is empty."""
        model = self._model(run)
        reply = await model.reply(self._request(model, "synthesise", reports=reports))
        return reply.text.strip() or None

    def _model(self, run: Run) -> Model:
        return run.model(self.config.meta_model or self.config.model, role=META)

    def _request(self, model: Model, prompt: str, **values: object) -> Request:
        task = self.prompts(
            "task",
            question=self.task.question,
            context=canonical(self.task.context).decode() if self.task.context else "",
        )
        limit = model.info.reply_limit
        return Request(
            messages=(
                Message(role="system", content=self.prompts("system", instructions=self.config.instructions)),
                Message(role="user", content=f"{task}\n\n{self.prompts(prompt, **values)}"),
            ),
            max_tokens=self.config.max_tokens if limit is None else min(self.config.max_tokens, limit),
            sampling=self.config.sampling,
        )


def _split(number: int, *, small: bool) -> type[Written]:
    """A split into ``number`` parts, short ones where the model is small."""
    text: Any = Annotated[str, Field(max_length=_SMALL)] if small else str
    parts: Any = Annotated[GenericAlias(list, (text,)), Field(min_length=number, max_length=number)]
    return create_model("Split", __base__=Written, subtasks=(parts, ...))

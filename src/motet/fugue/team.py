"""A team at work: peers side by side, their hub, and what comes of it. Nobody waits for anybody but for the last peer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from pydantic import Field, JsonValue

from motet.agent.react import React
from motet.errors import BudgetExceeded, ModelError, leading
from motet.fugue.aggregate import RULES, Choice, Rule, agreed, majority, short, with_confidence
from motet.fugue.hub import Hub, HubConfig
from motet.fugue.knowledge import Knowledge
from motet.fugue.measures import TeamHistory, history
from motet.fugue.peer import Answer, Peer, Room
from motet.fugue.visibility import SIGHTS, Visibility
from motet.models.model import Message, Request, Sampling
from motet.models.structured import Written, structured
from motet.prompts import load_prompts
from motet.runs.budget import Budget
from motet.runs.run import Run
from motet.system import ModelRef, ToolRef
from motet.task import Failure, Result, Status, Task
from motet.value import Value

JUDGE = "team:judge"  # role in the ledger


class Member(Value):
    """One peer: its name, and what it is made of."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,31}$")
    config: React
    tools: tuple[ToolRef, ...] = ()
    budget: Budget | None = None


class Manner(Value):
    """How a team works together; see ``Fugue`` for what each key means."""

    visibility: Visibility = "notes+read"
    rule: Rule = "majority"
    room: Room = Room()
    pointers: bool = False
    early_stop: bool = False
    read_seconds: float = Field(default=60.0, gt=0)
    judge: ModelRef | None = None
    judge_tokens: int = Field(default=500, gt=0)
    diversify: bool = True


class Chosen(Written):
    """Which answer a judge takes."""

    number: int
    why: str = ""


class Team:
    """One team on one task, in the scope ``run``."""

    def __init__(
        self, members: Sequence[Member], task: Task, *, manner: Manner, hub: HubConfig | None, run: Run
    ) -> None:
        self.task = task
        self.manner = manner
        self.run = run
        self.sight = SIGHTS[manner.visibility]
        self.hub = None
        if hub is not None and self.sight.hub:
            self.hub = Hub(hub, task, run=run.child("hub"), shared=self.sight.others)
        self._knowledge = Knowledge(shared=self.sight.shared_calls)
        self._stop = asyncio.Event() if manner.early_stop else None
        self._over: Failure | None = None
        self.peers = [self._peer(member, members) for member in members]

    async def work(self) -> Result:
        """The team's answer, with every peer's offered beside it, and how it came about in the details.

        A budget of the run that is used up ends the search, and those that have answered decide. Whatever happens, nothing is left at work.
        """
        try:
            answers = await self._search()
            choices = await self._choices(answers)
            if self.hub is not None:
                await self.hub.settle(seconds=self.manner.read_seconds)
            return self._result(answers, choices)
        finally:
            if self.hub is not None:
                await self.hub.end()

    async def _search(self) -> list[Answer]:
        """All peers, side by side. One that fails ends by itself."""
        ended: dict[int, Answer] = {}

        async def one(position: int, peer: Peer) -> Answer:
            answer = _read(await peer.work())
            peer.run.emit(
                "fugue.answered",
                peer=peer.name,
                status=answer.status,
                answer=answer.answer,
                steps=answer.steps,
                failure=answer.failure.message if answer.failure else "",
            )
            if self.hub is not None:
                self.hub.leave(peer.name)
            ended[position] = answer
            so_far = [ended[place] for place in sorted(ended)]
            if self._stop is not None and agreed(so_far, number=len(self.peers)):
                self._stop.set()
            choice = majority(so_far)
            if choice.answer is not None:
                self.run.keep(choice.answer)
            return answer

        try:
            async with asyncio.TaskGroup() as group:
                works = [group.create_task(one(position, peer)) for position, peer in enumerate(self.peers)]
        except ExceptionGroup as failures:
            raise leading(failures) from failures
        answers = [work.result() for work in works]
        self._over = next((answer.failure for answer in answers if answer.status == "budget"), None)
        return answers

    async def _choices(self, answers: Sequence[Answer]) -> dict[str, Choice]:
        """What each rule would choose. The judge is asked, and tables are put together, only where that is the team's rule."""
        choices = {
            name: rule(answers) for name, rule in RULES.items() if name != "table" or self.manner.rule == "table"
        }
        if self.manner.rule == "judge":
            try:
                choices["judge"] = await self._judged(answers)
            except ModelError as error:
                self.run.emit("fugue.unjudged", why=str(error))
                choices["judge"] = majority(answers)
            except BudgetExceeded as error:
                self._over = Failure.of(error, scope=self.run.scope)
                choices["judge"] = majority(answers)
        return choices

    def _result(self, answers: Sequence[Answer], choices: Mapping[str, Choice]) -> Result:
        chosen = choices[self.manner.rule]
        self.run.emit("fugue.chosen", rule=self.manner.rule, peer=chosen.peer, why=chosen.why)
        for answer in answers:
            self.run.offer(answer.peer, Result(status="completed", answer=answer.answer, details=_confidence(answer)))
        for name, choice in choices.items():
            self.run.offer(f"rule:{name}", Result(status="completed", answer=choice.answer))
        told: TeamHistory = history(self.peers, answers, hub=self.hub, choices=choices)
        by = next((answer for answer in answers if answer.peer == chosen.peer), None)
        status: Status = "completed"
        error: Failure | None = None
        if self._over is not None:
            status, error = "budget", self._over
        elif chosen.answer is None and all(answer.failure for answer in answers):
            status, error = "failed", answers[0].failure
        return Result(
            status=status,
            error=error,
            answer=chosen.answer,
            sources=by.sources if by is not None else (),
            details={
                "team": told.model_dump(mode="json", exclude_defaults=True),
                **(_confidence(by) if by is not None else {}),
            },
        )

    async def _judged(self, answers: Sequence[Answer]) -> Choice:
        """The answer that the judge takes. Raises ModelError where it gives no valid choice, and BudgetExceeded."""
        given = [answer for answer in answers if answer.answer]
        if len({short(answer.answer or "") for answer in given}) < 2:
            return majority(answers)
        assert self.manner.judge is not None
        prompts = load_prompts("motet.fugue", "team")
        request = Request(
            messages=(
                Message(role="system", content=prompts("judge_system")),
                Message(role="user", content=prompts("judge", question=self.task.question, answers=given)),
            ),
            max_tokens=self.manner.judge_tokens,
            sampling=Sampling(temperature=0.0),
        )

        def wrong(chosen: Chosen) -> str:
            return "" if 1 <= chosen.number <= len(given) else f"number must be from 1 to {len(given)}"

        model = self.run.child("judge").model(self.manner.judge, role=JUDGE)
        chosen = (await structured(model, request, Chosen, check=wrong)).value
        taken = given[chosen.number - 1]
        return Choice(taken.answer, taken.peer, chosen.why)

    def _peer(self, member: Member, members: Sequence[Member]) -> Peer:
        scope = self.run.child(member.name, budget=member.budget).separate_answers().keep_trace()
        parts = [member.config.instructions, *self._told(member, members)]
        config = member.config.model_copy(update={"instructions": "\n\n".join(part for part in parts if part)})
        return Peer(
            member.name,
            config,
            self.task,
            run=scope,
            hub=self.hub,
            knowledge=self._knowledge,
            sight=self.sight,
            room=self.manner.room,
            tools=scope.tools(member.tools),
            pointers=self.manner.pointers,
            read_seconds=self.manner.read_seconds,
            stop=self._stop,
        )

    def _told(self, member: Member, members: Sequence[Member]) -> list[str]:
        """What a peer is told of its team and of its own memory."""
        prompts = load_prompts("motet.fugue", "peer")
        told = []
        if len(members) > 1:
            angles = [angle.strip() for angle in prompts("angles").split("---")]
            position = [other.name for other in members].index(member.name)
            told.append(
                prompts(
                    "team",
                    name=member.name,
                    number=len(members),
                    angle=angles[position % len(angles)] if self.manner.diversify else "",
                    notes=self.sight.others or self.sight.raw or self.sight.review,
                )
            )
        if self.sight.own:
            told.append(prompts("memory", read=self.sight.read))
        return told


def _read(answer: Answer) -> Answer:
    """``answer`` with its confidence taken out of its text."""
    if answer.answer is None:
        return answer
    text, confidence = with_confidence(answer.answer)
    return answer.model_copy(update={"answer": text, "confidence": confidence})


def _confidence(answer: Answer) -> dict[str, JsonValue]:
    """What ``answer`` stated of its confidence, from 0 to 1, as those who judge it look for it; nothing where it stated none."""
    return {} if answer.confidence is None else {"confidence": answer.confidence}

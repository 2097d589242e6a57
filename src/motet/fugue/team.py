"""A team at work: peers side by side, their hub, and what comes of it. Nobody waits for anybody but for the last peer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from pydantic import Field

from motet.agent.react import React
from motet.fugue.aggregate import RULES, Choice, Rule, agreed, majority, with_confidence
from motet.fugue.hub import Hub, HubConfig
from motet.fugue.knowledge import Knowledge
from motet.fugue.measures import TeamHistory, history
from motet.fugue.note import Written
from motet.fugue.peer import Answer, Peer, Room
from motet.fugue.reading import reading_tool
from motet.fugue.visibility import SIGHTS, Visibility
from motet.models.model import Message, Request, Sampling
from motet.models.structured import structured
from motet.prompts import load_prompts
from motet.runs.budget import Budget
from motet.runs.run import Run
from motet.system import ModelRef, ToolRef
from motet.task import Result, Task
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
        self.hub = Hub(hub, task, run=run.child("hub")) if hub is not None and self.sight.hub else None
        self.knowledge = Knowledge(shared=self.sight.shared_calls)
        self._stop = asyncio.Event()
        self.peers = [self._peer(member, members) for member in members]

    async def work(self) -> Result:
        """The team's answer, with every peer's offered beside it, and how it came about in the details."""
        answers = await self._search()
        choices = {
            name: rule(answers) for name, rule in RULES.items() if name != "table" or self.manner.rule == "table"
        }
        if self.manner.rule == "judge":
            choices["judge"] = await self._judged(answers)
        chosen = choices[self.manner.rule]
        self.run.emit("fugue.chosen", rule=self.manner.rule, peer=chosen.peer, why=chosen.why)
        for answer in answers:
            self.run.offer(answer.peer, _result(answer.answer))
        for name, choice in choices.items():
            self.run.offer(f"rule:{name}", _result(choice.answer))
        await asyncio.gather(*(peer.settle() for peer in self.peers))
        told: TeamHistory = history(self.peers, answers, hub=self.hub, knowledge=self.knowledge, choices=choices)
        failures = [answer.failure for answer in answers if answer.failure]
        lost = chosen.answer is None and len(failures) == len(answers)
        by = next((answer for answer in answers if answer.peer == chosen.peer), None)
        return Result(
            status="failed" if lost else "completed",
            error=failures[0] if lost else None,
            answer=chosen.answer,
            sources=by.sources if by is not None else (),
            details={"team": told.model_dump(mode="json", exclude_defaults=True)},
        )

    async def _search(self) -> list[Answer]:
        """All peers, side by side. One that fails ends by itself; what ends the run ends all."""
        ended: list[Answer] = []

        async def one(peer: Peer) -> Answer:
            answer = _read(await peer.work())
            peer.run.emit(
                "fugue.answered", peer=peer.name, status=answer.status, answer=answer.answer, steps=answer.steps
            )
            ended.append(answer)
            if self.manner.early_stop and agreed(ended, number=len(self.peers)):
                self._stop.set()
            choice = majority(ended)
            if choice.answer is not None:
                self.run.keep(choice.answer)
            return answer

        try:
            async with asyncio.TaskGroup() as group:
                works = [group.create_task(one(peer)) for peer in self.peers]
        except BaseExceptionGroup as failures:
            for peer in self.peers:
                peer.abandon()
            raise failures.exceptions[0] from None
        return [work.result() for work in works]

    async def _judged(self, answers: Sequence[Answer]) -> Choice:
        """The answer that the judge takes; the majority's where it gives no valid choice."""
        given = [answer for answer in answers if answer.answer]
        if len({answer.answer for answer in given}) < 2:
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
        tools = [self.knowledge.wrap(tool, peer=member.name) for tool in scope.tools(member.tools)]
        if self.sight.read and self.hub is not None:
            tools.append(reading_tool(self.hub, peer=member.name, seconds=self.manner.read_seconds))
        prompts = load_prompts("motet.fugue", "peer")
        parts = [member.config.instructions]
        if len(members) > 1:
            angles = [angle.strip() for angle in prompts("angles").split("---")]
            position = [other.name for other in members].index(member.name)
            parts.append(
                prompts(
                    "team",
                    name=member.name,
                    number=len(members),
                    angle=angles[position % len(angles)] if self.manner.diversify else "",
                    notes=self.sight.others or self.sight.review,
                    read=self.sight.read,
                )
            )
        elif self.sight.own:
            parts.append(prompts("alone"))
        config = member.config.model_copy(update={"instructions": "\n\n".join(part for part in parts if part)})
        return Peer(
            member.name,
            config,
            self.task,
            run=scope,
            hub=self.hub,
            knowledge=self.knowledge,
            sight=self.sight,
            room=self.manner.room,
            tools=tools,
            pointers=self.manner.pointers,
            stop=self._stop,
        )


def _read(answer: Answer) -> Answer:
    """``answer`` with its confidence taken out of its text."""
    if answer.answer is None:
        return answer
    text, confidence = with_confidence(answer.answer)
    return answer.model_copy(update={"answer": text, "confidence": confidence})


def _result(answer: str | None) -> Result:
    return Result(status="completed", answer=answer)

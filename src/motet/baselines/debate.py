"""``debate``: peers that answer in turns, each shown what all of them answered in the turn before. Source: Du et al., arXiv 2305.14325.

The opposite of ``fugue``: nothing is shared while anybody searches, everybody waits for the slowest in each turn, and what is shared are answers and not what was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from motet.agent.react import gather
from motet.baselines.best_of_n import BestOfN
from motet.errors import BudgetExceeded, ModelError, ToolError
from motet.fugue.aggregate import RULES, majority, with_confidence
from motet.fugue.measures import history
from motet.fugue.note import Note, Writing, render
from motet.fugue.peer import Answer, Peer
from motet.models.model import Message
from motet.prompts import load_prompts
from motet.runs.run import Run
from motet.task import Failure, Result, Task


class Debate(BestOfN):
    """A team that answers once by itself and then ``rounds`` times more. ``max_steps`` holds for all turns together; one is kept for each that is still to come."""

    rule: Literal["majority", "weighted", "confident", "table"] = "majority"
    rounds: int = Field(default=2, ge=1, le=20)

    @property
    def name(self) -> str:
        """``debate``."""
        return "debate"

    async def solve(self, task: Task, *, run: Run) -> Result:
        """Answer, and answer again. A peer that fails stays with what it answered before; a budget of the run ends the debate with what there is."""
        peers = self.team(task, run=run).peers
        most = {peer.name: peer.agent.config.max_steps for peer in peers}
        for peer in peers:
            _allow(peer, max(most[peer.name] - self.rounds, 1))
        answers = await gather([_first(peer, run) for peer in peers])
        for number in range(1, self.rounds + 1):
            told = "\n".join(render(_note(answer, number), disputed={}) for answer in answers if answer.answer)
            if not told or any(answer.status == "budget" for answer in answers):
                break
            for peer in peers:
                _allow(peer, most[peer.name] - (self.rounds - number))
            run.emit("debate.turn", turn=number, answers=[answer.answer for answer in answers])
            answers = await gather(
                [_again(peer, answer, told, run) for peer, answer in zip(peers, answers, strict=True)]
            )
            _keep(answers, run)
        return self._result(peers, answers, run)

    def _result(self, peers: Sequence[Peer], answers: Sequence[Answer], run: Run) -> Result:
        choices = {name: rule(answers) for name, rule in RULES.items() if name != "table" or self.rule == "table"}
        for answer in answers:
            run.offer(answer.peer, Result(status="completed", answer=answer.answer))
        for name, choice in choices.items():
            run.offer(f"rule:{name}", Result(status="completed", answer=choice.answer))
        chosen = choices[self.rule]
        by = next((answer for answer in answers if answer.peer == chosen.peer), None)
        failures = [answer.failure for answer in answers if answer.failure is not None]
        over = next((answer.failure for answer in answers if answer.status == "budget"), None)
        failed = chosen.answer is None and len(failures) == len(answers)
        return Result(
            status="budget" if over else "failed" if failed else "completed",
            error=over or (failures[0] if failed else None),
            answer=chosen.answer,
            sources=by.sources if by is not None else (),
            details={
                "team": history(peers, answers, hub=None, choices=choices).model_dump(
                    mode="json", exclude_defaults=True
                )
            },
        )


async def _first(peer: Peer, run: Run) -> Answer:
    answer = _read(await peer.work())
    _keep([answer], run)
    return answer


async def _again(peer: Peer, before: Answer, told: str, run: Run) -> Answer:
    """The answer of ``peer`` once it was ``told`` what all answer."""
    agent = peer.agent
    if before.failure is not None or agent.steps >= agent.config.max_steps:
        return before
    agent.messages.append(
        Message(role="user", content=agent.hear(load_prompts("motet.baselines", "debate")("others", notes=told)))
    )
    answer: str | None = None
    try:
        while answer is None and agent.steps < agent.config.max_steps:
            answer = await agent.step()
    except (ModelError, ToolError) as error:
        return before.model_copy(update={"status": "failed", "failure": Failure.of(error, scope=peer.run.scope)})
    except BudgetExceeded as error:
        own = error.account == peer.run.scope or error.account.startswith(f"{peer.run.scope}/")
        failure = Failure.of(error, scope=peer.run.scope)
        return before.model_copy(update={"status": "failed" if own else "budget", "failure": failure})
    if answer is None:
        return before.model_copy(update={"steps": agent.steps})
    sources = peer.run.best.sources
    return _read(
        Answer(
            peer=peer.name,
            status="answered",
            answer=answer,
            sources=sources,
            steps=agent.steps,
            first=before.first or before.answer,
        )
    )


def _allow(peer: Peer, steps: int) -> None:
    """Let ``peer`` take so many steps in all."""
    peer.agent.config = peer.agent.config.model_copy(update={"max_steps": steps})


def _read(answer: Answer) -> Answer:
    """``answer`` with its confidence taken out of its text."""
    if answer.answer is None:
        return answer
    text, confidence = with_confidence(answer.answer)
    return answer.model_copy(update={"answer": text, "confidence": confidence})


def _note(answer: Answer, turn: int) -> Note:
    """An answer in the form of a note, as the claim of who gave it."""
    writing = Writing(
        candidate_answer=answer.answer or "", confidence=0.5 if answer.confidence is None else answer.confidence
    )
    return Note(peer=answer.peer, episode=turn, first=1, last=max(answer.steps, 1), writing=writing)


def _keep(answers: Sequence[Answer], run: Run) -> None:
    choice = majority(answers)
    if choice.answer is not None:
        run.keep(choice.answer)

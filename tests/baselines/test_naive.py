"""Naive: how a task is split, who does what, and what the synthesiser is told when something goes wrong."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from motet.errors import BadReply, ModelDenied
from motet.models.model import Request
from motet.runs.budget import Budget
from motet.store.store import Store
from tests.baselines.crew import kind_of
from tests.baselines.searchers import PARTS, calls, crew_of, question, reported, searches, team
from tests.runs.desk import Answer


def part_of(request: Request) -> int:
    """Which part an agent does, counted from 1; 0 for none."""
    return next((place for place, part in enumerate(PARTS["subtasks"], 1) if part in question(request)), 0)


def test_each_worker_does_its_part_and_the_synthesis_is_the_answer(store: Store) -> None:
    """The parts are worked on with the tools, each with the whole task in view; the last call sees all reports, and what it says is the result."""
    crew = crew_of(store, "naive")
    result = crew.solve()
    assert (result.status, result.answer) == ("completed", "the whole")
    split, *working, synthesis = crew.model.requests
    assert kind_of(split) == "split"
    assert "into 2 parts" in split.messages[-1].content
    assert sorted(map(part_of, working)) == [1, 1, 2, 2]
    assert all("What is to be done?" in request.messages[1].content for request in working)
    answers = [row.answer for row in team(result).peers]
    assert reported(synthesis) == [f"p{place} reports: {answer}" for place, answer in enumerate(answers, 1)]
    assert split.messages[0] == synthesis.messages[0]
    assert crew.told("team.assigned")[1]["subtask"] == "Find the town."


def test_workers_are_at_work_at_the_same_time(store: Store) -> None:
    """No worker waits for another's answer."""
    reached = asyncio.Event()
    waiting = 0

    async def together(request: Request) -> Answer:
        nonlocal waiting
        waiting += 1
        if waiting == 2:
            reached.set()
        await reached.wait()
        return searches("", request)

    crew = crew_of(store, "naive", say=lambda _who, request: together(request))
    assert crew.solve().status == "completed"


@pytest.mark.parametrize(
    "bad", ["no JSON", {"subtasks": ["one only"]}, {"parts": []}], ids=["words", "too few", "another key"]
)
def test_a_split_that_cannot_be_used_is_repaired_once(store: Store, bad: Any) -> None:
    """The reply goes back with what is wrong, and the second one counts."""
    crew = crew_of(store, "naive", said={"split": [bad, PARTS]})
    result = crew.solve()
    assert [part["subtask"] for part in result.details["parts"]] == PARTS["subtasks"]  # type: ignore[union-attr, index, call-overload]
    assert crew.asked["split"] == 2
    assert not crew.told("team.unsplit")


def test_without_a_split_each_worker_is_given_the_whole_task(store: Store) -> None:
    """Two unusable replies cost the split and nothing else, and the run says so."""
    crew = crew_of(store, "naive", said={"split": ["no JSON"]})
    result = crew.solve()
    assert result.status == "completed"
    assert [part["subtask"] for part in result.details["parts"]] == ["What is to be done?"] * 2  # type: ignore[union-attr, index, call-overload]
    assert crew.asked["split"] == 2
    assert len(crew.told("team.unsplit")) == 1


def fails(*places: int) -> Any:
    """Agents of whom those at ``places`` fail at their second call."""

    def say(who: str, request: Request) -> Answer:
        if part_of(request) in places and any(message.role == "tool" for message in request.messages):
            return BadReply("model says: nothing that can be read")
        return searches(who, request)

    return say


def test_a_worker_that_fails_is_told_to_the_synthesiser(store: Store) -> None:
    """Its siblings go on, and the synthesis knows who failed and why."""
    crew = crew_of(store, "naive", say=fails(1))
    result = crew.solve()
    assert (result.status, result.answer) == ("completed", "the whole")
    told = reported(crew.model.requests[-1])
    assert told[0] == "p1 failed: model says: nothing that can be read"
    assert told[1].startswith("p2 reports: Find the town.")
    assert [row.status for row in team(result).peers] == ["failed", "answered"]
    assert team(result).peers[0].calls == {"search": 1}


def test_where_all_workers_fail_the_run_fails_as_the_first_did(store: Store) -> None:
    """Nobody is asked to make an answer of nothing."""
    crew = crew_of(store, "naive", say=fails(1, 2))
    result = crew.solve()
    assert result.status == "failed"
    assert result.answer is None
    assert result.error is not None
    assert result.error.kind == "BadReply"
    assert crew.asked["synthesise"] == 0


def test_a_worker_that_uses_up_its_own_budget_reports_what_it_had(store: Store) -> None:
    """A peer budget ends that worker and nobody else."""

    def say(_who: str, request: Request) -> Answer:
        return calls(("search", {"query": f"word {len(request.messages)}"})) if part_of(request) == 1 else "there"

    crew = crew_of(store, "naive", say=say, peer_budget=Budget(calls=3))
    result = crew.solve()
    assert result.status == "completed"
    first, second = team(result).peers
    assert (first.status, second.status, second.answer) == ("failed", "answered", "there")
    assert first.calls == {"search": 3}
    assert "calls" in first.failure


def test_a_synthesis_that_fails_leaves_what_the_workers_found(store: Store) -> None:
    """The run fails with the model's error, and with the workers' answers as the best so far."""
    crew = crew_of(store, "naive", said={"synthesise": [ModelDenied("no longer allowed")]})
    result = crew.solve()
    assert result.status == "failed"
    assert result.answer is not None
    assert all(part in result.answer for part in PARTS["subtasks"])


def test_equal_workers_are_sampled_with_seeds_of_their_own(store: Store) -> None:
    """One seed for all would make workers on the same task say the same."""
    crew = crew_of(store, "naive", said={"split": ["no JSON"]}, sampling={"seed": 5}, peers=3)
    crew.solve()
    seeds = {request.sampling.seed for request in crew.model.requests if not kind_of(request)}
    assert seeds == {5, 6, 7}

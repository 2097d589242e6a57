"""Swarm: sub-agents as calls of a tool: who they are, that they work side by side, how many there may be, and what is told of one that fails."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from motet.errors import BadReply
from motet.models.model import Request
from motet.store.queries import event_list
from motet.store.store import Store
from motet.tools.tool import Observation
from motet.worlds.world import World
from tests.baselines.searchers import assigns, calls, crew_of, leads, question, searches, team
from tests.inherit.test_trial import Notebook
from tests.runs.desk import Answer, rows


def heard(request: Request) -> list[str]:
    """What the meta agent was told by its tool."""
    return [message.content for message in request.messages if message.role == "tool"]


def assigning(*turns: Any) -> Any:
    """A meta agent that assigns by ``turns``, one after the other, then answers; sub-agents search and answer."""

    def say(who: str, request: Request) -> Answer:
        if not leads(request):
            return searches(who, request)
        made = sum(message.role == "assistant" for message in request.messages)
        return turns[made] if made < len(turns) else f"{len(heard(request))} reports"

    return say


def test_a_sub_agent_is_told_its_role_and_part_and_its_report_comes_back(store: Store) -> None:
    """It has the tools and no ``assign``; the meta agent has ``assign`` and no other tool, and reads each report under its name."""
    crew = crew_of(store, "swarm")
    result = crew.solve()
    meta = [request for request in crew.model.requests if leads(request)]
    working = [request for request in crew.model.requests if not leads(request)]
    assert {tool.name for request in meta for tool in request.tools} == {"assign"}
    assert {tool.name for request in working for tool in request.tools} == {"search"}
    assert {question(request) for request in working} == {"Find the river.", "Find the town."}
    assert all("You do part" in request.messages[0].content for request in working)
    first, second = heard(meta[-1])
    assert first == f"p1: {team(result).peers[0].answer}"
    assert second == f"p2: {team(result).peers[1].answer}"
    assert result.answer == f"all: {first} {second}"


def test_assignments_of_one_turn_work_side_by_side(store: Store) -> None:
    """No sub-agent waits for another of the same turn."""
    reached = asyncio.Event()
    waiting = 0

    async def together(request: Request) -> Answer:
        nonlocal waiting
        waiting += not leads(request)
        if waiting == 2:
            reached.set()
        if not leads(request):
            await reached.wait()
        return searches("", request)

    crew = crew_of(store, "swarm", say=lambda _who, request: together(request))
    assert crew.solve().status == "completed"


@pytest.mark.parametrize(("most", "asked"), [(1, 3), (2, 3), (3, 3), (8, 10)])
def test_there_are_never_more_sub_agents_than_allowed(store: Store, most: int, asked: int) -> None:
    """The assignments beyond the most are refused and say so, and the run completes."""
    turns = [assigns(*(f"Find thing {place}." for place in range(asked)))]
    crew = crew_of(store, "swarm", say=assigning(*turns), peers=most, max_calls=asked)
    result = crew.solve()
    assert result.answer == f"{asked} reports"
    assert len(team(result).peers) == most
    told = heard(crew.model.requests[-1])
    assert sum("No more sub-agents" in text for text in told) == asked - most


def test_the_same_assignment_again_is_answered_from_the_record(store: Store) -> None:
    """No second sub-agent is made for it."""
    crew = crew_of(store, "swarm", say=assigning(assigns("Find the river."), assigns("Find the river.")))
    result = crew.solve()
    assert len(team(result).peers) == 1
    assert result.status == "completed"


@pytest.mark.parametrize(
    "arguments",
    [{"role": "x"}, {"role": "x", "subtask": ""}, {"role": "x", "subtask": "y" * 3000}],
    ids=["none", "empty", "long"],
)
def test_an_assignment_that_cannot_be_read_makes_no_sub_agent(store: Store, arguments: dict[str, str]) -> None:
    """The meta agent is told what is wrong with it, and goes on."""
    crew = crew_of(store, "swarm", say=assigning(calls(("assign", arguments)), assigns("Find the river.")))
    result = crew.solve()
    assert [row.name for row in team(result).peers] == ["p1"]
    assert "subtask" in heard(crew.model.requests[-1])[0]


def test_a_sub_agent_that_fails_is_told_to_the_meta_agent(store: Store) -> None:
    """Its sibling's report comes all the same."""

    def say(who: str, request: Request) -> Answer:
        if not leads(request) and "river" in question(request):
            return BadReply("model says: nothing that can be read")
        return searches(who, request)

    crew = crew_of(store, "swarm", say=say)
    result = crew.solve()
    assert result.status == "completed"
    first, second = heard(crew.model.requests[-1])
    assert first == "p1 failed: model says: nothing that can be read"
    assert second.startswith("p2: Find the town.")
    assert [row.status for row in team(result).peers] == ["failed", "answered"]


def test_all_that_is_asked_is_journaled_in_the_scope_of_who_asked(store: Store) -> None:
    """Each sub-agent has its own scope, and the meta agent one; an assignment is no row of its own, for it would stand for work that is there already."""
    crew = crew_of(store, "swarm")
    crew.solve()
    made = [(row.scope.partition("/")[2], row.kind) for row in rows(store, crew.run_id)]
    assert sorted(made) == [
        ("meta", "model"),
        ("meta", "model"),
        *[(name, kind) for name in ("p1", "p2") for kind in ("model", "model", "tool")],
    ]
    scopes = {
        event.scope.partition("/")[2] for event in event_list(store, crew.run_id) if event.kind == "model.replied"
    }
    assert scopes == {"meta", "p1", "p2"}


def test_sub_agents_that_may_write_work_one_after_the_other(store: Store) -> None:
    """Where the world can be written to, what they write stands in the order of the assignments."""
    world: World = Notebook()

    def say(_who: str, request: Request) -> Answer:
        if leads(request):
            return "all sent" if heard(request) else assigns("Send one.", "Send two.")
        return "sent" if heard(request) else calls(("send", {"text": question(request)}))

    crew = crew_of(store, "swarm", say=say, world=world, tools=())
    assert crew.solve().status == "completed"
    assert isinstance(world, Notebook)
    assert world.notes == ["Send one.", "Send two."]


def test_a_report_names_where_it_stands(store: Store) -> None:
    """The sources of sub-agents are the result's."""
    from motet.task import Source
    from motet.tools.function import FunctionTool

    async def search(query: str) -> Observation:
        """Search.

        :param query: Words.
        """
        return Observation(text=query, sources=(Source(ref=f"page of {query}", quote=query),))

    crew = crew_of(store, "swarm", tools=[FunctionTool(search)])
    result = crew.solve()
    assert {source.ref for source in result.sources} == {"page of Find the river.", "page of Find the town."}

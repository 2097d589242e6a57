"""What fails fails alone: a peer, its budget, the hub; and what ends the run ends all of it and leaves nothing behind."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from motet.errors import BadReply, BudgetExceeded, ModelDenied, ModelUnavailable
from motet.models.model import Reply, Request
from motet.runs.budget import Budget
from motet.store.queries import run_list
from motet.store.store import Store
from tests.fugue.crew import Crew, call, noted, page_of, reader, story
from tests.runs.desk import Answer, Says, rows


def test_a_peer_whose_model_fails_for_good_is_reported_and_the_team_goes_on(store: Store) -> None:
    """Its failure stands beside the others' answers."""

    def speak(name: str, request: Request) -> Any:
        if name == "p2" and page_of(name, request) == 4:
            return ModelDenied("401: wrong key")
        return reader(8)(name, request)

    crew = Crew(store, speak, peers=3)
    result = crew.solve()
    assert (result.status, result.answer) == ("completed", "forty-two")
    told = story(result)
    assert [peer.status for peer in told.peers] == ["answered", "failed", "answered"]
    assert "401" in told.peers[1].failure
    assert [row["failure"] for row in crew.told("fugue.answered") if row["peer"] == "p2"] == [told.peers[1].failure]
    assert not crew.leaked


def test_a_team_all_of_whose_peers_fail_has_failed(store: Store) -> None:
    """With the first failure as its own."""
    crew = Crew(store, lambda *_: ModelUnavailable("gone"), peers=2)
    result = crew.solve()
    assert result.status == "failed"
    assert result.error is not None
    assert result.error.kind == "ModelUnavailable"


def test_a_peer_that_has_used_up_its_own_budget_ends_alone(store: Store) -> None:
    """The others have theirs."""
    crew = Crew(
        store,
        reader(8),
        peers=[{"name": "rich"}, {"name": "poor", "budget": {"calls": 3}}],
    )
    result = crew.solve()
    told = story(result)
    assert result.status == "completed"
    assert [(peer.status, peer.steps) for peer in told.peers] == [("answered", 9), ("failed", 4)]
    assert "calls budget" in told.peers[1].failure


def test_when_the_budget_of_the_run_is_used_up_those_that_have_answered_decide(store: Store) -> None:
    """The status is budget, and the answer the majority's of those that have ended."""

    def speak(name: str, request: Request) -> Any:
        return reader({"p1": 1, "p2": 2, "p3": 40}[name], answer=f"of {name[0]}")(name, request)

    crew = Crew(store, speak, peers=3)
    result = crew.solve(budget=Budget(calls=16))
    assert (result.status, result.answer) == ("budget", "of p")
    assert result.error is not None
    assert result.error.kind == "BudgetExceeded"
    told = story(result)
    assert [peer.status for peer in told.peers] == ["answered", "answered", "budget"]
    assert told.rules["majority"] == "of p"
    assert {offer.label for offer in crew.offers} >= {"p1", "p2", "p3", "rule:majority"}
    assert not crew.leaked
    # With more to spend it goes on where it stood.
    asked = len(crew.model.requests)
    assert crew.resume(budget=Budget(calls=500)).status == "completed"
    assert len([request for request in crew.model.requests[asked:] if page_of("p1", request)]) == 0


def test_time_that_is_up_keeps_what_the_team_has_so_far(store: Store) -> None:
    """Peers that have answered are not lost when the run is stopped amid the others' calls."""

    async def speak(name: str, request: Request) -> Answer:
        if name == "p2" and page_of(name, request) == 3:
            await asyncio.Event().wait()
        said: Any = reader(3)(name, request)
        return said  # type: ignore[no-any-return]

    crew = Crew(store, speak, peers=2)
    result = crew.solve(budget=Budget(seconds=3))
    assert (result.status, result.answer) == ("budget", "forty-two")
    assert not crew.leaked


def test_a_write_that_meets_the_budget_of_the_run_ends_no_peer(store: Store) -> None:
    """The peer goes on with its raw steps until its own next call does not fit."""

    def write(_: Request) -> Answer:
        return BudgetExceeded("the tokens budget of the run is used up", limit="tokens", account="the run")

    crew = Crew(store, reader(8), write=write)
    result = crew.solve()
    assert (result.status, result.answer) == ("completed", "forty-two")
    assert not crew.told("fugue.swapped")
    assert not crew.leaked


@pytest.mark.parametrize("where", ["peer", "write"])
def test_a_bug_ends_the_run_as_a_bug_and_leaves_nothing_at_work(store: Store, where: str) -> None:
    """It is raised as it is, not hidden in a peer's answer; siblings, writes and reads are stopped."""

    async def slow_write(request: Request) -> Answer:
        if where == "write":
            return KeyError("a bug")
        await asyncio.Event().wait()
        raise AssertionError

    def speak(name: str, request: Request) -> Any:
        if where == "peer" and name == "p2" and page_of(name, request) == 6:
            return KeyError("a bug")
        return reader(20)(name, request)

    crew = Crew(store, speak, write=slow_write, peers=3)
    with pytest.raises(KeyError, match="a bug"):
        crew.solve()
    assert not crew.leaked


def test_a_bug_in_a_write_that_no_peer_looks_at_any_more_is_raised_all_the_same(store: Store) -> None:
    """Also where it comes after the last answer."""
    over = asyncio.Event()

    def speak(name: str, request: Request) -> Any:
        said = reader(4)(name, request)
        if isinstance(said, str):
            over.set()
        return said

    async def write(_: Request) -> Answer:
        await over.wait()
        return KeyError("a bug")

    crew = Crew(store, speak, write=write, peers=1)
    with pytest.raises(KeyError, match="a bug"):
        crew.solve()
    assert not crew.leaked


def test_ctrl_c_leaves_the_run_to_be_resumed_and_nothing_at_work(store: Store) -> None:
    """With writes and a read in flight."""

    def speak(name: str, request: Request) -> Any:
        text = "\n".join(message.content for message in request.messages)
        if name == "p1" and "[p2.1]" in text and "They say so" not in text:
            return call("read_notes", intent="what?", refs=["p2.1"])
        return reader(10)(name, request)

    crew = Crew(store, speak)
    crew.break_off(17)
    assert not crew.leaked
    [run] = [row for row in run_list(store) if row.id == crew.run_id]
    assert run.status != "completed"
    assert crew.resume().answer == "forty-two"


def test_a_hub_that_never_ends_a_write_holds_the_answer_up_only_for_as_long_as_a_read_may_take(store: Store) -> None:
    """The answer is there; the note that is not is given up, and said nowhere to be one."""

    async def write(_: Request) -> Answer:
        await asyncio.Event().wait()
        raise AssertionError

    crew = Crew(store, reader(6), write=write, read_seconds=0.05)
    result = crew.solve()
    assert (result.status, result.answer) == ("completed", "forty-two")
    assert all(peer.notes == 0 for peer in story(result).peers)
    assert not crew.leaked


def test_an_early_stop_spares_the_others_and_is_the_same_on_resume(store: Store) -> None:
    """Once more than half agree the rest stop at their next step; without it they go on."""

    def speak(name: str, request: Request) -> Any:
        return reader(2 if name != "p3" else 40)(name, request)

    for visibility in ("notes+read", "isolated"):
        crew = Crew(store, speak, peers=3, early_stop=True, visibility=visibility)
        result = crew.solve()
        told = story(result)
        assert [peer.status for peer in told.peers] == ["answered", "answered", "stopped"]
        assert told.peers[2].steps < 41
        assert result.answer == "forty-two"
        broken = Crew(store, speak, peers=3, early_stop=True, visibility=visibility)
        broken.break_off(5)
        assert broken.resume().answer == "forty-two"
    assert story(Crew(store, speak, peers=3).solve()).peers[2].status == "answered"


def test_tools_are_fresh_for_each_peer(store: Store) -> None:
    """A tool that keeps something keeps it for one peer."""
    crew = Crew(store, reader(1), tools=["tests.fugue.counting:tool"])
    crew.solve()
    assert crew.team is not None
    tools = [next(tool for tool in peer.agent.tools if tool.name == "open_page") for peer in crew.team.peers]
    inner = [getattr(tool, "_tool", tool) for tool in tools]
    assert inner[0] is not inner[1]


def test_every_row_of_the_journal_says_whose_it_is(store: Store) -> None:
    """A scope for each peer, each write and each read; roles that tell peers, writes, reads and the judge apart in the ledger."""

    def speak(name: str, request: Request) -> Any:
        text = "\n".join(message.content for message in request.messages)
        if name == "p1" and "[p2.1]" in text and "They say so" not in text:
            return call("read_notes", intent="what?", refs=["p2.1"])
        return reader(8, answer=f"as {name} has it")(name, request)

    crew = Crew(store, speak, rule="judge")
    result = crew.solve()
    found = rows(store, crew.run_id)
    roles = {row.name for row in found if row.kind == "model"}
    assert roles == {"peer:p1", "peer:p2", "hub:write", "hub:read", "team:judge"}
    for row in found:
        assert row.scope.startswith(("task/p1", "task/p2", "task/hub/write-p", "task/hub/read-", "task/judge"))
    assert result.usage.calls == len(crew.model.requests)


def test_a_judge_that_fails_leaves_the_choice_to_the_majority(store: Store) -> None:
    """And a judge that runs into the budget makes it the budget's result."""

    def speak(name: str, request: Request) -> Any:
        return "one" if name in ("p1", "p2") else "two"

    crew = Crew(store, speak, peers=3, rule="judge", judge=lambda _: BadReply("no"))
    result = crew.solve()
    assert (result.status, result.answer) == ("completed", "one")
    assert crew.told("fugue.unjudged")
    crew = Crew(store, speak, peers=3, rule="judge", judge=lambda _: '{"number": 3, "why": "evidence"}')
    assert crew.solve().answer == "two"
    poor = Crew(store, speak, peers=3, rule="judge").solve(budget=Budget(calls=3))
    assert (poor.status, poor.answer) == ("budget", "one")


def test_usage_that_is_not_known_is_not_nothing(store: Store) -> None:
    """A reply without usage counts as unknown in the ledger, whoever asked."""

    def speak(name: str, request: Request) -> Any:
        said = reader(2)(name, request)
        return said if isinstance(said, Reply) else Reply(text=said)

    result = Crew(store, speak).solve()
    assert result.usage.unknown == 2


def test_notes_come_from_the_hub_model_that_was_named(store: Store) -> None:
    """Another model than the peers' can write."""
    scribe = Says(noted, name="scribe")
    crew = Crew(store, reader(8), hub_model=scribe)
    result = crew.solve()
    assert crew.asked["write"] == 0
    assert len(scribe.requests) == sum(peer.closes for peer in story(result).peers)

"""What the baselines of ``fugue`` have in common: its fields, budgets that leave the best so far, resumes that pay nothing twice, and small models."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from motet.models.model import Request
from motet.runs.budget import Budget
from motet.store.store import Store
from motet.systems import SYSTEMS, build, describe
from tests.baselines.crew import filled
from tests.baselines.searchers import SYSTEMS_HERE, calls, crew_of, team

EACH = pytest.mark.parametrize("name", SYSTEMS_HERE)


@EACH
def test_each_is_a_system_by_name_with_the_fields_of_fugue(name: str) -> None:
    """It takes the same models, tools, caps and number of peers as ``fugue``, under the same names, and can be written down and built again."""
    shared = {
        "model": "scripted:echo",
        "peers": 4,
        "max_steps": 3,
        "max_tokens": 50,
        "max_calls": 2,
        "instructions": "Be brief.",
        "actions": "json",
        "peer_budget": {"calls": 5},
        "sampling": {"seed": 7},
    }
    system = build(name, shared)
    again = describe(system)
    assert again["name"] == system.name == name
    assert isinstance(again["config"], dict)
    assert build(name, again["config"]) == system
    fugue = build("fugue", shared)
    for key in shared:
        assert getattr(system, key) == getattr(fugue, key)
    assert name in SYSTEMS


@EACH
@pytest.mark.parametrize("most", [1, 2, 3, 4, 5])
def test_a_budget_that_is_used_up_leaves_the_best_so_far(store: Store, name: str, most: int) -> None:
    """The run ends on its budget, never beyond it; and where an agent had answered, there is an answer."""
    crew = crew_of(store, name)
    result = crew.solve(budget=Budget(calls=most))
    assert len(crew.model.requests) <= most
    if result.status == "completed":
        assert name in ("best-of-n", "broadcast")
        return
    assert result.status == "budget"
    assert (result.answer is not None) == bool(crew.told("answer.kept"))


@EACH
def test_a_run_broken_off_anywhere_ends_as_if_it_had_not_been(store: Store, name: str) -> None:
    """Every call of a run is a place where it may stop; resumed, it ends the same with the same history, and asks nothing that it was told before."""
    calm = crew_of(store, name)
    result = calm.solve()
    assert result.status == "completed", result.error
    asked = len(calm.model.requests)
    for position in range(asked):
        crew = crew_of(store, name)
        crew.break_off(position)
        resumed = crew.resume()
        assert resumed.answer == result.answer
        assert resumed.details == result.details
        # What was under way when it broke off is asked again: two agents side by side, and their notes.
        assert asked <= len(crew.model.requests) <= asked + 4


@EACH
@pytest.mark.parametrize("seed", range(4))
def test_a_model_that_can_only_fill_in_schemas_completes_each(store: Store, name: str, seed: int) -> None:
    """Whatever it says within the schemas that it is asked with, the run completes, with the caps kept."""
    chance = random.Random(seed)

    def say(_who: str, request: Request) -> str:
        return json.dumps(filled(request.reply_schema, chance)) if request.reply_schema else "some words"

    crew = crew_of(store, name, say=say, said={"split": (), "synthesise": ()}, actions="json", max_steps=4)
    result = crew.solve()
    assert result.status == "completed", result.error
    assert all(row.steps <= 4 for row in team(result).peers)


@EACH
def test_what_each_agent_did_is_in_the_details(store: Store, name: str) -> None:
    """Every peer has its calls, its queries and its answer there, whichever system it works for."""
    crew = crew_of(store, name)
    found = team(crew.solve())
    assert [row.name for row in found.peers] == ["p1", "p2"]
    for row in found.peers:
        assert row.status == "answered"
        assert row.calls == {"search": 1}
        assert len(row.queries) == 1
        assert row.answer
    same = name in ("best-of-n", "broadcast", "debate")
    assert found.duplicates == (0.5 if same else 0.0)


@pytest.mark.parametrize(("name", "visibility"), [("best-of-n", "isolated"), ("broadcast", "broadcast")])
def test_a_baseline_that_is_a_setting_of_fugue_has_no_other(name: str, visibility: str) -> None:
    """What makes it what it is cannot be set to something else."""
    system: Any = build(name, {})
    assert system.visibility == visibility
    with pytest.raises(Exception, match="visibility"):
        build(name, {"visibility": "notes"})


def test_peers_that_know_nothing_of_each_other_answer_as_one_alone_would(store: Store) -> None:
    """In ``best-of-n`` no hub is asked, no note is told, and each peer's conversation holds nothing of another's."""
    crew = crew_of(store, "best-of-n", peers=3)
    result = crew.solve()
    assert {row.heard for row in team(result).peers} == {0}
    assert not any(event for kind in ("fugue.noted", "fugue.heard", "fugue.closed") for event in crew.told(kind))
    assert {offer.label for offer in crew.offers} >= {"p1", "p2", "p3", "rule:majority", "rule:confident"}
    assert len(crew.model.requests) == 6


def test_peers_that_see_raw_steps_are_shown_what_others_did(store: Store) -> None:
    """In ``broadcast`` a teammate's closed steps stand in a peer's conversation as they were."""

    def say(_who: str, request: Request) -> Any:
        if request.reply_schema is not None:
            return json.dumps({"established": [], "tried": ["x"]})
        done = sum(message.role == "assistant" for message in request.messages)
        who = next(name for name in ("p1", "p2") if f"You are {name}," in request.messages[0].content)
        return calls(("search", {"query": f"{who} word {len(request.messages)}"})) if done < 6 else "done"

    crew = crew_of(store, "broadcast", say=say, max_steps=8)
    assert crew.solve().status == "completed"
    shown = [
        message.content
        for request in crew.model.requests
        for message in request.messages
        if "Steps of your teammates as they were" in message.content
    ]
    assert shown
    assert any("p1 word" in text or "p2 word" in text for text in shown)

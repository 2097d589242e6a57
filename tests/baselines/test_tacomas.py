"""TacoMAS: what a team learns, how far its graph may go, and when it stops."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.baselines.tacomas import (
    Bounds,
    Capabilities,
    Capability,
    Member,
    Structure,
    TacoMAS,
    first_team,
    restructured,
    taught,
)
from motet.canonical import clean_text
from motet.inherit import Workflow, named_roles, validate
from motet.models.model import Request
from motet.store.store import Store
from tests.baselines.crew import Crew, Said, story
from tests.inherit.graphs import GENERAL, TOOLS
from tests.inherit.studio import marks

TEAM = first_team(GENERAL, {})
NAMES = (*TEAM.by_id, "new_a", "new_b", "new_c")
MEMBERS = st.builds(
    Member,
    id=st.sampled_from(NAMES),
    role=st.sampled_from([*GENERAL.roles, "nobody"]),
    subtask=st.sampled_from(["Do it.", ""]),
    prompt=st.just("Be brief."),
    tools=st.just(()),
    inputs=st.lists(st.sampled_from(NAMES), max_size=3, unique=True).map(tuple),
)
STRUCTURES = st.builds(Structure, nodes=st.lists(MEMBERS, max_size=9))


def learn(delta: str = "", *, goes_on: bool = True) -> dict[str, Any]:
    """What the coach says: something for the planner to learn."""
    agent = {"agent_id": "planner", "contribution_score": 40, "score_reason": "vague", "prompt_delta": delta}
    return {"agents": [agent], "continue_evolution": goes_on}


def graph(*, without: Sequence[str] = (), new: Sequence[dict[str, Any]] = (), **inputs: list[str]) -> dict[str, Any]:
    """The first team with other ``inputs`` for some members, ``without`` some, with ``new`` ones."""
    kept = [
        {"id": id_, "inputs": inputs.get(id_, [source for source in node.inputs if source not in without])}
        for id_, node in TEAM.by_id.items()
        if id_ not in without
    ]
    return {"nodes": [*kept, *new]}


def helper(id_: str) -> dict[str, Any]:
    """A new member that begins."""
    return {"id": id_, "role": "worker", "subtask": "Help.", "prompt": "Be brief.", "tools": [], "inputs": []}


@pytest.mark.parametrize(
    ("name", "writes"),
    [("general", False), ("general", True), ("hotpotqa", False), ("hotpotqa", True), ("workbench", True)],
)
def test_the_first_team_has_five_members_in_every_role_set(name: str, writes: bool) -> None:
    """It is valid with the role set's tools, has planner, two searchers, verifier and synthesizer, and an executor where something can be written."""
    roles = named_roles(name)
    tools = {tool: effect for tool, effect in TOOLS.items() if writes or effect == "read"}
    team = first_team(roles, tools)
    assert not validate(team, roles, tools)
    assert {"planner", "searcher_a", "searcher_b", "verifier", "synthesizer"} <= set(team.by_id)
    assert ("executor" in team.by_id) == (writes and roles.writer is not None)


@given(STRUCTURES)
def test_whatever_is_taken_over_keeps_the_bounds(proposed: Structure) -> None:
    """A proposal in which nothing is wrong has at most two births, two deaths, eight other edges, and five to twenty members, counted here anew."""
    after = restructured(TEAM, proposed)
    if Bounds().wrong(TEAM, after):
        return
    _check_bounds(TEAM, after)


@settings(max_examples=15, deadline=None)
@given(proposals=st.lists(STRUCTURES, min_size=3, max_size=3))
def test_no_proposal_leads_a_run_out_of_its_bounds(store: Store, proposals: list[Structure]) -> None:
    """From round to round of a real run every team is valid and within the bounds of the one before, whatever is proposed."""
    said: dict[str, Any] = {
        "capabilities": [learn()],
        "structure": [item.model_dump(mode="json") for item in proposals],
    }
    told = story(Crew(store, TacoMAS, said, rounds=4, slow_every=1).solve())
    teams = [item.workflow for item in told.rounds if item.workflow]
    assert len(teams) == 4
    for before, after in pairwise(teams):
        assert not validate(after, GENERAL, {})
        _check_bounds(before, after)


def _check_bounds(before: Workflow, after: Workflow) -> None:
    old, new = set(before.by_id), set(after.by_id)
    assert len(new - old) <= 2
    assert len(old - new) <= 2
    assert len(set(before.edges).symmetric_difference(after.edges)) <= 8
    assert 5 <= len(new) <= 20
    for id_ in old & new:
        kept = before.by_id[id_].spec
        assert after.by_id[id_].spec == kept


@given(st.lists(st.text(max_size=2000), max_size=6), st.integers(100, 6000))
def test_a_prompt_keeps_the_last_characters_of_what_it_learnt(deltas: list[str], longest: int) -> None:
    """Additions are appended one after the other; no prompt grows beyond the limit, and nobody else's changes."""
    team = TEAM
    for delta in deltas:
        before = team.by_id["planner"].prompt
        said = Capabilities(
            agents=[Capability(agent_id="planner", contribution_score=1, prompt_delta=delta)], continue_evolution=True
        )
        team = taught(team, said, longest=longest)
        text = clean_text(delta).strip()
        assert team.by_id["planner"].prompt == (f"{before}\n{text}"[-longest:] if text else before)
    assert [node for node in team.nodes if node.id != "planner"] == [
        node for node in TEAM.nodes if node.id != "planner"
    ]


def test_prompts_grow_in_every_round_and_the_graph_in_every_second(store: Store) -> None:
    """The fast loop adds to prompts after each round, the slow one follows every two of them but not the last, and the best quality is the result."""
    grown = graph(new=[helper("helper")], synthesizer=["searcher_a", "searcher_b", "verifier", "helper"])
    said: dict[str, Any] = {
        "capabilities": [learn(f"Learn {n}.") for n in range(9)],
        "structure": [grown],
        "judge": [marks(30), marks(60), marks(80), marks(70)],
    }
    crew = Crew(store, TacoMAS, said, rounds=4)
    told = story(crew.solve())
    teams = [item.workflow for item in told.rounds if item.workflow]
    assert [item.origin for item in told.rounds] == ["initial", "round", "round", "round"]
    assert [("helper" in team.by_id) for team in teams] == [False, False, True, True]
    assert [team.by_id["planner"].prompt.count("Learn") for team in teams] == [0, 1, 2, 3]
    assert (crew.asked["capabilities"], crew.asked["structure"]) == (3, 1)
    assert told.chosen == 2
    assert told.ranked == (0, 1, 2, 2)


@pytest.mark.parametrize(
    ("said", "rounds"),
    [
        ({"capabilities": [learn("More."), learn(goes_on=False)]}, 2),
        ({"capabilities": [learn("More.")], "judge": [marks(50), marks(50), marks(100)]}, 3),
        ({"capabilities": [learn("More.")]}, 10),
    ],
    ids=["told to", "good enough", "used up"],
)
def test_a_team_stops_when_it_is_told_to_or_good_enough_or_at_the_end(
    store: Store, said: dict[str, Sequence[Said]], rounds: int
) -> None:
    """Whichever comes first."""
    told = story(Crew(store, TacoMAS, {"structure": [graph()], **said}).solve())
    assert len(told.rounds) == rounds


@pytest.mark.parametrize(
    ("structure", "wrong"),
    [
        (graph(new=[helper("a"), helper("b"), helper("c")]), "3 members are new; at most 2 may be"),
        (graph(without=["verifier"]), "there are 4 members; 5 to 20 are allowed"),
        (graph(planner=["synthesizer"]), "is a cycle"),
        ({"nodes": 5}, "nodes: Input should be a valid list"),
    ],
    ids=["births", "members", "cycle", "form"],
)
def test_a_graph_that_goes_too_far_changes_nothing(store: Store, structure: Any, wrong: str) -> None:
    """It goes back once with what is wrong; the second time the graph stays, the round says so, and the team goes on."""
    said: dict[str, Any] = {"capabilities": [learn()], "structure": [structure]}
    crew = Crew(store, TacoMAS, said, rounds=3)
    told = story(crew.solve())
    assert crew.asked["structure"] == 2
    assert told.rounds[1].why.startswith("without structure")
    assert wrong in told.rounds[1].why
    assert {item.workflow.hash for item in told.rounds if item.workflow} == {TEAM.hash}


@pytest.mark.parametrize(
    "coach",
    [
        "no JSON",
        {
            **learn(),
            "agents": [{"agent_id": "nobody", "contribution_score": 1, "score_reason": "", "prompt_delta": "x"}],
        },
        learn("x" * 2001),
    ],
    ids=["form", "unknown", "long"],
)
def test_a_coach_that_is_wrong_twice_costs_its_words_and_nothing_else(store: Store, coach: Any) -> None:
    """The team stays as it is for the next round, and what was wrong is told."""
    crew = Crew(store, TacoMAS, {"capabilities": [coach, coach, learn("Late.")]}, rounds=3, slow_every=9)
    told = story(crew.solve())
    assert told.rounds[0].why.startswith("without capabilities")
    teams = [item.workflow for item in told.rounds if item.workflow]
    assert teams[0] == teams[1] != teams[2]


def test_the_coach_sees_marks_outputs_and_limits(store: Store) -> None:
    """Each agent's output and the critique are in what the coach is shown; the role set's own limit is told where it is tighter than the paper's."""
    seen: list[Request] = []

    def structure(request: Request) -> Any:
        seen.append(request)
        return graph()

    crew = Crew(store, TacoMAS, {"capabilities": [learn()], "structure": [structure]}, rounds=3)
    crew.solve()
    text = seen[0].messages[1].content
    assert "5 to 9 members in all" in text
    assert "planner: 40, vague" in text

"""EvoMAS: how children differ from their parents, what is chosen, and that nothing a model says can stop a breeding."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.baselines.evomas import COMPONENTS, Crossed, CrossedNode, EvoMAS, MutatedNode, Mutation, crossed, mutated
from motet.inherit import Workflow, enumerate_edits
from motet.inherit.edits import NodeTools, apply
from motet.inherit.roles import starts_of
from motet.store.store import Store
from motet.task import Task
from tests.baselines.crew import Crew, Said, story
from tests.inherit.graphs import GENERAL, TOOLS, office
from tests.inherit.studio import marks

IDS = tuple(office().by_id)
TEXTS = st.text(max_size=8)
NODES = {
    "id": st.sampled_from(IDS),
    "subtask": TEXTS,
    "prompt": TEXTS,
    "tools": st.lists(st.sampled_from([*TOOLS]), max_size=3).map(tuple),
}
MUTATIONS = st.builds(
    Mutation,
    component=st.sampled_from([*COMPONENTS]),
    nodes=st.lists(
        st.builds(MutatedNode, **NODES, inputs=st.lists(st.sampled_from(IDS), max_size=3).map(tuple)), max_size=4
    ),
)
CHILDREN = st.builds(
    Crossed,
    topology=st.just("first"),
    nodes=st.lists(st.builds(CrossedNode, **{**NODES, "tools": NODES["tools"] | st.none()}), max_size=4),
)


def components(before: Workflow, after: Workflow) -> set[str]:
    """The components in which two teams of the same members differ."""
    assert [(node.id, node.role) for node in before.nodes] == [(node.id, node.role) for node in after.nodes]
    found = set()
    for old, new in zip(before.nodes, after.nodes, strict=True):
        found |= {"prompts"} if (old.subtask, old.prompt) != (new.subtask, new.prompt) else set()
        found |= {"tools"} if old.tools != new.tools else set()
        found |= {"topology"} if old.inputs != new.inputs else set()
    return found


def rewrite(prompt: str, *, component: str = "prompts") -> dict[str, Any]:
    """A mutation of the node that answers."""
    texts = {"subtask": "", "prompt": prompt, "tools": [], "inputs": []}
    return {"component": component, "nodes": [{"id": "answer", **texts}]}


def child(prompt: str, *, topology: str = "first") -> dict[str, Any]:
    """A child with another prompt for the node that answers."""
    return {"topology": topology, "nodes": [{"id": "answer", "subtask": "", "prompt": prompt, "tools": None}]}


PARENTS: Said = {"parents": ["alone", "pair"]}


@given(MUTATIONS)
def test_a_mutation_changes_its_one_component_and_keeps_the_members(mutation: Mutation) -> None:
    """Whatever it lists: ids, order and roles stay, and no other component differs; without a difference the hash says so."""
    after = mutated(office(), mutation)
    assert components(office(), after) <= {mutation.component}
    assert (after.hash == office().hash) == (not components(office(), after))


def test_a_small_model_s_mutations_are_of_one_component_too() -> None:
    """Every edit that it may choose changes exactly the component that its kind belongs to."""
    kinds = {kind: component for component, kinds in COMPONENTS.items() for kind in kinds}
    offered = [choice for choice in enumerate_edits(office(), GENERAL, TOOLS) if choice.kind in kinds]
    assert {kinds[choice.kind] for choice in offered} == set(COMPONENTS)
    for choice in offered:
        tools = choice.edit.tools if isinstance(choice.edit, NodeTools) else ()
        edit = choice.complete(subtask="Another.", prompt="Another.", tools=tools)
        assert components(office(), apply(office(), edit)) == {kinds[choice.kind]}


@given(CHILDREN)
def test_a_child_has_the_whole_topology_of_its_parent(answer: Crossed) -> None:
    """Ids, roles and inputs are the parent's, whatever texts and tools the child is given."""
    assert "topology" not in components(office(), crossed(office(), answer))


@pytest.mark.parametrize(
    ("mutation", "said", "origins"),
    [
        (1.0, {"mutate": [rewrite("One."), rewrite("Two.")]}, ["mutation", "mutation"]),
        (0.0, {"cross": [child("One."), child("Two.")]}, ["crossover", "crossover"]),
    ],
    ids=["mutate", "cross"],
)
def test_a_breeding_has_two_parents_and_its_children(
    store: Store, mutation: float, said: dict[str, Any], origins: list[str]
) -> None:
    """Both parents come from the pool; every child differs from its parent, with one component or the whole topology kept; and the highest reward is the result."""
    judged = [marks(40), marks(50), marks(70), marks(60)]
    crew = Crew(store, EvoMAS, {"parents": [PARENTS], "judge": judged, **said}, mutation=mutation)
    result = crew.solve()
    told = story(result)
    assert [item.origin for item in told.rounds] == ["initial", "initial", *origins]
    pool = starts_of(GENERAL, {})
    assert [item.workflow for item in told.rounds[:2]] == [pool["alone"], pool["pair"]]
    for item in told.rounds[2:]:
        assert item.parent is not None
        before, after = told.rounds[item.parent].workflow, item.workflow
        assert before is not None
        assert after is not None
        assert components(before, after) == {"prompts"}
    assert told.chosen == 2
    assert told.ranked == (0, 1, 2, 2)
    assert [offer.label for offer in crew.offers] == ["0", "1", "2", "3"]
    assert result.answer == crew.offers[2].result.answer


def test_equal_qualities_are_decided_by_what_they_cost(store: Store) -> None:
    """Of two candidates with the same marks, the one with fewer live tokens has the higher reward, although it came later."""
    said: dict[str, Any] = {"parents": [{"parents": ["pair", "alone"]}], "judge": [marks(50)]}
    told = story(Crew(store, EvoMAS, said, generations=0).solve())
    assert told.rounds[0].live > told.rounds[1].live
    assert told.chosen == 1


@pytest.mark.parametrize(
    ("said", "without", "spent"),
    [
        ({"parents": [{"parents": ["alone", "alone"]}]}, "without parents", 0),
        ({"adapt": ["no JSON"]}, "without adapt", 0),
        ({"adapt": [{"nodes": [{"id": "nobody", "subtask": "x", "prompt": "x"}]}]}, "'nobody' is no node", 0),
        ({"mutate": [rewrite("")]}, "", 2),
        ({"mutate": [rewrite("", component="topology")]}, "", 2),
        ({"mutate": [rewrite("Once.")]}, "", 1),
    ],
    ids=["parents", "adapt", "unknown", "nothing", "invalid", "again"],
)
def test_what_a_model_gets_wrong_twice_is_recorded_and_the_breeding_goes_on(
    store: Store, said: dict[str, Any], without: str, spent: int
) -> None:
    """Parents fall back to the first and the last of the pool, unadapted ones are tried as they are, and a generation without a child is spent."""
    usual: dict[str, Any] = {"parents": [PARENTS], "mutate": [rewrite("One."), rewrite("Two.")]}
    crew = Crew(store, EvoMAS, {**usual, **said}, mutation=1.0)
    result = crew.solve()
    told = story(result)
    assert result.status == "completed"
    assert len(told.rounds) == 4
    assert without in told.rounds[0].why
    assert [item.why.partition(":")[0] for item in told.rounds if item.origin is None] == ["mutation"] * spent
    if "parents" in without:
        pool = starts_of(GENERAL, {})
        assert [item.workflow for item in told.rounds[:2]] == [pool["alone"], pool["checked"]]


@pytest.mark.parametrize("reuse", [False, True])
def test_results_are_inherited_only_where_that_is_asked_for(store: Store, reuse: bool) -> None:
    """As a baseline it works every node of every candidate anew; with ``inherit`` what a mutation does not reach is taken over."""
    said: dict[str, Any] = {"parents": [PARENTS], "mutate": [rewrite("One."), rewrite("Two.")]}
    crew = Crew(store, EvoMAS, said, mutation=1.0, inherit=True) if reuse else Crew(store, EvoMAS, said, mutation=1.0)
    told = story(crew.solve())
    assert any(item.inherited for item in told.rounds) == reuse


def test_chance_comes_from_the_question_alone(store: Store) -> None:
    """The same question is bred the same way in every run, and another one may be bred in another."""
    said: dict[str, Any] = {
        "parents": [PARENTS],
        "mutate": [rewrite(f"M{n}.") for n in range(9)],
        "cross": [child(f"C{n}.") for n in range(9)],
    }
    drawn = []
    for question in ("a", "a", "b", "c", "d"):
        crew = Crew(store, EvoMAS, said, mutation=0.5, generations=6)
        drawn.append([item.origin for item in story(crew.solve(task=Task(question=question))).rounds])
    assert drawn[0] == drawn[1]
    assert len({tuple(origins) for origins in drawn}) > 1


def test_a_reward_without_a_verdict_comes_after_all(store: Store) -> None:
    """A candidate that nobody could judge loses against one with the lowest mark."""
    said: dict[str, Any] = {"parents": [PARENTS], "judge": ["no JSON", "no JSON", marks(0)]}
    told = story(Crew(store, EvoMAS, said, generations=0).solve())
    assert told.rounds[0].verdict is None
    assert told.chosen == 1

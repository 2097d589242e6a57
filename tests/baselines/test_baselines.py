"""What all baselines have in common: one desk, budgets that leave the best so far, small models, and resumes that pay nothing twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from motet.baselines.evoagent import EvoAgent
from motet.baselines.evomas import EvoMAS
from motet.baselines.inherit_initial import InheritInitial
from motet.baselines.tacomas import TacoMAS
from motet.inherit import named_roles, validate
from motet.inherit.roles import effects
from motet.inherit.system import Inherit
from motet.models.model import Request
from motet.runs.budget import Budget
from motet.store.store import Store
from motet.systems import SYSTEMS, build
from tests.baselines.crew import Crew, as_schemas_allow, story
from tests.baselines.test_evoagent import called
from tests.baselines.test_evomas import PARENTS, child, rewrite
from tests.baselines.test_tacomas import graph, helper, learn
from tests.inherit.studio import PAIR, marks
from tests.inherit.team import told
from tests.inherit.test_trial import Notebook
from tests.runs.desk import Answer

SAID: dict[str, Sequence[Any]] = {
    "parents": [PARENTS],
    "adapt": [{"nodes": [{"id": "answer", "subtask": "Answer this.", "prompt": ""}]}],
    "mutate": [rewrite("One."), rewrite("Two.")],
    "cross": [child("Three."), child("Four.")],
    "capabilities": [learn("Learn 1."), learn("Learn 2."), learn("Learn 3.")],
    "structure": [graph(new=[helper("helper")], synthesizer=["searcher_a", "searcher_b", "verifier", "helper"])],
    "judge": [marks(30), marks(50), marks(40), marks(60)],
    "describe": ["You are A.", "You are B.", "You are C."],
    "check": ["Discard", "Retain", "Retain", "Retain"],
    "refine": ["one", "two", "three"],
    "design": [PAIR],
}
SYSTEMS_HERE: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "evoagent": (EvoAgent, {}),
    "evomas": (EvoMAS, {"mutation": 0.5, "generations": 3}),
    "tacomas": (TacoMAS, {"rounds": 3}),
    "inherit-initial": (InheritInitial, {}),
}
EACH = pytest.mark.parametrize("name", SYSTEMS_HERE)


def crew_of(store: Store, name: str, **options: Any) -> Crew:
    """A crew of the baseline ``name`` for which everything goes well."""
    system, config = SYSTEMS_HERE[name]
    return Crew(store, system, {**SAID, **options.pop("said", {})}, **{**config, **options})


@EACH
def test_each_baseline_is_a_system_by_name_with_the_fields_of_a_team(name: str) -> None:
    """It takes the same models, tools and caps as ``inherit``, under the same names."""
    shared = {
        "model": "scripted:echo",
        "max_steps": 3,
        "max_tokens": 50,
        "max_calls": 2,
        "roles": "general",
        "control_tokens": 99,
    }
    system = build(name, shared)
    assert isinstance(system, SYSTEMS_HERE[name][0])
    assert system.name == name
    assert name in SYSTEMS
    assert system.model_dump(include=set(shared)) == shared


@EACH
@pytest.mark.parametrize("calls", [2, 5, 8, 11])
def test_a_budget_that_is_used_up_leaves_the_best_so_far(store: Store, name: str, calls: int) -> None:
    """The run ends on its budget, never beyond it; and where there was a candidate, its answer is the result."""
    crew = crew_of(store, name)
    result = crew.solve(budget=Budget(calls=calls))
    assert len(crew.model.requests) <= calls
    if result.status == "completed":
        assert len(crew.model.requests) < calls or name == "inherit-initial"
        return
    assert result.status == "budget"
    assert result.error is not None
    assert (result.answer is None) == (not crew.offers)
    if crew.offers:
        assert result.answer in {offer.result.answer for offer in crew.offers}


@pytest.mark.parametrize("name", ["evoagent", "evomas", "tacomas"])
def test_a_run_broken_off_anywhere_ends_as_if_it_had_not_been(store: Store, name: str) -> None:
    """Every call of a run is a place where it may stop; resumed, it decides the same, and asks nothing that it was told before."""
    calm = crew_of(store, name)
    result = calm.solve()
    asked = len(calm.model.requests)
    for position in range(0, asked, 3):
        crew = crew_of(store, name)
        crew.break_off(position)
        resumed = crew.resume()
        assert resumed.details == result.details
        assert resumed.answer == result.answer
        # What was under way when it broke off is asked again; nodes side by side may be more than one.
        assert asked <= len(crew.model.requests) <= asked + 3


@EACH
@pytest.mark.parametrize("world", [None, Notebook], ids=["nothing to write", "a notebook"])
@pytest.mark.parametrize("seed", range(3))
def test_a_model_that_can_only_choose_completes_every_baseline(
    store: Store, name: str, world: Callable[[], Notebook] | None, seed: int
) -> None:
    """Whatever it chooses within the schemas that it is asked with, every team that is tried is valid."""
    setting = world() if world is not None else None
    tools = effects(setting.tools()) if setting is not None else {}
    crew = crew_of(store, name, said=as_schemas_allow(seed), world=setting, replies="guided")
    result = crew.solve()
    assert result.status == "completed", result.error
    if name == "evoagent":
        return
    for item in story(result).tried:
        assert item.workflow is not None
        assert not validate(item.workflow, named_roles("general"), tools)


def _plans(prompt: str) -> dict[str, Any]:
    return {"component": "prompts", "nodes": [{"id": "plan", "prompt": prompt}]}


@pytest.mark.parametrize("name", ["evomas", "tacomas"])
def test_only_the_chosen_team_writes(store: Store, name: str) -> None:
    """Each team that is tried writes in a copy; in the world itself is, once, what the best one wrote."""

    def say(who: str, request: Request) -> Answer:
        if not any(tool.name == "send" for tool in request.tools):
            return told(who, request)
        if any(message.role == "tool" for message in request.messages):
            return "sent"
        return called("send", text=f"note {request.digest[:8]}")

    world = Notebook()
    said: dict[str, Sequence[Any]] = {
        "parents": [{"parents": ["acting"]}],
        "adapt": [{"nodes": []}],
        "mutate": [_plans("One."), _plans("Two.")],
        "cross": [{"topology": "first", "nodes": [{"id": "plan", "prompt": "Three.", "tools": None}]}],
        "structure": ["no JSON"],
    }
    crew = crew_of(store, name, said=said, say=say, world=world, **({"parents": 1} if name == "evomas" else {}))
    result = crew.solve()
    assert result.status == "completed", result.error
    tried = story(result).tried
    assert len(tried) > 1
    assert all(item.writes == 1 for item in tried)
    assert len(world.notes) == 1


def test_the_first_candidate_is_that_of_inherit_and_no_judge_is_paid(store: Store) -> None:
    """With the same configuration it works the same team to the same answer as inherit's first round, and its judge model is not even needed."""
    first, whole = crew_of(store, "inherit-initial"), Crew(store, Inherit, SAID, candidates=1)
    result, other = first.solve(), whole.solve()
    assert result.answer == other.answer
    assert story(result).rounds[0].workflow == story(other).rounds[0].workflow
    assert (first.asked["judge"], whole.asked["judge"]) == (0, 1)
    needed = build("inherit-initial", {"model": "a", "judge_model": "j", "candidates": 3}).needs()  # type: ignore[attr-defined]
    assert needed.models == ("a",)

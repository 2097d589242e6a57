"""What the baselines ask is answered so that their searches go to the end."""

from __future__ import annotations

import pytest

from motet.baselines.evoagent import EvoAgent
from motet.baselines.evomas import EvoMAS
from motet.baselines.tacomas import TacoMAS
from motet.models.model import Message, Request
from motet.models.scripted_policies import control
from motet.models.scripted_policies.control.office import OfficeCraft
from motet.prompts import load_prompts
from motet.store.store import Store
from motet.system import Configured
from tests.models.scripted_policies.control import QUESTIONS, search


def _alone(prompt: str, **values: object) -> str:
    text = load_prompts("motet.baselines", "evoagent")(prompt, question="What is it?", context="", **values)
    turn = control.answer(Request(messages=(Message(role="user", content=text),), max_tokens=900), OfficeCraft())
    assert turn is not None
    return turn.text


@pytest.mark.parametrize("system", [EvoMAS, TacoMAS, EvoAgent])
def test_searches_of_the_baselines_come_to_a_result(store: Store, system: type[Configured]) -> None:
    """No reply is refused twice, and graph searches give more than one candidate."""
    for question in QUESTIONS[:3]:
        found = search(store, system, question)
        assert found.result.status == "completed"
        if system is not EvoAgent:
            story = found.story
            # A round that was spent says on what, and one that did without something says without what.
            assert [item.why for item in story.rounds] == [""] * len(story.rounds)
    if system is EvoMAS:
        assert {item.origin for item in story.tried} >= {"initial"}
        assert len(story.tried) == 5


def test_each_expert_is_another_and_a_repeated_one_is_discarded() -> None:
    """Descriptions do not come twice until all advice is used, and the check says so."""
    experts: list[str] = []
    for _ in range(4):
        experts.append(_alone("describe", answer="a", experts=experts))
    assert len(set(experts)) == 4
    assert all(expert.startswith("You are") for expert in experts)
    assert _alone("check", description=experts[0], experts=experts) == "Discard"


def test_the_refined_answer_is_one_of_the_two() -> None:
    """Whole, in the form in which it was given."""
    said = {
        _alone(
            "refine",
            answer=f"Answer: {n}\n\nin two parts",
            description="You are one.",
            expert_answer=f"Answer: not {n}",
        )
        for n in range(20)
    }
    allowed = {f"Answer: {n}\n\nin two parts" for n in range(20)} | {f"Answer: not {n}" for n in range(20)}
    assert said <= allowed
    assert any("not" in text for text in said)
    assert any("parts" in text for text in said)

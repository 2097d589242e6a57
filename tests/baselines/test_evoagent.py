"""EvoAgent: which experts are asked, what becomes of their answers, and that of three proposals for a step only the last is carried out."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from motet.baselines.evoagent import EvoAgent
from motet.models.model import Reply, Request, ToolCall
from motet.store.store import Store
from motet.tools.function import FunctionTool
from motet.usage import Usage
from tests.baselines.crew import Crew
from tests.inherit.test_trial import Notebook
from tests.runs.desk import Answer, rows

USAGE = Usage(prompt=10, completion=5)


def called(name: str, **arguments: Any) -> Reply:
    """A reply that calls a tool."""
    return Reply(
        tool_calls=(ToolCall(id="1", name=name, arguments=json.dumps(arguments)),), finish="tool_calls", usage=USAGE
    )


def as_expert(request: Request) -> str:
    """Which expert an agent is told to be; empty for none."""
    system = request.messages[0].content
    return system.partition("You are ")[2].splitlines()[0] if "You are " in system else ""


def names_itself(_who: str, request: Request) -> Answer:
    """An agent whose answer is the expert that it is."""
    return f"says {as_expert(request) or 'nobody'}"


def test_an_answer_is_refined_by_one_expert_an_iteration(store: Store) -> None:
    """Three experts are described in view of those before them, each answers by itself, and the last refined answer is the result; no judge is asked."""
    crew = Crew(
        store,
        EvoAgent,
        {
            "describe": ["You are A.", "You are B.", "You are C."],
            "check": ["Retain"],
            "refine": ["one", "two", "three"],
        },
        say=names_itself,
    )
    result = crew.solve()
    assert (result.status, result.answer) == ("completed", "three")
    assert result.details["rounds"] == [
        {"round": 1, "expert": "You are A.", "answer": "says A."},
        {"round": 2, "expert": "You are B.", "answer": "says B."},
        {"round": 3, "expert": "You are C.", "answer": "says C."},
    ]
    assert [offer.result.answer for offer in crew.offers] == ["says nobody", "one", "two", "three"]
    described = [
        request.messages[0].content for request in crew.model.requests if "Describe one" in request.messages[0].content
    ]
    assert [text.count("so far: You are") for text in described] == [0, 1, 2]
    assert crew.asked["judge"] == 0


@pytest.mark.parametrize(
    ("checks", "described", "expert"),
    [
        (["RETAIN"], 1, "You are number 1."),
        (["I would Discard it.", "retain"], 2, "You are number 2."),
        (["discarded"], 5, "You are number 5."),
    ],
    ids=["at once", "second", "forced"],
)
def test_an_expert_is_taken_who_is_not_discarded_or_is_the_fifth(
    store: Store, checks: list[Any], described: int, expert: str
) -> None:
    """The word counts in any case and place; the fifth description is taken without asking."""
    said: dict[str, Any] = {
        "describe": [f"You are number {n}." for n in range(1, 9)],
        "check": checks,
        "refine": ["refined"],
    }
    crew = Crew(store, EvoAgent, said, iterations=1)
    result = crew.solve()
    told = result.details["rounds"]
    assert isinstance(told, list)
    assert isinstance(told[0], dict)
    assert [told[0]["expert"], len(told)] == [expert, 1]
    assert crew.asked["describe"] == described
    assert crew.asked["check"] == min(described, 4)


def acts(own: Reply | str, special: Reply | str, both: Reply | str) -> Callable[[str, Request], Answer]:
    """An agent's three turns of each step, until the world has a note."""

    def say(_who: str, request: Request) -> Answer:
        last = request.messages[-1].content
        if any(message.role == "tool" for message in request.messages):
            return "done"
        if last.startswith("For this step"):
            return special
        return both if last.startswith("Two proposals") else own

    return say


def test_of_each_step_only_the_integrated_action_is_carried_out(store: Store) -> None:
    """The agent's own call and the specialist's are never made and never journaled; four calls of the model make a step."""
    world = Notebook()
    crew = Crew(
        store,
        EvoAgent,
        {"describe_step": ["You are a clerk."]},
        say=acts(called("send", text="own"), called("send", text="special"), called("send", text="both")),
        world=world,
    )
    result = crew.solve()
    assert (result.status, result.answer) == ("completed", "done")
    assert world.notes == ["both"]
    journaled = rows(store, crew.run_id)
    assert [row.kind for row in journaled].count("write") == 1
    assert [row.kind for row in journaled].count("model") == 8
    integrating = [
        request for request in crew.model.requests if request.messages[-1].content.startswith("Two proposals")
    ]
    assert '"text":"own"' in integrating[0].messages[-1].content
    assert '"text":"special"' in integrating[0].messages[-1].content


def test_neither_proposals_nor_their_prompts_stay_in_the_agent_s_messages(store: Store) -> None:
    """The next step sees the task, the integrated call and its observation, and nothing else."""
    crew = Crew(
        store,
        EvoAgent,
        {"describe_step": ["You are a clerk."]},
        say=acts(called("search"), "special", called("send", text="both")),
        world=Notebook(),
    )
    crew.solve()
    own = [request for request in crew.model.requests if request.messages[-1].role == "tool"]
    assert [[message.role for message in request.messages] for request in own] == [
        ["system", "user", "assistant", "tool"]
    ]
    assert own[0].messages[2].tool_calls[0].name == "send"


@pytest.mark.parametrize("own", ["an answer", called("search")], ids=["answer", "read"])
def test_reading_and_answering_are_proposed_like_anything_else(store: Store, own: Reply | str) -> None:
    """A first proposal that answers ends nothing, and one that reads reads nothing."""
    world = Notebook()
    crew = Crew(
        store, EvoAgent, {"describe_step": ["You are X."]}, say=acts(own, "no", called("send", text="x")), world=world
    )
    assert crew.solve().answer == "done"
    assert world.notes == ["x"]
    assert [row.kind for row in rows(store, crew.run_id)].count("tool") == 0


def test_steps_are_bounded(store: Store) -> None:
    """An agent that never answers stops after its steps, each of four calls; what is integrated in the last may only be an answer."""
    numbers = iter(range(1000))

    def say(_who: str, _request: Request) -> Answer:
        return called("send", text=str(next(numbers)))

    world = Notebook()
    crew = Crew(store, EvoAgent, {"describe_step": ["You are X."]}, say=say, world=world, steps=3)
    crew.solve()
    assert len(crew.model.requests) == 12
    assert len(world.notes) == 2


def test_a_task_with_tools_that_only_read_is_refined_as_a_whole(store: Store) -> None:
    """The experts hold the tools, as the first agent does."""

    def look(topic: str) -> str:
        """Look something up."""
        return f"about {topic}"

    crew = Crew(
        store,
        EvoAgent,
        {"describe": ["You are A."], "check": ["Retain"], "refine": ["refined"]},
        tools=[FunctionTool(look, version="1")],
        iterations=1,
    )
    assert crew.solve().answer == "refined"
    agents = [request for request in crew.model.requests if request.messages[0].role == "system"]
    assert [[tool.name for tool in request.tools] for request in agents] == [["look"], ["look"]]

"""Record keys: each determinant counts, nothing else does, and a change is named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.agent.react import React
from motet.inherit.keys import Determinants, determine, environment_of, explain, is_greedy
from motet.inherit.roles import Given
from motet.inherit.workflow import Node
from motet.models.model import Price, Sampling
from motet.system import Configured
from motet.task import Task
from motet.tools.function import FunctionTool
from motet.worlds.world import LiveWorld
from tests.inherit.graphs import node
from tests.runs.desk import Says, echo


def look(topic: str) -> str:
    """Look.

    :param topic: At what.
    """
    return topic


MODEL = Says(echo)
OTHER = Says(echo, name="other")


def key_of(**other: Any) -> Determinants:
    """Determinants of a node, with some of what they are made of replaced."""
    given: dict[str, Any] = {
        "node": node("mail", tools=("look",)),
        "task": Task(question="What?", context={"a": 1, "b": {"c": 2, "d": 3}}),
        "system": React(model=MODEL, sampling=Sampling(temperature=0.5), instructions="Be mail."),
        "instructions": "Be mail.",
        "prompts": "1-abc",
        "models": {},
        "tools": [FunctionTool(look, version="1")],
        "environment": "e",
        "run_id": "r",
        "inputs": [Given("work", "bo", "text"), Given("work", "cy", "words")],
        "replica": 0,
    }
    given |= other
    found = determine(given.pop("node"), given.pop("task"), **given)
    assert found is not None
    return found


BASE = key_of()


def react(**other: Any) -> React:
    """The system of the base with some fields replaced."""
    return React(**{"model": MODEL, "sampling": Sampling(temperature=0.5), "instructions": "Be mail.", **other})


CHANGES: Mapping[str, tuple[dict[str, Any], str]] = {
    "role": ({"node": Node(**{**node("mail", tools=("look",)).model_dump(), "role": "critic"})}, "node.role"),
    "prompt": ({"node": Node(**{**node("mail", tools=("look",)).model_dump(), "prompt": "x"})}, "node.prompt"),
    "subtask": ({"node": Node(**{**node("mail", tools=("look",)).model_dump(), "subtask": "x"})}, "node.subtask"),
    "held tools": ({"node": node("mail")}, "node.tools"),
    "instructions": ({"instructions": "Be x.", "system": react(instructions="Be x.")}, "instructions"),
    "question": ({"task": Task(question="Why?", context={"a": 1, "b": {"c": 2, "d": 3}})}, "task.question"),
    "context": ({"task": Task(question="What?", context={"a": 2, "b": {"c": 2, "d": 3}})}, "task.context.a"),
    "prompts": ({"prompts": "1-abd"}, "prompts"),
    "class": ({"system": type("Mine", (React,), {"__doc__": "Mine."})(**dict(react()))}, "system.class"),
    "temperature": ({"system": react(sampling=Sampling(temperature=0))}, "system.config.sampling.temperature"),
    "no temperature": ({"system": react(sampling=Sampling())}, "system.config.sampling.temperature"),
    "top_p": ({"system": react(sampling=Sampling(temperature=0.5, top_p=1.0))}, "system.config.sampling.top_p"),
    "seed": ({"system": react(sampling=Sampling(temperature=0.5, seed=0))}, "system.config.sampling.seed"),
    "stop": ({"system": react(sampling=Sampling(temperature=0.5, stop=("x",)))}, "system.config.sampling.stop"),
    "max_tokens": ({"system": react(max_tokens=7)}, "system.config.max_tokens"),
    "max_steps": ({"system": react(max_steps=7)}, "system.config.max_steps"),
    "actions": ({"system": react(actions="json")}, "system.config.actions"),
    "model": ({"system": react(model=OTHER)}, "models.1.identity"),
    "window": ({"system": react(model=Says(echo, context=100))}, "models.1.context"),
    "dialect": ({"system": react(model=Says(echo, native_tools=False))}, "models.1.native_tools"),
    "tool version": ({"tools": [FunctionTool(look, version="2")]}, "tools.1.version"),
    "tool name": ({"tools": [FunctionTool(look, version="1", name="see")]}, "tools.1.name"),
    "no tools": ({"tools": []}, "tools"),
    "environment": ({"environment": "f"}, "environment"),
    "unknown environment": ({"environment": None}, "within"),
    "input text": ({"inputs": [Given("work", "bo", "Text"), Given("work", "cy", "words")]}, "upstream.1.text"),
    "input node": ({"inputs": [Given("work", "bob", "text"), Given("work", "cy", "words")]}, "upstream.1.node"),
    "input port": ({"inputs": [Given("plan", "bo", "text"), Given("work", "cy", "words")]}, "upstream.1.port"),
    "input order": ({"inputs": [Given("work", "cy", "words"), Given("work", "bo", "text")]}, "upstream.1.node"),
    "an input less": ({"inputs": [Given("work", "bo", "text")]}, "upstream.cy"),
    "replica": ({"replica": 1}, "replica"),
    "no replica": ({"replica": None}, "replica"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_any_one_thing_is_another_key_and_is_named(name: str) -> None:
    """Each determinant by itself changes the key, and the explanation begins with its path."""
    other, path = CHANGES[name]
    changed = key_of(**other)
    assert changed.key != BASE.key
    assert any(line.startswith(f"{path}:") for line in explain(BASE, changed)), explain(BASE, changed)


@given(st.lists(st.sampled_from(sorted(CHANGES)), min_size=2, max_size=2, unique=True))
def test_different_changes_are_different_keys(names: list[str]) -> None:
    """No two of these changes share a key."""
    assert len({key_of(**CHANGES[name][0]).key for name in names}) == 2


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(sorted(Determinants.model_fields)), json_values)
def test_every_field_is_in_the_key(field: str, value: Any) -> None:
    """Whatever a field is replaced by: the keys are equal exactly where nothing is explained, and the explanation names that field."""
    wrapped = {
        "node": {"x": value},
        "task": {"x": value},
        "system": {"x": value},
        "models": ({"x": value},),
        "tools": ({"x": value},),
        "upstream": (),
        "format": 2,
        "replica": 9,
    }
    changed = BASE.model_copy(update={field: wrapped.get(field, str(value))})
    lines = explain(BASE, changed)
    assert (changed.key == BASE.key) == (not lines)
    assert all(line.startswith(field) for line in lines)


@pytest.mark.parametrize(
    "other",
    [
        {"node": node("post", tools=("look",)).model_copy(update={"prompt": "Be mail.", "subtask": "Do mail."})},
        {"node": node("mail", tools=("look",)).model_copy(update={"name": "Ann", "rationale": "why"})},
        {"task": Task(question="What?", context={"b": {"d": 3, "c": 2}, "a": 1}, id="7", cluster="c")},
        {"system": react(model=Says(echo, price=Price(prompt=1, completion=1)))},
        {"run_id": "another"},
    ],
    ids=["id", "words for people", "order of mappings, id and cluster", "price", "run"],
)
def test_nothing_else_is_another_key(other: dict[str, Any]) -> None:
    """What has no influence on the result changes no key."""
    assert key_of(**other).key == BASE.key


def test_a_model_is_its_identity_whatever_it_is_called() -> None:
    """A name and the model that it stands for are the same."""
    named = key_of(system=react(model="alias"), models={"alias": MODEL.info})
    assert named.key == BASE.key


def test_a_prompt_is_told_once() -> None:
    """Instructions that follow from a changed prompt are no second reason."""
    edited = Node(**{**node("mail", tools=("look",)).model_dump(), "prompt": "x"})
    changed = key_of(node=edited, instructions="x", system=react(instructions="x"))
    assert [line.split(":")[0] for line in explain(BASE, changed)] == ["node.prompt"]


def test_an_unknown_environment_binds_a_key_to_its_run() -> None:
    """A live world has no fingerprint: within a run keys agree, beyond it they do not."""
    environment = environment_of(LiveWorld([]))
    first, again, other = (key_of(environment=environment, run_id=run_id) for run_id in ("a", "a", "b"))
    assert (environment, first.within) == (None, "a")
    assert first.key == again.key != other.key


def test_a_configuration_without_stable_names_has_no_key() -> None:
    """A system that holds a function cannot be told from another that holds one."""

    class Holds(Configured):
        """Holds anything."""

        thing: Any

        @property
        def name(self) -> str:
            """Its name."""
            return "holds"

    found = determine(
        node("mail"),
        Task(question="What?"),
        system=Holds(thing=lambda: None),
        instructions="",
        prompts="",
        models={},
        tools=[],
        environment="e",
        run_id="r",
        inputs=[],
        replica=None,
    )
    assert found is None


@pytest.mark.parametrize(("temperature", "greedy"), [(0, True), (0.0, True), (0.1, False), (None, False)])
def test_only_a_temperature_of_zero_that_is_said_is_greedy(temperature: float | None, greedy: bool) -> None:
    """A temperature that is not given is the provider's own, and not zero."""
    assert is_greedy(React(sampling=Sampling(temperature=temperature))) is greedy

"""Guided replies: whatever a schema lets a small model write is a valid team, or an edit that the menu offers."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from motet.inherit import Effects, check, enumerate_edits, guided, named_roles, validate
from motet.inherit.meta import _started, edit_of
from motet.inherit.roles import ROLE_SETS, starts_of
from motet.models.model import Request
from motet.models.schema import schema_of
from motet.store.store import Store
from tests.inherit.studio import Studio, story

TOOLS: dict[str, Effects] = {
    "general": {"search": "read", "read": "read"},
    "hotpotqa": {"search": "read"},
    "workbench": {"search_events": "read", "create_event": "write", "delete_event": "write"},
}


def written(schema: Any, rng: random.Random, root: Any = None) -> Any:
    """Something that fits ``schema``, as a decoder bound to it might write it."""
    root = root or schema
    if "$ref" in schema:
        return written(root["$defs"][schema["$ref"].rsplit("/", 1)[-1]], rng, root)
    if "anyOf" in schema:
        return written(rng.choice(schema["anyOf"]), rng, root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return rng.choice(schema["enum"])
    match schema["type"]:
        case "object":
            return {name: written(part, rng, root) for name, part in schema["properties"].items()}
        case "array":
            return [written(schema["items"], rng, root) for _ in range(rng.randint(0, schema.get("maxItems", 3)))]
        case "integer":
            return rng.randint(schema["minimum"], schema["maximum"])
        case _:
            return "".join(rng.choices("abc ", k=rng.randint(schema.get("minLength", 0), schema["maxLength"])))


@pytest.mark.parametrize("name", ROLE_SETS)
@settings(max_examples=40)
@given(seed=st.integers(0, 10_000))
def test_every_team_that_can_be_written_is_valid(name: str, seed: int) -> None:
    """Any reply that fits the schema of designs is a valid workflow."""
    roles, tools = named_roles(name), TOOLS[name]
    starts = starts_of(roles, tools)
    type_ = guided.design_type(starts)
    reply = type_.model_validate(written(schema_of(type_), random.Random(seed)))
    assert not validate(_started(reply, starts), roles, tools)


@pytest.mark.parametrize("name", ROLE_SETS)
@settings(max_examples=40)
@given(seed=st.integers(0, 10_000))
def test_every_edit_that_can_be_written_is_on_the_menu_with_the_texts_it_needs(name: str, seed: int) -> None:
    """Any reply that fits the schema of edits chooses one; it is valid but for tools that stay as they were, and texts of blanks."""
    roles, tools, rng = named_roles(name), TOOLS[name], random.Random(seed)
    workflow = rng.choice([*starts_of(roles, tools).values()])
    choices = enumerate_edits(workflow, roles, tools)
    type_ = guided.edit_type(choices, workflow, roles, tools)
    found = edit_of(type_.model_validate(written(schema_of(type_), rng)), {choice.number: choice for choice in choices})
    if isinstance(found, str):
        assert "needs a" in found
        return
    rules = {problem.rule for problem in check(workflow, found, roles, tools)}
    assert rules <= {"edit", "needs-tool", "no-tools", "role-tool", "empty-prompt", "empty-subtask"}


def test_a_model_that_writes_anything_the_schemas_allow_completes_with_valid_teams_only(store: Store) -> None:
    """The whole evolution with guided replies: every round has a valid candidate, or was spent."""
    rng = random.Random(3)

    def anything(request: Request) -> JsonValue:
        assert request.reply_schema is not None
        found: JsonValue = written(request.reply_schema, rng)
        return found

    studio = Studio(store, meta=[anything], judge=[anything], replies="guided", candidates=5)
    result = studio.solve()
    found = story(result)
    assert result.status == "completed"
    roles = named_roles("general")
    teams = [item.workflow for item in found.tried if item.workflow is not None]
    assert len(teams) >= 2
    assert not [problem for team in teams for problem in validate(team, roles, {})]

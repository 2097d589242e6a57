"""Reply types for small models, from which nothing but a valid choice can be decoded: teams from the role set's own starts, edits from the menu, short texts.

A model of some hundred million parameters writes valid JSON only where a schema leaves it no other way, and no graph that holds together. So it chooses among graphs that do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import GenericAlias
from typing import Annotated, Any, Literal, Union

from pydantic import Field, create_model

from motet.inherit.candidate import Mark
from motet.inherit.choices import Choice
from motet.inherit.edits import AddNode, InsertNode, NodeTools
from motet.inherit.roles import Effects, RoleSet
from motet.inherit.workflow import Workflow
from motet.models.structured import Written

_TEXT = 80  # characters of a text that a small model writes

_ShortText = Annotated[str, Field(max_length=_TEXT)]
_SomeText = Annotated[str, Field(min_length=3, max_length=_TEXT)]


def design_type(starts: Mapping[str, Workflow]) -> type[Written]:
    """A choice of one of ``starts``, with a subtask for each of its nodes: ``design.start``, ``design.subtasks``."""
    options = []
    for name, workflow in starts.items():
        subtasks: dict[str, Any] = dict.fromkeys(workflow.order, (_ShortText, ...))
        parts: dict[str, Any] = {
            "start": (Literal[name], ...),
            "subtasks": (create_model("Subtasks", __base__=Written, **subtasks), ...),
        }
        options.append(create_model(f"Start_{name}", __base__=Written, **parts))
    return create_model("Design", __base__=Written, design=(_either(options), ...))


def edit_type(choices: Sequence[Choice], workflow: Workflow, roles: RoleSet, tools: Effects) -> type[Written]:
    """A choice from the menu with the texts that it asks for: ``edit.choice``, ``edit.prompt`` and so on."""
    groups: defaultdict[tuple[tuple[str, ...], tuple[str, ...]], list[int]] = defaultdict(list)
    for choice in choices:
        holdable = roles.holdable(_role(choice, workflow), tools) if "tools" in choice.fill else ()
        groups[choice.fill, holdable].append(choice.number)
    options = []
    for number, ((fill, holdable), numbers) in enumerate(groups.items(), 1):
        parts: dict[str, Any] = {"choice": (_one_of(numbers), ...)}
        for field in fill:
            if field != "tools":
                parts[field] = (_SomeText, ...)
            elif holdable:
                parts[field] = (_list(_one_of(holdable), most=4), ...)
        options.append(create_model(f"Edit{number}", __base__=Written, **parts))
    return create_model("EditChoice", __base__=Written, edit=(_either(options), ...))


def select_type(removable: Sequence[str]) -> type[Written]:
    """A choice of nodes to drop: ``drop``."""
    parts: dict[str, Any] = {"drop": (_list(_one_of(removable), most=2), ...)}
    return create_model("Selection", __base__=Written, **parts)


def verdict_type(ids: Sequence[str]) -> type[Written]:
    """A verdict with short texts and no ids but those of the team."""
    known = _one_of(ids)
    blamed: dict[str, Any] = {"node": (known, ...), "problem": (_ShortText, ...)}
    blame = create_model("Blamed", __base__=Written, **blamed)
    parts: dict[str, Any] = dict.fromkeys(
        ("quality_score", "completion_likelihood", "requirement_coverage", "artifact_grounding"), (Mark, ...)
    )
    parts |= {"critique": (_SomeText, ...), "keep": (_list(known, most=4), ...), "fix": (_list(blame, most=2), ...)}
    return create_model("SmallVerdict", __base__=Written, **parts)


def _one_of(values: Sequence[object]) -> Any:
    return Literal[tuple(values)]


def _list(item: Any, *, most: int) -> Any:
    return Annotated[GenericAlias(list, (item,)), Field(max_length=most)]


def _either(options: Sequence[type[Written]]) -> Any:
    return Union[tuple(options)]  # noqa: UP007 - made of a list


def _role(choice: Choice, workflow: Workflow) -> str:
    """The role of the node whose tools ``choice`` asks for."""
    edit = choice.edit
    if isinstance(edit, AddNode | InsertNode):
        return edit.node.role
    assert isinstance(edit, NodeTools)
    return workflow.by_id[edit.node].role

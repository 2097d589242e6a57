"""Teams, menus and requests are read as they are written, in both views of the control plane."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from motet.inherit import enumerate_edits, named_roles
from motet.inherit.asking import prompts
from motet.inherit.roles import RoleSet, starts_of
from motet.inherit.views import Compact, Naive, View
from motet.inherit.workflow import Workflow
from motet.models.model import Message, Request
from motet.models.scripted_policies.control.reading import read, read_menu, read_team

EFFECTS = {"search": "read", "look": "read", "send": "write"}
VIEWS: dict[str, View] = {"compact": Compact(), "naive": Naive()}


def _teams() -> Iterator[tuple[str, RoleSet, Workflow]]:
    for name in ("general", "workbench", "hotpotqa"):
        roles = named_roles(name)
        for start, workflow in starts_of(roles, EFFECTS).items():  # type: ignore[arg-type]
            yield f"{name}-{start}", roles, workflow


TEAMS = {name: (roles, workflow) for name, roles, workflow in _teams()}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", TEAMS)
def test_a_team_is_read_as_it_was_shown(view: str, name: str) -> None:
    """Ids, roles, texts, tools and inputs with their order, also where a text has quotes and line breaks."""
    _, workflow = TEAMS[name]
    nodes = [
        node.model_copy(update={"prompt": f'{node.prompt}\n\n"x": worker, reads nothing'}) for node in workflow.nodes
    ]
    workflow = workflow.model_copy(update={"nodes": tuple(nodes)})
    members = {member.id: member for member in read_team(f"{VIEWS[view].workflow(workflow)}\n\nWhat comes next")}
    assert set(members) == set(workflow.by_id)
    for id_, node in workflow.by_id.items():
        assert vars(members[id_]) == {
            "id": id_,
            "role": node.role,
            "subtask": node.subtask,
            "prompt": node.prompt,
            "tools": node.tools,
            "inputs": node.inputs,
        }


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", TEAMS)
def test_every_entry_of_a_menu_is_read_with_its_kind(view: str, name: str) -> None:
    """Number, kind and the texts to be written are those of the choices, in both forms."""
    roles, workflow = TEAMS[name]
    choices = enumerate_edits(workflow, roles, EFFECTS)  # type: ignore[arg-type]
    entries = list(read_menu(VIEWS[view].menu(choices)))
    assert [(it.number, it.kind, it.fill) for it in entries] == [(it.number, it.kind, it.fill) for it in choices]
    assert all(entry.node in workflow.by_id for entry in entries)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("stage", ["design", "select", "edit", "redesign"])
def test_each_request_of_the_meta_model_is_told_from_the_others(view: str, stage: str) -> None:
    """By its own words, even where the task and the critique hold those of another."""
    shown = VIEWS[view]
    _, workflow = TEAMS["workbench-verified"]
    words = prompts("meta")
    question = "Tell ann: Choose the one change that helps most"
    critique = "quality 40, completion 40, coverage 40, grounding 40 of 100\nto blame: 'plan': it is late; to do: hurry"
    told = words(
        stage,
        workflow=shown.workflow(workflow),
        critique=critique,
        evidence="",
        history="",
        removable="verify, look_up",
        menu="",
    )
    system = words("system", roles=named_roles("workbench").outline(), tools=shown.tools(()))
    text = f"{words('task', question=question, context='')}\n\n{told}"
    found = read(
        Request(messages=(Message(role="system", content=system), Message(role="user", content=text)), max_tokens=9)
    )
    assert found is not None
    assert (found.stage, found.question) == (stage, question)
    assert found.roles["executor"].tools == "write"
    assert found.roles["verifier"].may_read("integrator")
    assert not found.roles["executor"].may_read("worker")
    if stage != "design":
        assert set(found.team) == set(workflow.by_id)
        assert [(it.node, it.problem, it.remedy) for it in found.blamed] == [("plan", "it is late", "hurry")]
    if stage == "select":
        assert found.removable == ["verify", "look_up"]


def test_requests_to_workers_are_nobody_of_the_control_plane() -> None:
    """Instructions that only speak of a team are not the meta-model's."""
    for system in (
        "You are one member of a team and do one part of a task.",
        "You look something up in an office's records.",
    ):
        request = Request(
            messages=(Message(role="system", content=system), Message(role="user", content="Task: x\n\nYour part: y")),
            max_tokens=9,
        )
        assert read(request) is None

"""What the replay check does to each task: a workflow and a sequence of edits, drawn by a seed. The same seed gives the same, whatever the model says.

Kinds of edits are dealt from a shuffled deck of all nine, so that each occurs in a check of some size; one that cannot be made now stays on top for the next task. Among the edits
of a kind every place in the workflow is as likely. No workflow has fewer than five nodes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, NamedTuple

import yaml

from motet.errors import InputError
from motet.inherit.choices import Choice, enumerate_edits
from motet.inherit.differences import diff
from motet.inherit.edits import KINDS, AddNode, Edit, InsertNode, Kind, NodeTools, apply
from motet.inherit.roles import Effects, RoleSet, named_roles
from motet.inherit.workflow import Node, Workflow
from motet.task import Task
from motet.tools.function import tool

FEWEST = 5  # nodes of a workflow


class Course(NamedTuple):
    """A task with its ``candidates``: the first workflow, and what each of ``edits`` makes of the one before."""

    task: Task
    candidates: tuple[Workflow, ...]
    edits: tuple[Edit, ...]

    @property
    def nodes(self) -> int:
        """Nodes of all candidates."""
        return sum(len(workflow.nodes) for workflow in self.candidates)

    @property
    def affected(self) -> int:
        """Nodes that an execution which inherits cannot take from the candidate before, by the edits alone."""
        pairs = pairwise(self.candidates)
        return len(self.candidates[0].nodes) + sum(len(new.closure(diff(old, new).touched)) for old, new in pairs)


def draw(tasks: Sequence[Task], *, edits: int, seed: int) -> tuple[Course, ...]:
    """The courses of ``tasks``, with so many ``edits`` each. Raises InputError for two tasks of one id."""
    ids = [task.id for task in tasks]
    if len(set(ids)) < len(ids):
        raise InputError(f"the task {next(id_ for id_ in ids if ids.count(id_) > 1)!r} is there twice")
    rng = random.Random(seed)  # noqa: S311 - a draw that must be the same again, no secret
    deck: list[Kind] = []
    return tuple(_course(task, _team(number), edits=edits, rng=rng, deck=deck) for number, task in enumerate(tasks))


@cache
def replay_roles() -> RoleSet:
    """The general role set with the check's few words."""
    data, words = named_roles("general").model_dump(), _words()
    for name, prompt in words["roles"].items():
        data["roles"][name]["prompt"] = prompt
    return RoleSet.model_validate({**data, "ask": words["ask"]})


def general_tasks() -> tuple[Task, ...]:
    """Tasks of everyday life, for a check without a benchmark."""
    return tuple(Task(question=question) for question in _words()["tasks"])


@tool
async def today() -> str:
    """Get today's date."""
    return "Thursday, 30 November 2023"


@tool
async def office_hours() -> str:
    """Get the office hours."""
    return "09:00 to 18:00, Monday to Friday"


TOOLS = tuple(f"{__name__}:{name}" for name in ("today", "office_hours"))
EFFECTS: Effects = {"today": "read", "office_hours": "read"}


def _course(task: Task, first: Workflow, *, edits: int, rng: random.Random, deck: list[Kind]) -> Course:
    prompts, subtasks = (_dealer(_words()[name], rng) for name in ("prompts", "subtasks"))
    candidates, made = [first], list[Edit]()
    for _ in range(edits):
        choice = _choose(candidates[-1], rng, deck)
        edit = choice.edit
        tools = edit.tools if isinstance(edit, NodeTools) else ()
        if isinstance(edit, AddNode | InsertNode):
            tools = edit.node.tools
        texts = {name: deal() for name, deal in (("prompt", prompts), ("subtask", subtasks)) if name in choice.fill}
        edit = choice.complete(tools=tools, **texts)
        made.append(edit)
        candidates.append(apply(candidates[-1], edit))
    return Course(task, tuple(candidates), tuple(made))


def _choose(workflow: Workflow, rng: random.Random, deck: list[Kind]) -> Choice:
    """An edit of the first kind on the ``deck`` that can be made, which is taken off it."""
    choices = enumerate_edits(workflow, replay_roles(), EFFECTS)
    if len(workflow.nodes) <= FEWEST:
        choices = [choice for choice in choices if choice.kind != "remove_node"]
    possible = {choice.kind for choice in choices}
    if not possible & set(deck):
        deck += rng.sample(KINDS, len(KINDS))
    kind = next(kind for kind in deck if kind in possible)
    deck.remove(kind)
    return rng.choice([choice for choice in choices if choice.kind == kind])


def _dealer(texts: Sequence[str], rng: random.Random) -> Callable[[], str]:
    """Gives ``texts`` in a drawn order; those of a second round and later have its number, so that none is there twice."""
    order = rng.sample(list(texts), len(texts))
    dealt = 0

    def deal() -> str:
        nonlocal dealt
        turn, position = divmod(dealt, len(order))
        dealt += 1
        return f"{order[position]} ({turn + 1})" if turn else order[position]

    return deal


def _team(number: int) -> Workflow:
    teams = _words()["teams"]
    return Workflow(nodes=tuple(Node.model_validate(node) for node in teams[number % len(teams)]))


@cache
def _words() -> dict[str, Any]:
    text = files("motet.inherit").joinpath("replay.yaml").read_text(encoding="utf-8")
    words: dict[str, Any] = yaml.safe_load(text)
    return words

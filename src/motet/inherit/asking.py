"""How the meta-model and the judge are asked: two messages that begin the same in all calls of a task, a typed reply, one repair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from pydantic import BaseModel

from motet.canonical import canonical
from motet.inherit.roles import Effects, RoleSet, effects
from motet.inherit.views import View
from motet.models.model import Message, Request, Sampling
from motet.models.structured import structured
from motet.prompts import Prompts, load_prompts
from motet.runs.run import Run
from motet.system import ModelRef
from motet.task import Task
from motet.tools.tool import Tool
from motet.value import Value

T = TypeVar("T", bound=BaseModel)


class Voice(Value):
    """A model in one of the control roles, and how it is asked."""

    model: ModelRef
    sampling: Sampling
    max_tokens: int


class Brief:
    """What is known about a task before any team is tried: the task, who may be in a team, and which tools there are.

    ``context`` is what was given with the task, as JSON; empty where nothing was. ``effects`` are the tools as validation wants them.
    """

    def __init__(self, task: Task, *, roles: RoleSet, tools: Sequence[Tool], view: View) -> None:
        self.task = task
        self.roles = roles
        self.tools = tuple(tools)
        self.effects: Effects = effects(tools)
        self.view = view
        self.context = canonical(task.context).decode() if task.context else ""


async def ask(
    voice: Voice,
    *,
    run: Run,
    role: str,
    system: str,
    user: Sequence[str],
    type_: type[T],
    check: Callable[[T], str] | None = None,
) -> T:
    """The reply of ``voice`` in the scope ``run``, as a value of ``type_``; paid under ``role``. ``user`` is what changes least first.

    Raises BadReply that names what was still wrong after one repair, and what else models raise.
    """
    request = Request(
        messages=(Message(role="system", content=system), Message(role="user", content="\n\n".join(user))),
        max_tokens=voice.max_tokens,
        sampling=voice.sampling,
    )
    return (await structured(run.model(voice.model, role=role), request, type_, check=check)).value


def prompts(name: str) -> Prompts:
    """The prompts of the role ``name``."""
    return load_prompts("motet.inherit", name)

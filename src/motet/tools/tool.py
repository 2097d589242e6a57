"""The Tool protocol: something an agent can call, with a declared effect on the world.

A write's ``delivery`` says what can be known about it after a crash:

- ``keyed``: the service accepts an idempotency key, so the same call may be sent again.
- ``confirmable``: ``confirm(key)`` asks the service whether the call happened.
- ``plain``: nobody can tell; a run interrupted between sending and confirmation needs a person.
- ``local``: the state is in this process and dies with it, so a resumed run does the write again, and checks that the observation is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from pydantic import JsonValue

from motet.models.model import ToolSpec
from motet.task import Source
from motet.value import Value

Effect: TypeAlias = Literal["read", "write"]
Delivery: TypeAlias = Literal["plain", "keyed", "confirmable", "local"]


class Observation(Value):
    """What a tool answered, as the agent will read it. ``error`` marks a failure that the agent may react to."""

    text: str
    error: bool = False
    sources: tuple[Source, ...] = ()
    data: JsonValue = None


@runtime_checkable
class Tool(Protocol):
    """A callable with a schema. ``version`` changes whenever the same arguments may give another answer.

    Raises ToolError when the work cannot be done; the run turns that, and any other exception of a tool, into an
    observation with ``error`` set.
    """

    name: str
    description: str
    parameters: dict[str, JsonValue]
    effect: Effect
    delivery: Delivery
    version: str

    async def __call__(self, arguments: Mapping[str, JsonValue], *, key: str) -> Observation:
        """Do the work. ``key`` is stable for this call across resumes; ``keyed`` tools pass it on to their service."""
        ...

    async def confirm(self, key: str) -> Observation | None:
        """For ``confirmable`` tools: the observation of the call that carried ``key``, or ``None`` if it never happened."""
        ...


@runtime_checkable
class Refuses(Protocol):
    """A tool that can tell beforehand which arguments it would refuse, so that no plan holds them."""

    def refuse(self, arguments: Mapping[str, JsonValue]) -> Observation | None:
        """What a call with ``arguments`` would be answered that do not fit; ``None`` for those that do. Nothing is run."""
        ...


def spec(tool: Tool) -> ToolSpec:
    """``tool`` as a model is shown it."""
    return ToolSpec(name=tool.name, description=tool.description, parameters=tool.parameters)

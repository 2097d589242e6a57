"""The System protocol: a way of solving a task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple, Protocol, TypeAlias, runtime_checkable

from pydantic import InstanceOf, PlainSerializer

from motet.models.model import Model
from motet.task import Result, Task
from motet.tools.tool import Tool
from motet.value import Value

if TYPE_CHECKING:
    from motet.runs.run import Run


def _name_only(value: object) -> str:
    if isinstance(value, str):
        return value
    raise ValueError("an object given from Python has no name to be stored")


# A model or tool by name, or the object itself when a system is built in Python. Only names can be written down.
ModelRef: TypeAlias = Annotated[str | InstanceOf[Model], PlainSerializer(_name_only)]
ToolRef: TypeAlias = Annotated[str | InstanceOf[Tool], PlainSerializer(_name_only)]


class Needs(NamedTuple):
    """What a system will use, so that it can be checked before a run begins."""

    models: tuple[str | Model, ...] = ()
    tools: tuple[str | Tool, ...] = ()


@runtime_checkable
class System(Protocol):
    """A way of solving a task.

    ``solve`` asks models through ``run.model`` and tools through ``run.tool`` and nothing else, so that every answer from
    outside is journaled and a resumed run replays it. It lets run and model errors pass: whoever started the run turns
    them into a Result.
    """

    @property
    def name(self) -> str:
        """The name in tables and reports."""
        ...

    async def solve(self, task: Task, *, run: Run) -> Result:
        """Solve ``task`` within ``run``."""
        ...


class Configured(Value):
    """The base of Motet's own systems: a frozen value whose fields are its configuration, under the same names in Python, in YAML and
    on the command line.
    """

    def needs(self) -> Needs:
        """The models and tools that the system will use."""
        return Needs()

"""The World protocol: tools over a state.

- A *forkable* world keeps its state in this process: it can be copied, and is rebuilt on resume by doing its journaled writes again, from pristine,
  with its fingerprint checked after each. Its write tools have the delivery ``local``.
- A *live* world's state is outside: what was written there stays written, and a journaled write is never repeated.

Either can be *staged* (see ``staging``): writes are then kept as a plan, to be looked at and committed once. A live world of which the reads make no sense
without its writes says so with ``stageable = False``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self, runtime_checkable

from pydantic import JsonValue

from motet.errors import InputError
from motet.task import Score
from motet.tools.tool import Tool
from motet.value import Value


class Write(Value):
    """A write that was done, or is planned."""

    tool: str
    arguments: dict[str, JsonValue]


@runtime_checkable
class World(Protocol):
    """Tools over a state. ``version`` changes whenever the same writes may lead to another state."""

    name: str
    version: str
    forkable: bool

    def tools(self) -> tuple[Tool, ...]:
        """Fresh tools over this world's state."""
        ...

    def fingerprint(self) -> str | None:
        """SHA-256 of the whole state and of the tools' versions; ``None`` when the state cannot be read (results are then reused within one run only)."""
        ...

    def fork(self) -> Self:
        """A copy whose writes do not reach this one. Raises InputError for a live world."""
        ...

    def score(self, expected: JsonValue) -> tuple[Score, ...]:
        """Judge the state against what a benchmark ``expected``. Never raises: an expectation that makes no sense scores 0."""
        ...


@runtime_checkable
class SaysStageable(Protocol):
    """A live world that says whether its writes can be planned instead of done; one that says nothing can be staged."""

    stageable: bool


async def restore(world: World, writes: Sequence[Write]) -> None:
    """Do ``writes`` on ``world`` in their order: how a forkable world's state is rebuilt from pristine."""
    tools = {tool.name: tool for tool in world.tools()}
    for write in writes:
        await tools[write.tool](write.arguments, key="")


class LiveWorld:
    """Any tools as a live world: their state is outside, so it can be neither read, copied nor scored.

    ``stageable`` is false where what the tools read makes no sense until what was written has really been done, as in a game or a shell.
    """

    forkable = False
    version = "1"

    def __init__(self, tools: Sequence[Tool], *, name: str = "live", stageable: bool = True) -> None:
        self.name = name
        self.stageable = stageable
        self._tools = tuple(tools)

    def tools(self) -> tuple[Tool, ...]:
        """The tools it was made of."""
        return self._tools

    def fingerprint(self) -> str | None:
        """Unknown."""
        return None

    def fork(self) -> Self:
        """Not for a live world. Raises InputError."""
        raise InputError(f"the world {self.name!r} is live and cannot be copied; stage its writes instead")

    def score(self, expected: JsonValue) -> tuple[Score, ...]:
        """No score: the state is out of reach."""
        return ()

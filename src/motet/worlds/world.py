"""The World protocol: tools over a state.

- A *forkable* world keeps its state in this process: it can be copied, and is rebuilt on resume by doing its journaled writes again, from pristine,
  with its fingerprint checked after each. Its write tools have the delivery ``local``.
- A *live* world's state is outside: what was written there stays written, and a journaled write is never repeated.

Either can be *staged*: writes are then kept as a plan, to be looked at and committed once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, Self, runtime_checkable

from pydantic import JsonValue

from motet.errors import InputError
from motet.task import Score
from motet.tools.tool import Delivery, Effect, Observation, Tool
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


async def restore(world: World, writes: Sequence[Write]) -> None:
    """Do ``writes`` on ``world`` in their order: how a forkable world's state is rebuilt from pristine."""
    tools = {tool.name: tool for tool in world.tools()}
    for write in writes:
        await tools[write.tool](write.arguments, key="")


class StagedTool:
    """A write tool that plans instead of writing. In a forkable world the write is done too, in the staged copy, so that reads see it."""

    effect: Effect = "write"
    delivery: Delivery = "local"

    def __init__(self, tool: Tool, plan: list[Write], *, forked: bool) -> None:
        self.name = tool.name
        self.description = tool.description
        self.parameters = tool.parameters
        self.version = tool.version
        self._tool = tool
        self._plan = plan
        self._forked = forked

    async def __call__(self, arguments: Mapping[str, JsonValue], *, key: str) -> Observation:
        """Plan the call. In a forkable world a call that fails there is not planned."""
        if self._forked:
            observation = await self._tool(arguments, key=key)
            if observation.error:
                return observation
        else:
            observation = Observation(text="Planned. It will be done if this plan is chosen.")
        self._plan.append(Write(tool=self.name, arguments=dict(arguments)))
        return observation

    async def confirm(self, key: str) -> Observation | None:
        """Never asked: nothing leaves this process."""
        return None


class Staged:
    """A world whose writes are kept as a plan. ``plan`` is what would be written, in order."""

    def __init__(self, world: World) -> None:
        self.name = world.name
        self.version = world.version
        self.forkable = world.forkable
        self.plan: list[Write] = []
        self._world = world.fork() if world.forkable else world

    def tools(self) -> tuple[Tool, ...]:
        """The world's tools, with every write staged."""
        staged: list[Tool] = [
            StagedTool(tool, self.plan, forked=self.forkable) if tool.effect == "write" else tool
            for tool in self._world.tools()
        ]
        return tuple(staged)

    def fingerprint(self) -> str | None:
        """The world's own, where its state can be read."""
        return self._world.fingerprint()

    def fork(self) -> Staged:
        """A copy with a plan of its own that starts as this one's."""
        copied = Staged(self._world)
        copied.plan = list(self.plan)
        return copied

    def score(self, expected: JsonValue) -> tuple[Score, ...]:
        """Judge the staged state."""
        return self._world.score(expected)


class LiveWorld:
    """Any tools as a live world: their state is outside, so it can be neither read, copied nor scored."""

    forkable = False
    version = "1"

    def __init__(self, tools: Sequence[Tool], *, name: str = "live") -> None:
        self.name = name
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


def stage(world: World) -> Staged:
    """``world`` with its writes kept as a plan."""
    return Staged(world)

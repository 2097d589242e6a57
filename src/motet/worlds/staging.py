"""Staging: writes are kept as a plan instead of being done, to be looked at and committed once.

What can be copied is: its writes are done in the copy too, so that reads see them. Every other write is only planned.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from motet.errors import InputError
from motet.task import Score
from motet.tools.tool import Delivery, Effect, Observation, Refuses, Tool
from motet.worlds.shared import Shared
from motet.worlds.world import World, Write


class StagedTool:
    """A write tool that plans instead of writing. With ``forked`` it is a copy's own, and the write is done there too."""

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
        """Plan the call. One that fails in the copy, or whose arguments do not fit, is not planned."""
        if self._forked:
            observation = await self._tool(arguments, key=key)
            if observation.error:
                return observation
        elif isinstance(self._tool, Refuses) and (refused := self._tool.refuse(arguments)) is not None:
            return refused
        else:
            observation = Observation(text="Planned. It will be done if this plan is chosen.")
        self._plan.append(Write(tool=self.name, arguments=dict(arguments)))
        return observation

    async def confirm(self, key: str) -> Observation | None:
        """Never asked: nothing leaves this process."""
        return None


class Staged:
    """A world whose writes are kept as a plan. ``plan`` is what would be written, in the order of the calls over all of its tools.

    Raises InputError for a world that can be neither copied nor staged.
    """

    def __init__(self, world: World) -> None:
        shared = Shared(world)
        if not shared.stageable:
            raise InputError(
                f"the world {shared.name!r} can be neither copied nor staged: what it shows makes no sense until a write has really been done, "
                "so no plan of writes can be made in it; use a system that writes as it goes, such as react"
            )
        inner = shared.world
        self._forked = inner is not None and inner.forkable
        self._world = Shared(inner.fork() if inner is not None and self._forked else inner, shared.further)
        self.name = shared.name
        self.version = shared.version
        self.forkable = shared.forkable
        self.plan: list[Write] = []

    def tools(self) -> tuple[Tool, ...]:
        """The world's tools, with every write staged."""
        beside = {tool.name for tool in self._world.further}
        staged: list[Tool] = [
            StagedTool(tool, self.plan, forked=self._forked and tool.name not in beside)
            if tool.effect == "write"
            else tool
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


def stage(world: World) -> Staged:
    """``world`` with its writes kept as a plan. Raises InputError for one that can be neither copied nor staged."""
    return Staged(world)

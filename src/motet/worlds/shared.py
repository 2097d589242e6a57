"""A world and further tools as one world: all that the members of a team share."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue

from motet.canonical import digest
from motet.errors import InputError
from motet.task import Score
from motet.tools.tool import Tool
from motet.worlds.world import SaysStageable, World


class Shared:
    """``world``, or none, with ``tools`` beside its own, whose state is outside of it.

    It can be copied where ``world`` can and none of ``tools`` writes. Raises InputError, when its tools are asked for, where two of them have one name.
    """

    def __init__(self, world: World | None, tools: Sequence[Tool] = ()) -> None:
        if isinstance(world, Shared):
            tools = (*world.further, *tools)
            world = world.world
        self.world: World | None = world
        self.further: tuple[Tool, ...] = tuple(tools)
        self.name = world.name if world is not None else "tools"
        self.version = world.version if world is not None else "1"
        self.forkable = (world is None or world.forkable) and not self._writes_beside
        self.stageable = not isinstance(world, SaysStageable) or world.forkable or world.stageable

    def tools(self) -> tuple[Tool, ...]:
        """The world's tools, made anew, and then the further ones."""
        found = (*(self.world.tools() if self.world is not None else ()), *self.further)
        names: set[str] = set()
        for tool in found:
            if tool.name in names:
                raise InputError(
                    f"two tools are called {tool.name!r}, of the world {self.name!r} or beside it; "
                    "give one of them another name"
                )
            names.add(tool.name)
        return found

    def fingerprint(self) -> str | None:
        """Names the world's state, and the further tools by their versions; ``None`` where the state is unknown or can be changed from outside the world."""
        state = self.world.fingerprint() if self.world is not None else "no world"
        if state is None or self._writes_beside:
            return None
        if not self.further:
            return state
        return digest(
            {"state": state, "tools": [{"name": tool.name, "version": tool.version} for tool in self.further]}
        )

    def fork(self) -> Shared:
        """A copy with the same further tools. Raises InputError where one of them writes, or the world is live."""
        if self._writes_beside:
            names = ", ".join(tool.name for tool in self.further if tool.effect == "write")
            raise InputError(
                f"what {names} writes is outside of the world {self.name!r}, which cannot be copied; stage it instead"
            )
        return Shared(self.world.fork() if self.world is not None else None, self.further)

    def score(self, expected: JsonValue) -> tuple[Score, ...]:
        """The world's scores; none without a world."""
        return self.world.score(expected) if self.world is not None else ()

    @property
    def _writes_beside(self) -> bool:
        return any(tool.effect == "write" for tool in self.further)

"""Worlds in general: staging keeps writes as a plan, live worlds are never copied, read-only scopes never write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.errors import InputError
from motet.runs.run import Run
from motet.store.store import Store
from motet.task import Result, Task
from motet.tools.function import FunctionTool
from motet.tools.tool import Tool
from motet.worlds import LiveWorld, Write, stage
from motet.worlds.load import open_world
from motet.worlds.world import World
from tests.runs.desk import TASK, Does, done, go, new_run, sit


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store on SQLite."""
    with Store.open(f"sqlite:///{tmp_path / 'runs.db'}") as opened:
        yield opened


class Office:
    """A live service: what was posted there stays posted."""

    def __init__(self) -> None:
        self.posted: list[str] = []

    def world(self) -> LiveWorld:
        """``post`` writes, ``count`` reads."""

        def post(text: str) -> str:
            """Post a note.

            :param text: What it says.
            """
            self.posted.append(text)
            return "posted"

        def count() -> int:
            """Count the notes."""
            return len(self.posted)

        return LiveWorld((FunctionTool(post, effect="write", version="1"), FunctionTool(count, version="1")))


def by_name(world: World) -> dict[str, Tool]:
    """The world's tools."""
    return {tool.name: tool for tool in world.tools()}


def test_a_staged_live_world_plans_and_does_nothing() -> None:
    """The plan holds each write in order; the service never hears of it, and reads still reach it."""
    office = Office()
    staged = stage(office.world())
    tools = by_name(staged)

    async def main() -> None:
        for text in ("one", "two"):
            assert not (await tools["post"]({"text": text}, key="")).error
        assert (await tools["count"]({}, key="")).text == "0"

    go(main())
    assert office.posted == []
    assert staged.plan == [Write(tool="post", arguments={"text": text}) for text in ("one", "two")]


def test_a_live_world_cannot_be_copied() -> None:
    """Its state is outside: a copy would write to the same place."""
    with pytest.raises(InputError, match="live"):
        Office().world().fork()


def test_nothing_is_written_from_a_read_only_scope(store: Store) -> None:
    """Its agents are not shown the write, a call of it all the same is refused, and scopes below inherit the rule."""
    office = Office()

    async def work(_task: Task, run: Run) -> Result:
        reader = run.child("reader", read_only=True).child("deeper")
        assert [tool.name for tool in reader.tools(())] == ["count"]
        refused = await reader.tool(by_name(office.world())["post"], {"text": "sneaky"})
        allowed = await run.tool(by_name(office.world())["post"], {"text": "open"})
        return done(f"{refused.error} {allowed.error}")

    async def main() -> Result:
        async with sit(store, await new_run(store, TASK)) as sitting:
            result = await sitting.execute(Does(work), TASK, world=office.world())
            await sitting.finish(result)
            return result

    assert go(main()).answer == "True False"
    assert office.posted == ["open"]


@pytest.mark.parametrize("name", ["office", "no_such_module:Office", "motet.worlds.world:Write", "motet.worlds:stage"])
def test_a_world_that_cannot_be_made_is_bad_input(name: str) -> None:
    """The line names what was asked for."""
    with pytest.raises(InputError, match=name.partition(":")[0].partition(".")[0]):
        open_world(name)

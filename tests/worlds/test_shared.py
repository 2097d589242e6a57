"""A world and tools beside it as one world, and what staging makes of both."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import JsonValue

from motet.errors import InputError
from motet.tools.function import FunctionTool
from motet.tools.tool import Effect, Tool
from motet.worlds import LiveWorld, Shared, Staged, World, Write, stage
from motet.worlds.workbench import WorkBenchWorld
from tests.runs.desk import go
from tests.worlds.test_world import Office, by_name
from tests.worlds.workbench.office import small_office

MAIL: dict[str, JsonValue] = {"recipient": "a@b.c", "subject": "s", "body": "b"}


def beside(name: str, *, effect: Effect = "read", version: str = "1") -> FunctionTool:
    """A tool that no world brings; where it writes, its calls are in ``SENT``."""

    def act(text: str = "") -> str:
        """Act."""
        SENT.append(text)
        return f"did {text}"

    return FunctionTool(act, name=name, effect=effect, version=version)


SENT: list[str] = []


def call(world: World, name: str, arguments: dict[str, JsonValue]) -> str:
    """What the world's tool ``name`` says."""
    return go(by_name(world)[name](arguments, key="")).text


def mail_tool(world: World) -> str:
    """The name of the office's tool that sends a mail."""
    return next(name for name in by_name(world) if name.endswith("send_email"))


def test_it_holds_the_tools_of_both() -> None:
    """The world's come first; another one made of it holds all of them."""
    office = small_office()
    shared = Shared(Shared(office, [beside("look")]), [beside("look_closer")])
    assert [tool.name for tool in shared.tools()] == [*by_name(office), "look", "look_closer"]
    assert (shared.name, shared.version) == (office.name, office.version)
    assert isinstance(shared, World)


@pytest.mark.parametrize("twice", ["of the world", "beside it"])
def test_two_tools_of_one_name_are_bad_input(twice: str) -> None:
    """Nobody could say which of them is meant."""
    office = small_office()
    names = [mail_tool(office)] if twice == "of the world" else ["look", "look"]
    with pytest.raises(InputError, match=f"two tools are called '{names[0]}'"):
        Shared(office, [beside(name) for name in names]).tools()


def test_its_fingerprint_names_the_state_and_the_tools_beside_it() -> None:
    """Each of them changes it, and a world with nothing beside it keeps its own."""
    office = small_office()
    assert Shared(office).fingerprint() == office.fingerprint()
    shared = Shared(office, [beside("look")])
    prints = [
        shared.fingerprint(),
        Shared(office, [beside("look", version="2")]).fingerprint(),
        Shared(office, [beside("look_closer")]).fingerprint(),
        Shared(None, [beside("look")]).fingerprint(),
        Shared(None, [beside("look", version="2")]).fingerprint(),
        Shared(None).fingerprint(),
    ]
    call(shared, mail_tool(shared), MAIL)
    prints.append(shared.fingerprint())
    assert None not in prints
    assert len(set(prints)) == len(prints)
    assert Shared(None, [beside("look")]).fingerprint() == Shared(None, [beside("look")]).fingerprint()


def test_a_state_that_cannot_be_known_has_no_fingerprint() -> None:
    """Where the world is live, or something beside it writes."""
    assert Shared(LiveWorld([]), [beside("look")]).fingerprint() is None
    assert Shared(small_office(), [beside("post", effect="write")]).fingerprint() is None
    assert Shared(None, [beside("post", effect="write")]).fingerprint() is None


def test_it_is_copied_where_nothing_beside_it_writes() -> None:
    """A copy's writes do not reach it; what a tool beside it writes could not be kept apart."""
    shared = Shared(small_office(), [beside("look")])
    before = shared.fingerprint()
    copied = shared.fork()
    assert shared.forkable
    call(copied, mail_tool(copied), MAIL)
    assert shared.fingerprint() == before != copied.fingerprint()
    posting = Shared(small_office(), [beside("post", effect="write")])
    assert not posting.forkable
    with pytest.raises(InputError, match="post"):
        posting.fork()


def test_staging_writes_into_the_copy_and_only_plans_what_acts_outside() -> None:
    """The copy shows its own writes, the plan holds all of them in the order of the calls, and nothing outside hears of any."""
    SENT.clear()
    office = small_office()
    staged = stage(Shared(office, [beside("post", effect="write"), beside("look")]))
    mail = mail_tool(office)
    planned = [Write(tool="post", arguments={"text": "one"}), Write(tool=mail, arguments=MAIL)]
    planned.append(Write(tool="post", arguments={"text": "two"}))
    for write in planned:
        call(staged, write.tool, write.arguments)
    assert staged.plan == planned
    assert SENT == []
    assert office.writes == []
    inside = staged._world.world
    assert isinstance(inside, WorkBenchWorld)
    assert len(inside.writes) == 1
    call(staged, "look", {"text": "reads pass"})
    assert SENT == ["reads pass"]


def test_a_write_that_fails_in_the_copy_is_not_planned() -> None:
    """The agent is told what is wrong, and the plan holds only what will work."""
    staged = stage(Shared(small_office()))
    name = mail_tool(staged)
    observation = go(by_name(staged)[name]({"recipient": ["no"], "subject": "s", "body": "b"}, key=""))
    assert observation.error
    assert staged.plan == []


@pytest.mark.parametrize("arguments", [{"text": 7}, {"words": "hello"}], ids=["type", "name"])
def test_a_write_that_only_is_planned_is_refused_where_its_arguments_do_not_fit(
    arguments: dict[str, JsonValue],
) -> None:
    """The agent is told what the tool itself would say, nothing is sent, and what fits is planned all the same."""
    SENT.clear()
    tool = beside("post", effect="write")
    staged = stage(LiveWorld([tool]))
    observation = go(by_name(staged)["post"](arguments, key=""))
    assert (observation, observation.error) == (go(tool(arguments, key="")), True)
    call(staged, "post", {"text": "hello"})
    assert (staged.plan, SENT) == ([Write(tool="post", arguments={"text": "hello"})], [])


def test_a_copy_of_a_staged_world_goes_on_from_its_plan() -> None:
    """What either plans from then on is its own."""
    staged = stage(Shared(small_office()))
    call(staged, mail_tool(staged), MAIL)
    copied = staged.fork()
    call(copied, mail_tool(copied), MAIL)
    assert (len(staged.plan), len(copied.plan)) == (1, 2)
    assert staged.fingerprint() != copied.fingerprint()


class Chess(Office):
    """A game is neither copied nor planned: each move is answered."""

    def game(self, **options: Any) -> World:
        """As a LiveWorld, or, without options, as a class of a user's own that says so itself."""
        tools = self.world().tools()
        if options:
            return LiveWorld(tools, name="chess", **options)

        class Game(LiveWorld):
            def __init__(self) -> None:
                super().__init__(tools, name="chess")
                self.stageable = False

        return Game()


@pytest.mark.parametrize("options", [{"stageable": False}, {}], ids=["live", "own"])
def test_a_world_that_cannot_be_staged_is_refused_with_the_reason(options: dict[str, Any]) -> None:
    """The line names the world and a system that can work in it; tools beside it change nothing."""
    game = Chess().game(**options)
    for world in (game, Shared(game, [beside("look")])):
        with pytest.raises(InputError, match=r"'chess' can be neither copied nor staged.*react"):
            stage(world)


def test_a_world_that_says_nothing_of_staging_can_be_staged() -> None:
    """A user's world needs no new member."""

    class Bare:
        name, version, forkable = "bare", "1", False

        def tools(self) -> tuple[Tool, ...]:
            return (beside("post", effect="write"),)

        def fingerprint(self) -> str | None:
            return None

        def fork(self) -> Bare:
            raise InputError("live")

        def score(self, expected: JsonValue) -> tuple[()]:
            return ()

    staged: Staged = stage(Bare())
    call(staged, "post", {"text": "planned"})
    assert staged.plan == [Write(tool="post", arguments={"text": "planned"})]

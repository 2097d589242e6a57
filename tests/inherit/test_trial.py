"""Trials: every candidate in its own copy of the world, and the chosen one's writes in the world itself."""

from __future__ import annotations

import json
from typing import Any, Self

from pydantic import JsonValue

from motet.canonical import digest
from motet.inherit.history import Round
from motet.models.model import Reply, Request, ToolCall
from motet.store.store import Store
from motet.system import System
from motet.task import Result, Score, Task
from motet.tools.function import FunctionTool
from motet.tools.tool import Tool
from tests.inherit.studio import ACTING, PAIR, USAGE, Run, Studio, design, marks, member, rewrite, story
from tests.inherit.team import told
from tests.runs.desk import Answer, Does, done


class Notebook:
    """A forkable world: a list of notes that can be read and added to."""

    name = "notebook"
    version = "1"
    forkable = True

    def __init__(self, notes: tuple[str, ...] = ()) -> None:
        self.notes = list(notes)

    def tools(self) -> tuple[Tool, ...]:
        """``send`` adds a note, ``search`` gives all."""

        def send(text: str) -> str:
            """Add a note."""
            self.notes.append(text)
            return f"note {len(self.notes)}"

        def search() -> str:
            """All notes."""
            return "; ".join(self.notes) or "none"

        write = FunctionTool(send, effect="write", version="1", delivery="local")
        return write, FunctionTool(search, version="1")

    def fingerprint(self) -> str:
        """Names the notes."""
        return digest([*self.notes])

    def fork(self) -> Self:
        """A copy."""
        return type(self)(tuple(self.notes))

    def score(self, expected: JsonValue) -> tuple[Score, ...]:
        """Whether the notes are those."""
        return (Score(scorer="notes", value=float(self.notes == expected)),)


def writes_its_version(who: str, request: Request) -> Answer:
    """The executor sends what the plan says, with the version that the integrator's prompt asks for."""
    if who != "act":
        return (
            f"version {'two' if 'Two.' in request.messages[0].content else 'one'}"
            if who == "plan"
            else told(who, request)
        )
    if any(message.role == "tool" for message in request.messages):
        return "sent"
    text = "two" if "version two" in request.messages[-1].content else "one"
    call = ToolCall(id="1", name="send", arguments=json.dumps({"text": text}))
    return Reply(text="", tool_calls=(call,), finish="tool_calls", usage=USAGE)


def test_each_candidate_writes_in_its_own_copy_and_the_chosen_one_in_the_world(store: Store) -> None:
    """Two candidates, two writes, one note: that of the better one; each candidate's copy is offered with its result."""
    world = Notebook()
    studio = Studio(
        store,
        meta=[ACTING, rewrite("plan", "Two.")],
        judge=[marks(50), marks(70)],
        say=writes_its_version,
        world=world,
        candidates=2,
        restart="never",
    )
    found = story(studio.solve())
    assert (found.chosen, world.notes) == (1, ["two"])
    assert [item.writes for item in found.rounds] == [1, 1]


def test_the_executor_is_never_inherited(store: Store) -> None:
    """An edit that does not reach it leaves it live all the same."""
    studio = Studio(
        store,
        meta=[ACTING, rewrite("plan", "Two."), rewrite("act", "Now.")],
        say=writes_its_version,
        world=Notebook(),
        candidates=3,
        restart="never",
    )
    found = story(studio.solve())
    assert [item.nodes["act"].how for item in found.rounds] == ["ran"] * 3
    assert found.rounds[2].nodes["plan"].how == "reused"


def test_a_resumed_run_rebuilds_the_copies_and_commits_once(store: Store) -> None:
    """Broken off at any call, the world ends with one note."""
    said: dict[str, Any] = {
        "meta": [ACTING, rewrite("plan", "Two.")],
        "judge": [marks(50), marks(70)],
        "say": writes_its_version,
        "candidates": 2,
        "restart": "never",
    }
    whole = Studio(store, world=Notebook(), **said)
    whole.solve()
    for position in range(sum(whole.asked.values())):
        studio = Studio(store, world=Notebook(), **said)
        studio.break_off(position)
        world = Notebook()
        studio.move_to(world)
        assert studio.resume().status == "completed"
        assert world.notes == ["two"]


def test_tools_beside_the_world_are_shared_by_the_team(store: Store) -> None:
    """A node holds a tool that came with the system, and its result is inherited across runs."""

    def lookup() -> str:
        """Look it up."""
        return "forty"

    tool = FunctionTool(lookup, version="1")
    with_tool = design(member("find", tools=["lookup"]), member("tell", "integrator", "find"))
    said: dict[str, Any] = {"meta": [with_tool], "tools": [tool], "candidates": 1, "namespace": "shared-tools"}
    assert story(Studio(store, **said).solve()).rounds[0].nodes["find"].how == "ran"
    assert story(Studio(store, **said).solve()).rounds[0].nodes["find"].how == "reused"


def test_a_node_may_be_any_system(store: Store) -> None:
    """A system given for a role works as its nodes, and is told how to work before what to do."""
    asked: list[str] = []

    async def work(task: Task, run: Run) -> Result:
        asked.append(task.question)
        return done("by hand")

    by_hand: System = Does(work)
    studio = Studio(store, meta=[PAIR], candidates=1, workers={"integrator": by_hand})
    found: Round = story(studio.solve()).rounds[0]
    assert found.nodes["tell"].output == "by hand"
    assert studio.asked["tell"] == 0
    assert asked[0].index("Be tell.") < asked[0].index("Do tell.")

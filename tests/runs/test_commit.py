"""Committing a plan: nothing is written without a yes, each write once whatever kills the process, and in a copied world the same state."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import random
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import pytest
from pydantic import JsonValue

from motet.errors import InputError, UnconfirmedWrite
from motet.models.model import Request, ToolCall
from motet.models.scripted import ScriptedModel, Turn
from motet.runs.commit import Committed, commit
from motet.runs.run import Run
from motet.store.queries import event_list
from motet.store.store import Store
from motet.task import Result, Task
from motet.testing import ModelServer
from motet.tools.function import FunctionTool
from motet.tools.tool import Delivery, Observation
from motet.worlds import LiveWorld, Shared, World, Write, stage
from tests.runs.desk import TASK, Does, done, go, new_run, sit
from tests.runs.service import NoteService
from tests.runs.test_kill import ROOT, final_state, work
from tests.worlds.test_shared import MAIL, mail_tool
from tests.worlds.workbench.office import small_office

REPLIES = 2
NOTES = ("one", "two")


def clerk(request: Request) -> Turn | str:
    """Post two notes, then say that it is done."""
    if any(message.role == "tool" for message in request.messages):
        return "The notes are posted."
    calls = [ToolCall(id=text, name="post", arguments=json.dumps({"text": text})) for text in NOTES]
    return Turn(tool_calls=tuple(calls))


def served(service: NoteService) -> list[str]:
    """The texts of the notes."""
    return [note["text"] for note in service.notes]


@functools.cache
def calm_state(delivery: str) -> JsonValue:
    """The final state of a run that nothing interrupts."""

    async def run(folder: str) -> JsonValue:
        place = {"store": f"sqlite:///{folder}/runs.db", "delivery": delivery, "plan": True, "approve": True}
        async with ModelServer(ScriptedModel("clerk", clerk)) as models, NoteService() as service:
            code, run, _ = await work(**place, model=models.base_url, service=service.url)
            assert served(service) == list(NOTES)
        assert code == 0
        return final_state(str(place["store"]), run)

    with TemporaryDirectory() as folder:
        return anyio.from_thread.run(run, folder)


# The draft is two writes as well, into the staged world: the third and the fourth are real.
@pytest.mark.anyio
@pytest.mark.parametrize(
    ("point", "at", "delivery", "asked_again"),
    [
        ("before approval", 1, "keyed", True),
        ("after approval", 1, "keyed", False),
        ("before write", 3, "keyed", False),
        ("after intent", 3, "keyed", False),
        ("after intent", 4, "confirmable", False),
        ("before confirm", 3, "keyed", False),
        ("before confirm", 4, "confirmable", False),
        ("after confirm", 3, "plain", False),
        ("before result", 1, "plain", False),
    ],
)
async def test_a_commit_killed_at_any_boundary_ends_in_the_same_state(
    home: Path, point: str, at: int, delivery: str, asked_again: bool
) -> None:
    """Every write is done once and in order, no model call is paid again, and a plan that was approved is not asked for again."""
    async with ModelServer(ScriptedModel("clerk", clerk)) as models, NoteService() as service:
        place = {
            "store": f"sqlite:///{home / 'runs.db'}",
            "model": models.base_url,
            "service": service.url,
            "delivery": delivery,
            "plan": True,
        }
        code, run, _ = await work(**place, approve=True, kill=point, at=at)
        assert code == -signal.SIGKILL
        if asked_again:
            code, _, result = await work(**place, run=run)
            assert code == 0
            assert result is not None
            assert result.status == "cancelled"
            assert service.notes == []
        code, _, result = await work(**place, run=run, **({"approve": True} if asked_again else {}))
        assert code == 0
        assert result is not None
        assert (result.status, result.answer, result.details) == ("completed", "The notes are posted.", {"writes": 2})
        assert served(service) == list(NOTES)
        assert len(models.served) == REPLIES
    assert final_state(str(place["store"]), run) == await anyio.to_thread.run_sync(calm_state, delivery)


@pytest.mark.anyio
@pytest.mark.parametrize(("delivery", "nth"), [("keyed", 1), ("confirmable", 2)])
async def test_a_write_that_was_done_and_not_answered_is_not_done_again(home: Path, delivery: str, nth: int) -> None:
    """The process dies when the service has kept the n-th note of the plan and has not answered yet."""
    victim: list[int] = []

    def strike(count: int) -> None:
        if count == nth and victim:
            os.kill(victim.pop(), signal.SIGKILL)

    async with ModelServer(ScriptedModel("clerk", clerk)) as models, NoteService(after_write=strike) as service:
        place = {
            "store": f"sqlite:///{home / 'runs.db'}",
            "model": models.base_url,
            "service": service.url,
            "delivery": delivery,
            "plan": True,
        }
        job = json.dumps({**place, "approve": True})
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.runs.worker", job, stdout=asyncio.subprocess.PIPE, cwd=ROOT
        )
        victim.append(process.pid)
        out, _ = await process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert served(service) == list(NOTES[:nth])
        code, _, result = await work(**place, run=out.decode().split("\n")[0])
        assert code == 0
        assert result is not None
        assert result.status == "completed"
        assert served(service) == list(NOTES)
        assert len(models.served) == REPLIES


@pytest.mark.anyio
@pytest.mark.parametrize(("assume", "notes"), [("done", ["two"]), ("redo", ["one", "two"])])
async def test_a_plain_write_in_doubt_stops_the_commit_until_a_person_decides(
    home: Path, assume: str, notes: list[str]
) -> None:
    """The resumed commit names the call and sends nothing; then it takes the person's word and goes on."""
    async with ModelServer(ScriptedModel("clerk", clerk)) as models, NoteService() as service:
        place = {
            "store": f"sqlite:///{home / 'runs.db'}",
            "model": models.base_url,
            "service": service.url,
            "delivery": "plain",
            "plan": True,
        }
        code, run, _ = await work(**place, approve=True, kill="after intent", at=3)
        assert code == -signal.SIGKILL
        _, _, stopped = await work(**place, run=run)
        assert stopped is not None
        assert stopped.error is not None
        assert stopped.error.kind == UnconfirmedWrite.__name__
        assert 'post({"text":"one"})' in stopped.error.message
        assert service.notes == []
        _, _, result = await work(**place, run=run, assume=assume)
        assert result is not None
        assert result.status == "completed"
        assert served(service) == notes
        assert len(models.served) == REPLIES


# Points that a run which plans gets to, and the moment when the service has kept a note.
MOMENTS = (
    "before send",
    "before commit",
    "after commit",
    "before approval",
    "after approval",
    "before write",
    "after intent",
    "before confirm",
    "after confirm",
    "before result",
    "after result",
    "kept",
)


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize("delivery", ["keyed", "confirmable"])
async def test_commits_killed_at_random_end_in_the_same_state(home: Path, delivery: str) -> None:
    """Twelve kills, several to a run: every note is posted once and in order, and only a model's reply in flight is asked for again."""
    rng = random.Random(delivery)
    expected = await anyio.to_thread.run_sync(calm_state, delivery)
    victim: list[tuple[int, int]] = []

    def strike(count: int) -> None:
        if victim and victim[0][1] == count:
            os.kill(victim.pop()[0], signal.SIGKILL)

    killed = runs = 0
    while killed < 12:
        runs += 1
        in_flight = 0
        store = f"sqlite:///{home / f'runs-{runs}.db'}"
        async with ModelServer(ScriptedModel("clerk", clerk)) as models, NoteService(after_write=strike) as service:
            place: dict[str, Any] = {"store": store, "model": models.base_url, "service": service.url}
            place |= {"delivery": delivery, "plan": True, "approve": True}
            code = -signal.SIGKILL
            while code == -signal.SIGKILL:
                moment, at = rng.choice(MOMENTS), rng.randint(1, 4)
                told = place if moment == "kept" else {**place, "kill": moment, "at": at}
                process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    "-m",
                    "tests.runs.worker",
                    json.dumps(told),
                    stdout=asyncio.subprocess.PIPE,
                    cwd=ROOT,
                )
                victim[:] = [(process.pid, at)] if moment == "kept" else []
                out, _ = await process.communicate()
                victim.clear()
                code = process.returncode or 0
                killed += code == -signal.SIGKILL
                in_flight += code == -signal.SIGKILL and moment == "before commit"
                place["run"] = out.decode().split("\n")[0] or place["run"]
            assert code == 0
            assert served(service) == list(NOTES)
            assert len(models.served) == REPLIES + in_flight
        assert final_state(store, place["run"]) == expected, (runs, delivery)


class Posts:
    """A live world with one write, which fails for the texts in ``refused``."""

    def __init__(self, *refused: str, delivery: Delivery = "plain") -> None:
        self.kept: list[str] = []

        def post(text: str) -> Observation:
            """Post a note.

            :param text: What it says.
            """
            if text in refused:
                return Observation(text=f"no {text} here", error=True)
            self.kept.append(text)
            return Observation(text=f"kept {text}")

        self.world = LiveWorld([FunctionTool(post, effect="write", delivery=delivery, version="1")])


def plan_of(*texts: str) -> tuple[Write, ...]:
    """A plan that posts ``texts``."""
    return tuple(Write(tool="post", arguments={"text": text}) for text in texts)


@pytest.fixture
def store(home: Path) -> Store:
    """The test's own store."""
    return Store.open(f"sqlite:///{home / 'runs.db'}")


def one(
    store: Store, work: Callable[[Run], Awaitable[None]], *, world: World, run_id: str = "", **options: Any
) -> Result:
    """One sitting on a new run, or again on ``run_id``, in which ``work`` is done."""

    async def solve(_task: Task, run: Run) -> Result:
        await work(run)
        return done("ok")

    async def main() -> Result:
        async with sit(store, run_id or await new_run(store), **options) as sitting:
            result = await sitting.execute(Does(solve), TASK, world=world)
            await sitting.finish(result)
            return result

    return go(main())


def test_a_write_that_fails_stops_the_commit(store: Store) -> None:
    """What was done, what failed and what was left are told, also by events; the writes after it are not sent."""
    posts, seen = Posts("two"), list[Committed]()

    async def work(run: Run) -> None:
        seen.append(await commit(run, plan_of("one", "two", "three")))

    result = one(store, work, world=posts.world)
    (committed,) = seen
    assert posts.kept == ["one"]
    assert [(carried.write.arguments["text"], carried.observation.text) for carried in committed.done] == [
        ("one", "kept one")
    ]
    assert committed.failed is not None
    assert committed.failed.observation.text == "no two here"
    assert committed.left == plan_of("three")
    told = [event for event in event_list(store, result.run_id) if event.kind.startswith("commit.")]
    assert [(event.kind, event.payload) for event in told] == [
        ("commit.planned", {"writes": 3}),
        ("commit.failed", {"tool": "post", "text": "no two here", "done": 1, "left": 1}),
    ]


@pytest.mark.parametrize("read_only", [False, True])
def test_a_plan_with_a_tool_that_cannot_be_used_writes_nothing(store: Store, read_only: bool) -> None:
    """It is known before the first write: for a name that there is not, and for any write where nothing may be written."""
    posts = Posts()
    plan = plan_of("one") if read_only else (*plan_of("one"), Write(tool="pots", arguments={}))

    async def work(run: Run) -> None:
        await commit(run.child("here", read_only=read_only), plan)

    with pytest.raises(InputError, match="may use no tool 'post'" if read_only else "'pots'; did you mean 'post'"):
        one(store, work, world=posts.world)
    assert posts.kept == []


def yes(_plan: Sequence[Write]) -> bool:
    """To anything."""
    return True


async def late_yes(_plan: Sequence[Write]) -> bool:
    """To anything, after a moment."""
    await asyncio.sleep(0)
    return True


def no(_plan: Sequence[Write]) -> bool:
    """To anything."""
    return False


def careless(_plan: Sequence[Write]) -> Any:
    """No answer, and truthy."""
    return "perhaps"


@pytest.mark.parametrize("approve", [True, yes, late_yes], ids=["True", "yes", "late"])
@pytest.mark.parametrize("before", [None, False, no, careless], ids=["nobody", "False", "no", "careless"])
def test_only_a_yes_carries_a_plan_out(store: Store, before: Any, approve: Any) -> None:
    """Any other answer cancels the run with nothing written, and a later sitting asks again; a yes is kept, and asked for no second time."""
    posts = Posts()

    async def work(run: Run) -> None:
        await run.approve(plan_of("one", "two"))
        posts.kept.append("|")
        await commit(run, plan_of("one", "two"))
        if "again" not in posts.kept:
            posts.kept.append("again")
            raise UnconfirmedWrite("stop here", call="")

    first = one(store, work, world=posts.world, approve=before)
    assert first.status == "cancelled"
    assert first.error is not None
    assert "a plan of 2 calls waits for a yes" in first.error.message
    assert f"motet resume {first.run_id} --yes" in first.error.message
    assert posts.kept == []
    assert one(store, work, world=posts.world, run_id=first.run_id, approve=approve).status == "failed"
    last = one(store, work, world=posts.world, run_id=first.run_id, approve=no)
    assert last.status == "completed"
    assert posts.kept == ["|", "one", "two", "again", "|"]


def test_another_plan_needs_another_yes(store: Store) -> None:
    """A yes is to one plan: the same calls with other arguments, or in another order, are asked for again."""
    asked: list[Sequence[Write]] = []
    plans = [plan_of("one", "two"), plan_of("two", "one"), plan_of("one", "three")]

    def ask(plan: Sequence[Write]) -> bool:
        asked.append(plan)
        return True

    async def stopped(run: Run) -> None:
        await run.approve(plans[len(asked)])
        raise UnconfirmedWrite("stop here", call="")

    run_id = one(store, stopped, world=Posts().world, approve=ask).run_id
    for _ in plans[1:]:
        one(store, stopped, world=Posts().world, run_id=run_id, approve=ask)
    assert asked == plans


@pytest.mark.parametrize("empty", [False, True])
def test_what_acts_in_a_copied_world_alone_needs_no_yes(store: Store, empty: bool) -> None:
    """Neither does a plan of nothing, wherever it would be carried out."""
    asked: list[Sequence[Write]] = []

    async def work(run: Run) -> None:
        plan = [] if empty else [Write(tool=mail_tool(small_office()), arguments=MAIL)]
        await run.approve(plan)
        assert len((await commit(run, plan)).done) == len(plan)

    world = Posts().world if empty else small_office()
    assert one(store, work, world=world, approve=asked.append).status == "completed"
    assert asked == []


def test_one_write_outside_makes_the_whole_plan_wait(store: Store) -> None:
    """Who is asked sees all of it, in order."""
    asked: list[Sequence[Write]] = []
    posts = Posts()
    office = small_office()
    plan = (Write(tool=mail_tool(office), arguments=MAIL), *plan_of("one"))

    async def work(run: Run) -> None:
        await run.approve(plan)

    assert one(store, work, world=Shared(office, posts.world.tools()), approve=asked.append).status == "cancelled"
    assert asked == [plan]


def test_a_committed_plan_leaves_a_copied_world_in_the_staged_state(store: Store) -> None:
    """The state is the staged copy's, step by step, and a resumed run rebuilds it."""
    prints: list[str | None] = []
    states: list[str | None] = []

    async def work(run: Run) -> None:
        assert run.world is not None
        staged = stage(run.world)
        draft = run.child("draft", world=staged)
        (mail,) = [tool for tool in draft.tools(()) if tool.name == mail_tool(staged)]
        for subject in ("first", "second"):
            await draft.tool(mail, {**MAIL, "subject": subject})
        assert run.world.fingerprint() == pristine
        prints.append(staged.fingerprint())
        await commit(run, staged.plan)
        states.append(run.world.fingerprint())
        if len(states) == 1:
            raise UnconfirmedWrite("stop here", call="")

    office = small_office()
    pristine = office.fingerprint()
    stopped = one(store, work, world=office)
    assert one(store, work, world=small_office(), run_id=stopped.run_id).status == "completed"
    assert prints == states
    assert len({pristine, *states}) == 2

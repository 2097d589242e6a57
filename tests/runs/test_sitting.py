"""A sitting: what becomes of a task, however it ends."""

from __future__ import annotations

import asyncio

import pytest

from motet.errors import (
    BudgetExceeded,
    Cancelled,
    InputError,
    ModelRefusal,
    ModelUnavailable,
    MotetError,
    StoreError,
    ToolError,
)
from motet.models.model import Request
from motet.runs import sitting as sittings
from motet.runs.run import Run
from motet.store.queries import event_list, resolve_run
from motet.store.schema import tasks
from motet.store.store import Store
from motet.task import Result, Source, Task
from tests.runs.desk import (
    TASK,
    Does,
    Says,
    Work,
    ask,
    done,
    echo,
    go,
    interrupted,
    new_run,
    rows,
    side_by_side,
    sit,
    work_once,
)


def raising(error: BaseException) -> Work:
    """Work that keeps an answer and then raises ``error``."""

    async def work(_task: Task, run: Run) -> Result:
        run.keep("the best so far", sources=(Source(ref="a"),))
        raise error

    return work


def stored_tasks(store: Store, run_id: str) -> dict[str, tuple[str, Result | None]]:
    """Each task's status and result."""
    query = tasks.select().where(tasks.c.run_id == run_id)
    found = store.read_now(lambda connection: list(connection.execute(query)))
    return {
        row.task_id: (row.status, Result.model_validate_json(store.blob(row.result)) if row.result else None)
        for row in found
    }


@pytest.mark.parametrize(
    ("error", "status", "boundary"),
    [
        (ModelUnavailable("gone"), "failed", "model"),
        (ModelRefusal("declined"), "failed", "model"),
        (ToolError("no"), "failed", "tool"),
        (StoreError("disk full"), "failed", "store"),
        (BudgetExceeded("used up", limit="tokens"), "budget", "run"),
        (Cancelled("stop"), "cancelled", "run"),
    ],
)
def test_what_goes_wrong_outside_ends_in_a_result_that_names_it(
    store: Store, error: MotetError, status: str, boundary: str
) -> None:
    """With the scope, the boundary, and the best answer so far; also from work that was done side by side."""

    async def grouped(_task: Task, run: Run) -> Result:
        run.keep("the best so far")

        async def fails() -> None:
            raise error

        async with asyncio.TaskGroup() as group:
            group.create_task(fails())
            group.create_task(asyncio.Event().wait())
        raise AssertionError

    async def main() -> list[tuple[Result, tuple[str, Result | None]]]:
        found = []
        for work in (raising(error), grouped):
            run_id = await new_run(store)
            result = await work_once(store, run_id, work)
            assert resolve_run(store, run_id).status == status
            found.append((result, stored_tasks(store, run_id)["task"]))
        return found

    for result, stored in go(main()):
        assert (result.status, result.answer) == (status, "the best so far")
        assert result.error is not None
        assert (result.error.boundary, result.error.kind) == (boundary, error.kind)
        assert (result.error.message, result.error.scope) == (str(error), "task")
        assert stored == (status, result)


@pytest.mark.parametrize("error", [InputError("wrong"), KeyError("x"), RuntimeError(""), ValueError("a\ud800b")])
def test_bad_input_and_bugs_raise_after_they_are_recorded(store: Store, error: Exception) -> None:
    """They are the user's, or the author's, to mend; the store says what happened, and a resume may try again."""

    async def main() -> str:
        run_id = await new_run(store)
        async with sit(store, run_id) as sitting:
            with pytest.raises(type(error)) as caught:
                await sitting.execute(Does(raising(error)), TASK)
            assert caught.value is error
        return run_id

    status, result = stored_tasks(store, go(main()))["task"]
    assert status == "failed"
    assert result is not None
    assert result.error is not None
    assert result.error.boundary == ("input" if isinstance(error, InputError) else "bug")
    assert result.error.kind == type(error).__name__
    assert result.error.message


def test_a_bug_among_failures_is_the_bug(store: Store) -> None:
    """Of what a group of work side by side raised, the bug is what must not be hidden."""

    async def work(_task: Task, _run: Run) -> Result:
        raise ExceptionGroup("x", [BudgetExceeded("b", limit="calls"), ExceptionGroup("y", [ZeroDivisionError("bug")])])

    async def main() -> None:
        with pytest.raises(ZeroDivisionError, match="bug"):
            await work_once(store, await new_run(store), work)

    go(main())


@pytest.mark.parametrize("given", [None, "an answer", 5])
def test_a_system_that_gives_no_result_is_told_so(store: Store, given: object) -> None:
    """By name, with what it gave."""

    async def work(_task: Task, _run: Run) -> Result:
        return given  # type: ignore[return-value]

    async def main() -> None:
        with pytest.raises(
            TypeError, match=f"system does: solve must return a Result, and gave {type(given).__name__}"
        ):
            await work_once(store, await new_run(store), work)

    go(main())


def test_one_task_s_failure_leaves_its_siblings_alone(store: Store) -> None:
    """Side by side in one sitting: each ends as its own work ends."""

    async def work(task: Task, run: Run) -> Result:
        text = (await run.model(Says(echo), role="r").reply(ask(task.id))).text
        if task.id == "fails":
            raise ModelUnavailable("gone")
        if task.id == "bug":
            raise KeyError("bug")
        await asyncio.sleep(0.01)
        return done(text)

    async def main() -> tuple[str, list[Result | BaseException]]:
        names = ("good", "fails", "bug", "fine")
        run_id = await new_run(store, *(Task(question="q", id=name) for name in names))
        async with sit(store, run_id) as sitting:
            _, listed = await sittings.read_config(store, run_id)
            work_all = (sitting.execute(Does(work), task) for task in listed)
            return run_id, await asyncio.gather(*work_all, return_exceptions=True)

    run_id, results = go(main())
    assert [getattr(result, "status", "raised") for result in results] == ["completed", "failed", "raised", "completed"]
    stored = stored_tasks(store, run_id)
    assert {name: status for name, (status, _) in stored.items()} == {
        "good": "completed",
        "fails": "failed",
        "bug": "failed",
        "fine": "completed",
    }
    assert results[3] == stored["fine"][1]


def test_each_task_has_a_best_answer_of_its_own(store: Store) -> None:
    """What one task kept is never another's."""

    async def work(task: Task, run: Run) -> Result:
        if task.id == "keeps":
            run.child("inner").keep("kept")
        raise BudgetExceeded("used up", limit="calls")

    async def main() -> list[Result]:
        both = (Task(question="q", id="keeps"), Task(question="q", id="silent"))
        async with sit(store, await new_run(store, *both)) as sitting:
            return [await sitting.execute(Does(work), task) for task in both]

    assert [result.answer for result in go(main())] == ["kept", None]


def test_a_result_that_a_system_gives_itself_is_kept(store: Store) -> None:
    """Its own status, answer, sources and details; the usage and the run's id are the run's to say."""
    given = Result(
        status="failed", answer="half", sources=(Source(ref="a", quote="b"),), run_id="made up", details={"k": [1]}
    )

    async def work(_task: Task, run: Run) -> Result:
        run.keep("kept")
        await run.model(Says(echo), role="r").reply(ask("one"))
        return given

    async def main() -> tuple[str, Result]:
        run_id = await new_run(store)
        return run_id, await work_once(store, run_id, work)

    run_id, result = go(main())
    assert result.model_copy(update={"run_id": "made up", "usage": given.usage}) == given
    assert (result.run_id, result.usage.calls) == (run_id, 1)


@pytest.mark.parametrize("swallows", [False, True])
def test_ctrl_c_leaves_a_run_that_can_go_on(store: Store, swallows: bool) -> None:
    """The cancellation passes, whoever else it meets on its way, and what was committed is paid for."""
    model, sittings_so_far = Says(echo), [0]
    started = asyncio.Event()

    async def work(_task: Task, run: Run) -> Result:
        sittings_so_far[0] += 1
        await run.model(model, role="r").reply(ask("one"))
        if sittings_so_far[0] == 1:
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                if swallows:
                    await run.model(model, role="r").reply(ask("a last word"))
        return done("x")

    async def main() -> Result:
        run_id = await new_run(store)
        first = asyncio.ensure_future(work_once(store, run_id, work))
        await started.wait()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        row = resolve_run(store, run_id)
        assert (row.status, row.owner) == ("running", None)
        return await work_once(store, run_id, work)

    assert go(main()).status == "completed"
    assert [request.messages[-1].content for request in model.requests] == (
        ["one", "a last word"] if swallows else ["one"]
    )


def test_nothing_that_a_call_in_flight_cost_is_lost_when_its_run_is_broken_off(store: Store) -> None:
    """The ledger of the next sitting knows of a call whose reply nobody saw."""

    async def hangs(_request: Request) -> str:
        asyncio.get_running_loop().call_soon(running[0].cancel)
        await asyncio.Event().wait()
        raise AssertionError

    running: list[asyncio.Task[Result]] = []

    async def work(_task: Task, run: Run) -> Result:
        await run.model(Says(hangs), role="r").reply(ask("one"))
        raise AssertionError

    async def main() -> None:
        run_id = await new_run(store)
        running.append(asyncio.ensure_future(work_once(store, run_id, work)))
        with pytest.raises(asyncio.CancelledError):
            await running[0]
        async with sit(store, run_id) as sitting:
            total = sitting.root.ledger.total("earlier")
            assert (total.calls, total.failed, total.unknown) == (1, 1, 1)

    go(main())


def test_a_finished_run_holds_its_result_and_no_owner(store: Store) -> None:
    """Status, error, time worked: all that a list of runs shows."""

    async def main() -> list[str]:
        found = []
        for work in (raising(ModelUnavailable("gone")), raising(BudgetExceeded("used up", limit="calls"))):
            run_id = await new_run(store)
            result = await work_once(store, run_id, work)
            row = resolve_run(store, run_id)
            assert row.owner is None
            assert row.result is not None
            assert Result.model_validate_json(store.blob(row.result)) == result
            assert row.error == (result.error and result.error.message)
            found.append(row.status)
        return found

    assert go(main()) == ["failed", "budget"]


def test_events_frame_each_sitting(store: Store) -> None:
    """From start to end, with the facts about this machine in the first."""

    async def work(_task: Task, run: Run) -> Result:
        run.emit("test.here")
        return done("x")

    async def main() -> str:
        run_id = await new_run(store)
        await work_once(store, run_id, work, facts={"python": "3"})
        return run_id

    run_id = go(main())
    events = event_list(store, run_id)
    assert [(event.kind, event.scope) for event in events] == [
        ("run.started", ""),
        ("task.started", "task"),
        ("test.here", "task"),
        ("task.finished", "task"),
        ("run.finished", ""),
    ]
    assert events[0].payload == {"run": run_id, "python": "3"}


def test_a_run_that_is_not_there_is_bad_input(store: Store) -> None:
    """Said before anything is taken or written."""
    with pytest.raises(InputError, match="run nothing is not in the store"):
        go(sittings.read_config(store, "nothing"))


def test_tasks_and_config_are_read_back_as_they_were_written(store: Store) -> None:
    """In their order, whatever their names."""
    written = [Task(question=f"q {n}", id=name, cluster="c", context={"n": n}) for n, name in enumerate("zabc")]

    async def main() -> tuple[object, list[Task]]:
        run_id = await sittings.create(
            store, kind="solve", system="s", model="m", title="t", config={"a": [1, None]}, tasks=written
        )
        return await sittings.read_config(store, run_id)

    config, read = go(main())
    assert config == {"a": [1, None]}
    assert read == written


def test_a_thousand_scopes_side_by_side_lose_nothing(store: Store) -> None:
    """Each peer's calls are in its own scope, committed once, and all are there to be replayed."""
    model, sittings_so_far = Says(echo), [0]

    async def work(_task: Task, run: Run) -> Result:
        sittings_so_far[0] += 1

        async def peer(scope: Run) -> str:
            return (await scope.model(model, role="peer").reply(ask(scope.scope))).text

        texts = await side_by_side([peer(run.child(f"peer-{n}")) for n in range(1000)])
        assert texts == [f"echo task/peer-{n}" for n in range(1000)]
        if sittings_so_far[0] == 1:
            raise asyncio.CancelledError
        return done("x")

    async def main() -> tuple[str, Result]:
        run_id = await new_run(store)
        await interrupted(store, run_id, work)
        return run_id, await work_once(store, run_id, work)

    run_id, result = go(main())
    assert (result.usage.calls, result.earlier.calls, len(model.requests)) == (0, 1000, 1000)
    assert len(rows(store, run_id)) == 1000

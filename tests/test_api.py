"""The front door: solve, resume, run."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import motet
from motet.errors import InputError, ModelUnavailable, RunBusy
from motet.models.model import Request
from motet.models.scripted import ScriptedModel, echo
from motet.runs.events import Event
from motet.settings import Provider, Settings
from motet.store.queries import resolve_run, run_list
from motet.store.schema import runs
from motet.store.store import Store
from motet.task import Result, Task
from motet.testing import Fault, Faults, ModelServer
from motet.tools.function import FunctionTool
from tests.runs.desk import Does, Says, done, go, in_turn, sit


def titles() -> list[str]:
    """The titles of the runs in the default store."""
    with Store.open() as store:
        return [row.title for row in run_list(store)]


@pytest.fixture
def empty(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home without runs, and a working directory without settings."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return home


# Solving


def test_a_task_is_solved_by_name_and_by_object_alike(empty: Path) -> None:
    """The same answer, the same configuration in the store, and the synchronous twin."""
    by_name = go(motet.solve("Say this.", model="scripted:echo"))
    by_object = go(motet.solve(Task(question="Say this."), system=motet.React(model="scripted:echo")))
    twin = motet.run("Say this.", model="scripted:echo")
    assert {result.answer for result in (by_name, by_object, twin)} == {"Say this."}
    assert by_name.status == by_object.status == twin.status == "completed"
    with Store.open() as store:
        configs = {resolve_run(store, result.run_id).config for result in (by_name, by_object, twin)}
    assert len(configs) == 1


def test_a_result_s_json_round_trips(empty: Path) -> None:
    """What ``--json`` prints is the whole Result."""
    result = motet.run("Say this.", model="scripted:echo")
    assert Result.model_validate_json(result.model_dump_json()) == result
    assert result.run_id


def test_a_store_that_is_given_open_stays_open_and_another_is_closed(
    empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when solving raises."""
    closed: list[str] = []
    close = Store.close

    def noted(store: Store) -> None:
        closed.append(store.name)
        close(store)

    monkeypatch.setattr(Store, "close", noted)
    with Store.open(f"sqlite:///{empty / 'mine.db'}") as mine:
        motet.run("x", model="scripted:echo", store=mine)
        assert closed == []
        assert [row.title for row in run_list(mine)] == ["x"]
    other = f"sqlite:///{empty / 'other.db'}"
    motet.run("x", model="scripted:echo", store=other)
    with pytest.raises(InputError):
        motet.run("x", model="scripted:unknown", store=other)
    assert closed.count(other) == 2


def test_any_object_with_a_name_and_solve_is_a_system(empty: Path) -> None:
    """No base class is needed; such a run cannot be rebuilt from its configuration, and says how to resume it."""
    model, broken = Says(lambda _request: "an answer"), [True]

    async def work(task: Task, run: motet.Run) -> Result:
        reply = await run.model(model, role="r").reply(_ask(task.question))
        if broken.pop() if broken else False:
            raise ModelUnavailable("gone")
        return done(reply.text)

    system = Does(work)
    first = motet.run("q", system=system)
    assert first.status == "failed"
    with pytest.raises(InputError, match=rf"resume it from Python: motet.resume\('{first.run_id}', system=…\)"):
        go(motet.resume(first.run_id))
    again = go(motet.resume(first.run_id, system=system))
    assert (again.answer, again.usage.calls, again.earlier.calls) == ("an answer", 0, 1)


def test_a_system_of_objects_is_resumed_with_them(empty: Path) -> None:
    """Model and Tool objects have no name to be written down; given again, they go on where the run stood."""

    def look(topic: str) -> str:
        """Look.

        :param topic: At what.
        """
        return topic

    model = Says(in_turn([ModelUnavailable("gone"), "an answer"]))
    system = motet.React(model=model, tools=(FunctionTool(look),))
    first = motet.run("q", system=system)
    with pytest.raises(InputError, match="was given its system as a Python object"):
        go(motet.resume(first.run_id))
    assert go(motet.resume(first.run_id, system=system)).answer == "an answer"


# Resuming


def test_a_completed_run_gives_its_result_again_without_any_call(empty: Path) -> None:
    """Nor does it become a new sitting."""
    model = Says(lambda _request: "an answer")
    first = motet.run("q", system=motet.React(model=model))
    events: list[Event] = []
    assert go(motet.resume(first.run_id, watchers=[events.append])) == first
    assert len(model.requests) == 1
    assert events == []


def test_a_run_is_rebuilt_from_its_stored_configuration(empty: Path) -> None:
    """Budget and system included; a larger budget lets it go on, and what was spent stays spent."""
    first = motet.run("Say this.", model="scripted:echo", max_tokens=50, budget=motet.Budget(tokens=60))
    assert first.status == "budget"
    assert go(motet.resume(first.run_id)).status == "budget"
    again = go(motet.resume(first.run_id, budget=motet.Budget(tokens=5000)))
    assert (again.status, again.answer) == ("completed", "Say this.")


def test_a_run_in_work_is_refused_with_its_owner(empty: Path) -> None:
    """Whoever asks."""
    first = motet.run("Say this.", model="scripted:echo", budget=motet.Budget(tokens=60))

    async def main() -> None:
        with Store.open() as store:
            async with sit(store, first.run_id):
                with pytest.raises(RunBusy, match="is being worked on by process"):
                    await motet.resume(first.run_id)

    go(main())


def test_a_run_that_is_not_there_or_is_too_new_is_bad_input(empty: Path) -> None:
    """And says which version this is."""
    with pytest.raises(InputError, match="run nothing is not in the store"):
        go(motet.resume("nothing"))
    first = motet.run("x", model="scripted:echo", budget=motet.Budget(tokens=60))
    with Store.open() as store:
        from motet.store.store import as_blob

        name, body = as_blob({"format": 99})
        change = runs.update().where(runs.c.id == first.run_id).values(config=name)
        store.write_now(blobs={name: body}, then=lambda connection: connection.execute(change))
    with pytest.raises(InputError, match=rf"cannot be resumed by this version of Motet \({motet.__version__}\)"):
        go(motet.resume(first.run_id))


# Bad input


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"system": "raect"}, "unknown system 'raect'; did you mean 'react'?"),
        ({"model": "scripted:ecko"}, "did you mean 'echo'?"),
        ({"modle": "scripted:echo"}, "unknown key 'modle'; did you mean 'model'?"),
        ({"max_steps": 0}, "max_steps"),
        ({"model": "scripted:echo", "tools": ["pyton"]}, "did you mean 'python'?"),
        ({"model": "nowhere:m"}, "nowhere"),
        ({"model": "m@http://127.0.0.1:9/v1"}, "is the server running"),
        ({"model": "openai:gpt-4o-mini"}, "OPENAI_API_KEY"),
        ({"system": object()}, "object is no System"),
        ({"system": motet.React}, "the system is the class React; give an instance of it"),
        (
            {"system": motet.React(model="scripted:echo"), "max_steps": 3},
            "max_steps: configuration goes into the system",
        ),
        ({"model": "scripted:echo", "store": "no url"}, "is no database URL"),
    ],
)
def test_bad_input_is_one_clear_line_and_leaves_nothing_behind(empty: Path, options: dict[str, Any], told: str) -> None:
    """Said before a run exists."""
    with pytest.raises(InputError) as caught:
        motet.run("a task", **options)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
    assert titles() == []


@pytest.mark.parametrize("task", ["", "  \n"])
def test_an_empty_task_is_bad_input(empty: Path, task: str) -> None:
    """There is nothing to do."""
    with pytest.raises(InputError, match="the task is empty"):
        motet.run(task, model="scripted:echo")


def test_a_task_of_odd_characters_is_kept_as_far_as_a_store_can(empty: Path) -> None:
    """Lone surrogates and NUL can be carried by no store and no wire."""
    result = motet.run("a\ud800b\x00c ☃", model="scripted:echo")
    assert result.answer == "a?bc ☃"


def test_run_where_a_loop_runs_says_what_to_do(empty: Path) -> None:
    """As in a notebook; and leaves no coroutine behind that was never awaited."""

    async def main() -> None:
        with pytest.raises(InputError, match=r"await motet.solve\(…\) instead"):
            motet.run("x", model="scripted:echo")

    go(main())


def test_resume_takes_what_solve_takes_for_a_sitting() -> None:
    """What concerns one sitting can be given to each."""
    solve, resume = (inspect.signature(function).parameters for function in (motet.solve, motet.resume))
    ours = {"budget", "price", "store", "settings", "watchers", "read_deltas"}
    assert ours <= solve.keys()
    assert ours <= resume.keys()


# Over the wire


def _ask(text: str) -> Request:
    return Request(messages=(motet.Message(role="user", content=text),), max_tokens=100)


def test_a_fifth_of_all_answers_failing_changes_no_answer_and_loses_no_call(empty: Path) -> None:
    """Two dozen agents against a real server: the same answers as without faults, and the ledger knows of every attempt that the server saw and that may
    have been billed.
    """
    tasks = [f"Say {n} again." for n in range(24)]

    async def answers(faults: Faults) -> tuple[list[Result], ModelServer]:
        model = ScriptedModel("echo", echo)
        async with ModelServer(model, faults=faults) as server:
            settings = Settings(providers={"desk": Provider(base_url=server.base_url, attempts=20, max_parallel=20)})
            async with asyncio.TaskGroup() as group:
                with Store.open(f"sqlite:///{empty / 'wire.db'}") as store:
                    work = [
                        group.create_task(motet.solve(task, model="desk:echo", store=store, settings=settings))
                        for task in tasks
                    ]
                    await asyncio.wait(work)
            return [item.result() for item in work], server

    calm, quiet = go(answers(Faults()))
    stormy, server = go(answers(Faults.mixed(0.2, seed=5)))
    assert [result.answer for result in stormy] == [result.answer for result in calm] == tasks
    failed = [served for served in server.served if not served.completed]
    assert len(quiet.served) == sum(served.completed for served in server.served) == len(tasks)
    assert len(failed) >= 3
    unbilled = {Fault.THROTTLE, Fault.THROTTLE_DATE, Fault.SERVER_ERROR}
    assert sum(result.usage.calls for result in stormy) == len(tasks) + sum(
        served.fault not in unbilled for served in failed
    )
    assert sum(result.usage.tokens for result in stormy) >= sum(result.usage.tokens for result in calm)
    with Store.open(f"sqlite:///{empty / 'wire.db'}") as store:
        from motet.store.schema import calls

        attempts = store.read_now(
            lambda connection: connection.execute(sa.select(sa.func.sum(calls.c.attempts))).scalar()
        )
    assert attempts == len(server.served) + len(quiet.served)


def test_deltas_are_read_as_they_stream(empty: Path) -> None:
    """By scope; put together they are the answer."""
    heard: list[tuple[str, str]] = []

    async def main() -> Result:
        async with ModelServer(ScriptedModel("echo", echo)) as server:
            return await motet.solve(
                "Say all of this again.",
                model=f"echo@{server.base_url}",
                read_deltas=lambda scope, text: heard.append((scope, text)),
            )

    result = go(main())
    assert len({scope for scope, _ in heard}) == 1
    assert "".join(text for _, text in heard) == result.answer
    assert len(heard) > 1


@pytest.mark.parametrize("given", [{"task": 5}, {"task": None}, {"task": "x", "budget": 5}])
def test_a_task_or_budget_of_another_kind_is_bad_input(home: Path, given: dict[str, Any]) -> None:
    """The line says what is expected, and nothing is written."""
    with pytest.raises(InputError, match=r"motet\.(Task|Budget)"):
        motet.run(**given, model="scripted:echo")
    assert not (home / "motet.db").exists()


@pytest.mark.parametrize("resumed", [False, True])
def test_an_answer_to_plans_is_yes_no_or_a_function(empty: Path, resumed: bool) -> None:
    """Anything else is bad input before a run exists."""
    wrong: Any = "yes"
    asked = motet.resume("last", approve=wrong) if resumed else motet.solve("hi", system="noop", approve=wrong)
    with pytest.raises(InputError, match="approve is True, False or a function of the plan, not str"):
        go(asked)
    assert titles() == []

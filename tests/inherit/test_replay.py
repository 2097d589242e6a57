"""The replay check holds where inheritance is right, and says what is wrong where something is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
import sqlalchemy as sa

from motet.errors import BadReply, InputError
from motet.inherit import KINDS, validate
from motet.inherit.records import NodeRecord, Records
from motet.inherit.replay import Replay, check, node_runs
from motet.inherit.replay_drawing import EFFECTS, FEWEST, draw, general_tasks, replay_roles
from motet.inherit.replay_figures import ARMS, ReplayCheck
from motet.models.model import ModelInfo, Reply, Request
from motet.runs.run import Run
from motet.store.schema import records
from motet.store.store import Store, read_blob
from motet.task import Result, Task
from motet.usage import Usage
from tests.runs.desk import Answer, Says, done, go, new_run, work_once

TASKS = general_tasks()


def told(request: Request) -> Reply:
    """A reply whose text and cost are decided by the request."""
    number = int(request.digest[:4], 16)
    return Reply(text=f"said {number}", usage=Usage(prompt=number % 997, completion=number % 31))


def replayed(
    store: Store,
    answer: Callable[[Request], Answer] = told,
    *,
    model: Says | None = None,
    tasks: int = 3,
    **options: Any,
) -> tuple[ReplayCheck, str]:
    """A check in a run of its own, and the run's id."""
    found: list[ReplayCheck] = []
    asked = model or Says(answer)

    async def work(_task: Task, run: Run) -> Result:
        found.append(await check(TASKS[:tasks], run=run, model=asked, **options))
        return done("checked")

    async def main() -> str:
        run_id = await new_run(store)
        await work_once(store, run_id, work)
        return run_id

    run_id = go(main())
    return found[0], run_id


def stored(store: Store, namespace: str) -> list[NodeRecord]:
    """All records of a namespace, as they are in the store."""

    def read(connection: sa.Connection) -> list[NodeRecord]:
        names = connection.execute(sa.select(records.c.body).where(records.c.namespace == namespace)).scalars().all()
        return [NodeRecord.model_validate_json(read_blob(connection, name)) for name in names]

    return store.read_now(read)


@pytest.mark.parametrize("seed", range(4))
def test_the_default_draw_has_every_kind_and_valid_workflows_of_five_nodes_or_more(seed: int) -> None:
    """For any seed, twenty tasks with an edit each see all nine kinds; every candidate is valid, has five nodes or more, and differs from the one before."""
    courses = draw(TASKS[:20], edits=1, seed=seed)
    assert {edit.kind for course in courses for edit in course.edits} == set(KINDS)
    for course in draw(TASKS[:6], edits=6, seed=seed):
        assert all(not validate(workflow, replay_roles(), EFFECTS) for workflow in course.candidates)
        assert all(len(workflow.nodes) >= FEWEST for workflow in course.candidates)
        assert all(old.hash != new.hash for old, new in zip(course.candidates, course.candidates[1:], strict=False))


def test_a_draw_is_decided_by_its_seed() -> None:
    """The same seed draws the same courses, another seed others."""
    assert draw(TASKS[:5], edits=3, seed=4) == draw(TASKS[:5], edits=3, seed=4)
    assert draw(TASKS[:5], edits=3, seed=4) != draw(TASKS[:5], edits=3, seed=5)


def test_two_tasks_of_one_id_are_bad_input() -> None:
    """A task that is there twice is refused by its id."""
    with pytest.raises(InputError, match=f"{TASKS[0].id!r} is there twice"):
        draw([TASKS[0], TASKS[0]], edits=1, seed=0)


@pytest.mark.parametrize("seed", range(2))
def test_tokens_of_the_inheriting_arms_are_the_sum_over_distinct_keys(store: Store, seed: int) -> None:
    """With a deterministic model every arm has the same outputs; the two that inherit spend what the records in the store, one for each key, say they cost, and less than all."""
    found, run_id = replayed(store, seed=seed, edits=6)
    assert found.ok, found.problems
    assert {saving.kind for saving in found.kinds} == set(KINDS)
    assert len({arm.sha256 for arm in found.arms}) == 1
    assert found.surprises == 0
    full = found.arm("full")
    assert full.reused == 0
    for name in ("store", "localised"):
        arm, written = found.arm(name), stored(store, f"replay/{run_id}/{name}")
        assert arm.keys == len(written) == len({record.determinants.key for record in written})
        assert arm.tokens == arm.recorded == sum(record.usage.tokens for record in written)
        assert arm.tokens < full.tokens
        assert (arm.ran, arm.ran + arm.reused) == (len(written), full.ran)
    assert 0 < found.edits.affected < found.edits.nodes


def test_an_arm_is_never_answered_by_another(store: Store) -> None:
    """The model is asked for every node of both full arms, and for every key of each inheriting arm."""
    model = Says(told, native_tools=False)
    found, _ = replayed(store, model=model, edits=2)
    assert len(model.requests) >= sum(arm.ran for arm in found.arms)
    assert found.arm("full").tokens == found.arm("again").tokens > found.arm("store").tokens


def test_a_model_that_counts_its_calls_is_caught_by_running_everything_twice(store: Store) -> None:
    """A model whose replies depend on how often it was asked ends the check at the first task, with the node and both texts."""
    numbers = count()
    found, _ = replayed(store, lambda _request: f"call {next(numbers)}", edits=1)
    (problem,) = found.problems
    assert problem.startswith(
        "the model is not deterministic, so nothing can be compared: running everything twice differs at"
    )
    assert TASKS[0].id in problem
    assert "'call 0' and 'call 1" in problem
    assert len(found.tasks) == 1
    assert found.arm("store").ran == found.arm("localised").ran == 0
    assert "does not hold: the model is not deterministic" in found.text()


def test_an_inheriting_arm_that_differs_is_told(store: Store) -> None:
    """Where running everything gives the same twice and an inheriting arm does not, the arm is named."""
    calls = count()
    found, _ = replayed(store, lambda _request: "late" if next(calls) >= 10 else "early", tasks=1, edits=0)
    assert found.problems[0].startswith("the arm 'store' differs from running everything at")
    assert "'early' and 'late'" in found.problems[0]


def test_a_node_that_fails_is_no_evidence(store: Store) -> None:
    """A node that fails the same way in every arm makes the check fail by name, though all outputs are equal."""

    def say(request: Request) -> Answer:
        return BadReply("it was empty") if "What is missing?" in request.messages[-1].content else told(request)

    found, _ = replayed(store, say, tasks=1, edits=0)
    assert any("'gaps' failed: it was empty" in problem for problem in found.problems)


def test_tokens_that_nobody_counted_are_told(store: Store) -> None:
    """Replies without usage make the check fail, since unknown is not equal to anything."""
    found, _ = replayed(store, lambda _request: Reply(text="yes"), tasks=1, edits=0)
    assert any("came without their usage" in problem for problem in found.problems)


def test_records_that_do_not_account_for_the_tokens_are_told(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where what was computed is not recorded, the sums differ, and both are told."""

    monkeypatch.setattr(Records, "post", lambda _self, _record: None)
    found, _ = replayed(store, tasks=1, edits=1)
    (problem,) = [problem for problem in found.problems if "'store'" in problem]
    assert problem.endswith("have records of 0")
    assert f"spent {found.arm('full').tokens:,} tokens" in problem


class Changing(Says):
    """A model whose identity is another each time it is looked at."""

    _numbers: Iterator[int] = count()

    @property
    def info(self) -> ModelInfo:
        """What is known about it now."""
        return self._info.model_copy(update={"identity": f"changing {next(self._numbers)}"})

    @info.setter
    def info(self, info: ModelInfo) -> None:
        self._info = info


def test_a_key_that_changes_behind_the_edits_is_a_surprise(store: Store) -> None:
    """A determinant that changes without an edit is counted at every node that no edit could reach."""
    found, _ = replayed(store, model=Changing(told), tasks=2, edits=1)
    unreached = found.edits.nodes - found.edits.affected
    assert found.surprises == unreached > 0
    assert f"{unreached} nodes that no edit could reach had another key" in found.problems


def test_the_system_is_asked_for_exactly_the_embedded_model_and_gives_the_check_as_its_details(store: Store) -> None:
    """`embedded` becomes the exact one; the result's details are the check, its answer the check in words."""
    assert Replay(tasks=TASKS[:1], model="embedded").model == "embedded:exact"
    assert Replay(tasks=TASKS[:1], model="scripted:echo").model == "scripted:echo"
    system = Replay(tasks=TASKS[:2], model=Says(told), seed=3, edits=2)
    assert node_runs(system.courses) > 2 * 2 * 3 * FEWEST

    async def main() -> Result:
        return await work_once(store, await new_run(store), lambda task, run: system.solve(task, run=run))

    result = go(main())
    found = ReplayCheck.model_validate(result.details)
    assert (result.status, result.answer) == ("completed", found.text())
    assert [arm.name for arm in found.arms] == list(ARMS)
    assert all(len(line) <= 100 or line.startswith("model: ") for line in found.text().splitlines())
    assert "17.7%, with Qwen3-14B on LiveCodeBench" in found.text()


def test_a_check_that_does_not_hold_is_a_failed_result(store: Store) -> None:
    """The result of a check with a problem has failed, with the problem as its error and the figures so far."""
    numbers = count()
    system = Replay(tasks=TASKS[:2], model=Says(lambda _request: f"call {next(numbers)}"))

    async def main() -> Result:
        return await work_once(store, await new_run(store), lambda task, run: system.solve(task, run=run))

    result = go(main())
    assert (result.status, result.error and result.error.kind) == ("failed", "ReplayDiffers")
    assert result.error is not None
    assert "not deterministic" in result.error.message
    assert not ReplayCheck.model_validate(result.details).ok

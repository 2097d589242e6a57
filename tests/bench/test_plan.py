"""Plans: what a bench is, as data that another process can work from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from motet.agent.react import React
from motet.baselines.noop import Noop
from motet.bench.plan import Plan, build_systems, draw_up, label_systems, open_benchmark, pick
from motet.errors import InputError
from motet.system import System
from tests.bench.toys import Buggy

SUMS = "tests.bench.toys:Sums"
IDS = st.lists(st.from_regex(r"[a-z]{1,6}#[0-9]{1,3}", fullmatch=True), min_size=1, max_size=40, unique=True)


@given(IDS, st.integers(1, 60), st.integers(0, 5))
def test_a_pick_is_some_of_the_tasks_in_their_order(ids: list[str], number: int, seed: int) -> None:
    """A limit takes the first ones, a sample as many from anywhere; none twice, none out of order, and the same for the same seed."""
    first, some = pick(ids, limit=number), pick(ids, sample=number, seed=seed)
    assert list(first) == ids[:number]
    assert len(some) == min(number, len(ids)) == len(set(some))
    assert list(some) == sorted(some, key=ids.index)
    assert some == pick(ids, sample=number, seed=seed)


@pytest.mark.parametrize(
    ("ids", "limit", "sample", "said"),
    [
        (["a"], 0, None, "--limit is 0"),
        (["a"], None, -1, "--sample is -1"),
        (["a"], 1, 1, "give one of them"),
        ([], None, None, "no tasks"),
        (["a", "b", "a"], 1, None, "two tasks called 'a'"),
    ],
)
def test_what_cannot_be_picked_is_refused(ids: list[str], limit: int | None, sample: int | None, said: str) -> None:
    """A number below one, both kinds at once, a benchmark without tasks or with two of one name."""
    with pytest.raises(InputError, match=said):
        pick(ids, limit=limit, sample=sample)


@given(st.integers(1, 4), st.integers(1, 5), st.integers(1, 3))
def test_cells_are_numbered_once_each_and_task_by_task(epochs: int, size: int, systems: int) -> None:
    """Every system meets every task in every epoch; a bench cut short has worked its systems on the same tasks, but for the last one."""
    plan = draw_up(SUMS, [Noop()] * systems, options={"size": size}, epochs=epochs)
    cells = list(plan.cells())
    assert [cell.number for cell in cells] == list(range(1, plan.size + 1))
    assert len({(cell.label, cell.epoch, cell.task_id) for cell in cells}) == plan.size
    for start in range(0, plan.size, systems):
        assert len({(cell.epoch, cell.task_id) for cell in cells[start : start + systems]}) == 1


def test_a_plan_survives_the_store() -> None:
    """As JSON and back it is the same plan, and its systems are built again as they were."""
    systems: list[System] = [React(model="scripted:echo", max_steps=3), React(model="scripted:echo"), Noop()]
    plan = draw_up(SUMS, systems, limit=2, seed=4)
    again = Plan.model_validate_json(plan.model_dump_json())
    assert again == plan
    assert list(build_systems(again)) == ["react", "react-2", "noop"]
    assert list(build_systems(again).values()) == systems


def test_a_system_that_only_python_can_give_is_asked_for() -> None:
    """It stands in by its place; without it there is one clear error."""
    plan = draw_up(SUMS, [Noop(), Buggy()], limit=1)
    held = plan.model_copy(update={"systems": (plan.systems[0], plan.systems[1].model_copy(update={"config": None}))})
    assert isinstance(build_systems(held, [Noop(), Buggy()])["buggy"], Buggy)
    with pytest.raises(InputError, match="buggy was given as a Python object"):
        build_systems(held)


def test_labels_are_unique() -> None:
    """Two systems of one name are told apart."""
    assert [entry.label for entry in label_systems([Noop(), Noop(), Noop()])] == ["noop", "noop-2", "noop-3"]


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("workbnch", {}, "did you mean 'workbench'"),
        ("workbench", {"dialect": "2025"}, "'2024' or '2026'"),
        ("workbench", {"dialct": "2024"}, "did you mean 'dialect'"),
        ("workbench", {"plot_end_date": True}, "dialect=2026"),
        (SUMS, {"size": "many"}, "size"),
        ("tests.bench.toys:Buggy", {}, "is no Benchmark"),
        ("tests.bench.toys:Summs", {}, "did you mean 'Sums'"),
        ("no_such_module:Sums", {}, "no module 'no_such_module'"),
    ],
)
def test_a_wrong_benchmark_is_named(name: str, options: dict[str, object], said: str) -> None:
    """An unknown name, class, option or value gives one line that says what would be right."""
    with pytest.raises(InputError, match=said):
        open_benchmark(name, options)


def test_a_plan_has_at_least_one_cell() -> None:
    """A bench of nothing is no bench."""
    plan = draw_up(SUMS, [Noop()], limit=1)
    wrong: list[dict[str, object]] = [{"systems": []}, {"tasks": []}, {"epochs": 0}]
    for empty in wrong:
        with pytest.raises(ValidationError):
            Plan.model_validate({**plan.model_dump(mode="json"), **empty})

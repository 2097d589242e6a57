"""What a study's benches are, and what is refused before anything is run."""

from __future__ import annotations

from typing import Any

import pytest

from motet.errors import InputError
from motet.studies.catalogue import STUDIES, open_study, study_class
from motet.studies.study import Setup


@pytest.mark.parametrize("name", [name for name in STUDIES if study_class(name).benchmark == "hotpotqa"])
def test_a_study_is_called_by_its_name_and_its_bench_has_its_variants(name: str, home: object) -> None:
    """By default on invented questions with a scripted model, a sample of the study's own size; its own bench passes its check."""
    study = open_study(name)
    plan = study.begin(Setup(options={"count": 200}, seed=3))
    assert study.name == name
    assert (plan.benchmark, plan.options, plan.seed) == ("hotpotqa", {"questions": "invented", "count": 200}, 3)
    assert len(plan.tasks) == study.tasks
    assert len({entry.label for entry in plan.systems}) == len(plan.systems)
    for entry in plan.systems:
        assert entry.config is not None
        assert entry.config["model"] == "scripted:scholar"
    study.check("run", plan)


def test_what_the_user_sets_reaches_every_system_that_has_it() -> None:
    """A key of some systems only is set in those; what a variant sets stays."""
    plan = open_study("budget").begin(Setup(settings={"candidates": 3, "model": "scripted:reader"}, limit=2))
    configs: dict[str, Any] = {entry.label: entry.config for entry in plan.systems}
    assert configs["inherit"]["candidates"] == 3
    assert "candidates" not in configs["react"]
    assert {config["model"] for config in configs.values()} == {"scripted:reader"}
    assert len(plan.tasks) == 2


@pytest.mark.parametrize(
    ("name", "setup", "words"),
    [
        ("control", Setup(settings={"control": "naive"}), "control is what this study sets itself"),
        ("inheritance", Setup(settings={"candidate": 3}), "no system of this study has the key 'candidate'; did you mean 'candidates'"),
        ("locality", Setup(benchmark="tests.bench.toys:Sums"), "no model is given"),
        ("locality", Setup(benchmark="hotpotq"), "unknown benchmark 'hotpotq'; did you mean 'hotpotqa'"),
        ("locality", Setup(limit=0), "--limit is 0"),
        ("models", Setup(settings={"model": "embedded"}), "name them with --worker-models"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(name: str, setup: Setup, words: str) -> None:
    """In one line that says what would be right."""
    with pytest.raises(InputError, match=words):
        open_study(name).begin(setup)


def test_an_unknown_study_and_an_option_of_another_are_refused() -> None:
    """The nearest name is offered."""
    with pytest.raises(InputError, match="did you mean 'switches'"):
        open_study("switchs")
    with pytest.raises(InputError, match="the study locality takes no --worker-models"):
        open_study("locality", {"worker_models": ("embedded",)})


def test_models_are_changed_one_role_at_a_time() -> None:
    """Each model of each role is a variant of its own; a single one is compared with the model of all."""
    chosen = {"worker_models": ("scripted:echo", "scripted:reader"), "judge_models": ("scripted:echo",)}
    plan = open_study("models", chosen).begin(Setup(limit=1))
    assert [entry.label for entry in plan.systems] == [
        "worker=scripted:echo", "worker=scripted:reader", "judge=scripted:echo"
    ]  # fmt: skip
    changed = [
        {role for role in ("worker_model", "meta_model", "judge_model") if (entry.config or {})[role] is not None}
        for entry in plan.systems
    ]
    assert changed == [{"worker_model"}, {"worker_model"}, {"judge_model"}]
    single = open_study("models", {"meta_models": ("scripted:echo",)}).begin(Setup(limit=1))
    assert [entry.label for entry in single.systems] == ["all=scripted:scholar", "meta=scripted:echo"]


def test_a_bench_of_something_else_is_refused() -> None:
    """The missing variant is named."""
    plan = open_study("locality").begin(Setup(limit=1))
    with pytest.raises(InputError, match="none of the study switches: it has no variant 'full'"):
        open_study("switches").check("run", plan)

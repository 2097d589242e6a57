"""What the command line says about systems, places and the command itself, as a bench understands it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from motet.agent.react import React
from motet.cli.benchwork import built_systems, check_page, command_line, ray_from
from motet.cli.modes import EngineName
from motet.errors import InputError


def test_settings_reach_the_systems_they_are_for() -> None:
    """One for all goes to every system that has the key; one with a name goes to that system alone, also to the second of two."""
    settings = ["max_tokens=50", "react.max_steps=3", "react-2.max_steps=5", "react-2.sampling.seed=1"]
    first, second, noop = built_systems(["react", "react", "noop"], model="scripted:echo", tools=[], settings=settings)
    assert isinstance(first, React)
    assert isinstance(second, React)
    assert (first.max_steps, first.max_tokens, first.sampling.seed) == (3, 50, None)
    assert (second.max_steps, second.max_tokens, second.sampling.seed) == (5, 50, 1)
    assert noop.name == "noop"


@pytest.mark.parametrize(
    ("names", "given", "said"),
    [
        ([], {}, "names no system"),
        (["noop"], {"model": "scripted:echo"}, "--model: noop takes no settings"),
        (["noop"], {"tools": ["python"]}, "--tools: noop takes no settings"),
        (["noop", "react"], {"settings": ["max_step=1"]}, "did you mean 'max_steps'"),
        (["react"], {"settings": ["react-2.max_steps=1"]}, "-c react-2.max_steps=1"),
        (["react"], {"settings": ["react.max_step=1"]}, "did you mean 'max_steps'"),
    ],
)
def test_nothing_that_was_given_is_ignored(names: list[str], given: dict[str, object], said: str) -> None:
    """A flag or setting that fits no system is an error that names it."""
    whole = {"model": None, "tools": [], "settings": [], **given}
    with pytest.raises(InputError, match=said):
        built_systems(names, **whole)  # type: ignore[arg-type]


def test_models_of_a_team_go_to_the_systems_that_are_teams() -> None:
    """Each system with the key is given the model; where none has it, the flag is bad input and is named."""
    given: dict[str, Any] = {"model": None, "tools": [], "settings": []}
    react, team = built_systems(["react", "inherit"], **given, team_models={"judge_model": "scripted:echo"})
    assert "judge_model" not in type(react).model_fields  # type: ignore[attr-defined]
    assert (team.judge_model, team.meta_model) == ("scripted:echo", None)  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="--meta-model: no system here has that key"):
        built_systems(["react"], **given, team_models={"meta_model": "scripted:echo"})


def test_what_belongs_to_ray_needs_ray() -> None:
    """Its options without it are refused; with it there are two workers unless said otherwise."""
    assert ray_from(None, workers=None, address=None) is None
    assert ray_from(EngineName.ray, workers=None, address=None) == (2, None)
    for options in ({"workers": 2, "address": None}, {"workers": None, "address": "127.0.0.1:1"}):
        with pytest.raises(InputError, match="--engine ray"):
            ray_from(EngineName.local, **options)


def test_a_page_that_cannot_be_written_is_known_beforehand(tmp_path: Path) -> None:
    """A folder, a folder that is not there; a file that is there may be written over."""
    pytest.importorskip("matplotlib", reason="the extra 'bench' is not installed")
    (tmp_path / "there.html").write_text("old", encoding="utf-8")
    check_page(tmp_path / "there.html")
    check_page(tmp_path / "new.html")
    assert not (tmp_path / "new.html").exists()
    for wrong in (tmp_path, tmp_path / "nowhere" / "x.html"):
        with pytest.raises(InputError, match="--html"):
            check_page(wrong)


def test_the_stored_command_holds_no_store_url() -> None:
    """A database URL may hold a password, and the command is printed in the page."""
    url = "postgresql://me:secret@host/db"
    for given in (["--store", url], [f"--store={url}"]):
        assert command_line(["bench", "workbench", *given, "-c", "a=b c"]) == "motet bench workbench -c 'a=b c'"

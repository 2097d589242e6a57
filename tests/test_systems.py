"""Systems by name, and how a run remembers which system it was given."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.agent.react import React
from motet.errors import InputError
from motet.models.model import Sampling
from motet.runs.run import Run
from motet.system import Configured, System
from motet.systems import SYSTEMS, build, describe, fields
from motet.task import Result, Task
from tests.runs.desk import Does, Says, done, echo

OWN = """
from motet import Configured, Result

class Base:
    name = "base"
    async def solve(self, task, *, run):
        return Result(status="completed")

class Team(Configured):
    peers: int = 3
    @property
    def name(self):
        return "team"
    async def solve(self, task, *, run):
        return Result(status="completed")

class Outer:
    Inner = Team

class NoSolve:
    name = "x"

class Positional(Base):
    def __init__(self, size):
        self.size = size

number = 5
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory with modules of a user's own."""
    import sys

    (tmp_path / "my_team.py").write_text(OWN)
    (tmp_path / "my_broken.py").write_text("1 / 0\n")
    (tmp_path / "my_needy.py").write_text("import a_module_nobody_has\n")
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)
    yield tmp_path
    assert sys.path == before
    for name in ("my_team", "my_broken", "my_needy"):
        sys.modules.pop(name, None)


def test_every_name_in_the_table_is_a_system() -> None:
    """It can be built with its defaults, is a System, and is described by its name."""
    for name in SYSTEMS:
        system = build(name, {})
        assert isinstance(system, System)
        described = describe(system)
        assert described["name"] == name
        assert isinstance(described["config"], dict)
        assert build(name, described["config"]) == system
        assert isinstance(fields(name), tuple)
    assert "max_steps" in fields("react")


def test_a_system_is_built_again_from_its_description() -> None:
    """Its whole configuration is written down, so that a default that changes later does not change a resumed run."""
    system = React(model="scripted:echo", tools=("python",), max_steps=3, sampling=Sampling(seed=1, stop=("x",)))
    described = describe(system)
    config = described["config"]
    assert isinstance(config, dict)
    assert config.keys() == set(fields("react"))
    assert build(str(described["name"]), config) == system


@pytest.mark.parametrize("system", [React(model=Says(echo)), Does(lambda _task, _run: None)])  # type: ignore[arg-type, return-value]
def test_objects_cannot_be_written_down(system: System) -> None:
    """And are never written down as something else."""
    assert describe(system)["config"] is None


def test_a_class_inside_a_function_cannot_be_found_again() -> None:
    """So its configuration is not kept."""

    class Local(Configured):
        @property
        def name(self) -> str:
            return "local"

        async def solve(self, task: Task, *, run: Run) -> Result:
            return done("x")

    assert describe(Local())["config"] is None


def test_one_s_own_system_is_found_where_the_command_runs(folder: Path) -> None:
    """By module and class, nested ones too; it is configured and described like Motet's own."""
    for name in ("my_team:Team", "my_team:Outer.Inner"):
        system = build(name, {"peers": 5})
        assert system.name == "team"
        assert describe(system) == {"name": "my_team:Team", "config": {"peers": 5}}
        assert fields(name) == ("peers",)
    assert build("my_team:Base", {}).name == "base"
    assert fields("my_team:Base") == ()


@pytest.mark.parametrize(
    ("name", "config", "told"),
    [
        ("raect", {}, "unknown system 'raect'; did you mean 'react'?; your own: --system module:Class"),
        ("", {}, "unknown system ''"),
        (":", {}, "write your own as module:Class"),
        ("my_team:", {}, "write your own as module:Class"),
        (":Team", {}, "write your own as module:Class"),
        (".my_team:Team", {}, "write your own as module:Class"),
        ("my_team.py:Team", {}, "there is no module"),
        ("my team:Team", {}, "write your own as module:Class"),
        ("my_teem:Team", {}, "there is no module 'my_teem' here"),
        ("my_team:Taem", {}, "my_team has no 'Taem'; did you mean 'Team'?"),
        ("my_team:number", {}, "my_team:number is no class"),
        ("my_team:NoSolve", {}, "my_team:NoSolve is no System"),
        ("my_broken:X", {}, "importing 'my_broken' failed: ZeroDivisionError: division by zero"),
        ("my_needy:X", {}, "it needs the module 'a_module_nobody_has', which is not installed"),
        ("my_team:Team", {"peer": 5}, "unknown key 'peer'; did you mean 'peers'?"),
        ("my_team:Team", {"peers": "many"}, "peers: Input should be a valid integer"),
        ("my_team:Base", {"size": 5}, "system my_team:Base: "),
        ("my_team:Positional", {}, "missing 1 required positional argument: 'size'"),
        ("react", {"sampling": {"temprature": 0}}, "did you mean 'temperature'?"),
        ("react", {"actions": "jsno"}, "actions"),
    ],
)
def test_wrong_names_and_keys_are_one_clear_line(folder: Path, name: str, config: dict[str, object], told: str) -> None:
    """With the nearest right one where there is one."""
    with pytest.raises(InputError) as caught:
        build(name, config)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)

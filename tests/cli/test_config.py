"""A system's configuration from a file, flags and -c."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.agent.react import React
from motet.cli.config import parse_setting, read_file, system_from
from motet.errors import InputError


def react(*settings: str, text: str | None = None, folder: Path | None = None, **flags: Any) -> React:
    file = None
    if text is not None:
        assert folder is not None
        path = folder / "react.yaml"
        path.write_text(text, encoding="utf-8")
        file = read_file(path)
    given: Mapping[str, tuple[tuple[str, ...], Any]] = {f"--{name}": ((name,), value) for name, value in flags.items()}
    system = system_from("react", file=file, flags=given, settings=settings)
    assert isinstance(system, React)
    return system


def test_flags_and_settings_replace_what_the_file_says(tmp_path: Path) -> None:
    """The file comes first, the command line after it, key by key also below the top."""
    text = "model: a\nmax_steps: 3\nsampling:\n  seed: 1\n  temperature: 0.5\n"
    system = react("sampling.seed=7", "tools=[python]", text=text, folder=tmp_path, model="b")
    assert (system.model, system.max_steps, system.tools) == ("b", 3, ("python",))
    assert (system.sampling.seed, system.sampling.temperature) == (7, 0.5)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["max_step=3"], "did you mean 'max_steps'?"),
        (["sampling.temprature=1"], "did you mean 'temperature'? (from -c sampling.temprature=1)"),
        (["max_steps=three"], "valid integer"),
        (["max_steps=3", "max_steps=4"], "given twice"),
        (["sampling={seed: 1}", "sampling.seed=2"], "given twice"),
        (["max_steps"], "not key=value"),
        (["=3"], "not key=value"),
        (["sampling..seed=3"], "not key=value"),
    ],
)
def test_a_wrong_setting_names_what_would_be_right(settings: list[str], said: str) -> None:
    """A key that is not there, a value of the wrong type and a key given twice are each named."""
    with pytest.raises(InputError) as caught:
        react(*settings)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("model: a\nmax_step: 3\n", "react.yaml:2: system react has no key 'max_step'; did you mean 'max_steps'?"),
        ("model: a\nsampling:\n  seed: x\n", "react.yaml:3: system react: sampling.seed: "),
        ("model: a\nsampling:\n  sede: 1\n", "react.yaml:3: system react: unknown key 'sampling.sede'"),
        ("model: [a\n", "react.yaml:2: "),
        ("model: a\nmodel: b\n", "react.yaml:2: the key 'model' is there already, in line 1"),
        ("- model\n", "react.yaml:1: a config file is a mapping"),
        ("model: &a [*a]\n", "react.yaml:1: system react: model"),
        ("model: !!python/name:os.system\n", "react.yaml:1: could not determine a constructor"),
        ("model: \x00\n", "react.yaml: "),
    ],
)
def test_a_wrong_file_is_named_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    """Whatever is wrong in a file, its name and the line are said."""
    with pytest.raises(InputError) as caught:
        react(text=text, folder=tmp_path)
    assert said in str(caught.value)


def test_an_empty_file_changes_nothing(tmp_path: Path) -> None:
    """A file of comments alone leaves the defaults."""
    assert react(text="# nothing yet\n", folder=tmp_path) == React()


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """A file that is not there, and one that is no text, are input errors."""
    (tmp_path / "bytes.yaml").write_bytes(b"model: \xff\xfe")
    for name in ("none.yaml", "bytes.yaml"):
        with pytest.raises(InputError, match=name):
            read_file(tmp_path / name)


def test_a_flag_that_the_system_lacks_is_refused() -> None:
    """A flag for a key that the system does not have is an error and not ignored."""
    with pytest.raises(InputError, match="takes no --peers"):
        react(peers=4)


@given(st.from_regex(r"[a-z_]{1,8}(\.[a-z_]{1,8}){0,2}", fullmatch=True), st.integers() | st.booleans())
def test_a_value_is_read_as_yaml(key: str, value: int | bool) -> None:
    """Numbers and booleans keep their type."""
    path, parsed = parse_setting(f"{key}={str(value).lower()}")
    assert path == tuple(key.split("."))
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize("value", ["openai:gpt-4o-mini", "2026-11-30", "*star", "a=b", "", "[open"])
def test_what_is_no_yaml_is_text(value: str) -> None:
    """Text that YAML would take for a date or refuse is taken as it is written."""
    assert parse_setting(f"model={value}") == (("model",), value)

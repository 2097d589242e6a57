"""Task, budget, ages."""

from __future__ import annotations

import io
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from motet.cli.given import budget_from, read_task, split_names
from motet.cli.store import parse_age
from motet.errors import InputError
from motet.runs.budget import Budget


def test_a_task_comes_from_text_input_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The three forms give the same task; a byte-order mark and the last line break do not belong to it."""
    (tmp_path / "task.txt").write_bytes("\ufeffWer schrieb es? ü\n".encode())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("Wer schrieb es? ü\n".encode())))
    tasks = [read_task("Wer schrieb es? ü"), read_task("-"), read_task(f"@{tmp_path / 'task.txt'}")]
    assert set(tasks) == {"Wer schrieb es? ü"}


@pytest.mark.parametrize("given", ["", "  \n", "@", "@missing.txt", "@empty.txt", "@bytes.bin", "@."])
def test_a_task_that_is_none_is_an_input_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    """Empty text, a file that is missing, empty, no text or no file: one line that names it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.txt").write_text(" \n", encoding="utf-8")
    (tmp_path / "bytes.bin").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError) as caught:
        read_task(given)
    assert "\n" not in str(caught.value)
    assert given[1:].strip() in str(caught.value)


def test_names_come_with_commas_or_repeated() -> None:
    """Commas and repetition mean the same."""
    assert split_names(["a, b", "c"]) == ["a", "b", "c"]


def test_a_limit_replaces_that_limit_alone() -> None:
    """A limit that is given replaces its own, the others stay; none given leaves the base."""
    base = Budget(tokens=100, calls=3)
    assert budget_from(tokens=500, money=None, calls=None, seconds=None, base=base) == Budget(tokens=500, calls=3)
    assert budget_from(tokens=None, money=None, calls=None, seconds=None, base=base) is base


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_a_limit_that_limits_nothing_is_refused(value: float) -> None:
    """Zero, negative and non-finite limits are input errors that name the flag."""
    with pytest.raises(InputError, match="--budget-seconds"):
        budget_from(tokens=None, money=None, calls=None, seconds=value)


def test_ages() -> None:
    """Ages have a number and a unit; anything else is refused."""
    assert parse_age("30d") == timedelta(days=30)
    assert parse_age("1.5h") == timedelta(minutes=90)
    for wrong in ("", "d", "30", "3x", "-1d", "nand", "1e999d", "9e12w"):
        with pytest.raises(InputError, match="no age"):
            parse_age(wrong)

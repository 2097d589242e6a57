"""The exception tree: one boundary for each failure, and a docstring that draws it as it is."""

from __future__ import annotations

import inspect
import re

import pytest

from motet import errors
from motet.errors import BudgetExceeded, ModelError, ModelUnavailable, MotetError, RunBusy, UnconfirmedWrite
from motet.usage import Usage

CLASSES = [getattr(errors, name) for name in errors.__all__]


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    """Every class at its place, and none besides."""
    drawn: dict[str, str | None] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(r"^([│├└─ ]*)([A-Z]\w+)( {2,}|$)", line)
        if found:
            depth = len(re.findall(r"[├└]── |│ {3}| {4}", found[1]))
            path = [*path[:depth], found[2]]
            drawn[found[2]] = path[-2] if depth else None
    real = {cls.__name__: cls.__base__.__name__ if cls is not MotetError else None for cls in CLASSES}
    assert drawn == real


def test_every_error_of_the_module_is_exported() -> None:
    """In alphabetical order."""
    defined = {name for name, cls in inspect.getmembers(errors, inspect.isclass) if cls.__module__ == errors.__name__}
    assert set(errors.__all__) == defined
    assert list(errors.__all__) == sorted(errors.__all__)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_error_has_one_boundary_and_its_own_name(cls: type[MotetError]) -> None:
    """The boundary is inherited from the branch that the class stands in."""
    branch = next(
        (base for base in reversed(cls.__mro__) if issubclass(base, MotetError) and base is not MotetError), cls
    )
    assert cls.boundary == branch.boundary
    assert (cls is MotetError) == (cls.boundary == "motet")
    assert cls.__doc__


def test_errors_carry_what_their_readers_need() -> None:
    """Beside one line for a person."""
    assert str(BudgetExceeded("used up", limit="tokens")) == "used up"
    assert BudgetExceeded("used up", limit="tokens").limit == "tokens"
    assert RunBusy("busy", owner="process 1 on h").owner == "process 1 on h"
    assert UnconfirmedWrite("sent", call="post({})").call == "post({})"
    assert BudgetExceeded("used up", limit="calls").kind == "BudgetExceeded"


def test_only_an_attempt_that_may_have_been_billed_has_a_cost() -> None:
    """Of unknown size until somebody knows better."""
    assert ModelError("x").lost == ()
    assert ModelError("x", billed=True).lost == (Usage(),)
    assert not ModelError("x").retryable
    assert ModelUnavailable("x").retryable
    assert ModelUnavailable("x", retry_after=3).retry_after == 3

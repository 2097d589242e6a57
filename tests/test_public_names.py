"""The names that Motet promises, and the tree of its errors."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

import motet
from motet import errors

# Written out on purpose: taking a name away, or adding one, is a decision and shows up here.
PROMISED = [
    "BestOfN",
    "Broadcast",
    "Budget",
    "Configured",
    "EvoAgent",
    "EvoMAS",
    "Inherit",
    "InheritInitial",
    "InputError",
    "Message",
    "Model",
    "ModelInfo",
    "MotetError",
    "Naive",
    "Observation",
    "Price",
    "React",
    "Reply",
    "Request",
    "Result",
    "Run",
    "Score",
    "Source",
    "Store",
    "Swarm",
    "System",
    "TacoMAS",
    "Task",
    "Tool",
    "__version__",
    "resume",
    "run",
    "solve",
    "tool",
]


def test_the_public_names_are_the_promised_ones() -> None:
    """``motet.__all__`` and ``dir(motet)`` are the list above, no more and no less."""
    assert motet.__all__ == PROMISED
    assert dir(motet) == PROMISED


@pytest.mark.parametrize("name", PROMISED)
def test_a_public_name_is_the_thing_at_its_home(name: str) -> None:
    """Each lazy name resolves to the object of that name, which says of itself that it has a docstring."""
    found = getattr(motet, name)
    if name != "__version__":
        assert found.__name__ == name
        assert inspect.getdoc(found)


def test_type_checkers_and_the_interpreter_see_the_same_names() -> None:
    """The imports written for type checkers name the same module for each name as the table used at run time."""
    tree = ast.parse(Path(motet.__file__).read_text(encoding="utf-8"))
    written = {
        alias.asname: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
        if alias.asname
    }
    for name in PROMISED:
        assert getattr(importlib.import_module(written[name] or ""), name) is getattr(motet, name)
    assert sorted(written) == PROMISED


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A misspelt public name fails as on any module, and names itself."""
    with pytest.raises(AttributeError, match="'motet' has no attribute 'slove'"):
        getattr(motet, "slove")  # noqa: B009 - a type checker would refuse the plain form


def test_the_error_tree_is_the_one_its_docstring_draws() -> None:
    """Every error is drawn under its parent in the module's docstring, and nothing is drawn that does not exist."""
    parents = ["MotetError"]
    drawn = {}
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"([│├└─ ]*)([A-Z]\w+)(?:\s{2,}|$)", line)
        if match and (match[1] or match[2] == "MotetError"):
            depth = len(match[1]) // 4
            parents[depth:] = [match[2]]
            drawn[match[2]] = parents[depth - 1] if depth else "Exception"
    real = {name: getattr(errors, name).__bases__[0].__name__ for name in errors.__all__}
    assert drawn == real


def test_every_error_belongs_to_a_boundary() -> None:
    """Each error's boundary is that of its first ancestor below MotetError: a failure has one place it belongs to."""
    for name in errors.__all__:
        kind = getattr(errors, name)
        family = [parent for parent in kind.__mro__ if issubclass(parent, errors.MotetError)]
        if len(family) > 1:
            assert kind.boundary == family[-2].boundary != "motet"

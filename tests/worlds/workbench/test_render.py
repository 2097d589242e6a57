"""What an agent reads is what Python and numpy print."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.worlds.workbench.render import Addresses, render

texts = st.text(alphabet="ab@.'\" \\\n", max_size=40)


@settings(max_examples=100, deadline=None)
@given(items=st.lists(texts, max_size=12))
def test_addresses_print_as_a_numpy_array_of_objects(items: list[str]) -> None:
    """Lines are broken where numpy breaks them, and the type is put where numpy puts it."""
    numpy = pytest.importorskip("numpy")
    assert render(Addresses(tuple(items)), dialect="2024") == repr(numpy.array(items, dtype=object))


@settings(max_examples=100, deadline=None)
@given(records=st.lists(st.dictionaries(texts, texts | st.booleans() | st.integers()), max_size=3))
def test_records_print_as_python_literals(records: list[dict[str, str | int]]) -> None:
    """They can be read back."""
    assert ast.literal_eval(render(records, dialect="2024")) == records  # type: ignore[arg-type]


def test_an_empty_cell_prints_as_nan_and_text_as_it_is() -> None:
    """As the benchmark's tables do."""
    assert render([{"a": None, "b": 1.5}], dialect="2024") == "[{'a': nan, 'b': 1.5}]"
    assert render("It's done.", dialect="2024") == "It's done."

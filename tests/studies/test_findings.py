"""Findings as people read them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from motet.studies.findings import Cell, Findings, Form, Grid, Mean, Plot, Point, Series, columns, shown
from motet.studies.page import render_page


def findings(*tables: Grid, plots: tuple[Plot, ...] = (), question: str = "Why?", note: str = "n") -> Findings:
    """Findings of no study."""
    return Findings(
        study="s", question=question, benches=("b",), complete=False, tasks=1, seed=7, epochs=1, models=("m",), scripted=True,
        tables=tables, plots=plots, notes=(note,), failures=(), begun="motet study s", again="motet study s --from b",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("cell", "form", "text"),
    [
        (0.415, "percent", "41.5 %"),
        (-0.032, "points", "-3.2"),
        (1234.4, "count", "1,234"),
        (0.5, "decimal", "+0.50"),
        (13.7, "times", "13.70"),
        ("word", "percent", "word"),
        (None, "percent", ""),
        (Mean(value=None), "percent", "–"),
        (Mean(value=0.5, low=0.25, high=0.75), "percent", "50.0 % (25.0–75.0)"),
        (Mean(value=0.1, low=-0.2, high=0.4), "points", "+10.0 (-20.0 to +40.0)"),
        (Mean(value=0.1), "points", "+10.0 (no interval)"),
    ],
)  # fmt: skip
def test_figures_are_shown_in_their_form(cell: Cell, form: Form, text: str) -> None:
    """Rates in percent, differences with their sign, what is not known as nothing."""
    assert shown(cell, form) == text


def test_a_row_that_does_not_fill_its_columns_is_refused() -> None:
    """A table cannot be made with a cell too few."""
    with pytest.raises(ValidationError, match="a row of 't' has not 2 cells"):
        Grid(title="t", columns=columns("a", "b"), rows=(("x",),))


@given(st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=20))
def test_no_text_becomes_markup(text: str) -> None:
    """Whatever a benchmark, model or node is called, the page has it as text; JSON gives it back."""
    hostile = f"<script>{text}</script>&"
    table = Grid(title=hostile, columns=columns(hostile), rows=((hostile,),), about=hostile)
    made = findings(table, question=hostile, note=hostile)
    assert "<script" not in render_page(made)
    assert Findings.model_validate_json(json.dumps(made.model_dump(mode="json"))) == made


@pytest.mark.parametrize("kind", ["lines", "points", "rows"])
def test_every_kind_of_plot_is_drawn_with_its_texts_escaped(kind: str) -> None:
    """With intervals and labels; one without points is left out."""
    points = (Point(x=0, y=1, low=0.5, high=2, label="<b>"), Point(x=1, y=2, low=1, high=3, weight=4))
    plot = Plot.model_validate(
        {
            "title": "<i>drawn", "x": "<x>", "y": "y", "kind": kind, "ticks": ("<a>", "b"),
            "series": (Series(name="<one>", points=points), Series(name="two", points=points)),
        }
    )  # fmt: skip
    empty = plot.model_copy(update={"title": "empty", "series": (Series(name="", points=()),)})
    page = render_page(findings(plots=(plot, empty)))
    assert page.count("<svg") == 1
    assert "&lt;i&gt;drawn" in page
    assert "<one>" not in page
    assert "empty" not in page
    assert "not all" in page.lower()

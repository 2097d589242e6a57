"""What a study found, as a value: tables of figures and plots, from which the terminal, the page and the JSON document are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from pydantic import Field, model_validator

from motet.bench.scoring.statistics import Estimate
from motet.value import Value

# How a column's figures are shown: rates and their differences are stored as they are, and shown in percent and in points; a ``decimal`` has a sign.
Form: TypeAlias = Literal["text", "count", "percent", "points", "decimal", "times"]


class Mean(Value):
    """A figure with its 95 % interval over ``n`` values in ``clusters`` clusters; without bounds where there is no interval."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    clusters: int = 0

    @classmethod
    def of(cls, estimate: Estimate) -> Mean:
        """The same figure, from the statistics."""
        return cls(value=estimate.value, low=estimate.low, high=estimate.high, n=estimate.n, clusters=estimate.clusters)


Cell: TypeAlias = Mean | int | float | str | None


class Column(Value):
    """A column of a table."""

    name: str
    form: Form = "text"


class Grid(Value):
    """A table. ``about`` says in words what its figures are."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    about: str = ""

    @model_validator(mode="after")
    def _rows_fill_columns(self) -> Grid:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"a row of {self.title!r} has not {len(self.columns)} cells")
        return self


class Point(Value):
    """A point of a plot, with the interval of ``y`` where there is one. A heavier one is drawn larger; ``label`` is written beside it."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    weight: float = Field(default=1.0, gt=0)
    label: str = ""


class Series(Value):
    """Points that belong together, in the order in which a line goes through them."""

    name: str
    points: tuple[Point, ...]


class Plot(Value):
    """A plot: ``lines`` through the points, ``points`` alone, or ``rows``, where ``x`` is the number of a row called by ``ticks`` and ``y`` is drawn along it."""

    title: str
    x: str
    y: str
    kind: Literal["lines", "points", "rows"]
    series: tuple[Series, ...]
    ticks: tuple[str, ...] = ()


class Findings(Value):
    """What a study found. ``failures`` are what should have held and did not; ``again`` is the command that makes the same findings from the same benches."""

    format: Literal[1] = 1
    study: str
    question: str
    benches: tuple[str, ...]
    complete: bool
    tasks: int
    seed: int
    epochs: int
    models: tuple[str, ...]
    scripted: bool
    tables: tuple[Grid, ...]
    plots: tuple[Plot, ...]
    notes: tuple[str, ...]
    failures: tuple[str, ...]
    begun: str
    again: str


def columns(*names: str, **forms: Sequence[str]) -> tuple[Column, ...]:
    """Columns called ``names`` in their order; ``forms`` lists by form those that are no text."""
    form_of = {name: form for form, members in forms.items() for name in members}
    return tuple(Column.model_validate({"name": name, "form": form_of.get(name, "text")}) for name in names)


def shown(cell: Cell, form: Form) -> str:
    """``cell`` as people read it."""
    if isinstance(cell, Mean):
        if cell.value is None:
            return "–"
        text = shown(cell.value, form)
        if cell.low is None or cell.high is None:
            return f"{text} (no interval)"
        low, high = (f"{100 * end:.1f}" if form == "percent" else shown(end, form) for end in (cell.low, cell.high))
        joint = "–" if form in ("percent", "count") else " to "
        return f"{text} ({low}{joint}{high})"
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell
    match form:
        case "count":
            return f"{cell:,.0f}"
        case "percent":
            return f"{100 * cell:.1f} %"
        case "points":
            return f"{100 * cell:+.1f}"
        case "times":
            return f"{cell:.2f}"
        case "decimal":
            return f"{cell:+.2f}"
    return str(cell)

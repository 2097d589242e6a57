"""A study's findings as one HTML file: tables, plots as inline SVG, no script and nothing loaded from elsewhere."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from motet.bench.plots import picture
from motet.studies.findings import Findings, Plot, Point, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_AREA = 30.0  # of a point of weight 1, in the plotting library's unit


def render_page(findings: Findings) -> str:
    """``findings`` as HTML. Raises InputError when the plotting library is missing."""
    from jinja2 import Environment
    from markupsafe import Markup

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(
        files("motet.studies").joinpath("templates", "findings.html").read_text(encoding="utf-8")
    )
    drawn = [(plot.title, _draw(plot)) for plot in findings.plots]
    # The plots are our own drawing; texts in them were escaped by the plotting library.
    pictures = [(title, Markup(svg)) for title, svg in drawn if svg is not None]  # noqa: S704
    return template.render(findings=findings, pictures=pictures, shown=shown)


def _draw(plot: Plot) -> str | None:
    height = 0.9 + 0.4 * len(plot.ticks) if plot.kind == "rows" else 3.4
    return picture(lambda axes: draw(axes, plot), height=height)


def draw(axes: Axes, plot: Plot) -> bool:
    """Draw ``plot``; whether there was anything to draw."""
    full = [series for series in plot.series if series.points]
    if not full:
        return False
    for place, series in enumerate(full):
        {"lines": _line, "points": _points, "rows": _rows}[plot.kind](axes, series.points, f"C{place}", series.name)
    if plot.kind == "rows":
        axes.set_yticks(range(len(plot.ticks)), list(plot.ticks))
        axes.set_ylim(len(plot.ticks) - 0.5, -0.5)
        axes.set_xlabel(plot.y)
    else:
        axes.set_xlabel(plot.x)
        axes.set_ylabel(plot.y)
    if plot.kind == "lines":
        axes.set_xticks(sorted({point.x for series in full for point in series.points}))
    if any(series.name for series in full) and len(full) > 1:
        axes.legend(frameon=False)
    axes.margins(x=0.1, y=0.1)
    return True


def _line(axes: Axes, points: tuple[Point, ...], color: str, name: str) -> None:
    axes.plot(
        [point.x for point in points], [point.y for point in points], "o-", color=color, label=name, clip_on=False
    )
    bounded = [(point.x, point.low, point.high) for point in points if point.low is not None and point.high is not None]
    if len(bounded) > 1:
        xs, lows, highs = zip(*bounded, strict=True)
        axes.fill_between(xs, lows, highs, color=color, alpha=0.12, linewidth=0)


def _points(axes: Axes, points: tuple[Point, ...], color: str, name: str) -> None:
    areas = [_AREA * point.weight for point in points]
    axes.scatter(
        [point.x for point in points], [point.y for point in points], s=areas, color=color, alpha=0.6, label=name
    )
    for point in points:
        if point.low is not None and point.high is not None:
            axes.plot([point.x, point.x], [point.low, point.high], color=color, linewidth=2, alpha=0.4)
        if point.label:
            axes.annotate(point.label, (point.x, point.y), xytext=(6, 4), textcoords="offset points")


def _rows(axes: Axes, points: tuple[Point, ...], color: str, name: str) -> None:
    for point in points:
        if point.low is not None and point.high is not None:
            axes.plot([point.low, point.high], [point.x, point.x], color=color, linewidth=3, alpha=0.5)
    axes.plot([point.y for point in points], [point.x for point in points], "o", color=color, label=name)

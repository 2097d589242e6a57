"""A study's findings as one HTML file: tables, plots as inline SVG, no script and nothing loaded from elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from motet.bench.html import render_html
from motet.bench.plots import picture
from motet.studies.findings import Findings, Plot, Series, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Areas of points in the plotting library's unit: of the least one, and what is added for the heaviest.
_LEAST, _MOST = 20.0, 400.0
_BANDS = 3  # lines beyond which bands would hide each other


def render_page(findings: Findings) -> str:
    """``findings`` as HTML. Raises InputError when the plotting library is missing."""
    from markupsafe import Markup

    drawn = [(plot.title, _draw(plot)) for plot in findings.plots]
    # The plots are our own drawing; texts in them were escaped by the plotting library.
    pictures = [(title, Markup(svg)) for title, svg in drawn if svg is not None]  # noqa: S704
    return render_html("motet.studies", "findings.html", findings=findings, pictures=pictures, shown=shown)


def _draw(plot: Plot) -> str | None:
    height = 0.9 + 0.4 * len(plot.ticks) if plot.kind == "rows" else 3.4
    return picture(lambda axes: draw(axes, plot), height=height)


def draw(axes: Axes, plot: Plot) -> bool:
    """Draw ``plot``; whether there was anything to draw."""
    full = [series for series in plot.series if series.points]
    if not full:
        return False
    for place, series in enumerate(full):
        color = f"C{place}"
        if plot.kind == "lines":
            _line(axes, series, color, band=len(full) <= _BANDS)
        elif plot.kind == "points":
            _points(axes, series, color)
        else:
            _rows(axes, series, color)
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


def _line(axes: Axes, series: Series, color: str, *, band: bool) -> None:
    points = series.points
    axes.plot([at.x for at in points], [at.y for at in points], "o-", color=color, label=series.name, clip_on=False)
    bounded = [(at.x, at.low, at.high) for at in points if at.low is not None and at.high is not None]
    if band and len(bounded) > 1:
        xs, lows, highs = zip(*bounded, strict=True)
        axes.fill_between(xs, lows, highs, color=color, alpha=0.12, linewidth=0)


def _points(axes: Axes, series: Series, color: str) -> None:
    points = series.points
    heaviest = max(at.weight for at in points)
    areas = [_LEAST + (_MOST * at.weight / heaviest if heaviest > 1 else 0) for at in points]
    axes.scatter([at.x for at in points], [at.y for at in points], s=areas, color=color, alpha=0.6, label=series.name)
    for at in points:
        if at.low is not None and at.high is not None:
            axes.plot([at.x, at.x], [at.low, at.high], color=color, linewidth=2, alpha=0.4)
        if at.label:
            axes.annotate(at.label, (at.x, at.y), xytext=(6, 4), textcoords="offset points")


def _rows(axes: Axes, series: Series, color: str) -> None:
    for at in series.points:
        if at.low is not None and at.high is not None:
            axes.plot([at.low, at.high], [at.x, at.x], color=color, linewidth=3, alpha=0.5)
    axes.plot([at.y for at in series.points], [at.x for at in series.points], "o", color=color, label=series.name)

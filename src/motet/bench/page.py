"""The bench report as one HTML file: tables, plots as inline SVG, no script and nothing loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from motet.bench.evolution import EvolutionRow
from motet.bench.html import render_html
from motet.bench.plots import picture
from motet.bench.report import Report, SystemRow
from motet.bench.scoring.statistics import Estimate
from motet.bench.team_plots import team_pictures
from motet.runs.budget import Budget
from motet.usage import Totals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEAST = 5.0  # points to either side of no difference that are always shown


def render_page(report: Report) -> str:
    """``report`` as HTML. Raises InputError when the plotting library is missing."""
    from markupsafe import Markup

    # The plots are our own drawing; texts in them were escaped by the plotting library.
    pictures = [(title, Markup(picture)) for title, picture in _pictures(report)]  # noqa: S704
    return render_html(
        "motet.bench",
        "report.html",
        report=report,
        pictures=pictures,
        limits=limits,
        percent=percent,
        interval=interval,
        points=points,
        span=span,
        money=money,
        tokens=tokens,
        seconds=seconds,
    )


def percent(value: float | None) -> str:
    """A rate as 41.5 %."""
    return "–" if value is None else f"{100 * value:.1f} %"


def points(value: float | None) -> str:
    """A difference of rates as +3.2."""
    return "–" if value is None else f"{100 * value:+.1f}"


def interval(score: Estimate) -> str:
    """A rate's interval as 33.4–50.1."""
    return "no interval" if score.low is None or score.high is None else f"{100 * score.low:.1f}–{100 * score.high:.1f}"


def span(score: Estimate) -> str:
    """A difference's interval as −1.0 to +8.2."""
    return "no interval" if score.low is None or score.high is None else f"{points(score.low)} to {points(score.high)}"


def money(total: Totals) -> str:
    """Dollars, as far as prices are known."""
    if not total.calls:
        return "–"
    if total.unpriced >= total.calls - total.failed:
        return "unpriced"
    return f"${total.money:.4f}" + (" + unpriced" if total.unpriced else "")


def tokens(total: Totals) -> str:
    """Prompt and completion tokens; usage that no provider reported is called unknown, and is no zero."""
    return f"{total.tokens:,}" + (f" + {total.unknown:,} unknown" if total.unknown else "")


def seconds(value: float | None) -> str:
    """A duration."""
    if value is None:
        return "–"
    return f"{value:.1f} s" if value < 120 else f"{value / 60:.1f} min"


def limits(budget: Budget) -> str:
    """A budget in words; empty when nothing is limited."""
    parts = [
        f"{budget.tokens:,} tokens" if budget.tokens is not None else "",
        f"${budget.money:g}" if budget.money is not None else "",
        f"{budget.calls:,} calls" if budget.calls is not None else "",
        f"{budget.seconds:g} s" if budget.seconds is not None else "",
    ]
    return ", ".join(part for part in parts if part)


def _pictures(report: Report) -> list[tuple[str, str]]:
    systems = [system for system in report.systems if system.ended]
    if not systems:
        return []
    height = 0.9 + 0.4 * len(systems)
    pictures = [
        ("Score", picture(lambda axes: _scores(axes, systems, report.headline), height=height)),
        (
            "Difference to the first system",
            picture(lambda axes: _differences(axes, systems, report.headline), height=height),
        ),
        ("Tokens and score", picture(lambda axes: _cost(axes, systems, report.headline))),
    ]
    if report.evolutions:
        pictures.append(("Candidates by round", picture(lambda axes: _rounds(axes, report.evolutions))))
    if report.teams:
        pictures += team_pictures(report.teams)
    return [(title, drawn) for title, drawn in pictures if drawn is not None]


def _scores(axes: Axes, systems: list[SystemRow], headline: str) -> bool:
    for place, system in enumerate(systems):
        _bar(axes, place, system.scores[headline], color="C0")
        if headline in system.paper:
            axes.plot([100 * system.paper[headline]], [place], "d", color="C3")
    axes.set_xlim(-2, 102)
    published = any(headline in system.paper for system in systems)
    _label(axes, systems, f"{headline}, % (bars: 95 % interval{'; diamonds: published' if published else ''})")
    return True


def _differences(axes: Axes, systems: list[SystemRow], headline: str) -> bool:
    others = [system for system in systems if system.difference is not None and system.difference.n]
    for place, system in enumerate(others):
        assert system.difference is not None
        _bar(axes, place, system.difference, color="C2")
    if not others:
        return False
    axes.axvline(0, color="0.6", linewidth=1)
    # A difference of a fraction of a point must not fill the width.
    left, right = axes.get_xlim()
    axes.set_xlim(min(left, -_LEAST), max(right, _LEAST))
    _label(axes, others, f"{headline}, points more than {systems[0].label}, on the same tasks")
    return True


def _cost(axes: Axes, systems: list[SystemRow], headline: str) -> bool:
    for system in systems:
        score = system.scores[headline]
        tokens = system.total.tokens / max(system.ended, 1)
        if score.value is None:
            continue
        axes.plot([tokens], [100 * score.value], "o", clip_on=False)
        axes.annotate(system.label, (tokens, 100 * score.value), xytext=(6, 4), textcoords="offset points")
    axes.set_xlabel("tokens per task")
    axes.set_ylabel(f"{headline}, %")
    axes.set_xlim(left=0)
    axes.set_ylim(-3, 103)
    axes.margins(x=0.15)
    return any(system.total.tokens for system in systems)


def _bar(axes: Axes, place: int, score: Estimate, *, color: str) -> None:
    if score.value is None:
        return
    if score.low is not None and score.high is not None:
        axes.plot([100 * score.low, 100 * score.high], [place, place], color=color, linewidth=3, alpha=0.5)
    axes.plot([100 * score.value], [place], "o", color=color)


def _label(axes: Axes, systems: list[SystemRow], text: str) -> None:
    axes.set_yticks(range(len(systems)), [system.label for system in systems])
    axes.set_ylim(len(systems) - 0.5, -0.5)
    axes.set_xlabel(text)


def _rounds(axes: Axes, rows: Sequence[EvolutionRow]) -> bool:
    for place, row in enumerate(rows):
        rounds = [step.index for step in row.steps]
        raw = [None if step.raw.value is None else 100 * step.raw.value for step in row.steps]
        ranked = [None if step.ranked.value is None else 100 * step.ranked.value for step in row.steps]
        axes.plot(rounds, raw, "o--", color=f"C{place}", alpha=0.6, markersize=4)  # type: ignore[arg-type]  # gaps
        axes.plot(rounds, ranked, "o-", color=f"C{place}", label=row.label, clip_on=False)  # type: ignore[arg-type]
    axes.set_xlabel("round (solid: chosen so far; dashed: that round's own candidates)")
    axes.set_ylabel(f"{rows[0].scorer}, %")
    axes.set_ylim(-3, 103)
    axes.set_xticks(range(max(len(row.steps) for row in rows)))
    axes.legend(frameon=False)
    return True

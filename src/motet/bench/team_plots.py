"""Plots of teams: score and calls against the number of peers, hub traffic, diversity, and what tokens went to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from motet.bench.plots import picture
from motet.bench.scoring.statistics import Estimate
from motet.bench.team import TeamRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STYLES = ("-", "--", ":", "-.")


def team_pictures(rows: Sequence[TeamRow]) -> list[tuple[str, str | None]]:
    """Title and SVG of each plot of ``rows``; ``None`` where there is nothing to draw."""
    height = 1.2 + 0.4 * len(rows)
    return [
        ("Teams: score by rule and number of peers", picture(lambda axes: _by_number(axes, rows))),
        ("Teams: calls per peer and number of peers", picture(lambda axes: _calls(axes, rows))),
        ("Teams: hub traffic", picture(lambda axes: _traffic(axes, rows), height=height)),
        ("Teams: diversity", picture(lambda axes: _diversity(axes, rows), height=height)),
        ("Teams: tokens by purpose", picture(lambda axes: _tokens(axes, rows), height=height)),
    ]


def lines(rows: Sequence[TeamRow]) -> dict[str, list[TeamRow]]:
    """Those teams of which there are several sizes, by a name for each, in the order of their sizes."""
    groups: dict[str, list[TeamRow]] = defaultdict(list)
    for row in rows:
        groups[row.group].append(row)
    several = [members for members in groups.values() if len({row.number for row in members}) > 1]
    names = [members[0].name for members in several]
    return {
        # Two lines of one system differ in a setting, and only their labels tell them apart.
        (members[0].name if names.count(members[0].name) == 1 else members[0].label): sorted(
            members, key=lambda row: row.number
        )
        for members in several
    }


def _by_number(axes: Axes, rows: Sequence[TeamRow]) -> bool:
    found = lines(rows)
    for place, (name, members) in enumerate(found.items()):
        rules = list(dict.fromkeys(rule for row in members for rule in row.rules))
        for style, rule in zip(_STYLES, rules[: len(_STYLES)], strict=False):
            picked = [row for row in members if rule in row.rules]
            _line(axes, picked, lambda row, rule=rule: row.rules[rule], f"{name}, {rule}", f"C{place}", style)
        if not rules:
            _line(axes, members, lambda row: row.result, name, f"C{place}", "-")
        passed = [row for row in members if row.passed is not None]
        if passed:
            heights = [100 * ((row.passed.value if row.passed else None) or 0.0) for row in passed]
            axes.plot([row.number for row in passed], heights, "x", color=f"C{place}", label=f"{name}, Pass@N")
    axes.set_ylabel(f"{rows[0].scorer}, % (bars: 95 % interval)")
    axes.set_ylim(-3, 103)
    return _against_number(axes, found)


def _calls(axes: Axes, rows: Sequence[TeamRow]) -> bool:
    found = lines([row for row in rows if row.calls])
    for place, (name, members) in enumerate(found.items()):
        tools = list(dict.fromkeys(tool for row in members for tool in row.calls))
        for style, tool in zip(_STYLES, tools[: len(_STYLES)], strict=False):
            picked = [row for row in members if tool in row.calls]
            _line(axes, picked, lambda row, tool=tool: row.calls[tool], f"{name}, {tool}", f"C{place}", style, scale=1)
    axes.set_ylabel("calls per peer and task (bars: 95 % interval)")
    axes.set_ylim(bottom=0)
    return _against_number(axes, found)


def _line(
    axes: Axes,
    rows: Sequence[TeamRow],
    figure: Callable[..., Estimate],
    label: str,
    color: str,
    style: str,
    *,
    scale: float = 100,
) -> None:
    figures = [(row.number, figure(row)) for row in rows]
    known = [(number, found, found.value) for number, found in figures if found.value is not None]
    for number, found, _ in known:
        if found.low is not None and found.high is not None:
            axes.plot([number, number], [scale * found.low, scale * found.high], color=color, linewidth=2, alpha=0.3)
    places = [number for number, _, _ in known]
    axes.plot(
        places, [scale * value for _, _, value in known], f"o{style}", color=color, label=label, markersize=4,
        clip_on=False,
    )  # fmt: skip


def _against_number(axes: Axes, found: dict[str, list[TeamRow]]) -> bool:
    if not found:
        return False
    numbers = sorted({row.number for members in found.values() for row in members})
    axes.set_xscale("log", base=2)
    axes.set_xticks(numbers, [str(number) for number in numbers])
    axes.minorticks_off()
    axes.set_xlabel("peers")
    axes.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    return True


def _traffic(axes: Axes, rows: Sequence[TeamRow]) -> bool:
    teams = [row for row in rows if row.traffic.closes or row.traffic.reads or row.traffic.heard]
    parts: tuple[tuple[str, Callable[[TeamRow], float]], ...] = (
        ("notes by the hub model", lambda row: row.traffic.notes),
        ("notes by rule", lambda row: row.traffic.degraded),
        ("reads", lambda row: row.traffic.reads),
        ("notes shown to teammates", lambda row: row.traffic.heard),
    )
    _bars(axes, teams, parts, "per task")
    return bool(teams)


def _diversity(axes: Axes, rows: Sequence[TeamRow]) -> bool:
    teams = [row for row in rows if row.diversity_terms is not None or row.diversity_pages is not None]
    figures: tuple[tuple[str, Callable[[TeamRow], float | None]], ...] = (
        ("pages", lambda row: row.diversity_pages),
        ("query terms", lambda row: row.diversity_terms),
        ("queries made before", lambda row: row.duplicates),
    )
    for color, (name, figure) in enumerate(figures):
        known = [(place, value) for place, row in enumerate(teams) if (value := figure(row)) is not None]
        axes.plot([value for _, value in known], [place for place, _ in known], "o", color=f"C{color}", label=name)
    axes.set_xlim(-0.03, 1.03)
    return _named(axes, teams, "mean pairwise 1 − Jaccard; share of queries")


def _tokens(axes: Axes, rows: Sequence[TeamRow]) -> bool:
    teams = [row for row in rows if row.tokens]
    names = list(dict.fromkeys(purpose for row in teams for purpose in row.tokens))
    parts = tuple((name, lambda row, name=name: row.tokens.get(name, 0) / row.cells) for name in names)
    _bars(axes, teams, parts, "tokens per task")
    return bool(teams)


def _bars(
    axes: Axes, rows: Sequence[TeamRow], parts: Sequence[tuple[str, Callable[[TeamRow], float]]], text: str
) -> None:
    left = [0.0] * len(rows)
    for color, (name, figure) in enumerate(parts):
        widths = [figure(row) for row in rows]
        axes.barh(range(len(rows)), widths, left=left, color=f"C{color}", label=name, height=0.6)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    _named(axes, rows, text)


def _named(axes: Axes, rows: Sequence[TeamRow], text: str) -> bool:
    if not rows:
        return False
    axes.set_yticks(range(len(rows)), [row.label for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel(text)
    axes.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    return True

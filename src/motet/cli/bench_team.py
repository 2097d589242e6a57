"""What a bench's report says of teams, as tables."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from motet.bench.page import interval, percent, points, span
from motet.bench.report import Report
from motet.bench.scoring.statistics import Estimate
from motet.bench.team import TeamRow, published
from motet.cli.render import grid
from motet.cli.terminal import put, styled


def print_teams(console: Console, report: Report) -> None:
    """Scores by rule, calls, hub traffic, tokens and diversity of every team, with the paper's figures beside."""
    for print_table in (_scores, _calls, _traffic, _tokens, _diversity):
        print_table(console, report.teams)
    _paper(console)
    console.print()


def _scores(console: Console, rows: tuple[TeamRow, ...]) -> None:
    right = ("peers", "n", rows[0].scorer)
    table = grid("teams", "peers", "n", "whose answer", rows[0].scorer, "95 % interval", right=right)
    for row in rows:
        figures: list[tuple[str, Estimate]] = [("the team's", row.result)]
        if row.average is not None and row.passed is not None:
            figures += [
                ("mean over peers", row.average),
                *((f"rule {rule}", found) for rule, found in row.rules.items()),
            ]
            figures.append(("Pass@N (oracle)", row.passed))
        for place, (name, found) in enumerate(figures):
            team = (row.label, str(row.number), str(row.cells)) if not place else ("", "", "")
            table.add_row(*map(styled, team), styled(name), percent(found.value), interval(found))
        if row.gap is not None:
            table.add_row("", "", "", styled(f"gap to {row.best_rule}"), points(row.gap.value), span(row.gap))
        if row.equal is not None:
            table.add_row("", "", "", "best-of-N, equal tokens", percent(row.equal), "")
    put(console, table)
    console.print()


def _calls(console: Console, rows: tuple[TeamRow, ...]) -> None:
    right = ("peers", "calls")
    table = grid("teams", "peers", "tool", "calls", "95 % interval, per peer and task", right=right)
    for row in rows:
        for place, (tool, found) in enumerate([("all", row.all_calls), *row.calls.items()]):
            team = (row.label, str(row.number)) if not place else ("", "")
            table.add_row(*map(styled, team), styled(tool), _number(found.value), _span(found))
    put(console, table)
    console.print()


def _traffic(console: Console, rows: tuple[TeamRow, ...]) -> None:
    names = ("closes", "notes", "degraded", "refused", "heard", "reads", "disputed", "repeats")
    shown = [row for row in rows if any(getattr(row.traffic, name) for name in names)]
    if not shown:
        return
    columns = (*names, "s a write", "s a read")
    table = grid("hub, per task", "peers", *columns, right=("peers", *columns))
    for row in shown:
        figures = [_number(getattr(row.traffic, name)) for name in (*names, "write_seconds", "read_seconds")]
        table.add_row(styled(row.label), str(row.number), *figures)
    put(console, table)
    console.print()


def _tokens(console: Console, rows: tuple[TeamRow, ...]) -> None:
    purposes = list(dict.fromkeys(purpose for row in rows for purpose in row.tokens))
    columns = ("all", *purposes, "calls unknown")
    table = grid("tokens, per task", "peers", *columns, right=("peers", *columns))
    for row in rows:
        parts = [f"{row.tokens.get(purpose, 0) / row.cells:,.0f}" for purpose in purposes]
        table.add_row(styled(row.label), str(row.number), f"{row.per_task:,.0f}", *parts, str(row.unknown or ""))
    put(console, table)
    console.print()


def _diversity(console: Console, rows: tuple[TeamRow, ...]) -> None:
    columns = ("made before", "pages", "terms", "ρ", "peers' worth", "prefix", "re-rendered")
    table = grid("diversity", "peers", *columns, right=("peers", *columns))
    for row in rows:
        table.add_row(
            styled(row.label),
            str(row.number),
            percent(row.duplicates),
            _number(row.diversity_pages),
            _number(row.diversity_terms),
            "–" if row.correlation is None else f"{row.correlation:+.2f}",
            _number(row.effective),
            percent(row.prefix),
            percent(row.rerendered),
        )
    put(console, table)
    console.print(
        "made before: share of queries; pages, terms: mean pairwise 1 − Jaccard; ρ: how peers' correctness goes together; peers' worth: N/(1 + (N − 1)ρ); "
        "prefix: share of a prompt that the next call began with, and what it would be with all notes in the first message",
        style="dim",
        soft_wrap=True,
    )
    console.print()


def _paper(console: Console) -> None:
    paper: dict[str, Any] = published()
    console.print(
        f"paper: {paper['what']}; other models and tasks, so to be read beside ours and not against", style="dim"
    )
    for line in paper["averages"]:
        told = ", ".join(f"{who} {value:.1f} %" for who, value in line.items() if who != "model")
        console.print(styled(f"  {line['model']}: {told}", style="dim"))
    curve = ", ".join(f"N = {number} {value:.1f} %" for number, value in paper["curve"]["values"].items())
    console.print(styled(f"  {paper['curve']['what']}: {curve}", style="dim"))
    mixed = paper["mixed"]
    console.print(styled(f"  {mixed['what']}: {mixed['team']:.1f} % against {mixed['alone']:.1f} %", style="dim"))


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _span(found: Estimate) -> str:
    return "no interval" if found.low is None or found.high is None else f"{found.low:.2f}–{found.high:.2f}"

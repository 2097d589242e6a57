"""What a bench's report says of systems that try several candidates, as tables."""

from __future__ import annotations

from rich.console import Console

from motet.bench.evolution import EvolutionRow, Kind, Published, published
from motet.bench.page import percent
from motet.bench.report import Report
from motet.cli.render import grid
from motet.cli.terminal import put, styled


def print_evolutions(console: Console, report: Report) -> None:
    """Curves, choices, costs and kinds of rounds of every evolving system, with the paper's figures beside."""
    paper = published(report.benchmark)
    _curves(console, report, paper)
    _choices(console, report, paper)
    _costs(console, report, paper)
    _kinds(console, report)
    if paper is not None:
        console.print(
            styled(f"paper: {paper.what}; other models, so to be read beside ours and not against", style="dim"),
            soft_wrap=True,
        )
        if paper.prompt_edits is not None:
            console.print(f"paper: prompt edits inherit {paper.prompt_edits:.1f} % of the worker's tokens", style="dim")
    console.print()


def _curves(console: Console, report: Report, paper: Published | None) -> None:
    rounds = max(len(row.steps) for row in report.evolutions)
    numbers = [f"round {index}" for index in range(rounds)]
    table = grid("system", "candidates", *numbers, right=tuple(numbers))
    for row in report.evolutions:
        raw = [percent(step.raw.value) for step in row.steps]
        ranked = [percent(step.ranked.value) for step in row.steps]
        counts = [str(step.candidates) for step in row.steps]
        for name, values in (("each round's", raw), ("ranked so far", ranked), ("how many", counts)):
            padded = [*values, *[""] * (rounds - len(values))]
            table.add_row(styled(row.label if name == "each round's" else ""), name, *padded)
    if paper is not None and paper.raw:
        padded = [*(f"{value:.1f} %" for value in paper.raw), *[""] * (rounds - len(paper.raw))]
        table.add_row("paper (inherit)", "each round's", *padded[:rounds])
    put(console, table)
    console.print()


def _choices(console: Console, report: Report, paper: Published | None) -> None:
    numbers = ("last", "ranked", "oracle", "judge's rank correlation", "restarts", "rounds spent")
    table = grid("system", *numbers, right=numbers)
    for row in report.evolutions:
        table.add_row(
            styled(row.label),
            percent(row.last.value),
            percent(row.chosen.value),
            percent(row.oracle.value),
            "–" if row.agreement is None else f"{row.agreement:+.2f}",
            percent(row.restarts),
            f"{row.spent:,}",
        )
    if paper is not None:
        figures = (paper.last, paper.ranked, paper.oracle)
        table.add_row("paper (inherit)", *map(_paper, figures), "", _paper(paper.restarts), "")
    put(console, table)
    console.print()


def _costs(console: Console, report: Report, paper: Published | None) -> None:
    numbers = ("worker", "inherited", "saved of worker", "saved of all", "meta", "judge", "control share", "× inherit")
    table = grid("tokens", *numbers, right=numbers)
    base = next((_paid(row) for row in report.evolutions if row.label == "inherit"), 0)
    for row in report.evolutions:
        table.add_row(
            styled(row.label),
            f"{row.live:,}",
            f"{row.inherited:,}",
            percent(row.saved_worker),
            percent(row.saved_all),
            f"{row.meta:,}",
            f"{row.judge:,}",
            percent(row.control),
            f"{_paid(row) / base:.1f}" if base else "–",
        )
    if paper is not None:
        table.add_row("paper (inherit)", "", "", _paper(paper.saved_worker), _paper(paper.saved_all), "", "", "", "")
        for who, times in paper.tokens.items():
            table.add_row(f"paper ({who})", *[""] * 7, f"{times:.1f}")
    put(console, table)
    console.print()


def _kinds(console: Console, report: Report) -> None:
    numbers = ("rounds", "better", "worse", "judged better", "affected", "live", "inherited", "saved", "live a round")
    table = grid("system", "kind of round", *numbers, right=numbers)
    for row in report.evolutions:
        for place, kind in enumerate(row.kinds):
            table.add_row(styled("" if place else row.label), styled(kind.kind), *_kind(kind))
    put(console, table)
    console.print()


def _kind(kind: Kind) -> tuple[str, ...]:
    compared = kind.kind != "initial"
    return (
        f"{kind.rounds:,}",
        f"{kind.better:,}" if compared else "",
        f"{kind.worse:,}" if compared else "",
        f"{kind.judged_better:,}" if compared else "",
        percent(kind.affected),
        f"{kind.live:,}",
        f"{kind.inherited:,}",
        percent(kind.saved),
        f"{kind.live / kind.rounds:,.0f}",
    )


def _paid(row: EvolutionRow) -> int:
    return row.live + row.meta + row.judge


def _paper(value: float | None) -> str:
    return "" if value is None else f"{value:.1f} %"

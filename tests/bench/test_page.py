"""The HTML report: one file that loads nothing, escapes everything and says what the tables say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from motet.baselines.noop import Noop
from motet.bench.page import interval, limits, money, percent, points, render_page, span, tokens
from motet.bench.report import Report, make_report
from motet.bench.runner import run_bench
from motet.bench.scoring.statistics import Estimate
from motet.runs.budget import Budget
from motet.store.store import Store
from motet.usage import Totals
from tests.bench.test_runner import plan_of
from tests.bench.toys import Buggy

pytest.importorskip("matplotlib", reason="the extra 'bench' is not installed")


@pytest.fixture
async def report(home: Path) -> Report:
    """Of two systems, of which one has a bug."""
    plan = plan_of(Noop(), Buggy())
    with Store.open(f"sqlite:///{home / 'runs.db'}") as store:
        bench = await run_bench(plan, store=store, systems=[Noop(), Buggy()])
        return make_report(store, bench, plan)


@pytest.mark.anyio
async def test_the_page_stands_alone_and_says_all(report: Report) -> None:
    """No script and nothing from elsewhere; each system, failure, note and cell is in it."""
    page = render_page(report)
    assert "<script" not in page
    assert not re.findall(r"""(?:src|href)=["']https?:""", page)
    for said in ("noop", "buggy", "ZeroDivisionError 1", "1 of 6 cells failed", "Published", report.bench_id):
        assert said in page
    assert all(row.run_id in page for row in report.rows)
    assert page.count("<figure>") == 2
    assert render_page(report) == page


@pytest.mark.anyio
async def test_texts_are_shown_as_texts(report: Report) -> None:
    """Names and titles that hold markup, or the plotting library's own signs, change nothing about the page."""
    wild = '<script>alert("$x^2$")</script>'
    systems = tuple(system.model_copy(update={"label": wild}) for system in report.systems)
    rows = tuple(row.model_copy(update={"label": wild, "cluster": wild}) for row in report.rows)
    changed = {"title": wild, "systems": systems, "rows": rows, "notes": (wild,), "published": {wild: {wild: 0.5}}}
    page = render_page(report.model_copy(update=changed))
    assert "<script" not in page
    assert "&lt;script&gt;" in page


@pytest.mark.anyio
async def test_a_bench_of_one_system_or_none_ended_has_a_page(report: Report) -> None:
    """Without a second system there is no plot of differences, and before anything has ended there is none at all."""
    alone = report.model_copy(update={"systems": report.systems[:1]})
    assert render_page(alone).count("<figure>") == 1
    first = alone.systems[0]
    nothing = Estimate(None, None, None, 0, 0, "none")
    waiting = first.model_copy(update={"ended": 0, "scores": {"correct": nothing}, "seconds_median": None})
    page = render_page(report.model_copy(update={"systems": (waiting,), "rows": ()}))
    assert "<figure>" not in page
    assert "not finished" in page


def test_what_is_unknown_is_never_a_zero() -> None:
    """Missing values, intervals, usage and prices are words or a dash."""
    none = Estimate(None, None, None, 0, 0, "none")
    assert (percent(None), points(None), interval(none), span(none)) == ("–", "–", "no interval", "no interval")
    assert tokens(Totals(calls=2, unknown=1, prompt=1200, completion=34)) == "1,234 + 1 unknown"
    assert money(Totals(calls=2, unpriced=2)) == "unpriced"
    assert money(Totals(calls=2, unpriced=1, money=0.5)) == "$0.5000 + unpriced"
    assert money(Totals()) == "–"
    assert limits(Budget()) == ""
    assert limits(Budget(tokens=5000, money=0.5)) == "5,000 tokens, $0.5"

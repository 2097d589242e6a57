"""What a report says of teams: figures that follow from what peers did, what rules chose, and what was paid."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.bench.page import render_page
from motet.bench.plan import Entry, draw_up
from motet.bench.report import Report, as_json, make_report
from motet.bench.runner import run_bench
from motet.bench.team import (
    TeamCell,
    TeamRow,
    effective_size,
    mean_correlation,
    published,
    purposes,
    read_curve,
    read_history,
    team_row,
    team_rows,
    team_size,
)
from motet.bench.team_plots import lines
from motet.fugue.measures import PeerRow, TeamHistory
from motet.store.store import Store
from motet.systems import build
from motet.task import Result
from motet.usage import Totals

RATES = st.sampled_from([0.0, 0.5, 1.0])


def cell(
    peers: Sequence[float],
    rules: Mapping[str, float] | None = None,
    *,
    task: str = "t",
    result: float = 0.0,
    **fields: Any,
) -> TeamCell:
    """A cell whose peers p1, p2, … are worth ``peers``; ``fields`` are those of each peer's row."""
    names = [f"p{place}" for place in range(1, len(peers) + 1)]
    history = TeamHistory(
        peers=tuple(PeerRow(name=name, status="answered", **fields) for name in names), rules=dict.fromkeys(rules or {})
    )
    return TeamCell(task, None, history, result, dict(zip(names, peers, strict=True)), rules or {})


def row_of(cells: Sequence[TeamCell], *, config: Any = None, roles: Mapping[str, Totals] | None = None) -> TeamRow:
    """The row of ``cells``."""
    entry = Entry(label="fugue", name="fugue", config=config)
    return team_row(entry, cells, roles=roles or {}, latency={}, scorer="correct", seed=0)


def test_the_oracle_the_mean_and_each_rule_are_of_the_same_cells() -> None:
    """Pass@N takes the best peer of each cell, the mean all, a rule its own answer, and the gap is to the best rule."""
    cells = [
        cell([1.0, 0.0], {"majority": 0.0, "confident": 1.0}, task="a", result=0.0),
        cell([0.0, 1.0], {"majority": 0.0, "confident": 0.0}, task="b", result=0.0),
        cell([0.0, 0.0], {"majority": 0.0, "confident": 0.0}, task="c", result=0.0),
        cell([1.0, 1.0], {"majority": 1.0, "confident": 1.0}, task="d", result=1.0),
    ]
    row = row_of(cells)
    assert row.average is not None
    assert row.passed is not None
    assert row.gap is not None
    assert (row.average.value, row.passed.value, row.result.value) == (0.5, 0.75, 0.25)
    assert {rule: found.value for rule, found in row.rules.items()} == {"majority": 0.25, "confident": 0.5}
    assert (row.best_rule, row.gap.value) == ("confident", 0.25)
    assert row.correlation == pytest.approx(0.0)
    assert row.effective == pytest.approx(2.0)


@given(st.integers(1, 6).flatmap(lambda n: st.lists(st.lists(RATES, min_size=n, max_size=n), min_size=1, max_size=8)))
def test_the_mean_over_peers_is_at_most_the_oracle(scores: list[list[float]]) -> None:
    """And a rule that takes some peer's answer in each cell lies between the worst and the oracle, with a gap that is not negative."""
    cells = [cell(peers, {"first": peers[0]}, task=str(place)) for place, peers in enumerate(scores)]
    row = row_of(cells)
    assert row.average is not None
    assert row.passed is not None
    assert row.gap is not None
    assert row.average.value is not None
    assert row.passed.value is not None
    assert row.gap.value is not None
    assert row.average.value <= row.passed.value + 1e-9
    assert row.gap.value >= 0
    assert row.gap.value == pytest.approx(row.passed.value - (row.rules["first"].value or 0.0))


@given(st.lists(st.lists(RATES, min_size=5, max_size=5), min_size=2, max_size=6))
def test_correlation_lies_between_what_pairs_can_have(columns: list[list[float]]) -> None:
    """It is from -1 to 1, does not change with the order of the peers, and is 1 where all vary and are alike."""
    rho = mean_correlation(columns)
    assert rho is None or -1 - 1e-9 <= rho <= 1 + 1e-9
    again = mean_correlation(columns[::-1])
    assert (rho is None) == (again is None)
    if rho is not None:
        assert again == pytest.approx(rho)
    varying = next((column for column in columns if len(set(column)) > 1), None)
    if varying is not None:
        assert mean_correlation([varying, varying, varying]) == pytest.approx(1.0)


def test_peers_that_never_vary_have_no_correlation() -> None:
    """Nothing can be said of peers that are always right or always wrong."""
    assert mean_correlation([[1.0, 1.0], [0.0, 1.0]]) is None
    assert mean_correlation([[1.0, 0.0]]) is None
    assert mean_correlation([[], []]) is None


@given(st.integers(1, 64), st.floats(0, 1))
def test_a_team_is_worth_between_one_peer_and_all(number: int, rho: float) -> None:
    """Where peers' correctness goes together at all: N at no correlation, one at full."""
    worth = effective_size(number, rho)
    assert worth is not None
    assert 1 - 1e-9 <= worth <= number + 1e-9
    assert effective_size(number, 0.0) == number
    assert effective_size(number, 1.0) == pytest.approx(1.0)
    assert effective_size(number + 1, None) is None
    assert effective_size(number + 1, -1 / number) is None


@given(
    st.dictionaries(
        st.sampled_from(["peer:p1", "peer:p2", "hub:write", "hub:read", "team:judge", "meta", "agent", "other:x"]),
        st.integers(0, 10_000),
    )
)
def test_purposes_split_all_tokens_and_no_more(roles: dict[str, int]) -> None:
    """Every token has one purpose; those of all peers are one."""
    found = purposes(roles)
    assert sum(found.values()) == sum(roles.values())
    assert found.get("peers", 0) == sum(tokens for role, tokens in roles.items() if role.startswith("peer:"))
    assert found.get("agent", 0) == roles.get("agent", 0)


@given(st.lists(st.tuples(st.integers(0, 100), RATES), min_size=1, max_size=6), st.floats(0, 100))
def test_a_curve_is_read_between_its_ends_only(points: list[tuple[int, float]], at: float) -> None:
    """It never passes the heights of its points, meets each lone one, and says nothing beyond its ends."""
    found = read_curve(points, at)
    places = [place for place, _ in points]
    assert (found is not None) == (
        min(places) <= at <= max(places) and (len(set(places)) > 1 or at in places or len(points) > 1)
    )
    if found is not None:
        heights = [height for _, height in points]
        assert min(heights) - 1e-9 <= found <= max(heights) + 1e-9
    for place, height in points:
        if places.count(place) == 1:
            assert read_curve(points, place) == pytest.approx(height)


def test_calls_are_per_peer_and_traffic_per_task() -> None:
    """The team's calls over its peers, cell by cell; what goes through the hub is summed over peers."""
    cells = [
        cell([1.0, 1.0], task="a", calls={"search": 4, "visit": 2}, closes=1, notes=1, heard=3, reads=2, refused=1),
        cell([1.0, 1.0], task="b", calls={"search": 2}, degraded=1),
    ]
    row = row_of(cells)
    assert {tool: found.value for tool, found in row.calls.items()} == {"search": 3.0, "visit": 1.0}
    assert row.all_calls.value == 4.0
    traffic = row.traffic
    assert (traffic.closes, traffic.notes, traffic.heard, traffic.reads, traffic.refused) == (1, 1, 3, 2, 1)
    assert traffic.degraded == 1
    quiet = row_of([cell([1.0]), cell([0.0], task="b")])
    assert (quiet.all_calls.value, quiet.all_calls.low) == (0.0, None)


def test_a_team_whose_members_do_parts_has_no_oracle() -> None:
    """Where no peer's answer was offered there is neither a mean over peers nor Pass@N, and the calls are there all the same."""
    found = cell([0.0, 0.0], calls={"search": 1}, result=1.0)._replace(peers={})
    row = row_of([found])
    assert (row.average, row.passed, row.gap, row.rules) == (None, None, None, {})
    assert (row.result.value, row.all_calls.value) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("config", "number"),
    [({"peers": 4}, 4), ({"peers": [{"name": "a"}, {"name": "b"}]}, 2), ({}, None), (None, None)],
    ids=["number", "each", "default", "from Python"],
)
def test_the_size_of_a_team_is_that_of_its_configuration(config: Any, number: int | None) -> None:
    """As a number or one by one; where it does not say, it is the largest that was seen."""
    assert team_size(config) == number
    assert row_of([cell([1.0, 0.0, 1.0])], config=config).number == (number or 3)


def test_rows_that_differ_only_in_size_are_one_line() -> None:
    """A setting beside the number makes another line, and a team of one size makes none."""

    def row(label: str, **config: Any) -> TeamRow:
        entry = Entry(label=label, name="fugue", config=config)
        return team_row(entry, [cell([1.0])], roles={}, latency={}, scorer="s", seed=0)

    rows = [
        row("fugue", peers=4, visibility="notes"),
        row("fugue-2", peers=2, visibility="notes"),
        row("fugue-3", peers=2, visibility="gated"),
        row("fugue-4", peers=8, visibility="gated"),
        row("fugue-5", peers=8, visibility="private"),
    ]
    assert [[item.label for item in members] for members in lines(rows).values()] == [
        ["fugue-2", "fugue"],
        ["fugue-3", "fugue-4"],
    ]


def test_best_of_n_is_read_at_the_tokens_of_each_team() -> None:
    """Its curve over its sizes, at all that a team used, hub included; beyond the curve there is nothing to say."""
    plan = draw_up(
        "tests.bench.toys:Sums",
        [
            build("best-of-n", {"peers": 1, "model": "scripted:echo"}),
            build("best-of-n", {"peers": 3, "model": "scripted:echo"}),
            build("fugue", {"peers": 2, "model": "scripted:echo"}),
            build("fugue", {"peers": 9, "model": "scripted:echo"}),
        ],
        limit=1,
    )
    cells = {
        entry.label: [cell([1.0], result=result)]
        for entry, result in zip(plan.systems, (0.0, 1.0, 1.0, 1.0), strict=True)
    }
    spent = {"best-of-n": 100, "best-of-n-2": 300, "fugue": 150, "fugue-2": 900}
    roles = {
        label: {"peer:p1": Totals(calls=1, prompt=tokens - 10), "hub:write": Totals(calls=1, prompt=10)}
        for label, tokens in spent.items()
    }
    rows = team_rows(cells, plan, roles=roles, latencies={}, scorer="correct")
    assert [row.equal for row in rows] == [None, None, 0.25, None]
    assert rows[2].tokens == {"peers": 140, "hub writes": 10}


@pytest.mark.parametrize("details", [{}, {"team": 3}, {"team": {"peers": "many"}}], ids=["none", "number", "other"])
def test_what_is_no_history_of_a_team_is_left_alone(details: Any) -> None:
    """Another system may call something of its own so."""
    assert read_history(Result(status="completed", details=details)) is None


def test_the_papers_figures_agree_with_the_differences_that_it_states() -> None:
    """5.4 and 5.9 points above swarm and naive with one model, 7.4 and 7.7 with the other."""
    averages: Any = published()["averages"]
    gains = [[round(line["fugue"] - line[other], 1) for other in ("swarm", "naive")] for line in averages]
    assert gains == [[5.4, 5.9], [7.4, 7.7]]


@pytest.fixture
async def report(home: Path) -> Report:
    """Of two sizes of peers that answer the sums by themselves, and of a team that does parts."""
    systems = [
        build("best-of-n", {"peers": 2, "model": "scripted:echo"}),
        build("best-of-n", {"peers": 3, "model": "scripted:echo"}),
        build("naive", {"peers": 2, "model": "scripted:echo"}),
        build("react", {"model": "scripted:echo"}),
    ]
    plan = draw_up("tests.bench.toys:Sums", systems, limit=4)
    with Store.open(f"sqlite:///{home / 'runs.db'}") as store:
        bench = await run_bench(plan, store=store)
        return make_report(store, bench, plan)


@pytest.mark.anyio
async def test_a_bench_of_teams_reports_them(report: Report) -> None:
    """Every team has its row with each peer judged, systems that are no team have none, and all of it is in the JSON."""
    assert [(row.label, row.number, row.cells) for row in report.teams] == [
        ("best-of-n", 2, 4),
        ("best-of-n-2", 3, 4),
        ("naive", 2, 4),
    ]
    first, second, naive = report.teams
    assert first.passed is not None
    assert set(first.rules) == {"majority", "weighted", "confident"}
    assert naive.passed is None
    assert second.tokens["peers"] == second.per_task * 4 > first.tokens["peers"] > 0
    assert set(naive.tokens) == {"peers", "meta agent"}
    assert as_json(report)["teams"][0]["passed"]["value"] == first.passed.value


@pytest.mark.anyio
async def test_the_page_draws_teams(report: Report) -> None:
    """Score and calls against the number of peers where there are several sizes, and the split of tokens; labels are texts."""
    pytest.importorskip("matplotlib", reason="the extra 'bench' is not installed")
    page = render_page(report)
    assert "Teams: score by rule and number of peers" in page
    assert "Teams: tokens by purpose" in page
    assert "Teams: hub traffic" not in page
    wild = '<script>alert("$x^2$")</script>'
    rows = tuple(row.model_copy(update={"label": wild, "name": wild}) for row in report.teams)
    page = render_page(report.model_copy(update={"teams": rows}))
    assert "<script" not in page
    one = render_page(report.model_copy(update={"teams": report.teams[2:]}))
    assert not re.search("number of peers", one)


@pytest.mark.anyio
async def test_the_terminal_shows_each_teams_figures(report: Report, capsys: pytest.CaptureFixture[str]) -> None:
    """Rules, the oracle, calls, tokens by purpose and the paper's figures, with the labels that the bench has."""
    from motet.cli.benchwork import print_report

    print_report(report)
    out = capsys.readouterr().out
    for said in (
        "best-of-n-2",
        "rule majority",
        "Pass@N (oracle)",
        "gap to",
        "tokens, per task",
        "meta agent",
        "54.4 %",
    ):
        assert said in out

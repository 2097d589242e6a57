"""Figures over teams: slopes per doubling, scores at equal tokens, and what intervals decide."""

from __future__ import annotations

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.studies.findings import Mean
from motet.studies.peers import at_equal_tokens
from motet.studies.teams import AVG, PASS, difference, doubling, over_tasks, scored, slope, verdict
from tests.studies.works import work

SIZES = st.lists(st.integers(1, 64), min_size=2, max_size=6, unique=True)
FIGURES = st.floats(-10, 10)


@given(SIZES, FIGURES, FIGURES)
def test_a_line_over_doublings_has_its_own_slope(sizes: list[int], start: float, rise: float) -> None:
    """What rises by so much with each doubling has that slope, wherever it starts."""
    assert doubling({size: start + rise * log2(size) for size in sizes}) == pytest.approx(rise, abs=1e-6)


@given(st.dictionaries(st.integers(1, 64), FIGURES, min_size=2, max_size=6), FIGURES)
def test_a_slope_does_not_see_a_shift_and_turns_with_the_sign(values: dict[int, float], shift: float) -> None:
    """Adding the same to all changes nothing; the opposite figures have the opposite slope."""
    found = doubling(values)
    assert doubling({size: value + shift for size, value in values.items()}) == pytest.approx(found, abs=1e-6)
    assert doubling({size: -value for size, value in values.items()}) == pytest.approx(-found, abs=1e-6)


@given(st.lists(st.tuples(FIGURES, FIGURES), min_size=1, max_size=5))
def test_the_slope_of_a_team_is_that_of_its_means(tasks: list[tuple[float, float]]) -> None:
    """The mean of the tasks' slopes is the slope of the means, and tasks that not all sizes have ended are left out."""
    sizes = {
        1: [work(str(place), rules={"majority": one}) for place, (one, _) in enumerate(tasks)],
        4: [*(work(str(place), rules={"majority": four}) for place, (_, four) in enumerate(tasks)), work("more")],
    }
    means = {1: sum(one for one, _ in tasks) / len(tasks), 4: sum(four for _, four in tasks) / len(tasks)}
    found = slope(sizes, scored("majority"), seed=0)
    assert found.value == pytest.approx(doubling(means), abs=1e-6)
    assert found.n == len(tasks)


def test_one_size_has_no_slope() -> None:
    """There is nothing to compare."""
    assert slope({2: [work("a")]}, scored(AVG), seed=0).value is None


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_avg_and_pass_are_mean_and_best_of_the_peers(peers: list[float]) -> None:
    """No peer is better than Pass@N, and Avg lies among them."""
    cell = work("a", peers=peers)
    assert cell.score(PASS) == max(peers)
    assert cell.score(AVG) == pytest.approx(sum(peers) / len(peers))


def test_reads_are_no_calls_of_a_search() -> None:
    """Calls per peer are the mean over peers, reads behind notes apart."""
    cell = work("a", calls=(4, 8))
    peers = cell.team.history.peers
    asked = peers[0].model_copy(update={"calls": {**peers[0].calls, "read_notes": 5}})
    history = cell.team.history.model_copy(update={"peers": (asked, *peers[1:])})
    assert cell._replace(team=cell.team._replace(history=history)).calls == 6


@given(st.lists(st.booleans(), min_size=1, max_size=6))
def test_best_of_n_beside_itself_is_nothing_more(right: list[bool]) -> None:
    """Teams at the very points of the line differ from it by nothing."""
    tasks = [str(place) for place in range(len(right))]
    base = {
        size: [work(task, peers=(float(hit),), tokens=100 * size) for task, hit in zip(tasks, right, strict=True)]
        for size in (1, 2, 4)
    }
    level = at_equal_tokens(base, base, AVG, seed=0)
    assert level.more.value == pytest.approx(0)


def test_the_line_is_read_between_its_points_and_not_beyond() -> None:
    """Half way between 100 and 200 tokens best-of-N scores half way; at 300 nothing is known."""
    base = {1: [work("a", peers=(0.0,), tokens=100)], 2: [work("a", peers=(1.0,), tokens=200)]}
    within = at_equal_tokens(base, {2: [work("a", peers=(0.75,), tokens=150)]}, AVG, seed=0)
    assert within.tokens == 150
    assert within.base == pytest.approx(0.5)
    assert within.more.value == pytest.approx(0.25)
    beyond = at_equal_tokens(base, {2: [work("a", peers=(0.75,), tokens=300)]}, AVG, seed=0)
    assert (beyond.base, beyond.more.value) == (None, None)


def test_only_shared_tasks_are_compared_at_equal_tokens() -> None:
    """A task that one side has not ended changes nothing."""
    base = {1: [work("a", tokens=100), work("b", tokens=9)], 2: [work("a", peers=(1.0,), tokens=200)]}
    level = at_equal_tokens(base, {2: [work("a", peers=(1.0,), tokens=200)]}, AVG, seed=0)
    assert level.more.n == 1
    assert level.more.value == 0


@given(st.floats(-1, 1), st.floats(0, 0.5), st.booleans())
def test_a_verdict_is_sure_only_where_its_interval_keeps_clear_of_nothing(
    value: float, half: float, rises: bool
) -> None:
    """Yes and no need the whole interval on one side; else it is open; the other direction turns yes into no."""
    figure = Mean(value=value, low=value - half, high=value + half)
    told, turned = verdict(figure, rises=rises), verdict(figure, rises=not rises)
    clear = value - half > 0 or value + half < 0
    assert told.startswith("open") != clear
    assert {told, turned} == ({"yes", "no, the other way"} if clear else {told})


def test_a_figure_without_an_interval_is_open() -> None:
    """A single task decides nothing."""
    assert verdict(difference([work("a")], [work("a", peers=(1.0,))], scored(AVG), seed=0)) == "open: no interval"


def test_cells_without_a_value_are_left_out() -> None:
    """They count neither in the mean nor in a difference."""
    cells = [work("a", tokens=10), work("b", tokens=30)]

    def known(cell: object) -> float | None:
        return 1.0 if cell is cells[0] else None

    assert over_tasks(cells, known, seed=0).n == 1
    assert difference(cells, cells, known, seed=0).n == 1

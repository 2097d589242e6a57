"""What a report says of systems that try several candidates."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.bench.evolution import Trial, evolution_row, published
from motet.inherit.candidate import Verdict
from motet.inherit.history import History, Round


def judged(quality: int) -> Verdict:
    """A verdict of one mark."""
    return Verdict(quality_score=quality, completion_likelihood=0, requirement_coverage=0, artifact_grounding=0)


def trial(marks: list[int | None], truth: list[float], *, task: str = "t", **fields: Any) -> Trial:
    """One cell: a round for each mark (``None``: spent), each edited from the one before; ``truth`` has the candidates' scores."""
    rounds, ranked = [], []
    given_marks = [index for index, mark in enumerate(marks) if mark is not None]
    for index, mark in enumerate(marks):
        if mark is None:
            rounds.append(Round(index=index, why="edit: no"))
            continue
        before = [other for other in given_marks if other < index]
        parent = before[-1] if before else None
        origin: Any = "edit" if before else "initial"
        edits = ("prompt",) if before else ()
        rounds.append(
            Round(
                index=index, origin=origin, parent=parent, edits=edits, verdict=judged(mark), valid=True,
                live=100, inherited=50 if before else 0, meta=10, judge=5, affected=0.5 if before else 1.0,
            )
        )  # fmt: skip
        best = max((other for other in given_marks if other <= index), key=lambda other: (marks[other] or 0, -other))
        ranked.append(best)
    chosen = ranked[-1] if ranked else None
    scores = dict(zip(given_marks, truth, strict=True))
    return Trial(task, None, History(rounds=tuple(rounds), chosen=chosen, ranked=tuple(ranked)), scores)


def test_curves_choices_and_costs_of_two_cells() -> None:
    """Raw is over the candidates of a round, ranked over all cells; last, chosen and oracle differ where they should."""
    trials = [trial([10, 50, 20], [0.0, 1.0, 0.0], task="a"), trial([30, None, 20], [0.0, 1.0], task="b")]
    row = evolution_row("inherit", trials, scorer="correct", seed=0)
    assert [(step.raw.value, step.candidates) for step in row.steps] == [(0.0, 2), (1.0, 1), (0.5, 2)]
    assert [step.ranked.value for step in row.steps] == [0.0, 0.5, 0.5]
    assert (row.last.value, row.chosen.value, row.oracle.value) == (0.5, 0.5, 1.0)
    assert (row.live, row.inherited, row.spent, row.restarts) == (500, 150, 1, 0.0)
    assert row.saved_worker == pytest.approx(150 / 650)
    assert row.control == pytest.approx(75 / 575)
    edits = next(kind for kind in row.kinds if kind.kind == "prompt")
    assert (edits.rounds, edits.better, edits.worse, edits.judged_better) == (3, 2, 1, 1)
    assert edits.saved == pytest.approx(1 / 3)


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 100), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=5),
        min_size=1,
        max_size=6,
    )
)
def test_no_choice_beats_the_oracle_and_prefixes_end_with_what_was_chosen(cells: list[list[tuple[int, float]]]) -> None:
    """The oracle is at least what was chosen and at least the last; the last ranked prefix is what was chosen."""
    trials = [
        trial([mark for mark, _ in cell], [score for _, score in cell], task=str(number))
        for number, cell in enumerate(cells)
    ]
    row = evolution_row("inherit", trials, scorer="correct", seed=0)
    assert row.oracle.value is not None
    assert row.chosen.value is not None
    assert row.last.value is not None
    assert row.oracle.value >= row.chosen.value - 1e-9
    assert row.oracle.value >= row.last.value - 1e-9
    assert row.steps[-1].ranked.value == pytest.approx(row.chosen.value)


def test_the_judges_agreement_is_its_rank_correlation_with_the_truth() -> None:
    """One where it orders candidates as they are, minus one where it orders them the other way, none where it never varies."""
    right = [trial([10, 20, 30], [0.0, 0.5, 1.0])]
    wrong = [trial([30, 20, 10], [0.0, 0.5, 1.0])]
    flat = [trial([10, 10], [0.0, 1.0])]
    found = [evolution_row("x", trials, scorer="s", seed=0).agreement for trials in (right, wrong, flat)]
    assert found[0] == pytest.approx(1.0)
    assert found[1] == pytest.approx(-1.0)
    assert found[2] is None


def test_a_cell_whose_every_round_was_spent_counts_as_nothing_right() -> None:
    """It has no candidate, and takes part in every mean over cells."""
    row = evolution_row("inherit", [trial([None, None], []), trial([50, 60], [1.0, 1.0])], scorer="s", seed=0)
    assert (row.chosen.value, row.oracle.value, row.spent) == (0.5, 0.5, 2)


def test_published_figures_are_there_for_the_papers_benchmarks_and_no_other() -> None:
    """With what they were measured on."""
    workbench = published("workbench")
    assert workbench is not None
    assert (workbench.saved_worker, len(workbench.raw)) == (29.1, 5)
    assert published("elsewhere") is None

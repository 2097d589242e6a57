"""What studies compute from cells."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.bench.evolution import Trial
from motet.studies.control import alike
from motet.studies.figures import change, changes, moves, rate
from motet.studies.locality import LOCAL, by_share, local_edits
from tests.studies.cells import cell, cells


@given(cells(st.sampled_from([0.0, 1.0])))
def test_gained_less_lost_is_the_change_of_the_ranked_score(trials: list[Trial]) -> None:
    """With scores of 0 and 1, in every round and over all rounds together."""
    found = moves(trials)
    before = 0.0
    for move in found:
        after = sum(trial.ranked(move.round) for trial in trials)
        assert move.gained - move.lost == pytest.approx(after - before)
        assert move.change == pytest.approx(after - before)
        before = after
    assert before == pytest.approx(sum(trial.chosen for trial in trials))


@given(cells(st.floats(0, 1)))
def test_changes_of_any_scores_add_up_to_what_was_chosen(trials: list[Trial]) -> None:
    """Also where scores are no rates; a task neither gained nor lost has not changed."""
    found = moves(trials)
    assert sum(move.change for move in found) == pytest.approx(sum(trial.chosen for trial in trials))
    assert all(move.change == 0 for move in found if not move.gained and not move.lost)


@given(cells(st.sampled_from([0.0, 0.5, 1.0])))
def test_every_edit_is_told_once_and_with_its_own_gain(trials: list[Trial]) -> None:
    """One change for each candidate that has a parent, of the true score and of the mark."""
    found = list(changes(trials))
    assert len(found) == sum(len(trial.history.rounds) - 1 for trial in trials)
    expected = [
        (trial.scores[item.index] - trial.scores[item.index - 1], item.affected)
        for trial in trials
        for item in trial.history.rounds[1:]
    ]
    assert [(one.gain, one.affected) for one in found] == expected
    for trial in trials:
        marks = [item.verdict.quality_score for item in trial.history.rounds if item.verdict]
        own = [one.judged for one in found if one.cluster == trial.task_id]
        assert own == [after - before for before, after in pairwise(marks)]


@settings(max_examples=20)
@given(cells(st.sampled_from([0.0, 0.5, 1.0])))
def test_each_edit_is_in_one_row_of_the_distribution(trials: list[Trial]) -> None:
    """Rows by affected share count every edit once, and the local ones are those of the rows up to one half."""
    edits = list(changes(trials))
    rows = by_share(edits, seed=0).rows
    assert sum(row[1] for row in rows if isinstance(row[1], int)) == len(edits)
    local = sum(edit.affected <= LOCAL for edit in edits)
    assert sum(row[1] for row in rows[:2] if isinstance(row[1], int)) == local
    everything, better, worse = local_edits(edits, seed=0).rows
    assert (everything[1], everything[2]) == (len(edits), local)
    assert better[1] == sum(edit.gain > 0 for edit in edits)
    assert worse[1] == sum(edit.gain < 0 for edit in edits)


def test_a_restart_is_no_edit() -> None:
    """Only what was edited from its parent counts among edits."""
    trial = cell([10, 20], [0.0, 1.0])
    first, second = trial.history.rounds
    anew = trial.history.model_copy(update={"rounds": (first, second.model_copy(update={"origin": "restart"}))})
    assert list(changes([trial._replace(history=anew)])) == []


def test_differences_never_get_an_interval_of_rates() -> None:
    """Changes that are all 0 have no interval; a share of nothing that holds has one."""
    assert change([0.0, 0.0], ["a", "b"], seed=0).low is None
    share = rate([False, False], ["a", "b"], seed=0)
    assert share.low == 0.0
    assert share.high is not None
    assert share.high > 0.5


@given(st.text(), st.text(), st.text())
def test_a_shared_beginning_is_counted_to_its_last_character(same: str, one: str, other: str) -> None:
    """Two texts with the same beginning share at least that, and what they share is a beginning of both."""
    number = alike(same + one, same + other)
    assert number >= len(same)
    assert (same + one)[:number] == (same + other)[:number]
    assert (same + one)[: number + 1] != (same + other)[: number + 1] or same + one == same + other

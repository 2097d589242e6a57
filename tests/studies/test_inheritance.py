"""The comparison of cells with and without inheritance."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.bench.evolution import Trial
from motet.inherit.workflow import Workflow
from motet.studies.inheritance import compare
from tests.inherit.graphs import node
from tests.studies.cells import TEAM, cell


def with_node(trial: Trial, index: int, id_: str, **fields: Any) -> Trial:
    """``trial`` with other ``fields`` in one node of one round."""
    rounds = list(trial.history.rounds)
    row = rounds[index].nodes[id_].model_copy(update=fields)
    rounds[index] = rounds[index].model_copy(update={"nodes": {**rounds[index].nodes, id_: row}})
    return trial._replace(history=trial.history.model_copy(update={"rounds": tuple(rounds)}))


def test_equal_cells_are_compared_to_the_end() -> None:
    """Every candidate and node counts, and nothing parts or differs; how a node came by its result makes no difference."""
    trial = cell([1, 2, 3], [0.0, 1.0, 0.5])
    found = compare(with_node(trial, 1, "mail", how="reused"), trial)
    assert found == (3, 9, 1, "", "")


@given(st.integers(0, 2), st.sampled_from(TEAM.order))
def test_one_other_output_is_found_and_named(index: int, id_: str) -> None:
    """Whichever node of whichever round it is."""
    trial = cell([1, 2, 3], [0.0, 1.0, 0.5])
    found = compare(with_node(trial, index, id_, output="something else"), trial)
    assert not found.parted
    assert f"round {index}, node {id_} says something else" in found.difference
    asked = compare(with_node(trial, index, id_, key="another"), trial)
    assert f"round {index}, node {id_} is asked something else" in asked.difference


def test_one_other_score_is_found() -> None:
    """Also where every output is the same."""
    found = compare(cell([1, 2], [0.0, 1.0]), cell([1, 2], [0.0, 0.0]))
    assert "round 1: the candidate scores 1.0 with inheritance and 0.0 without" in found.difference


def test_other_teams_part_the_two_and_end_the_comparison() -> None:
    """That is the meta-model's doing, and no difference; rounds before it are compared."""
    trial = cell([1, 2], [0.0, 1.0])
    rounds = trial.history.rounds
    other = rounds[1].model_copy(update={"workflow": Workflow(nodes=(node("alone", "integrator"),))})
    changed = trial._replace(history=trial.history.model_copy(update={"rounds": (rounds[0], other)}))
    found = compare(changed, trial)
    assert (found.candidates, found.nodes, found.difference) == (1, 3, "")
    assert "round 1: the two tried different teams" in found.parted


@pytest.mark.parametrize("status", ["failed", "skipped"])
def test_a_node_that_ended_otherwise_differs(status: str) -> None:
    """Two that both failed are alike, whatever they failed with."""
    trial = cell([1], [0.0])
    lost = with_node(trial, 0, "mail", status=status, output=None)
    assert "node mail" in compare(lost, trial).difference
    assert compare(lost, lost) == (1, 2, 0, "", "")

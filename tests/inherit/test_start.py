"""A first team that is given instead of designed."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.errors import InputError
from motet.inherit.system import Inherit
from motet.inherit.workflow import Workflow, read_workflow
from motet.store.store import Store
from motet.systems import build
from tests.inherit.graphs import node
from tests.inherit.studio import Studio, marks, rewrite, story

PAIR = Workflow(nodes=(node("look"), node("tell", "integrator", "look")))


def test_a_given_team_is_the_first_candidate_and_is_edited_like_any_other(store: Store) -> None:
    """Nobody designs it, and the first thing that the meta-model is asked is an edit of it."""
    studio = Studio(store, meta=[rewrite("tell", "Well.")], judge=[marks(10), marks(90)], start=PAIR, candidates=2)
    found = story(studio.solve())
    assert [item.origin for item in found.rounds] == ["initial", "edit"]
    assert found.rounds[0].workflow == PAIR
    assert (found.chosen, studio.asked["meta"]) == (1, 1)


def test_a_given_team_that_is_not_valid_is_refused_before_any_call(store: Store) -> None:
    """With node and rule; no model is asked."""
    wrong = Workflow(nodes=(node("look"), node("tell", "integrator", "lok")))
    studio = Studio(store, meta=["no"], start=wrong)
    with pytest.raises(InputError, match=r"'lok', which is no node.*\[unknown-input\]"):
        studio.solve()
    assert not studio.model.requests


def test_a_path_is_read_once_and_the_run_keeps_the_document(tmp_path: Path) -> None:
    """The configuration that is stored holds the team itself, and builds the same system when the file is gone."""
    path = tmp_path / "team.json"
    path.write_text(PAIR.model_dump_json(), encoding="utf-8")
    system = build("inherit", {"start": str(path)})
    assert isinstance(system, Inherit)
    path.unlink()
    stored = system.model_dump(mode="json")
    assert read_workflow(stored["start"]) == PAIR
    assert build("inherit", stored) == system
    with pytest.raises(InputError, match=r"start: workflow file .*team\.json cannot be read: No such file"):
        build("inherit", {"start": str(path)})

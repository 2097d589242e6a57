"""Histories from the store: what was told and journaled says the same as the result, and as much as there is where there is none."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from motet.errors import ModelUnavailable
from motet.inherit.history import History
from motet.inherit.retelling import UNFINISHED, retell, spot_of
from motet.models.model import Request
from motet.runs.budget import Budget
from motet.runs.journal import Journal
from motet.runs.ledger import Ledger
from motet.store.queries import call_list, event_list, resolve_run
from motet.store.store import Fence, Store
from tests.inherit.studio import PAIR, TRIO, Studio, design, marks, member, rewrite, story
from tests.inherit.team import told
from tests.runs.desk import Answer


def retold(studio: Studio) -> History | None:
    """The history of the studio's last run, from the store alone."""
    row = resolve_run(studio.store, studio.run_id)
    _, ledger, _ = asyncio.run(Journal.load(studio.store, Fence(row.id, row.fence)))
    return retell(event_list(studio.store, row.id), call_list(studio.store, row.id), ledger)


def plain(history: History | None) -> Any:
    """What both know: the store keeps beginnings of outputs, and of a verdict neither what is to be kept nor why nodes are blamed."""
    assert history is not None
    told = history.model_dump(exclude={"ranked": True, "rounds": {"__all__": {"affected"}}})
    for item in told["rounds"]:
        for row in item["nodes"].values():
            # Where no record is looked for, nobody is told the key.
            row["key"] = row["key"] if row["why"] != "there are no records" else None
        if item["verdict"]:
            item["verdict"]["keep"], item["verdict"]["fix"] = (), [blame["node"] for blame in item["verdict"]["fix"]]
    return told


def broken(who: str, request: Request) -> Answer:
    """The node ``look`` fails."""
    return ModelUnavailable("it is down") if who == "look" else told(who, request)


TWINS = design(member("one"), member("two"), member("answer", "integrator", "one", "two"))
CASES: dict[str, dict[str, Any]] = {
    "edits": {"meta": [TRIO, rewrite("answer", "A."), rewrite("find", "B.")], "judge": [marks(40), marks(60, "find"), marks(50)], "candidates": 3},
    "restart": {"meta": [TRIO, PAIR], "judge": [marks(10)], "candidates": 2},
    "a failure": {"meta": [PAIR], "say": broken, "candidates": 1},
    "a spent round": {"meta": [TRIO, "no", "no"], "candidates": 2, "restart": "never"},
    "no judge": {"meta": [TRIO], "judge": [ModelUnavailable("it is down")], "candidates": 1},
    "nothing inherited": {"meta": [TRIO, rewrite("answer", "A.")], "candidates": 2, "restart": "never", "inherit": False},
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_store_tells_what_the_result_tells(store: Store, case: str) -> None:
    """The history that is put together from events, journal and ledger is the one in the result."""
    studio = Studio(store, **CASES[case])
    result = studio.solve()
    if result.details:
        assert plain(retold(studio)) == plain(story(result))
    else:
        found = retold(studio)
        assert found is not None
        assert [row.status for row in found.rounds[0].nodes.values()] == ["failed", "skipped"]


def test_a_round_that_was_stopped_is_told_as_far_as_it_went(store: Store) -> None:
    """Finished rounds are whole; the one at work has its team, its change, and the nodes that have ended."""

    studio = Studio(store, meta=[TRIO, rewrite("answer", "Go on.")], judge=[marks(30)])
    studio.solve(budget=Budget(calls=6))  # a design, three nodes, a verdict and an edit
    found = retold(studio)
    assert found is not None
    first, second = found.rounds
    assert (found.chosen, first.why, second.why) == (0, "", UNFINISHED)
    assert (first.verdict and first.verdict.quality_score, first.valid) == (30, True)
    assert {id_: row.how for id_, row in second.nodes.items()} == {"check": "reused", "find": "reused"}
    assert second.workflow is not None
    assert "Go on." in second.workflow.by_id["answer"].prompt
    assert second.change.startswith("prompt of 'answer': ")


def test_without_an_evolution_there_is_no_history() -> None:
    """A run in which no team was tried has none, and scopes of other systems are no spots of one."""
    assert retell([], [], Ledger()) is None
    assert spot_of("t1/peer-2") is None
    assert spot_of("t1/round-3/team/find") == ("t1", 3, "find")
    assert spot_of("t1/round-3/judge") is None

"""Debate: turns of answers, in which everybody is shown what all answered before."""

from __future__ import annotations

import re

import pytest

from motet.errors import ModelError
from motet.models.model import Request
from motet.store.store import Store
from tests.baselines.searchers import crew_of, team
from tests.runs.desk import Answer


def turns(request: Request) -> list[str]:
    """What an agent has been shown of answers, a text for each turn."""
    return [message.content for message in request.messages if "every one of you answers" in message.content]


def name_of(request: Request) -> str:
    """Who is asked."""
    found = re.search(r"You are (p\d+)", request.messages[0].content)
    assert found is not None
    return found[1]


def counts(_who: str, request: Request) -> Answer:
    """Answer with one's name and how many turns there were."""
    return f"{name_of(request)} says {len(turns(request))}"


@pytest.mark.parametrize("rounds", [1, 3])
def test_every_peer_answers_in_every_turn_and_sees_all_answers_of_the_turn_before(store: Store, rounds: int) -> None:
    """Its own among them, as claims of whoever gave them; the last answers count, and the first are kept beside."""
    crew = crew_of(store, "debate", say=counts, rounds=rounds, max_steps=rounds + 1)
    found = team(crew.solve())
    assert [row.answer for row in found.peers] == [f"p{number} says {rounds}" for number in (1, 2)]
    assert [row.first for row in found.peers] == [f"p{number} says 0" for number in (1, 2)]
    assert len(crew.model.requests) == 2 * (rounds + 1)
    for request in crew.model.requests:
        for turn, text in enumerate(turns(request)):
            assert all(f'candidate answer: "p{number} says {turn}"' in text for number in (1, 2))


@pytest.mark.parametrize(("most", "last"), [(1, 0), (2, 1), (3, 2), (9, 2)])
def test_turns_end_with_the_steps(store: Store, most: int, last: int) -> None:
    """Where there are fewer steps than turns, a peer stays with what it answered last."""
    found = team(crew_of(store, "debate", say=counts, rounds=2, max_steps=most).solve())
    assert [row.answer for row in found.peers] == [f"p{number} says {last}" for number in (1, 2)]
    assert all(row.steps <= most for row in found.peers)


def test_a_peer_that_fails_in_a_turn_stays_with_its_answer_and_the_others_go_on(store: Store) -> None:
    """Its failure is told."""

    def say(who: str, request: Request) -> Answer:
        if name_of(request) == "p2" and turns(request):
            raise ModelError("gone")
        return counts(who, request)

    result = crew_of(store, "debate", say=say, rounds=2).solve()
    first, second = team(result).peers
    assert result.status == "completed"
    assert first.answer == "p1 says 2"
    assert (second.answer, second.status) == ("p2 says 0", "failed")
    assert "gone" in second.failure

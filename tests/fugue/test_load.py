"""Large teams: on a provider that fails and throttles, and of hundreds; nothing is lost, nothing doubled, and memory stays in proportion.

The figures are printed: ``pytest -s -m slow tests/fugue/test_load.py``.
"""

from __future__ import annotations

import asyncio
import resource
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import motet
from motet.fugue.peer import Room
from motet.fugue.system import Fugue
from motet.models.model import Request
from motet.settings import Provider, Settings
from motet.store.store import Store
from motet.testing import ModelServer
from motet.testing.faults import Faults
from tests.fugue.crew import SMALL_ROOM, Crew, noted, reader, speaker, story
from tests.fugue.test_resume import check_whole
from tests.runs.desk import Says, rows

PEERS, STEPS = 64, 50
MEGABYTE = 1024  # of what ``getrusage`` counts in


def memory() -> float:
    """The most that this process has held so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MEGABYTE


@pytest.mark.slow
def test_a_large_team_on_a_failing_provider_loses_and_doubles_nothing(home: Path) -> None:
    """64 peers, 50 steps each; a fifth of all requests fails in some way, 429s among them. Every episode has one outcome, and nobody is shown a note twice."""
    read = reader(STEPS - 1)

    def say(request: Request) -> Any:
        who = speaker(request)
        return noted(request) if who == "write" else read(who, request)

    model, store = Says(say, name="team"), f"sqlite:///{home / 'load.db'}"

    async def main() -> motet.Result:
        async with ModelServer(model, faults=Faults.mixed(0.2, seed=1)) as server:
            system = Fugue(
                model="desk:team",
                peers=PEERS,
                tools=("tests.fugue.counting:tool",),
                room=Room.model_validate(SMALL_ROOM),
                max_steps=STEPS + 5,
            )
            settings = Settings(providers={"desk": Provider(base_url=server.base_url)})
            return await motet.solve("What is to be done?", system=system, store=store, settings=settings)

    before, start = memory(), time.monotonic()
    result = asyncio.run(main())
    print(
        f"{PEERS} peers of {STEPS} steps: {time.monotonic() - start:.0f} s, {result.usage.calls} calls, "
        f"{memory() - before:.0f} MB more",
        file=sys.stderr,
    )
    assert (result.status, result.answer) == ("completed", "forty-two")
    told = story(result)
    # A call may fail six times in a row: such a peer is reported, and ends alone.
    lost = [peer for peer in told.peers if peer.status != "answered"]
    assert len(lost) <= 2
    assert all(peer.status == "failed" and peer.failure for peer in lost)
    assert all(peer.steps == STEPS for peer in told.peers if peer not in lost)
    assert result.run_id is not None
    with Store.open(store) as opened:
        check_whole(opened, result.run_id)
        outcomes = sum("/write-" in row.scope and row.kind == "input" for row in rows(opened, result.run_id))
    # A write that failed for good is none that is lost: its steps were closed again, and each outcome is in the journal.
    assert outcomes >= sum(peer.closes for peer in told.peers)
    assert sum(peer.notes for peer in told.peers) >= 0.95 * sum(peer.closes for peer in told.peers)
    assert memory() - before < 1500


@pytest.mark.slow
def test_a_team_of_256_works(store: Store) -> None:
    """On a scripted policy: all answer, what each is shown stays within its room, and nothing is left at work."""
    crew = Crew(store, reader(8), peers=256)
    before, start = memory(), time.monotonic()
    result = crew.solve(patience=600)
    print(f"256 peers of 9 steps: {time.monotonic() - start:.0f} s, {memory() - before:.0f} MB more", file=sys.stderr)
    told = story(result)
    assert Counter(peer.status for peer in told.peers) == {"answered": 256}
    assert all(peer.notes == peer.closes > 0 for peer in told.peers)
    largest = max(sum(message.size + 12 for message in request.messages) // 3 for request in crew.model.requests)
    assert largest < 3 * (SMALL_ROOM["close_at"] + SMALL_ROOM["notes"])
    assert not crew.leaked

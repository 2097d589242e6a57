"""Cells of teams for tests of studies, made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from motet.bench.team import TeamCell
from motet.fugue.measures import PeerRow, of_rows
from motet.fugue.note import Note, Writing
from motet.studies.journal import Made
from motet.studies.teams import Work


def work(
    task: str,
    *,
    rules: Mapping[str, float] | None = None,
    peers: Sequence[float] = (0.0,),
    calls: Sequence[int] = (4,),
    tokens: int = 100,
    cluster: str = "",
) -> Work:
    """A cell on ``task``: what each rule and each peer scored, and how many calls each peer made."""
    rows = [PeerRow(name=f"p{place}", status="answered", calls={"search": n}) for place, n in enumerate(calls, 1)]
    named = {f"p{place}": score for place, score in enumerate(peers, 1)}
    team = TeamCell(task, cluster or task, of_rows(rows, rules={}), 0.0, named, dict(rules or {}))
    return Work(f"run {task}", f"{task}/1", cluster or task, team, {}, tokens, 0)


def opened(place: int, peer: str, page: str, *, step: int = 1) -> Made:
    """A page that ``peer`` opened."""
    return Made(place, peer, step, "visit", {"address": page}, error=False, page=page)


def read(place: int, peer: str, *refs: str) -> Made:
    """A read behind notes."""
    return Made(place, peer, 1, "read_notes", {"intent": "?", "refs": list(refs)}, error=False)


def note(peer: str, *, first: int = 1, last: int = 1, ruled_out: Sequence[str] = (), episode: int = 1) -> Note:
    """A note on some steps of ``peer``."""
    return Note(peer=peer, episode=episode, first=first, last=last, writing=Writing(ruled_out=tuple(ruled_out)))

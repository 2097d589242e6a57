"""``motet study`` for teams, as its users run it: small, from the store again, and with what they get wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest
import sqlalchemy as sa

from motet.fugue.note import Note
from motet.store.schema import calls, runs
from motet.store.store import Store, read_blob
from motet.studies.journal import read_stories
from tests.e2e.command import Desk

SMALL = ("--progress", "none", "-c", "max_steps=8", "--json")


def rows(found: Any, title: str) -> list[dict[str, Any]]:
    """A table's rows by the names of its columns."""
    table = next(table for table in found["tables"] if table["title"] == title)
    return [dict(zip((column["name"] for column in table["columns"]), row, strict=True)) for row in table["rows"]]


def test_sizes_and_settings_are_compared_and_found_again(scripted: Desk) -> None:
    """Every setting with every size has its scores; the claims are decided one by one; from the store nothing is run and the same is found."""
    done = scripted.run(
        "study",
        "peers",
        "--peers",
        "1,2",
        "--visibility",
        "isolated,notes+read",
        "--sample",
        "2",
        *SMALL,
        "--html",
        "peers.html",
    )
    assert done.code == 0, done.err
    found = done.json
    assert found["scripted"]
    assert found["complete"]
    assert [row["variant"] for row in rows(found, "Score by rule")] == [
        "isolated 1",
        "isolated 2",
        "notes+read 1",
        "notes+read 2",
    ]
    assert all(row["Pass@N"]["value"] >= row["majority"]["value"] for row in rows(found, "Score by rule"))
    traffic = {row["variant"]: row for row in rows(found, "Work and traffic per task")}
    assert traffic["isolated 2"]["hub tokens"] == 0 < traffic["notes+read 2"]["hub tokens"]
    claims = {(row["claim"], row["rule"]) for row in rows(found, "The paper's claims here")}
    assert ("calls per peer fall with N", "") in claims
    assert {rule for claim, rule in claims if claim.startswith("above")} == {
        "Avg",
        "majority",
        "weighted",
        "confident",
        "judge",
    }
    assert (scripted.folder / "peers.html").read_text(encoding="utf-8").count("<svg") == len(found["plots"])
    before = len(scripted.runs())
    again = scripted.run(*found["again"].split()[1:], "--progress", "none", "--json")
    assert (again.code, again.json) == (0, found), again.err
    assert len(scripted.runs()) == before


def test_swapped_teams_are_shown_notes_on_other_tasks_alone(scripted: Desk) -> None:
    """Whatever a peer hears from teammates in the control was written on another task; what stands for its own steps was not."""
    done = scripted.run(
        "study", "swapped", "--sample", "2", *SMALL, "-c", "peers=2", "-c", "room.close_at=600", "-c", "room.keep=100"
    )
    assert done.code == 0, done.err
    heard = 0
    with Store.open(f"sqlite:///{scripted.home / 'motet.db'}") as store:
        cells = store.read_now(swapped_cells)
    assert len(cells) == 2
    said = [{line for note in own.values() for line in lines(note)} for own, _ in cells]
    for (_, told), here, elsewhere in zip(cells, said, reversed(said), strict=True):
        shown = [note["text"] for attention in told for note in attention.get("notes", ())]
        assert not any(json.dumps(line, ensure_ascii=False) in text for text in shown for line in here - elsewhere)
        heard += len(shown)
    assert heard
    assert said[0] - said[1]
    assert said[1] - said[0]


def lines(note: Note) -> list[str]:
    """What a note says."""
    writing = note.writing
    return [*(claim.claim for claim in writing.established), *writing.tried, *writing.ruled_out, *writing.open]


def swapped_cells(connection: sa.Connection) -> list[tuple[dict[str, Note], list[dict[str, Any]]]]:
    """Of every cell of the control: the notes that its own team wrote, by id, and what its peers were told before their steps."""
    found = []
    for row in connection.execute(sa.select(runs.c.id).where(runs.c.system == "swapped", runs.c.kind == "cell")).all():
        notes = read_stories(connection, [row.id])[row.id].notes
        asked = sa.select(calls.c.reply).where(calls.c.run_id == row.id, calls.c.name.startswith("attention "))
        told = [json.loads(read_blob(connection, reply))["value"] for (reply,) in connection.execute(asked)]
        found.append(({note.id: note for _, note in notes}, told))
    return found


def test_trust_counts_adoption_for_every_threat_and_switch(scripted: Desk) -> None:
    """Each threat has its four settings, and each switch what it changes; claims are refused only where quotes are verified."""
    done = scripted.run("study", "trust", "--sample", "1", *SMALL)
    assert done.code == 0, done.err
    adoption = rows(done.json, "Adoption of the planted answer")
    assert len(adoption) == 13
    assert all(row["refused"] == 0 for row in adoption if "verifier off" in row["variant"])
    assert {(row["threat"], row["switch"]) for row in rows(done.json, "What a switch changes")} == {
        (threat, switch) for threat in ("page", "peer", "hub") for switch in ("marking", "verifier")
    }


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("peers", "--peers", "0"), "a team needs at least one peer"),
        (("peers", "--visibility", "note"), "visibility"),
        (("peers", "-c", "peers=3"), "peers is what this study sets itself"),
        (("ladder", "--models", "scripted:searcher"), "models"),
        (("hub", "--hub-windows", "900"), "hub_window is 900 tokens"),
        (("trust", "--benchmark", "hotpotqa"), "which only synthweb has"),
        (("trust", "-b", "planted=0"), "needs planted answers"),
        (("controls", "--peers", "2"), "the study controls takes no --peers"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_studied_is_refused_at_once(scripted: Desk, command: tuple[str, ...], told: str) -> None:
    """One line says why, with exit code 2, and nothing is written."""
    done = scripted.run("study", *command)
    assert done.code == 2
    assert told in done.error_lines[0]
    assert scripted.runs() == []

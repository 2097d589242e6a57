"""Checking: whatever is damaged is found and named."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import sqlalchemy as sa

from motet.canonical import canonical
from motet.errors import StoreError
from motet.store.check import check
from motet.store.schema import blobs, calls, events, runs
from motet.store.store import Store, as_blob
from tests.store.journal import start_run, whole_run


def _flip(path: Path, content: bytes) -> None:
    """Flip one bit in the middle of ``content`` in the file."""
    data = bytearray(path.read_bytes())
    assert data.count(content) == 1
    data[data.index(content) + len(content) // 2] ^= 1
    path.write_bytes(data)


def test_a_whole_store_has_no_problems(store: Store) -> None:
    """A store with something in every table is in order, and progress reaches the end of each part."""
    whole_run(store, "r1")
    whole_run(store, "r2")
    seen: dict[str, tuple[int, int]] = {}
    report = check(store, progress=lambda what, done, total: seen.update({what: (done, total)}))
    assert report.ok, report.problems
    assert (report.calls, report.events, report.notes) == (10, 6, [])
    assert seen["blobs"] == (report.blobs, report.blobs)
    assert seen["calls"] == (10, 10)


def test_a_flipped_byte_in_a_blob_is_found_and_named_with_what_needs_it(tmp_path: Path) -> None:
    """One bit of one message changed in the file: the blob is named, and run, scope and ordinal of the call that asked it."""
    path = tmp_path / "runs.db"
    with Store.open(f"sqlite:///{path}") as store:
        whole_run(store, "r1")
    _flip(path, canonical({"role": "user", "content": "and then?"}))
    name = as_blob({"role": "user", "content": "and then?"})[0]
    with Store.open(f"sqlite:///{path}") as store:
        report = check(store)
        with pytest.raises(StoreError, match=f"blob {name} is damaged"):
            store.blob(name)
    assert {problem.blob for problem in report.problems} == {name}
    (use,) = [problem for problem in report.problems if problem.run_id]
    assert (use.run_id, use.scope, use.ordinal) == ("r1", "t1", 1)
    assert all("\n" not in problem.text for problem in report.problems)


def test_a_flipped_byte_in_compressed_data_is_found(tmp_path: Path) -> None:
    """A bit changed in a compressed blob is found, whether or not it still decompresses."""
    path = tmp_path / "runs.db"
    with Store.open(f"sqlite:///{path}") as store:
        whole_run(store, "r1")
        query = sa.select(blobs.c.hash, blobs.c.data).where(blobs.c.codec == "zlib")
        name, data = store.read_now(lambda connection: tuple(connection.execute(query).first() or ()))
    _flip(path, data)
    with Store.open(f"sqlite:///{path}") as store:
        assert name in {problem.blob for problem in check(store).problems}


def test_damage_anywhere_in_the_file_gives_lines_and_never_a_traceback(tmp_path: Path) -> None:
    """Wherever 64 bytes of the file are overwritten, opening and checking end with one-line problems or errors; damaged structure is always found."""
    path = tmp_path / "runs.db"
    with Store.open(f"sqlite:///{path}") as store:
        for number in range(20):
            whole_run(store, f"r{number}")
    whole = path.read_bytes()
    chance = random.Random(3)
    found = 0
    for _ in range(40):
        page = chance.randrange(len(whole) // 4096) * 4096
        data = bytearray(whole)
        data[page : page + 64] = chance.randbytes(64)  # where a page keeps its structure
        path.write_bytes(data)
        lines = []
        try:
            with Store.open(f"sqlite:///{path}") as store:
                lines = [problem.text for problem in check(store).problems]
        except StoreError as error:
            lines = [str(error)]
        found += bool(lines)
        assert all("\n" not in line for line in lines)
    assert found == 40


def test_what_is_named_and_missing_is_found(store: Store) -> None:
    """Blobs that are gone are reported for every row that names them: configuration, result, task, messages, replies, records, events."""
    whole_run(store, "r1")
    store.write_now(then=lambda connection: connection.execute(blobs.delete()))
    report = check(store)
    texts = " ".join(problem.text for problem in report.problems)
    for what in (
        "configuration",
        "result",
        "task",
        "task's result",
        "record",
        "message",
        "request",
        "reply",
        "event 3",
    ):
        assert f"its {what} is in blob" in texts
    assert all(problem.run_id == "r1" and problem.blob for problem in report.problems)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"kept": 3}, "continues a conversation of 3 messages, and the one before it has 2"),
        ({"kept": 1}, "does not match the digest of the request that was sent"),
        ({"messages": "[1"}, "has a damaged list of messages"),
        ({"digest": "0" * 64}, "does not match the digest of the request that was sent"),
        ({"reply": None}, "is done and has no reply"),
    ],
)
def test_a_call_that_does_not_fit_its_conversation_is_found(store: Store, change: dict[str, object], text: str) -> None:
    """A changed column of a call is found where it contradicts the other calls or the request's digest."""
    whole_run(store, "r1")
    second = (calls.c.ordinal == 1) & sa.not_(calls.c.superseded)
    store.write_now(then=lambda connection: connection.execute(calls.update().where(second).values(change)))
    problems = [problem for problem in check(store).problems if problem.ordinal == 1]
    assert any(text in problem.text for problem in problems), problems


def test_a_damaged_event_is_found(store: Store) -> None:
    """An event whose payload is no JSON is reported."""
    whole_run(store, "r1")
    store.write_now(then=lambda connection: connection.execute(events.update().values(payload="{")))
    assert len([problem for problem in check(store).problems if "payload is not JSON" in problem.text]) == 3


def test_a_call_without_a_row_is_noted_and_is_no_problem(store: Store) -> None:
    """A gap in a completed run's scope is a note, since a call that was cancelled in flight leaves one; in an unfinished run it is nothing."""
    whole_run(store, "r1")
    store.write_now(then=lambda connection: connection.execute(calls.delete().where(calls.c.ordinal == 0)))
    store.write_now(
        then=lambda connection: connection.execute(calls.update().where(calls.c.ordinal == 1).values(superseded=True))
    )
    report = check(store)
    assert report.notes == ["run r1, scope 't1': 2 of 4 calls have no row"]
    store.write_now(then=lambda connection: connection.execute(runs.update().values(status="running")))
    assert check(store).notes == []


def test_an_empty_store_is_in_order(store: Store) -> None:
    """There is nothing wrong with nothing."""
    assert check(store).ok
    start_run(store, "r1")
    assert check(store).ok

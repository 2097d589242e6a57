"""Export, import, and the final state of a run."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from motet.errors import Damaged, InputError
from motet.store.check import check
from motet.store.export import export, import_
from motet.store.final import canonical_export
from motet.store.queries import call_list, run_list, sizes
from motet.store.schema import blobs, runs
from motet.store.store import Store
from tests.store.journal import whole_run


def _bytes(store: Store, run_ids: list[str] | None = None) -> bytes:
    target = io.BytesIO()
    export(store, target, run_ids=run_ids)
    return target.getvalue()


def test_an_export_round_trips_exactly(store: Store, new_url: Callable[[], str]) -> None:
    """Export, import into an empty store, export: the same bytes, and a store that is in order."""
    for name in ("b", "a", "Ä", "B"):
        whole_run(store, name)
    first = _bytes(store)
    with Store.open(new_url()) as other:
        report = import_(other, io.BytesIO(first))
        assert (report.run_ids, report.present) == (("B", "a", "b", "Ä"), ())
        assert report.rows == sizes(store).rows
        assert _bytes(other) == first
        assert check(other).ok


def test_sqlite_and_postgresql_export_alike(tmp_path: Path, postgres_url: str) -> None:
    """The same content gives the same bytes from either database."""
    from tests.store.postgres import new_database

    with Store.open(f"sqlite:///{tmp_path / 'a.db'}") as one, Store.open(new_database(postgres_url, "alike")) as two:
        for name in ("b", "a", "Ä", "B"):
            whole_run(one, name)
        first = _bytes(one)
        import_(two, io.BytesIO(first))
        assert _bytes(two) == first


def test_every_row_is_one_line_to_every_reader(store: Store) -> None:
    """No line holds a character that some reader takes for a line's end."""
    whole_run(store, "r1")
    text = _bytes(store).decode()
    assert "\\u2028" in text
    assert text.splitlines() == text.split("\n")[:-1]
    assert all(json.loads(line) for line in text.splitlines())


def test_some_runs_are_exported_with_all_they_need(store: Store, new_url: Callable[[], str]) -> None:
    """An export of one run holds that run, its records and its blobs, and nothing of the others."""
    whole_run(store, "r1")
    whole_run(store, "r2")
    part = _bytes(store, ["r2"])
    assert b"r1" not in part
    with Store.open(new_url()) as other:
        import_(other, io.BytesIO(part))
        assert check(other).ok
        assert canonical_export(other, "r2") == canonical_export(store, "r2")
        assert [call.messages for call in call_list(other, "r2")] == [c.messages for c in call_list(store, "r2")]
        assert _bytes(other) == part
    with pytest.raises(InputError, match="there is no run 'r3'"):
        _bytes(store, ["r1", "r3"])


def test_importing_twice_changes_nothing(store: Store) -> None:
    """A run that is there already, and the same, is left as it is; imports add up."""
    whole_run(store, "r1")
    first = _bytes(store)
    report = import_(store, io.BytesIO(first))
    assert (report.run_ids, report.present) == ((), ("r1",))
    assert set(report.rows.values()) == {0}
    assert _bytes(store) == first


def test_a_run_that_went_on_since_is_not_overwritten(store: Store) -> None:
    """Importing a run that is there with other content is refused by name, and nothing else of the file comes in either."""
    whole_run(store, "r1")
    whole_run(store, "r0")
    old = _bytes(store)
    store.write_now(then=lambda connection: connection.execute(runs.delete().where(runs.c.id == "r0")))
    store.write_now(then=lambda connection: connection.execute(runs.update().values(status="failed")))
    with pytest.raises(InputError, match="run r1 is in the store already, with other content"):
        import_(store, io.BytesIO(old))
    assert [run.id for run in run_list(store)] == ["r1"]


def test_a_file_cut_anywhere_is_refused_whole(sqlite_store: Store, tmp_path: Path) -> None:
    """A file that lost its end, within a line or between two, is bad input that names the place, and nothing is imported."""
    whole_run(sqlite_store, "r1")
    whole = _bytes(sqlite_store)
    with Store.open(f"sqlite:///{tmp_path / 'other.db'}") as other:
        cuts = [0, 5, len(whole) - 1, *(i + 1 for i, byte in enumerate(whole[:-1]) if byte == 10)]
        for cut in cuts:
            with pytest.raises(InputError, match=r"line \d+"):
                import_(other, io.BytesIO(whole[:cut]))
        assert set(sizes(other).rows.values()) == {0}


def test_a_changed_byte_anywhere_is_refused_whole(sqlite_store: Store, tmp_path: Path) -> None:
    """Whichever byte of the file is changed, the import is refused with one line that names a line or the file, and nothing is imported."""
    whole_run(sqlite_store, "r1")
    whole = _bytes(sqlite_store)
    chance = random.Random(11)
    with Store.open(f"sqlite:///{tmp_path / 'other.db'}") as other:
        for _ in range(150):
            changed = bytearray(whole)
            changed[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
            with pytest.raises(InputError) as caught:
                import_(other, io.BytesIO(changed))
            assert "\n" not in str(caught.value)
        assert set(sizes(other).rows.values()) == {0}


def test_a_damaged_line_is_named(sqlite_store: Store, tmp_path: Path) -> None:
    """A line that is no JSON, lacks a column, or holds a blob with another hash is named by its number."""
    whole_run(sqlite_store, "r1")
    lines = _bytes(sqlite_store).splitlines(keepends=True)
    blob = next(i for i, line in enumerate(lines) if b"and then?" in line)
    for number, line, message in (
        (3, lines[2][:40] + b"\n", "not a JSON object"),
        (
            2,
            lines[1].replace(b'"title"', b'"titel"'),
            "the column 'titel' of runs is unknown|the column 'title' of runs is missing",
        ),
        (2, lines[1].replace(b'"cancel":false', b'"cancel":"no"'), "cancel of runs is 'no'"),
        (blob + 1, lines[blob].replace(b"and then?", b"and now?"), "does not match its hash"),
    ):
        changed = [*lines[: number - 1], line, *lines[number:]]
        with Store.open(f"sqlite:///{tmp_path / 'other.db'}") as other:
            with pytest.raises(InputError, match=f"line {number}: .*({message})"):
                import_(other, io.BytesIO(b"".join(changed)))
            assert set(sizes(other).rows.values()) == {0}


def test_other_files_are_refused(sqlite_store: Store, tmp_path: Path) -> None:
    """A file that is no export, one of a newer version, and one that is not there each give one line."""
    (tmp_path / "x.jsonl").write_text('{"hello": 1}\n')
    with pytest.raises(InputError, match=r"x\.jsonl is no export of a Motet store"):
        import_(sqlite_store, tmp_path / "x.jsonl")
    with pytest.raises(InputError, match="upgrade Motet"):
        import_(sqlite_store, io.BytesIO(b'{"format":"motet-export","version":2}\n'))
    with pytest.raises(InputError, match="cannot be read"):
        import_(sqlite_store, tmp_path / "none.jsonl")
    with pytest.raises(InputError, match="cannot be written"):
        export(sqlite_store, tmp_path / "no" / "folder.jsonl")


def test_a_failed_export_leaves_the_old_file(sqlite_store: Store, tmp_path: Path) -> None:
    """Exporting a damaged store names the blob and leaves the file that was there, and nothing beside it."""
    whole_run(sqlite_store, "r1")
    target = tmp_path / "out" / "runs.jsonl"
    target.parent.mkdir()
    export(sqlite_store, target)
    before = target.read_bytes()
    sqlite_store.write_now(then=lambda connection: connection.execute(blobs.update().values(data=b"x")))
    with pytest.raises(Damaged, match=r"blob [0-9a-f]{64}"):
        export(sqlite_store, target)
    assert target.read_bytes() == before
    assert list(target.parent.iterdir()) == [target]

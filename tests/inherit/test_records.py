"""Records: what was stored comes back whole, or counts as missing and is told."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa

from motet.errors import InputError
from motet.inherit.records import Lookup, NodeRecord, Records, bench_namespace
from motet.runs.run import SHARED, ToolUse
from motet.store.schema import blobs, records
from motet.store.store import Store, as_blob
from motet.task import Source
from motet.usage import Totals
from tests.inherit.test_keys import key_of
from tests.runs.desk import go


def record(question: str = "What?", **other: Any) -> NodeRecord:
    """A record with something in every field."""
    fields: dict[str, Any] = {
        "determinants": key_of(prompts=question),
        "output": "Sea\u2028 ☃",
        "trace": (ToolUse(tool="look", arguments={"x": [1.5, None, {"y": "ß"}]}, text="seen"),),
        "sources": (Source(ref="a", title="b", quote="c"),),
        "usage": Totals(calls=2, prompt=10, completion=3, money=0.25),
        "model": "says",
        "read_only": True,
        "run_id": "r1",
        "scope": "task/candidate/mail",
    }
    return NodeRecord(**{**fields, **other})


def put(store: Store, made: NodeRecord, namespace: str = SHARED) -> bool:
    """Store one."""
    return go(Records(store, namespace).put(made))


def get(store: Store, key: str, namespace: str = SHARED) -> Lookup:
    """Look one up."""
    return go(Records(store, namespace).get(key))


def test_a_record_comes_back_as_it_was(store: Store) -> None:
    """Every field, under its key."""
    made = record("whole")
    assert put(store, made)
    assert get(store, made.determinants.key) == Lookup(made)
    assert get(store, "0" * 64) == Lookup(None)


def test_namespaces_share_nothing(store: Store) -> None:
    """A record of one namespace is in no other; a bench has one for each system and epoch."""
    made = record("apart")
    names = [bench_namespace("b1", system=system, epoch=epoch) for system in ("x", "y") for epoch in (1, 2)]
    assert len({SHARED, *names}) == 5
    put(store, made, names[0])
    assert [bool(get(store, made.determinants.key, name).record) for name in (SHARED, *names)] == [False, True] + [
        False
    ] * 3
    with pytest.raises(InputError, match="too long"):
        bench_namespace("b1", system="x" * 300, epoch=1)


@pytest.mark.parametrize(
    "other",
    [
        {"read_only": False},
        {"trace": (ToolUse(tool="look", arguments={}, text="no", error=True),)},
        {"output": " \n"},
    ],
    ids=["may write", "a tool failed", "empty"],
)
def test_what_may_not_be_reused_is_not_stored(store: Store, other: dict[str, Any]) -> None:
    """Writes, failures and empty answers leave no record."""
    made = record(str(other), **other)
    assert not put(store, made)
    assert get(store, made.determinants.key) == Lookup(None)


def _garble(connection: sa.Connection, name: str, _key: str) -> None:
    connection.execute(blobs.update().where(blobs.c.hash == name).values(data=b"garbage"))


def _lose(connection: sa.Connection, name: str, _key: str) -> None:
    connection.execute(blobs.delete().where(blobs.c.hash == name))


def _point_elsewhere(value: Any) -> Callable[[sa.Connection, str, str], None]:
    def point(connection: sa.Connection, _name: str, key: str) -> None:
        from motet.store.blobs import pack
        from motet.store.rows import insert_blobs

        name, body = as_blob(value)
        insert_blobs(connection, {name: pack(body)})
        connection.execute(records.update().where(records.c.key == key).values(body=name))

    return point


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (_garble, "damaged"),
        (_lose, "missing"),
        (_point_elsewhere({"version": 1}), "no record"),
        (_point_elsewhere([1]), "no record"),
        (_point_elsewhere(record("another").model_dump(mode="json")), "belongs to the key"),
    ],
    ids=["garbled", "lost", "another shape", "a list", "another key"],
)
def test_a_damaged_record_counts_as_missing_is_told_and_is_replaced(
    store: Store, damage: Callable[[sa.Connection, str, str], None], said: str
) -> None:
    """Whatever is wrong with it; the next put, even of the very same content, mends it."""
    made = record(said + damage.__qualname__)
    put(store, made)
    body = sa.select(records.c.body).where(records.c.key == made.determinants.key)
    name = store.read_now(lambda connection: connection.execute(body).scalar_one())
    store.write_now(then=lambda connection: damage(connection, name, made.determinants.key))
    found = get(store, made.determinants.key)
    assert found.record is None
    assert said in found.damage
    put(store, made)
    assert get(store, made.determinants.key) == Lookup(made)


def test_numbers_come_back_as_they_were(store: Store) -> None:
    """Beyond what canonical JSON can write, and with their kind; text that no store can carry is cleaned."""
    arguments: dict[str, Any] = {"x": [10**30, 1.0, -0.0, 1e22, 1], "y": "\ud800"}
    made = record("numbers", trace=(ToolUse(tool="look", arguments=arguments, text="seen"),))
    plain = record("plain", trace=(ToolUse(tool="look", arguments={"x": arguments["x"]}, text="seen"),))
    put(store, made)
    put(store, plain)
    assert repr(get(store, plain.determinants.key).record) == repr(plain)
    found = get(store, made.determinants.key).record
    assert found is not None
    assert found.trace[0].arguments["y"] == "?"


def test_the_last_put_counts(store: Store) -> None:
    """A refreshed result takes the place of the older one."""
    old, new = record("again", output="old"), record("again", output="new")
    put(store, old)
    put(store, new)
    assert get(store, old.determinants.key).record == new


def test_a_reader_sees_a_record_whole_or_told_as_damaged_whatever_others_do(store: Store) -> None:
    """While one process damages and replaces it again and again, another reads either of two whole records or is told of the damage."""
    either = [record("race", output="old"), record("race", output="new")]
    key = either[0].determinants.key
    put(store, either[0])
    ended = threading.Event()

    def meddle() -> None:
        with Store.open(store.url.render_as_string()) as other:
            for number in range(60):
                put(other, either[number % 2])
                body = sa.select(records.c.body).where(records.c.key == key).scalar_subquery()
                change = [
                    blobs.update().where(blobs.c.hash == body).values(data=b"x"),
                    blobs.delete().where(blobs.c.hash == body),
                ]
                other.write_now(then=partial(sa.Connection.execute, statement=change[number % 3 % 2]))
            put(other, either[1])
        ended.set()

    meddler = threading.Thread(target=meddle)
    meddler.start()
    seen = []
    while not ended.is_set():
        seen.append(get(store, key))
    meddler.join()
    assert all(found.record in either if found.record else "blob" in found.damage for found in seen)
    assert get(store, key) == Lookup(either[1])


def test_records_are_kept_alike_in_every_database(store_url: str) -> None:
    """Stored, replaced, damaged and mended."""
    old, new = record("any", output="old"), record("any", output="new")
    with Store.open(store_url) as store:
        assert get(store, old.determinants.key) == Lookup(None)
        for made in (old, new):
            put(store, made)
            assert get(store, made.determinants.key) == Lookup(made)
        store.write_now(then=lambda connection: connection.execute(blobs.update().values(data=b"x")))
        assert "damaged" in get(store, new.determinants.key).damage
        put(store, new)
        assert get(store, new.determinants.key) == Lookup(new)

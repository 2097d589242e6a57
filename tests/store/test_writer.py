"""Writing: groups, failures, fences, many writers, and kills."""

from __future__ import annotations

import asyncio
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from motet.errors import LeaseLost, StoreError
from motet.store.queries import call_list, event_list
from motet.store.schema import calls, runs
from motet.store.store import Fence, Row, Store, as_blob
from tests.store import postgres
from tests.store.journal import event, model_call, start_run


def _places(store: Store) -> set[tuple[str, str, int]]:
    query = sa.select(calls.c.run_id, calls.c.scope, calls.c.ordinal)
    return {tuple(row) for row in store.read_now(lambda connection: connection.execute(query).all())}


def test_many_concurrent_writers_lose_nothing(store: Store) -> None:
    """A thousand writes awaited at once are all there, each with its blobs."""
    fence = start_run(store, "r1")

    async def one(number: int) -> None:
        rows, blobs = model_call("r1", f"p{number}", 0, [f"question {number}"])
        await store.write(rows, blobs=blobs, fence=fence)

    async def all_of_them() -> None:
        await asyncio.gather(*(one(number) for number in range(1000)))

    asyncio.run(all_of_them())
    found = call_list(store, "r1")
    assert {call.messages[0]["content"] for call in found} == {f"question {n}" for n in range(1000)}  # type: ignore[index,call-overload]


def test_a_failing_write_fails_alone(store: Store) -> None:
    """In a group of writes with a duplicate, a bad column, and a failing function, exactly those fail, wholly, and the others are committed."""
    fence = start_run(store, "r1")

    def broken(_: sa.Connection) -> None:
        raise ZeroDivisionError("mine")

    async def scenario() -> list[object]:
        pending = []
        for number in range(20):
            rows, blobs = model_call("r1", "t1", number % 19, [f"q{number}"])  # number 19 takes the place of number 0
            pending.append(store.write(rows, blobs=blobs, fence=fence))
        rows, blobs = model_call("r1", "half", 0, ["never"])
        pending.append(store.write(rows, blobs=blobs, then=broken))
        pending.append(store.write([Row(runs, {"colour": "red"})]))
        return await asyncio.gather(*pending, return_exceptions=True)

    outcomes = asyncio.run(scenario())
    assert outcomes[:19] == [None] * 19
    assert isinstance(outcomes[19], StoreError)
    assert "could not be written" in str(outcomes[19])
    assert isinstance(outcomes[20], ZeroDivisionError)
    assert isinstance(outcomes[21], StoreError)
    assert "no column 'colour'" in str(outcomes[21])
    assert _places(store) == {("r1", "t1", number) for number in range(19)}
    with pytest.raises(StoreError, match="missing"):
        store.blob(as_blob({"role": "user", "content": "never"})[0])


def test_a_moved_fence_writes_nothing(store: Store) -> None:
    """Once the run has another owner, a write raises LeaseLost, writes neither rows nor blobs, and others in its group succeed."""
    old = start_run(store, "r1")
    new = Fence("r1", 2)
    store.write_now(then=lambda connection: connection.execute(runs.update().values(fence=2)))
    called = []

    async def scenario() -> list[object]:
        late, late_blobs = model_call("r1", "t1", 0, ["late"])
        good, good_blobs = model_call("r1", "t1", 1, ["good"])
        store.append(event("r1", 1, "agent.step", {}), fence=old)
        store.append(event("r1", 2, "agent.step", {}), fence=new)
        outcomes = await asyncio.gather(
            store.write(late, blobs=late_blobs, fence=old, then=lambda _: called.append(1)),
            store.write(good, blobs=good_blobs, fence=new),
            return_exceptions=True,
        )
        return list(outcomes)

    outcomes = asyncio.run(scenario())
    assert isinstance(outcomes[0], LeaseLost)
    assert outcomes[1] is None
    assert called == []
    assert _places(store) == {("r1", "t1", 1)}
    assert [found.seq for found in event_list(store, "r1")] == [2]


def test_rows_of_one_group_may_name_different_columns(store: Store) -> None:
    """A column that only some rows of a group name is kept for those, and has its default for the others."""
    fence = start_run(store, "r1")
    plain, blobs = model_call("r1", "t1", 0, ["a"])
    rich, more = model_call("r1", "t1", 1, ["b"], cached=7, latent_steps=3)
    store.write_now([*plain, *rich], blobs=blobs | more, fence=fence)
    first, second = call_list(store, "r1")
    assert (first.usage.cached, first.usage.latent_steps) == (None, 0)
    assert (second.usage.cached, second.usage.latent_steps) == (7, 3)


def test_what_was_appended_is_committed_no_later_than_the_next_write(store: Store) -> None:
    """After an awaited write, everything appended before it can be read."""
    start_run(store, "r1")

    async def scenario() -> None:
        for number in range(1, 200):
            store.append(event("r1", number, "agent.step", {"n": number}))
        await store.flush()
        assert len(event_list(store, "r1")) == 199

    asyncio.run(scenario())


def test_closing_commits_what_is_waiting(store_url: str) -> None:
    """Rows appended just before the store is closed are there when it is opened again."""
    with Store.open(store_url) as store:
        start_run(store, "r1")
        store.append(event("r1", 1, "agent.step", {}))
        rows, blobs = model_call("r1", "t1", 0, ["posted"])
        store.post(rows, blobs=blobs, fence=Fence("r1", 1))
    with Store.open(store_url) as store:
        assert len(event_list(store, "r1")) == 1
        assert _places(store) == {("r1", "t1", 0)}


def test_a_closed_store_refuses_writes(store: Store) -> None:
    """A write after closing is an error at once and never a hang; closing twice is harmless."""
    store.close()
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        store.write_now()


def test_a_cancelled_caller_does_not_undo_its_write(store: Store) -> None:
    """A task cancelled while it waits for its commit leaves the row in the store, and the writer working."""
    fence = start_run(store, "r1")

    async def scenario() -> None:
        rows, blobs = model_call("r1", "t1", 0, ["kept"])
        waiting = asyncio.ensure_future(store.write(rows, blobs=blobs, fence=fence))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await store.flush()

    asyncio.run(scenario())
    assert _places(store) == {("r1", "t1", 0)}


def test_a_server_that_cut_the_connections_is_connected_to_again(postgres_url: str) -> None:
    """After PostgreSQL ended all of a store's connections, the next write and the next read succeed."""
    with Store.open(postgres.new_database(postgres_url, "cut")) as store:
        fence = start_run(store, "r1")
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            ended = connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'cut'")
            assert ended.rowcount > 0
        rows, blobs = model_call("r1", "t1", 0, ["after"])
        store.write_now(rows, blobs=blobs, fence=fence)
        assert _places(store) == {("r1", "t1", 0)}


def test_a_store_that_stays_locked_fails_its_writes_and_recovers(tmp_path: Path) -> None:
    """While another program holds SQLite's lock beyond the time-out, all waiting writes fail with one line after one wait; later writes succeed."""
    path = tmp_path / "runs.db"
    with Store.open(f"sqlite:///{path}") as store:
        fence = start_run(store, "r1")
        sa.event.listen(
            store._writing, "begin", lambda c: c.connection.cursor().execute("PRAGMA busy_timeout=200"), insert=True
        )
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")

        async def scenario() -> list[object]:
            calls_ = [model_call("r1", "t1", number, [f"q{number}"]) for number in range(30)]
            pending = (store.write(rows, blobs=blobs, fence=fence) for rows, blobs in calls_)
            return list(await asyncio.gather(*pending, return_exceptions=True))

        outcomes = asyncio.run(scenario())
        assert {str(outcome).rpartition(": ")[2] for outcome in outcomes} == {"database is locked"}
        assert all(isinstance(outcome, StoreError) for outcome in outcomes)
        other.close()
        assert asyncio.run(scenario()) == [None] * 30


_WRITER = """
import sys, threading
from motet.store.store import Store, Fence
from tests.store import postgres
from tests.store.journal import model_call
url, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with Store.open(url) as store:
    def work(thread):
        for n in range(count):
            rows, blobs = model_call("r1", f"{name}-{thread}", n, ["shared", f"{name} {thread} {n}"])
            store.write_now(rows, blobs=blobs, fence=Fence("r1", 1))
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [t.start() for t in threads]; [t.join() for t in threads]
"""


def test_several_processes_with_many_threads_lose_nothing(store: Store, store_url: str) -> None:
    """Three processes of four threads each, beside this one's, write to one store: every row is there and nothing was locked out."""
    fence = start_run(store, "r1")
    command = [sys.executable, "-c", _WRITER, store_url]
    processes = [subprocess.Popen([*command, f"p{i}", "50"], stderr=subprocess.PIPE, text=True) for i in range(3)]

    def work(thread: int) -> None:
        for number in range(50):
            rows, blobs = model_call("r1", f"here-{thread}", number, ["shared", f"here {thread} {number}"])
            store.write_now(rows, blobs=blobs, fence=fence)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for process in processes:
        assert process.communicate()[1] == ""
    expected = {("r1", f"{who}-{t}", n) for who in ("p0", "p1", "p2", "here") for t in range(4) for n in range(50)}
    assert _places(store) == expected


_ACKER = """
import asyncio, os, sys
from motet.store.store import Store, Fence
from tests.store import postgres
from tests.store.journal import model_call
async def main():
    store = Store.open(sys.argv[1])
    async def work(scope):
        for n in range(10_000):
            rows, blobs = model_call("r1", scope, n, [f"{scope} {n}"])
            await store.write(rows, blobs=blobs, fence=Fence("r1", 1))
            os.write(1, f"{scope} {n}\\n".encode())
    await asyncio.gather(*(work(f"s{i}") for i in range(8)))
asyncio.run(main())
"""


def test_a_killed_writer_loses_nothing_that_was_acknowledged(store_url: str) -> None:
    """After kill -9 at a random moment of writing, every acknowledged call is there with its texts, and the next process writes on."""
    chance = random.Random(7)
    with Store.open(store_url) as store:
        start_run(store, "r1")
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", _ACKER, store_url], stdout=subprocess.PIPE)
        assert process.stdout is not None
        acknowledged = [process.stdout.readline() for _ in range(chance.randrange(1, 300))]
        time.sleep(chance.random() * 0.01)
        process.send_signal(signal.SIGKILL)
        acknowledged += process.stdout.readlines()
        process.wait()
        process.stdout.close()
        whole = [line.decode().split() for line in acknowledged if line.endswith(b"\n")]
        with Store.open(store_url) as store:
            found = {(call.scope, call.ordinal): call.messages for call in call_list(store, "r1")}
            assert len(whole) > 0
            for scope, number in whole:
                assert found[scope, int(number)] == ({"role": "user", "content": f"{scope} {number}"},)
            store.write_now(then=lambda connection: connection.execute(calls.delete()), fence=Fence("r1", 1))


_TALK = st.lists(st.lists(st.sampled_from("abc"), max_size=5), max_size=12)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(talks=st.dictionaries(st.sampled_from(["t1", "t1/a", "t10"]), _TALK, max_size=3), data=st.data())
def test_conversations_are_rebuilt_as_they_were(
    tmp_path: Path, talks: dict[str, list[list[str]]], data: st.DataObject
) -> None:
    """Whatever the conversations of interleaved scopes, with failed and superseded calls among them, each call's messages read back as they were sent."""
    path = tmp_path / "runs.db"
    path.unlink(missing_ok=True)
    sent: list[tuple[str, list[str]]] = []
    with Store.open(f"sqlite:///{path}") as store:
        start_run(store, "r1")
        previous: dict[str, list[str]] = {}
        places = [(scope, ordinal) for scope, talk in talks.items() for ordinal in range(len(talk))]
        for scope, ordinal in data.draw(st.permutations(places)):
            texts = ["system", *talks[scope][ordinal]]
            failed, superseded = data.draw(st.booleans()), data.draw(st.booleans())
            rows, blobs = model_call(
                "r1",
                scope,
                ordinal,
                texts,
                previous=[] if failed else previous.get(scope, []),
                superseded=superseded,
                state="failed" if failed else "done",
            )
            store.write_now(rows, blobs=blobs)
            sent.append((scope, texts))
            if not failed:
                previous[scope] = texts
        read = [(call.scope, [message["content"] for message in call.messages]) for call in call_list(store, "r1")]  # type: ignore[index,call-overload]
        assert read == sent
        below = [call.scope for call in call_list(store, "r1", scope="t1")]
        assert below == [scope for scope, _ in sent if scope in ("t1", "t1/a")]


def test_a_write_put_later_comes_before_what_is_put_after_it(store: Store) -> None:
    """It rides on the next commit, in the order of both; alone it leaves after a moment, its failure is its own, and a closed store refuses it."""
    order: list[str] = []
    later = store.post_later(then=lambda _connection: order.append("later"))
    wrong = store.post_later(then=lambda _connection: 1 // 0)
    store.write_now(then=lambda _connection: order.append("now"))
    assert later.done()
    # A group with a failure in it is done again one by one.
    assert order[-2:] == ["later", "now"]
    assert isinstance(wrong.exception(timeout=60), ZeroDivisionError)
    assert store.post_later(then=lambda _connection: 7).result(timeout=60) == 7
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.post_later()

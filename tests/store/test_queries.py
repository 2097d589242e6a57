"""Reading: runs, calls, events, totals and sizes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from motet.errors import Damaged, InputError
from motet.store.queries import call_list, event_list, resolve_run, run_list, sizes, totals
from motet.store.schema import blobs
from motet.store.store import Store
from motet.usage import Usage
from tests.store.journal import event, model_call, start_run, whole_run


def test_runs_come_newest_first_and_page_by_page(store: Store) -> None:
    """Pages of any size put together give all runs once, newest first, also where times are equal."""
    for number in range(7):
        start_run(store, f"r{number}", updated=float(number // 3))
    everything = [run.id for run in run_list(store)]
    assert everything == ["r6", "r5", "r4", "r3", "r2", "r1", "r0"]
    paged: list[str] = []
    while page := run_list(store, limit=2, before=paged[-1] if paged else None):
        paged += [run.id for run in page]
    assert paged == everything


def test_runs_are_found_by_status_system_and_text(store: Store) -> None:
    """Each filter keeps exactly the runs that fit; text is taken literally, wildcards included."""
    start_run(store, "r1", title="The 100% case")
    start_run(store, "r2", title="The 1000 cases", status="completed")
    start_run(store, "r3", title="Last", system="fugue")
    assert [run.id for run in run_list(store, status="completed")] == ["r2"]
    assert [run.id for run in run_list(store, system="fugue")] == ["r3"]
    assert [run.id for run in run_list(store, text="100%")] == ["r1"]
    assert {run.id for run in run_list(store, text="the")} == {"r1", "r2"}


def test_a_run_is_named_by_a_unique_beginning(store: Store) -> None:
    """A unique beginning, a whole id, and ``last`` name a run; anything else is bad input that says what there is."""
    with pytest.raises(InputError, match="there is no run yet"):
        resolve_run(store, "last")
    start_run(store, "261130-aa11", updated=1.0)
    start_run(store, "261130-ab22", updated=2.0)
    start_run(store, "261130-ab", updated=0.5)
    assert resolve_run(store, "261130-aa").id == "261130-aa11"
    assert resolve_run(store, "261130-ab").id == "261130-ab"
    assert resolve_run(store, "last").id == "261130-ab22"
    with pytest.raises(InputError, match="beginning of several runs: 261130-aa11, 261130-ab, 261130-ab22"):
        resolve_run(store, "2611")
    with pytest.raises(InputError, match="did you mean '261130-aa11'"):
        resolve_run(store, "261130-aa12")
    for wrong in ("", "%", "_61130-aa11", "x"):
        with pytest.raises(InputError):
            resolve_run(store, wrong)


def test_calls_carry_their_texts(store: Store) -> None:
    """Calls read back with whole conversations, requests, replies and usage, in the order they were written."""
    whole_run(store, "r1")
    found = call_list(store, "r1")
    assert [(call.kind, call.ordinal, call.superseded) for call in found] == [
        ("model", 0, False),
        ("model", 1, False),
        ("model", 2, False),
        ("tool", 3, False),
        ("model", 1, True),
    ]
    assert [len(call.messages) for call in found] == [2, 3, 4, 0, 1]
    assert found[2].messages[:3] == found[1].messages
    assert found[3].request == {"tool": "search", "arguments": {"query": "x"}}
    assert found[0].usage == Usage(prompt=10, completion=5)
    assert isinstance(found[0].reply, dict)
    assert found[0].reply["text"] == "t1 0"


def test_a_missing_text_is_damage(store: Store) -> None:
    """A call whose message is gone raises Damaged, naming the blob, and is never shown without it."""
    whole_run(store, "r1")
    store.write_now(then=lambda connection: connection.execute(blobs.delete()))
    with pytest.raises(Damaged, match=r"blob [0-9a-f]{64} is missing"):
        call_list(store, "r1")


def test_events_go_on_after_a_number(store: Store) -> None:
    """Events after ``seq`` come in order, at most ``limit``, and a payload in a blob is read from there."""
    whole_run(store, "r1")
    store.write_now([event("r1", number, "agent.step", {"n": number}) for number in range(4, 30)])
    assert [found.seq for found in event_list(store, "r1", after=2, limit=5)] == [3, 4, 5, 6, 7]
    assert event_list(store, "r1", after=2, limit=1)[0].payload == {"text": "long " * 2000}
    assert event_list(store, "r1", after=29) == []


def test_totals_count_every_call_that_was_paid(store: Store) -> None:
    """Sums by role, scope and model agree; superseded calls and lost attempts count, and unknown is counted as unknown."""
    start_run(store, "r1")
    lost = json.dumps([{"prompt": 3, "completion": 1}, {}])
    variants: list[dict[str, Any]] = [
        {},
        {"superseded": True},
        {"ordinal": 1, "prompt": None, "money": None},
        {"ordinal": 2, "lost": lost},
        {"ordinal": 3, "state": "failed", "lost": lost},
        {"ordinal": 4, "origin": "inherited"},
        {"ordinal": 0, "scope": "t2", "name": "judge"},
    ]
    for more in variants:
        scope, ordinal = more.pop("scope", "t1"), more.pop("ordinal", 0)
        rows, texts = model_call("r1", scope, ordinal, ["q"], **more)
        store.write_now(rows, blobs=texts)
    by_role = totals(store, "r1", by="role")
    assert [(row.key, row.origin) for row in by_role] == [("agent", "paid"), ("agent", "inherited"), ("judge", "paid")]
    paid = by_role[0].totals
    assert (paid.calls, paid.failed, paid.unknown, paid.unpriced) == (8, 4, 3, 5)
    assert (paid.prompt, paid.completion, paid.money) == (36, 22, 0.75)
    for by in ("scope", "model"):
        rows_by = totals(store, "r1", by=by)
        assert sum(row.totals.tokens for row in rows_by) == sum(row.totals.tokens for row in by_role)
    assert totals(store, "none", by="role") == []


def test_sizes_tell_rows_and_bytes(store: Store) -> None:
    """Sizes count every table's rows and the bytes of the blobs before and after compression."""
    whole_run(store, "r1")
    found = sizes(store)
    assert (found.rows["runs"], found.rows["calls"], found.rows["records"]) == (1, 5, 1)
    assert found.content > found.compressed > 0
    assert found.disk > 8192

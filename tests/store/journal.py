"""Writing runs as a sitting does, for the store's tests."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from motet.canonical import digest
from motet.models.model import Message, Reply, Request
from motet.store.schema import calls, events, records, runs, scores, tasks
from motet.store.store import Fence, Row, Store, as_blob
from motet.task import Result, Task
from motet.usage import Usage


def start_run(
    store: Store, run_id: str, *, status: str = "running", updated: float | None = None, **more: Any
) -> Fence:
    """A run with one task; its lease is free unless ``more`` says otherwise."""
    now = time.time() if updated is None else updated
    task = Task(question=f"What is {run_id}?", id="t1")
    config, task_body = as_blob({"system": "react", "run": run_id}), as_blob(task.model_dump(mode="json"))
    rows = [
        Row(
            runs,
            {
                "id": run_id,
                "kind": "solve",
                "title": task.question,
                "system": "react",
                "config": config[0],
                "status": status,
                "created": now,
                "updated": now,
                "fence": 1,
                **more,
            },
        ),
        Row(tasks, {"run_id": run_id, "task_id": "t1", "body": task_body[0]}),
    ]
    store.write_now(rows, blobs=dict([config, task_body]))
    return Fence(run_id, 1)


def model_call(
    run_id: str, scope: str, ordinal: int, messages: Sequence[str], *, previous: Sequence[str] = (), **more: Any
) -> tuple[list[Row], dict[str, bytes]]:
    """Row and blobs of a model call that asks ``messages``, after one that asked ``previous``."""
    request = Request(messages=tuple(Message(role="user", content=text) for text in messages), max_tokens=10)
    kept = next((i for i, pair in enumerate(zip(previous, messages, strict=False)) if pair[0] != pair[1]), None)
    if kept is None:
        kept = min(len(previous), len(messages))
    reply = Reply(text=f"{scope} {ordinal}", usage=Usage(prompt=10, completion=5), seconds=time.perf_counter())
    rest = as_blob(request.model_dump(mode="json", exclude={"messages"}, exclude_defaults=True))
    body = as_blob(reply.model_dump(mode="json", exclude_defaults=True))
    blobs = dict([rest, body, *(as_blob(message.model_dump(exclude_defaults=True)) for message in request.messages)])
    row = {
        "run_id": run_id,
        "scope": scope,
        "ordinal": ordinal,
        "kind": "model",
        "name": "agent",
        "model": "scripted",
        "digest": request.digest,
        "state": "done",
        "request": rest[0],
        "reply": body[0],
        "kept": kept,
        "messages": json.dumps([message.digest for message in request.messages[kept:]]),
        "prompt": 10,
        "completion": 5,
        "money": 0.25,
        "seconds": reply.seconds,
        "created": time.time(),
        **more,
    }
    return [Row(calls, row)], blobs


def tool_call(
    run_id: str, scope: str, ordinal: int, arguments: Mapping[str, Any]
) -> tuple[list[Row], dict[str, bytes]]:
    """Row and blobs of a tool call."""
    request, reply = as_blob({"tool": "search", "arguments": dict(arguments)}), as_blob({"text": "found"})
    row = {
        "run_id": run_id,
        "scope": scope,
        "ordinal": ordinal,
        "kind": "tool",
        "name": "search",
        "state": "done",
        "digest": request[0],
        "request": request[0],
        "reply": reply[0],
        "created": time.time(),
    }
    return [Row(calls, row)], dict([request, reply])


def event(run_id: str, seq: int, kind: str, payload: Mapping[str, Any], *, scope: str = "t1") -> Row:
    """An event's row."""
    values = {"run_id": run_id, "seq": seq, "time": time.time(), "scope": scope, "kind": kind}
    return Row(events, {**values, "payload": json.dumps(payload)})


def whole_run(store: Store, run_id: str, *, updated: float | None = None, parent: str | None = None) -> None:
    """A finished run with something in every table: three model calls, a tool call, a superseded call, events, a score and a record."""
    fence = start_run(store, run_id, updated=updated, parent=parent)
    talk = ["system: be brief", f"ask {run_id} \u2028 ünï", "and then?", "finally?"]
    for ordinal, (asked, before) in enumerate([(talk[:2], []), (talk[:3], talk[:2]), (talk[:4], talk[:3])]):
        rows, blobs = model_call(run_id, "t1", ordinal, asked, previous=before)
        store.write_now(rows, blobs=blobs, fence=fence)
    rows, blobs = tool_call(run_id, "t1", 3, {"query": "x"})
    store.write_now(rows, blobs=blobs, fence=fence)
    rows, blobs = model_call(run_id, "t1", 1, ["another way"], superseded=True)
    store.write_now(rows, blobs=blobs, fence=fence)
    long = as_blob({"text": "long " * 2000})
    result = as_blob(Result(status="completed", answer="42", run_id=run_id).model_dump(mode="json"))
    raw = bytes(range(256)) * 8
    record = {"namespace": "n", "key": digest(run_id), "body": result[0], "run_id": run_id, "created": 1.5}
    more = [
        event(run_id, 1, "run.started", {"run": run_id}),
        event(run_id, 2, "agent.step", {"step": 1, "seconds": 0.1}),
        event(run_id, 3, "agent.note", {"blob": long[0]}),
        Row(scores, {"run_id": run_id, "task_id": "t1", "scorer": "exact", "value": 1.0, "correct": True}),
        Row(records, record),
    ]
    store.write_now(
        more,
        blobs=dict([long, result]) | {digest_of(raw): raw},
        fence=fence,
        then=lambda connection: (
            connection.execute(
                runs.update().where(runs.c.id == run_id).values(status="completed", result=result[0], owner=None)
            ),
            connection.execute(
                tasks.update().where(tasks.c.run_id == run_id).values(status="completed", result=result[0])
            ),
        ),
    )


def digest_of(data: bytes) -> str:
    """The name of a blob with this content."""
    from motet.canonical import digest_bytes

    return digest_bytes(data)

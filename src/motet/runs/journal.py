"""The journal: every answer a run received from outside, in the order of each scope, so that a resumed run replays it.

An entry's place is (run, scope path, ordinal); the request's digest says whether the answer still belongs to what is being asked. A resumed scope
follows its entries one by one. At the first that differs it goes live, and its later entries are marked superseded: kept for the ledger, followed
no more. What failed is asked again.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import sqlalchemy as sa
from pydantic import JsonValue

from motet.canonical import Json, canonical, digest_bytes
from motet.errors import MotetError, RunError, UnconfirmedWrite
from motet.models.model import Message, Price, Reply, Request
from motet.runs.budget import Charge, charge
from motet.runs.ledger import Ledger, Line, is_under
from motet.store.queries import read_lost
from motet.store.schema import calls
from motet.store.store import Fence, Row, Store, read_blob
from motet.usage import Usage

Kind: TypeAlias = Literal["model", "tool", "write", "input"]


class Place(NamedTuple):
    """Where in a run an answer belongs."""

    scope: str
    ordinal: int


class Entry(NamedTuple):
    """A journal row as it was found when the run was resumed."""

    id: int
    kind: Kind
    name: str
    digest: str
    state: str
    request: str | None
    reply: str | None


class Journal:
    """The journal of one sitting of a run. ``Journal.load`` reads what earlier sittings left; ``decided`` says that a person has looked after
    writes in doubt.
    """

    def __init__(
        self, store: Store, fence: Fence, entries: Mapping[Place, Entry] | None = None, *, decided: bool = False
    ) -> None:
        self.store = store
        self.fence = fence
        self._decided = decided
        self._entries: dict[Place, Entry] = dict(entries or {})
        self._last: defaultdict[str, int] = defaultdict(lambda: -1)
        for place in self._entries:
            self._last[place.scope] = max(self._last[place.scope], place.ordinal)
        self._histories: dict[str, list[str]] = {}
        self._ended = False

    @classmethod
    async def load(
        cls, store: Store, fence: Fence, *, decided: bool = False
    ) -> tuple[Journal, Ledger, dict[str, Charge]]:
        """The journal as earlier sittings left it, the ledger rebuilt from it, and what each scope was charged."""
        rows = await store.read(
            lambda connection: connection.execute(
                sa.select(calls).where(calls.c.run_id == fence.run_id).order_by(calls.c.id)
            ).all()
        )
        entries = {
            Place(row.scope, row.ordinal): Entry(
                row.id, row.kind, row.name, row.digest, row.state, row.request, row.reply
            )
            for row in rows
            if not row.superseded
        }
        ledger = Ledger()
        charged: defaultdict[str, Charge] = defaultdict(Charge)
        for row in rows:
            if row.kind != "model" and row.origin != "inherited":
                continue
            origin: Literal["inherited", "earlier"] = "inherited" if row.origin == "inherited" else "earlier"
            line = Line(row.scope, row.name, row.model, origin)
            lost = read_lost(row.lost)
            for usage, money in lost:
                ledger.add(line, usage, money=money, failed=True)
            if row.state == "done":
                usage = Usage(
                    prompt=row.prompt,
                    cached=row.cached,
                    completion=row.completion,
                    reasoning=row.reasoning,
                    latent_steps=row.latent_steps,
                )
                ledger.add(line, usage, money=row.money)
            if origin == "inherited":
                continue
            charged[row.scope] += Charge(
                tokens=row.charged, money=row.charged_money, calls=len(lost) + (row.state == "done")
            )
        return cls(store, fence, entries, decided=decided), ledger, dict(charged)

    def replaying(self, place: Place) -> bool:
        """Whether earlier sittings got as far as ``place`` in its scope."""
        return place.ordinal <= self._last[place.scope]

    def length(self, scope: str) -> int:
        """The ordinal after the last that earlier sittings left in ``scope``."""
        return self._last[scope] + 1

    def find(self, place: Place, kind: Kind, digest: str) -> Entry | None:
        """The entry at ``place`` if it answers this very request: done, or for a write perhaps only sent."""
        entry = self._entries.get(place)
        if entry is None or entry.kind != kind or entry.digest != digest or entry.state == "failed":
            return None
        return entry

    def end(self) -> None:
        """Take no new answer from now on: work that outlives its run must not spend in it."""
        self._ended = True

    async def open(self, place: Place, kind: Kind, digest: str) -> None:
        """Make room for a new answer at ``place``.

        If an earlier sitting was asked something else there, its scope goes live: whatever it left from ``place`` on is superseded. An answer that
        failed, or never came, says nothing about those after it: of calls made side by side some come back before a kill and some do not, and each that did
        still has to match its own request. Raises UnconfirmedWrite rather than forget a write that was sent and never confirmed.
        """
        if self._ended:
            raise RunError(f"run {self.fence.run_id} has ended: nothing more can be asked in scope {place.scope}")
        entry = self._entries.get(place)
        if entry is None:
            return
        if entry.kind == kind and entry.digest == digest:
            await self._supersede([self._entries.pop(place).id])
            return
        later = [spot for spot in self._entries if spot.scope == place.scope and spot.ordinal >= place.ordinal]
        for spot in later:
            await self._look_after(self._entries[spot])
        self._go_on(place)
        await self._supersede([self._entries.pop(spot).id for spot in later])

    async def _look_after(self, entry: Entry) -> None:
        if entry.state != "sent" or self._decided:
            return
        assert entry.request is not None
        name = entry.request
        request = json.loads(await self.store.read(lambda connection: read_blob(connection, name)))
        raise unconfirmed_write(self.fence.run_id, entry.name, request["arguments"])

    def _go_on(self, place: Place) -> None:
        """From ``place`` on, its scope does what no earlier sitting did."""
        self._last[place.scope] = min(self._last[place.scope], place.ordinal - 1)

    async def close(self, scope: str, *, followed: Mapping[str, int]) -> None:
        """Supersede what a finished task no longer followed: entries under ``scope`` at or beyond ``followed[their scope]``."""
        stale = [
            place
            for place in self._entries
            if is_under(place.scope, scope) and place.ordinal >= followed.get(place.scope, 0)
        ]
        await self._supersede([self._entries.pop(place).id for place in stale])

    async def _supersede(self, ids: Sequence[int]) -> None:
        if not ids:
            return

        def mark(connection: sa.Connection) -> None:
            for start in range(0, len(ids), 500):
                connection.execute(
                    calls.update().where(calls.c.id.in_(ids[start : start + 500])).values(superseded=True)
                )

        await self.store.write(then=mark, fence=self.fence)

    async def body(self, entry: Entry) -> JsonValue:
        """The answer that ``entry`` recorded."""
        assert entry.reply is not None
        name = entry.reply
        value: JsonValue = json.loads(await self.store.read(lambda connection: read_blob(connection, name)))
        return value

    async def record_reply(
        self, place: Place, role: str, request: Request, reply: Reply, *, model: str, price: Price | None
    ) -> None:
        """Commit a model's reply. Returns once it is safe to use."""
        self._go_on(place)
        cost = charge(request, price, (*reply.lost, reply.usage))
        row, blobs = self._model_row(place, role, request, model=model, cost=cost)
        history = [message.digest for message in request.messages]
        previous = self._histories.get(place.scope, [])
        kept = _common_prefix(previous, history)
        self._histories[place.scope] = history
        for message in request.messages[kept:]:
            blobs[message.digest] = _message_bytes(message)
        body = canonical(reply.model_dump(mode="json", exclude_defaults=True))
        name = digest_bytes(body)
        blobs[name] = body
        row.update(
            state="done",
            kept=kept,
            messages=json.dumps(history[kept:]),
            reply=name,
            money=price.of(reply.usage) if price else None,
            attempts=reply.attempts,
            lost=_dump_lost(reply.lost, price),
            seconds=reply.seconds,
            **reply.usage.model_dump(),
        )
        try:
            await self.store.write([Row(calls, row)], blobs=blobs, fence=self.fence)
        except MotetError:
            # What was not stored cannot be continued from.
            self._histories.pop(place.scope, None)
            raise

    def post_failure(
        self,
        place: Place,
        role: str,
        request: Request,
        *,
        model: str,
        price: Price | None,
        lost: tuple[Usage, ...],
    ) -> None:
        """Record a model call that gave no reply, for the ledger and for people; a resumed run asks again.

        Does not wait for the commit, so that it works while its task is being cancelled.
        """
        cost = charge(request, price, lost)
        row, blobs = self._model_row(place, role, request, model=model, cost=cost)
        for message in request.messages:
            blobs[message.digest] = _message_bytes(message)
        row.update(
            state="failed",
            messages=json.dumps([message.digest for message in request.messages]),
            attempts=max(len(lost), 1),
            lost=_dump_lost(lost, price),
        )
        self.store.post([Row(calls, row)], blobs=blobs, fence=self.fence)

    async def record(
        self,
        place: Place,
        kind: Kind,
        name: str,
        *,
        digest: str,
        request: Json,
        reply: Json | None,
        state: Literal["done", "sent"] = "done",
        seconds: float = 0.0,
    ) -> None:
        """Commit an answer that is no model's: a tool's observation, an input, or a write that is about to be sent."""
        row, blobs = self._answer(place, kind, name, digest=digest, request=request, reply=reply, state=state)
        row["seconds"] = seconds
        await self.store.write([Row(calls, row)], blobs=blobs, fence=self.fence)

    def post(
        self,
        place: Place,
        kind: Kind,
        name: str,
        *,
        digest: str,
        reply: Json,
        inherited: tuple[str, Usage, float | None] | None = None,
    ) -> None:
        """Record an answer that may be used before it is committed: one that costs nothing to get again, and may then be another.

        The store commits in order, so nothing that rests on it is committed before it.
        """
        row, blobs = self._answer(
            place, kind, name, digest=digest, request=None, reply=reply, state="done", inherited=inherited
        )
        self.store.post_later([Row(calls, row)], blobs=blobs, fence=self.fence)

    def _answer(
        self,
        place: Place,
        kind: Kind,
        name: str,
        *,
        digest: str,
        request: Json,
        reply: Json | None,
        state: Literal["done", "sent"],
        inherited: tuple[str, Usage, float | None] | None = None,
    ) -> tuple[dict[str, Any], dict[str, bytes]]:
        """The row of an answer that is no model's, with its blobs. ``inherited`` says of a result from a record what it cost, with model and money."""
        self._go_on(place)
        blobs: dict[str, bytes] = {}
        names: list[str | None] = []
        for value in (request, reply):
            if value is None:
                names.append(None)
                continue
            data = _exactly(value)
            names.append(digest_bytes(data))
            blobs[digest_bytes(data)] = data
        row = {
            **self._row(place, kind, name, digest=digest, state=state),
            "request": names[0],
            "reply": names[1],
        }
        if inherited is not None:
            model, usage, money = inherited
            row.update(origin="inherited", model=model, money=money, **usage.model_dump())
        return row, blobs

    async def confirm(self, place: Place, reply: Json, *, seconds: float) -> None:
        """Turn the sent write at ``place`` into a done one."""
        data = _exactly(reply)
        name = digest_bytes(data)

        def done(connection: sa.Connection) -> None:
            connection.execute(
                calls.update()
                .where(
                    calls.c.run_id == self.fence.run_id,
                    calls.c.scope == place.scope,
                    calls.c.ordinal == place.ordinal,
                    sa.not_(calls.c.superseded),
                )
                .values(state="done", reply=name, seconds=seconds)
            )

        await self.store.write(blobs={name: data}, then=done, fence=self.fence)

    def _model_row(
        self, place: Place, role: str, request: Request, *, model: str, cost: Charge
    ) -> tuple[dict[str, Any], dict[str, bytes]]:
        name = digest_bytes(request.body)
        row = self._row(place, "model", role, digest=request.digest, state="done")
        row.update(model=model, request=name, charged=cost.tokens, charged_money=cost.money)
        return row, {name: request.body}

    def _row(self, place: Place, kind: Kind, name: str, *, digest: str, state: str) -> dict[str, Any]:
        """A whole row with its defaults: rows of one insert must have the same columns."""
        return {
            **_DEFAULTS,
            "run_id": self.fence.run_id,
            "scope": place.scope,
            "ordinal": place.ordinal,
            "kind": kind,
            "name": name,
            "digest": digest,
            "state": state,
            "created": time.time(),
        }


_DEFAULTS: dict[str, Any] = {
    "model": "",
    "superseded": False,
    "request": None,
    "kept": 0,
    "messages": "[]",
    "reply": None,
    "origin": "paid",
    "prompt": None,
    "cached": None,
    "completion": None,
    "reasoning": None,
    "latent_steps": 0,
    "money": None,
    "charged": 0,
    "charged_money": 0.0,
    "attempts": 1,
    "lost": "[]",
    "seconds": 0.0,
}


def _exactly(value: Json) -> bytes:
    """``value`` as JSON that is read back as it was. Canonical JSON would sort its keys, turn 1.0 into 1 and write large integers otherwise; and a
    resumed run that is told the same in other words goes another way.
    """
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def _message_bytes(message: Message) -> bytes:
    return canonical(message.model_dump(exclude_defaults=True))


def unconfirmed_write(run_id: str, tool: str, arguments: Mapping[str, JsonValue]) -> UnconfirmedWrite:
    """The error of a write that a person must look after."""
    call = f"{tool}({canonical(dict(arguments)).decode()})"
    return UnconfirmedWrite(
        f"the write {call} was sent before the run was interrupted, and its service cannot say whether it happened; "
        f"look there, then: motet resume {run_id} --assume done|redo",
        call=call,
    )


def _dump_lost(lost: Iterable[Usage], price: Price | None) -> str:
    """Failed attempts with their money, as the column ``lost`` holds them."""
    return json.dumps(
        [
            {**usage.model_dump(exclude_defaults=True), **({} if money is None else {"money": money})}
            for usage, money in ((usage, price.of(usage) if price else None) for usage in lost)
        ]
    )


def _common_prefix(first: Sequence[str], second: Sequence[str]) -> int:
    count = 0
    for left, right in zip(first, second, strict=False):
        if left != right:
            break
        count += 1
    return count

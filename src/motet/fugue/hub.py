"""The hub: keeps a team's raw episodes, writes notes on them, answers what teammates ask of them. Source: AgentFugue, "Write" and "Read".

Facts that the rest relies on:

- A write is work of its own that nobody waits for and that fails nobody. What came of it, the note or why there is none, is journaled, so a resumed team has the same notes without
  asking again.
- Notes are only added. Which of them a peer has been shown is the peer's own business, and journaled there.
- Equal reads are one read, and have one place in the journal, whoever asks first.
- A note says what a peer claims. Claims whose quote does not stand in the raw steps are refused; claims that another peer's note contradicts are marked as disputed.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from pydantic import Field, JsonValue

from motet.agent.react import gather
from motet.canonical import digest
from motet.errors import BudgetExceeded, ModelError, ToolError
from motet.fugue.episode import Episode, fitting, size_of
from motet.fugue.extract import extracted
from motet.fugue.note import Claim, Note, SmallWriting, Writing, verified
from motet.models.model import Message, Model, Request, Sampling
from motet.models.structured import structured
from motet.prompts import load_prompts
from motet.runs.run import Run
from motet.system import ModelRef
from motet.task import Task
from motet.value import Value
from motet.words import json_line

T = TypeVar("T")

WRITE, READ = "hub:write", "hub:read"  # roles in the ledger

_INSTRUCTIONS = 600  # tokens of a window that instructions and the form of a reply take
LEAST = 700  # tokens that a window must hold beside a reply
_CLAIMS = 24  # of teammates, shown to the hub model beside an episode


class HubConfig(Value):
    """How the hub works. ``window`` is what its model is shown at most, in tokens; ``max_tokens`` bounds a note and ``read_tokens`` an answer.

    ``verify``: whether a claim's quote must stand in the raw steps. ``dispute``: whether contradicted claims are marked. ``synthesis``: whether reads are answered by the model, or
    by the stored notes as they are.
    """

    model: ModelRef
    window: int = Field(default=32_000, gt=0)
    max_tokens: int = Field(default=900, gt=0)
    read_tokens: int = Field(default=600, gt=0)
    sampling: Sampling = Sampling(temperature=0.0)
    verify: bool = True
    dispute: bool = True
    synthesis: bool = True


class Reading(NamedTuple):
    """What a read found. ``refs`` are the episodes that it rests on; ``cached`` says that the same was asked before."""

    text: str
    refs: tuple[str, ...]
    cached: bool = False


class Hub:
    """One team's hub, in the scope ``run``. ``shared`` says whether whoever writes a note is shown teammates' claims: where peers see nothing of each other, notes must not either.

    ``foreign`` is a control: what notes on another task say, shown to teammates in place of what theirs say.
    """

    def __init__(self, config: HubConfig, task: Task, *, run: Run, shared: bool) -> None:
        info = run.model(config.model, role=WRITE).info
        most = config.max_tokens if info.reply_limit is None else min(config.max_tokens, info.reply_limit)
        read_most = config.read_tokens if info.reply_limit is None else min(config.read_tokens, info.reply_limit)
        window = config.window if info.context is None else min(config.window, info.context)
        self.config = config.model_copy(update={"window": window, "max_tokens": most, "read_tokens": read_most})
        self.task = task
        self.run = run
        self.notes: dict[str, Note] = {}
        self.episodes: dict[str, Episode] = {}
        self.foreign: Sequence[Writing] = ()
        self._shared = shared
        self._small = info.reply_limit is not None
        self._prompts = load_prompts("motet.fugue", "hub")
        self._tasks: set[asyncio.Task[Any]] = set()
        self._writes: list[asyncio.Task[Note | None]] = []
        self._readings: dict[str, asyncio.Task[Reading]] = {}
        self._read_scopes: dict[str, Run] = {}
        self._recalled: set[str] = set()
        self._left: set[str] = set()
        self._closed: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    # Writing

    def write(self, episode: Episode) -> asyncio.Task[Note | None]:
        """Keep ``episode``, raw, and begin its note. The work ends with the note, published, or ``None`` where the hub model failed, which is told; it never raises ModelError."""
        self.episodes[episode.id] = episode
        self._closed[episode.id].set()
        task = self._start(self._noted(episode))
        self._writes.append(task)
        return task

    def degrade(self, episode: Episode, *, scope: Run) -> Note:
        """A note by rule, in place of one that is late or failed; published, and told in ``scope``."""
        note = _stamped(episode, extracted(episode), status="degraded")
        scope.emit("fugue.noted", **_told(note))
        return self._publish(note)

    def disputed(self) -> Mapping[str, set[str]]:
        """The marks of contradicted claims, with the peers whose notes contradict them."""
        if not self.config.dispute:
            return {}
        found: defaultdict[str, set[str]] = defaultdict(set)
        for note in self.notes.values():
            for mark in note.writing.contradicts:
                if not mark.startswith(f"{note.peer}."):
                    found[mark].add(note.peer)
        return found

    def told(self, note: Note) -> Note:
        """``note`` as teammates are shown it: with what one of the ``foreign`` says in place of what it says, where there are such."""
        if not self.foreign:
            return note
        place = [*self.notes].index(note.id)
        return note.model_copy(update={"writing": self.foreign[place % len(self.foreign)]})

    # Reading

    async def read(self, intent: str, refs: Sequence[str]) -> Reading:
        """What the episodes ``refs`` say to ``intent``, cited. Who asks what was asked before, or is being asked at this moment, shares the answer; a failure is not kept.

        Waits for episodes that a resumed teammate has still to close. Raises ToolError for one that never will be there, and ModelError.
        """
        key = _reading_key(intent, refs)
        known = self._readings.get(key)
        cached = known is not None and not _failed(known)
        if known is None or not cached:
            known = self._readings[key] = self._start(self._read(intent, tuple(sorted(set(refs))), key))
        reading = await asyncio.shield(known)
        return reading._replace(cached=cached)

    def recall(self, intent: str, refs: Sequence[str], text: str | None) -> None:
        """Take in a read that a peer made, perhaps in an earlier sitting: whoever asks the same is given its ``text``, if it has one."""
        key = _reading_key(intent, refs)
        self._recalled.add(key)
        if key not in self._readings and text is not None:
            self._readings[key] = self._start(_known(Reading(text, tuple(sorted(set(refs))))))

    # Ending

    def leave(self, peer: str) -> None:
        """``peer`` has ended: whoever waits for an episode of it waits in vain."""
        self._left.add(peer)
        for id_, event in self._closed.items():
            if id_.startswith(f"{peer}."):
                event.set()

    async def settle(self, *, seconds: float) -> None:
        """Wait for the notes that are still being written, so that the record is whole, but not for longer than ``seconds``. Raises what is no failure of a model."""
        if self._writes:
            done, _ = await asyncio.wait(self._writes, timeout=seconds)
            for task in done:
                error = task.exception()
                if error is not None and not isinstance(error, BudgetExceeded):
                    raise error

    async def end(self) -> None:
        """Leave nothing at work."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for key in self._recalled:
            self._read_scope(key).follow()

    def _start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        return task

    async def _noted(self, episode: Episode) -> Note | None:
        scope = self.run.child(f"write-{episode.id}")
        asking = scope.child("model")
        asked = False

        async def produce() -> JsonValue:
            nonlocal asked
            asked = True
            try:
                note = await self._write(episode, asking)
            except ModelError as error:
                scope.emit("fugue.unwritten", **_told_failure(episode, str(error)))
                return {"failed": str(error)}
            # Told first, so that the event is committed with the note.
            scope.emit("fugue.noted", **_told(note))
            return {"note": note.model_dump(mode="json")}

        # Named by what is in it: a peer that took another course on resume has other episodes under the same numbers.
        found = await scope.input(f"note {episode.digest[:16]}", produce)
        assert isinstance(found, dict)
        if not asked:
            asking.follow()
        if "failed" in found:
            if not asked:
                scope.retell("fugue.unwritten", **_told_failure(episode, str(found["failed"])))
            return None
        note = Note.model_validate(found["note"])
        if not asked:
            scope.retell("fugue.noted", **_told(note))
        return self._publish(note)

    def _publish(self, note: Note) -> Note:
        self.notes[note.id] = note
        return note

    async def _write(self, episode: Episode, scope: Run) -> Note:
        claims = await self._claims(episode, scope)
        raw = episode.raw()

        def asked(shown: str) -> str:
            return self._prompts(
                "write_small" if self._small else "write",
                question=self.task.question,
                peer=episode.peer,
                first=episode.first,
                last=episode.last,
                claims="\n".join(f"{mark} {json_line(claim)}" for mark, claim in claims.items()),
                raw=shown,
            )

        room = self._room(asked(""), self.config.max_tokens)
        request = self._request(
            "write_small_system" if self._small else "write_system",
            asked(fitting(raw, tokens=room)),
            max_tokens=self.config.max_tokens,
        )
        writing = await self._writing(scope.model(self.config.model, role=WRITE), request, episode)
        refused = 0
        if self.config.verify:
            writing, refused = verified(writing, raw)
        contradicts = tuple(mark for mark in dict.fromkeys(writing.contradicts) if mark in claims)
        return _stamped(episode, writing.model_copy(update={"contradicts": contradicts}), refused=refused)

    async def _writing(self, model: Model, request: Request, episode: Episode) -> Writing:
        if not self._small:
            return (await structured(model, request, Writing)).value
        small = (await structured(model, request, SmallWriting)).value
        return Writing(
            established=tuple(Claim(claim=claim.claim, quote=claim.quote) for claim in small.established),
            tried=extracted(episode).tried,
            candidate_answer=small.candidate_answer,
        )

    async def _claims(self, episode: Episode, scope: Run) -> dict[str, str]:
        """What teammates claim at this moment, by mark. Journaled, since the request rests on it."""
        if not self._shared or not self.config.dispute or self._small:
            return {}

        def now() -> JsonValue:
            found: dict[str, JsonValue] = {
                mark: claim.claim
                for note in self.notes.values()
                if note.peer != episode.peer
                for mark, claim in zip(note.marks, note.writing.established, strict=True)
            }
            latest: dict[str, JsonValue] = {}
            room = self.config.window // 4
            for mark, claim in [*found.items()][: -_CLAIMS - 1 : -1]:
                room -= size_of(f"{mark} {claim}") + 2
                if room >= 0:
                    latest[mark] = claim
            return latest

        found = await scope.input(f"claims {episode.digest[:16]}", now)
        assert isinstance(found, dict)
        return {mark: str(claim) for mark, claim in found.items()}

    async def _read(self, intent: str, refs: tuple[str, ...], key: str) -> Reading:
        """Map over groups of pieces that fit the window together, then merge."""
        episodes = [await self._episode(ref) for ref in refs]
        scope = self._read_scope(key)
        head = self._prompts("read", question=self.task.question, intent=intent, parts=[])
        room = self._room(head, self.config.read_tokens)
        parts = [
            {"id": episode.id, "peer": episode.peer, "first": episode.first, "last": episode.last, "raw": piece}
            for episode in episodes
            for piece in episode.pieces(tokens=max(room - _HEADING, 1))
        ]
        groups = _grouped(parts, room=room)

        async def answer(group: Sequence[Mapping[str, object]]) -> str:
            return await self._say(
                self._prompts("read", question=self.task.question, intent=intent, parts=group), scope
            )

        texts = await gather([answer(group) for group in groups])
        while len(texts) > 1:
            # What many parts say may itself be more than one window holds.
            texts = await gather([self._merge(intent, some, scope) for some in self._batches(texts, intent)])
        stamp = "; ".join(f"{episode.id} steps {episode.first} to {episode.last}" for episode in episodes)
        return Reading(f"{texts[0]}\n(read in {stamp})", refs)

    def _batches(self, texts: Sequence[str], intent: str) -> list[list[str]]:
        """``texts`` in groups that fit the window together; at least two in each, cut where they must be."""
        room = self._room(
            self._prompts("merge", question=self.task.question, intent=intent, answers=[]), self.config.read_tokens
        )
        each = max(room // 2 - _HEADING, 1)
        batches: list[list[str]] = [[]]
        used = 0
        for text in (fitting(text, tokens=each) for text in texts):
            if len(batches[-1]) >= 2 and used + size_of(text) + _HEADING > room:
                batches.append([])
                used = 0
            batches[-1].append(text)
            used += size_of(text) + _HEADING
        return batches

    async def _merge(self, intent: str, texts: Sequence[str], scope: Run) -> str:
        if len(texts) == 1:
            return texts[0]
        return await self._say(self._prompts("merge", question=self.task.question, intent=intent, answers=texts), scope)

    async def _say(self, asked: str, scope: Run) -> str:
        request = self._request("read_system", asked, max_tokens=self.config.read_tokens)
        return (await scope.model(self.config.model, role=READ).reply(request)).text.strip()

    def _read_scope(self, key: str) -> Run:
        if key not in self._read_scopes:
            self._read_scopes[key] = self.run.child(f"read-{key}")
        return self._read_scopes[key]

    async def _episode(self, id_: str) -> Episode:
        if id_.partition(".")[0] not in self._left:
            await self._closed[id_].wait()
        if id_ not in self.episodes:
            raise ToolError(f"the steps behind {id_} are not there any more")
        return self.episodes[id_]

    def _room(self, asked: str, reply: int) -> int:
        """The tokens of the window that are left beside the instructions, ``asked`` and a reply."""
        return max(self.config.window - reply - _INSTRUCTIONS - size_of(asked), 1)

    def _request(self, system: str, asked: str, *, max_tokens: int) -> Request:
        messages = (Message(role="system", content=self._prompts(system)), Message(role="user", content=asked))
        return Request(messages=messages, max_tokens=max_tokens, sampling=self.config.sampling)


_HEADING = 30  # tokens above a part


def _reading_key(intent: str, refs: Sequence[str]) -> str:
    return digest([" ".join(intent.lower().split()), sorted(set(refs))])[:20]


def _failed(task: asyncio.Task[Reading]) -> bool:
    return task.done() and (task.cancelled() or task.exception() is not None)


async def _known(reading: Reading) -> Reading:
    return reading


def _stamped(episode: Episode, writing: Writing, **more: Any) -> Note:
    return Note(
        peer=episode.peer,
        episode=episode.number,
        first=episode.first,
        last=episode.last,
        writing=writing,
        **more,
    )


def _told(note: Note) -> dict[str, JsonValue]:
    """A note as its event tells it."""
    return {
        "peer": note.peer,
        "episode": note.episode,
        "steps": [note.first, note.last],
        "status": note.status,
        "claims": len(note.writing.established),
        "refused": note.refused,
        "candidate": note.writing.candidate_answer,
    }


def _told_failure(episode: Episode, why: str) -> dict[str, JsonValue]:
    return {"peer": episode.peer, "episode": episode.number, "why": why}


def _grouped(parts: Sequence[dict[str, object]], *, room: int) -> list[list[dict[str, object]]]:
    """``parts`` in their order, in as few groups as fit into ``room`` tokens each."""
    groups: list[list[dict[str, object]]] = []
    used = 0
    for part in parts:
        size = size_of(str(part["raw"])) + _HEADING
        if not groups or used + size > room:
            groups.append([])
            used = 0
        groups[-1].append(part)
        used += size
    return groups

"""The hub: keeps a team's raw episodes, writes notes on them, answers what teammates ask of them. Source: AgentFugue, "Write" and "Read".

Facts that the rest relies on:

- A write never fails its peer. What came of it, the note or why there is none, is journaled in a scope of its own, so a resumed team has the same notes without asking again.
- Notes are only added. Which of them a peer has been shown is the peer's own business, and journaled there.
- A note says what a peer claims. Claims whose quote does not stand in the raw steps are refused; claims that another peer's note contradicts are marked as disputed.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pydantic import Field, JsonValue

from motet.errors import ModelError
from motet.fugue.episode import Episode, fitting
from motet.fugue.extract import extracted
from motet.fugue.note import Note, Writing, verified
from motet.models.model import Message, Request, Sampling
from motet.models.structured import structured
from motet.prompts import load_prompts
from motet.runs.run import Run
from motet.system import ModelRef
from motet.task import Task
from motet.value import Value
from motet.words import json_line

WRITE, READ = "hub:write", "hub:read"  # roles in the ledger

_CLAIMS = 24  # of teammates, shown to the hub model beside an episode
_ROOM = 600  # tokens of a window that instructions and task take


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
    """One team's hub, in the scope ``run``."""

    def __init__(self, config: HubConfig, task: Task, *, run: Run) -> None:
        self.config = config
        self.task = task
        self.run = run
        self.notes: dict[str, Note] = {}
        self.episodes: dict[str, Episode] = {}
        self._prompts = load_prompts("motet.fugue", "hub")
        self._readings: dict[tuple[str, tuple[str, ...]], asyncio.Task[Reading]] = {}
        self._arrived: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._closed: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    async def write(self, episode: Episode) -> Note | None:
        """The note on ``episode``, published; ``None`` where the hub model failed, which is told. Never raises a ModelError."""
        self.close(episode)
        scope = self.run.child(episode.id)
        others = [note for note in self.notes.values() if note.peer != episode.peer]

        async def produce() -> JsonValue:
            try:
                note = await self._write(episode, others, scope.child("write"))
            except ModelError as error:
                return {"failed": str(error)}
            return {"note": note.model_dump(mode="json")}

        found = await scope.input("note", produce)
        assert isinstance(found, dict)
        if "failed" in found:
            scope.emit("fugue.unwritten", peer=episode.peer, episode=episode.number, why=found["failed"])
            return None
        return self.publish(Note.model_validate(found["note"]), scope=scope)

    def degrade(self, episode: Episode, *, scope: Run) -> Note:
        """A note by rule, in place of one that is late or failed; published, and told in ``scope``."""
        note = Note(
            peer=episode.peer,
            episode=episode.number,
            first=episode.first,
            last=episode.last,
            status="degraded",
            writing=extracted(episode),
        )
        return self.publish(note, scope=scope)

    def publish(self, note: Note, *, scope: Run) -> Note:
        """Make ``note`` visible; the first note on an episode stays."""
        if note.id not in self.notes:
            self.notes[note.id] = note
            scope.emit(
                "fugue.noted",
                peer=note.peer,
                episode=note.episode,
                steps=[note.first, note.last],
                status=note.status,
                claims=len(note.writing.established),
                refused=note.refused,
                candidate=note.writing.candidate_answer,
            )
            self._arrived[note.id].set()
        return self.notes[note.id]

    async def note(self, id_: str) -> Note:
        """The note called ``id_``, as soon as it is there: a resumed peer may be ahead of who wrote it."""
        await self._arrived[id_].wait()
        return self.notes[id_]

    async def episode(self, id_: str) -> Episode:
        """The episode called ``id_``, as soon as it is there."""
        await self._closed[id_].wait()
        return self.episodes[id_]

    def close(self, episode: Episode) -> None:
        """Keep ``episode``, raw."""
        self.episodes[episode.id] = episode
        self._closed[episode.id].set()

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

    async def read(self, intent: str, refs: Sequence[str], *, scope: Run) -> Reading:
        """What the episodes ``refs`` say to ``intent``, cited. Those that were asked the same before, or are at this moment, share the answer. Raises ModelError.

        Only a read of its own makes calls, in ``scope``.
        """
        key = (" ".join(intent.lower().split()), tuple(sorted(set(refs))))
        known = self._readings.get(key)
        if known is not None and not (known.done() and (known.cancelled() or known.exception() is not None)):
            reading = await asyncio.shield(known)
            return reading._replace(cached=True)
        self._readings[key] = asyncio.ensure_future(self._read(intent, key[1], scope))
        return await asyncio.shield(self._readings[key])

    async def _write(self, episode: Episode, others: Sequence[Note], scope: Run) -> Note:
        claims = [
            (note.mark(position), claim.claim)
            for note in others
            for position, claim in enumerate(note.writing.established)
        ][-_CLAIMS:]
        raw = episode.raw()
        asked = self._prompts(
            "write",
            question=self.task.question,
            peer=episode.peer,
            first=episode.first,
            last=episode.last,
            claims="\n".join(f"{mark} {json_line(claim)}" for mark, claim in claims) if self.config.dispute else "",
            raw=fitting(raw, tokens=max(self.config.window - self.config.max_tokens - _ROOM, 1)),
        )
        request = self._request("write_system", asked, max_tokens=self.config.max_tokens)
        model = scope.model(self.config.model, role=WRITE)
        writing = (await structured(model, request, Writing)).value
        refused = 0
        if self.config.verify:
            writing, refused = verified(writing, raw)
        marks = {mark for mark, _ in claims}
        writing = writing.model_copy(
            update={"contradicts": tuple(mark for mark in dict.fromkeys(writing.contradicts) if mark in marks)}
        )
        return Note(
            peer=episode.peer,
            episode=episode.number,
            first=episode.first,
            last=episode.last,
            writing=writing,
            refused=refused,
        )

    async def _read(self, intent: str, refs: tuple[str, ...], scope: Run) -> Reading:
        """Map over groups of episodes that fit the window together, then merge."""
        room = max(self.config.window - self.config.read_tokens - _ROOM, 1)
        parts = [
            {
                "id": episode.id,
                "peer": episode.peer,
                "first": episode.first,
                "last": episode.last,
                "raw": fitting(episode.raw(), tokens=room),
            }
            for episode in (self.episodes[ref] for ref in refs)
        ]
        groups = _grouped(parts, room=room)

        async def answer(number: int, group: Sequence[Mapping[str, object]]) -> str:
            asked = self._prompts("read", question=self.task.question, intent=intent, parts=group)
            return await self._say(asked, scope.child(f"part-{number}"))

        answers = await asyncio.gather(*(answer(number, group) for number, group in enumerate(groups)))
        if len(answers) == 1:
            return Reading(answers[0], refs)
        found = [
            {"ids": ", ".join(str(part["id"]) for part in group), "text": text}
            for group, text in zip(groups, answers, strict=True)
        ]
        asked = self._prompts("merge", question=self.task.question, intent=intent, answers=found)
        return Reading(await self._say(asked, scope.child("merge")), refs)

    async def _say(self, asked: str, scope: Run) -> str:
        request = self._request("read_system", asked, max_tokens=self.config.read_tokens)
        return (await scope.model(self.config.model, role=READ).reply(request)).text.strip()

    def _request(self, system: str, asked: str, *, max_tokens: int) -> Request:
        messages = (Message(role="system", content=self._prompts(system)), Message(role="user", content=asked))
        return Request(messages=messages, max_tokens=max_tokens, sampling=self.config.sampling)


def _grouped(parts: Sequence[dict[str, object]], *, room: int) -> list[list[dict[str, object]]]:
    """``parts`` in their order, in as few groups as fit into ``room`` tokens each."""
    groups: list[list[dict[str, object]]] = []
    used = 0
    for part in parts:
        size = len(str(part["raw"]).encode()) // 3
        if not groups or used + size > room:
            groups.append([])
            used = 0
        groups[-1].append(part)
        used += size
    return groups

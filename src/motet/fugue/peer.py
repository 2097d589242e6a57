"""A peer: an ordinary ReAct agent whose old steps become notes, and that is shown its teammates' notes between two steps. Source: AgentFugue.

Whatever comes from outside between two steps (which notes came in, which of its own took the place of steps, whether to stop) is one journaled decision, so a resumed peer has the
same conversation without asking anybody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, Field, JsonValue

from motet.agent.react import Agent, React
from motet.errors import BudgetExceeded, ModelError, ToolError
from motet.fugue.context import Context
from motet.fugue.episode import Episode, Step, to_close, total
from motet.fugue.hub import Hub
from motet.fugue.knowledge import Knowledge, call_key
from motet.fugue.note import Note, render, title
from motet.fugue.pointers import bearing
from motet.fugue.visibility import Sight
from motet.models.model import Message
from motet.prompts import load_prompts
from motet.runs.run import Run
from motet.task import Failure, Source, Task
from motet.tools.tool import Observation, Tool
from motet.value import Value


class Room(Value):
    """How much of what a peer's context holds, in tokens by a cautious guess.

    ``close_at`` raw tokens close an episode that leaves at most ``keep``; notes take at most ``notes`` beside them. At ``hard`` a note that is late is made by rule. ``adaptive``
    closes sooner where single observations are large: before the next of that size would pass ``hard``.
    """

    close_at: int = Field(default=6000, gt=0)
    keep: int = Field(default=2000, ge=0)
    notes: int = Field(default=4000, gt=0)
    hard: int = Field(default=24_000, gt=0)
    adaptive: bool = False


class Prefix(NamedTuple):
    """How much of one call's prompt the next one begins with: ``shared`` of ``before`` tokens; ``rerendered`` is what it would be with all notes in the first message."""

    before: int
    shared: int
    rerendered: int
    closed: bool = False

    @classmethod
    def between(cls, before: Sequence[Message], now: Sequence[Message], *, opening: int) -> Prefix:
        """Of two successive prompts of one peer."""

        def size(messages: Sequence[Message]) -> int:
            return sum(message.size + 12 for message in messages) // 3

        same = 0
        for one, other in zip(before, now, strict=False):
            if one != other:
                break
            same += 1
        grown = [message for message in now[same:] if message.role == "user"]
        whole = size(before[:same])
        return cls(size(before), whole, size(before[:opening]) if grown or same < len(before) else whole)


class Attention(BaseModel):
    """What a peer is told before a step. ``notes`` are shown whole, ``titles`` by their titles, ``more`` not at all; ``raw`` are episodes shown as they were.

    ``swap`` says which of its episodes are replaced by a note, made how; ``lost`` which could not be written. ``disputed`` are marks that are disputed, ``news`` those of notes that it
    was shown before.
    """

    notes: list[str] = []
    titles: list[str] = []
    more: int = 0
    raw: list[str] = []
    swap: list[tuple[int, Literal["ok", "degraded"]]] = []
    lost: list[int] = []
    disputed: dict[str, list[str]] = {}
    news: list[str] = []
    pointers: list[tuple[str, list[str]]] = []
    stop: bool = False


class Answer(Value):
    """How a peer ended, with what it did. ``status`` ``stopped``: its team had agreed without it."""

    peer: str
    status: Literal["answered", "none", "failed", "stopped"]
    answer: str | None = None
    confidence: float | None = None
    sources: tuple[Source, ...] = ()
    failure: Failure | None = None
    steps: int = 0
    first: str | None = None


class Peer:
    """One peer at work. ``answer`` is what came of it, once there is something."""

    def __init__(
        self,
        name: str,
        config: React,
        task: Task,
        *,
        run: Run,
        hub: Hub | None,
        knowledge: Knowledge,
        sight: Sight,
        room: Room,
        tools: Sequence[Tool],
        pointers: bool,
        stop: asyncio.Event,
    ) -> None:
        self.name = name
        self.run = run
        self.sight = sight
        self.room = room
        self.steps: list[Step] = []
        self.answer = Answer(peer=name, status="none")
        self._hub = hub
        self._knowledge = knowledge
        self._pointers = pointers
        self._stop = stop
        self._prompts = load_prompts("motet.fugue", "peer")
        model = run.model(config.model, role=f"peer:{name}")
        self.agent = Agent(config, task, run=run, model=model, tools=tools)
        self.context = Context(self.agent.messages)
        self._episodes: dict[int, Episode] = {}
        self._writing: dict[int, asyncio.Task[Note | None]] = {}
        self._closed: set[int] = set()
        self._degraded: set[int] = set()
        self._shown: set[str] = set()
        self._known_disputes: set[str] = set()
        self._patience = 0
        self._recorded = 0
        self.prefixes: list[Prefix] = []
        self._before: tuple[Message, ...] = ()
        self._swapped = False
        self.heard = 0

    async def work(self) -> Answer:
        """Take steps until there is an answer, and, where answers are reviewed, once more. A failure that is the peer's own ends it and nobody else."""
        first: str | None = None
        try:
            found = await self._search()
            if found is not None and self.sight.review and not self._stop.is_set():
                first = found
                found = await self._review() or found
        except (ModelError, ToolError) as error:
            return self._end("failed", failure=Failure.of(error, scope=self.run.scope))
        except BudgetExceeded as error:
            if error.account != self.run.scope and not error.account.startswith(f"{self.run.scope}/"):
                raise
            return self._end("failed", failure=Failure.of(error, scope=self.run.scope))
        status: Any = "answered" if found is not None else "stopped" if self._stop.is_set() else "none"
        self.answer = self._end(status, first=first)
        return self.answer

    @property
    def closes(self) -> int:
        """How many episodes it has closed."""
        return len(self._episodes)

    def abandon(self) -> None:
        """Stop the notes that are being written: the run ends."""
        for task in self._writing.values():
            task.cancel()

    async def settle(self) -> None:
        """Wait for the notes that are still being written."""
        await asyncio.gather(*self._writing.values())

    async def _search(self) -> str | None:
        agent = self.agent
        while agent.steps < agent.config.max_steps:
            if await self._attend():
                return self.run.best.answer
            self._measure_prefix()
            answer = await agent.step()
            self._took_step()
            if answer is not None:
                return answer
        return self.run.best.answer

    async def _review(self) -> str | None:
        """Look at the answer again, with what teammates found meanwhile."""
        attention = await self._decide(self._review_now)
        if not attention.notes:
            return None
        notes = [await self._note(id_) for id_ in attention.notes]
        self._shown.update(attention.notes)
        text = self._prompts("review", notes=self._rendered(notes, attention))
        self._tell(text)
        return await self._search()

    async def _attend(self) -> bool:
        """Take in what came from outside since the last step; whether to stop."""
        if self._hub is None:
            return False
        attention = await self._decide(self._now)
        for number, how in attention.swap:
            await self._swap(number, how, attention)
        for number in attention.lost:
            # Its steps are raw again, and are closed with those that follow; not at once, or a hub that is down would be asked at every step.
            self._closed -= {step.number for step in self._episodes[number].steps}
            self._patience += 1
        if attention.swap:
            self.context.fold(room=self.room.notes)
        await self._hear(attention)
        if attention.stop:
            self.run.emit("fugue.stopped", peer=self.name)
        return attention.stop

    async def _hear(self, attention: Attention) -> None:
        assert self._hub is not None
        if attention.raw:
            texts = [
                f"{episode.peer}:\n{episode.raw()}" for episode in [await self._episode(id_) for id_ in attention.raw]
            ]
            self._shown.update(attention.raw)
            self._tell(self._prompts("raw", steps="\n\n".join(texts)), short=f"(steps of {', '.join(attention.raw)})")
        notes = [await self._note(id_) for id_ in attention.notes]
        titles = [title(await self._note(id_)) for id_ in attention.titles]
        self._shown.update(attention.notes, attention.titles)
        self.heard += len(attention.notes) + len(attention.titles)
        self._known_disputes.update(attention.disputed)
        if notes or titles or attention.more or attention.news:
            text = self._prompts(
                "others",
                notes=self._rendered(notes, attention),
                titles="\n".join(titles),
                more=attention.more,
                disputed=", ".join(attention.news),
            )
            self._tell(text, short="\n".join(map(title, notes)) or "(notes)")
            self.run.emit("fugue.heard", peer=self.name, notes=[*attention.notes], titles=[*attention.titles])
        for id_, words in attention.pointers:
            self._tell(self._prompts("pointer", note=id_, words=", ".join(words)), short=f"({id_})")
            self.run.emit("fugue.pointed", peer=self.name, note=id_, words=[*words])

    def _now(self) -> Attention:
        """The state of the hub at this moment, as this peer may see it."""
        assert self._hub is not None
        found = Attention(stop=self._stop.is_set())
        over = self.context.tokens >= self.room.hard
        for number, task in sorted(self._writing.items()):
            if task.done():
                found.swap += [(number, "ok")] if task.result() is not None else []
                found.lost += [number] if task.result() is None and number not in self._degraded else []
            elif over and number not in self._degraded:
                found.swap.append((number, "degraded"))
        others = [note for note in self._hub.notes.values() if note.peer != self.name and note.id not in self._shown]
        if self.sight.raw:
            # A raw episode is shown once, whichever note of it comes first.
            found.raw = [
                id_ for id_ in self._hub.episodes if not id_.startswith(f"{self.name}.") and id_ not in self._shown
            ]
        elif self.sight.others:
            self._fit(others, found)
        disputed = self._hub.disputed()
        shown = [mark for note in self._hub.notes.values() if note.id in self._shown for mark in note.marks]
        found.news = [mark for mark in shown if mark in disputed and mark not in self._known_disputes]
        told = {*found.news, *(mark for note in others for mark in note.marks if note.id in found.notes)}
        found.disputed = {mark: sorted(disputed[mark]) for mark in sorted(told) if mark in disputed}
        if self._pointers and self.steps:
            found.pointers = bearing(self.steps[-1], [note for note in others if note.id in found.notes])
        return found

    def _review_now(self) -> Attention:
        assert self._hub is not None
        notes = [note for note in self._hub.notes.values() if note.peer != self.name]
        disputed = self._hub.disputed()
        return Attention(
            notes=[note.id for note in notes],
            disputed={mark: sorted(disputed[mark]) for note in notes for mark in note.marks if mark in disputed},
        )

    def _fit(self, notes: Sequence[Note], found: Attention) -> None:
        """Notes whole as long as there is room for them, then titles, then none: notes must not fill a context that nothing closes."""
        room = self.room.notes - self.context.note_tokens
        for note in notes:
            whole, short = len(render(note, disputed={})) // 3, len(title(note)) // 3
            if whole <= room:
                found.notes.append(note.id)
                room -= whole
            elif short <= room + self.room.notes // 4:
                found.titles.append(note.id)
                room -= short
            else:
                found.more += 1

    async def _decide(self, now: Any) -> Attention:
        """What ``now`` says, or said in an earlier sitting."""

        def produce() -> JsonValue:
            told: JsonValue = now().model_dump(mode="json", exclude_defaults=True)
            return told

        return Attention.model_validate(await self.run.input("attention", produce))

    async def _swap(self, number: int, how: str, attention: Attention) -> None:
        assert self._hub is not None
        episode = self._episodes[number]
        if how == "degraded":
            note = self._hub.degrade(episode, scope=self.run)
            self._degraded.add(number)
        else:
            note = await self._hub.note(episode.id)
            del self._writing[number]
        self._shown.add(note.id)
        self._swapped = True
        text = self._prompts("own_note", note=render(note, disputed=attention.disputed, own=True))
        self.context.replace(episode, text, short=title(note))
        self.run.emit("fugue.swapped", peer=self.name, episode=number, status=note.status)

    def _took_step(self) -> None:
        """Remember the step, and close an episode where the raw steps have grown too long. The note is written while the peer goes on."""
        step = self.context.take_step(self.agent.steps)
        self.steps.append(step)
        for use in self.run.trace[self._recorded :]:
            # A replayed call did not pass the tool, and teammates are to know of it all the same.
            self._knowledge.add(
                call_key(use.tool, use.arguments), Observation(text=use.text, error=use.error), peer=self.name
            )
        self._recorded = len(self.run.trace)
        if self._hub is None:
            return
        raw = [step for step in self.steps if step.number not in self._closed]
        high = self.room.close_at * (1 + self._patience)
        if self.room.adaptive:
            high = min(
                high, max(self.room.hard - self.context.tokens + total(raw) - 2 * step.tokens, self.room.keep + 1)
            )
        number = to_close(raw, high=high, low=self.room.keep)
        if number:
            self._close(raw[:number])

    def _measure_prefix(self) -> None:
        found = Prefix.between(self._before, self.agent.messages, opening=len(self.context.opening))
        self.prefixes.append(found._replace(closed=self._swapped))
        self._before, self._swapped = tuple(self.agent.messages), False

    def _close(self, steps: Sequence[Step]) -> None:
        assert self._hub is not None
        number = len(self._episodes) + 1
        episode = Episode(peer=self.name, number=number, steps=tuple(steps))
        self._episodes[number] = episode
        self._closed.update(step.number for step in steps)
        self.run.emit("fugue.closed", peer=self.name, episode=number, steps=[episode.first, episode.last])
        self._writing[number] = asyncio.create_task(self._hub.write(episode))

    def _tell(self, text: str, *, short: str = "") -> None:
        self.context.tell(self.agent.hear(text), short=short)

    async def _note(self, id_: str) -> Note:
        assert self._hub is not None
        return await self._hub.note(id_)

    async def _episode(self, id_: str) -> Episode:
        assert self._hub is not None
        return await self._hub.episode(id_)

    def _rendered(self, notes: Sequence[Note], attention: Attention) -> str:
        disputed: Mapping[str, list[str]] = attention.disputed
        return "\n".join(render(note, disputed=disputed) for note in notes)

    def _end(self, status: Any, *, failure: Failure | None = None, first: str | None = None) -> Answer:
        best = self.run.best
        return Answer(
            peer=self.name,
            status=status,
            answer=best.answer,
            sources=best.sources,
            failure=failure,
            steps=self.agent.steps,
            first=first,
        )

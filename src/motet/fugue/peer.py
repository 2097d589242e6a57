"""A peer: an ordinary ReAct agent whose old steps become notes, and that is shown its teammates' notes between two steps. Source: AgentFugue.

Whatever comes from outside between two steps (which notes came in and what they say, which of its own took the place of steps, whether to stop) is one journaled decision, so a resumed
peer has the same conversation without asking or waiting for anybody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from pydantic import BaseModel, Field, JsonValue, model_validator

from motet.agent.react import Agent, React
from motet.canonical import digest
from motet.errors import BudgetExceeded, ModelError, ToolError
from motet.fugue.context import Context
from motet.fugue.episode import Episode, Step, size_of, to_close, total
from motet.fugue.hub import Hub
from motet.fugue.knowledge import Knowledge
from motet.fugue.note import Note, render, title
from motet.fugue.pointers import bearing
from motet.fugue.reading import NAME as READ
from motet.fugue.reading import behind, reading_tool
from motet.fugue.visibility import Sight
from motet.models.model import Message
from motet.prompts import load_prompts
from motet.runs.run import Run
from motet.task import Failure, Source, Task
from motet.tools.tool import Observation, Tool
from motet.value import Value

Status: TypeAlias = Literal["answered", "none", "failed", "budget", "stopped"]


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

    @model_validator(mode="after")
    def _in_order(self) -> Room:
        if self.keep >= self.close_at:
            raise ValueError(f"keep ({self.keep}) must be less than close_at ({self.close_at})")
        if self.hard < self.close_at + self.notes:
            raise ValueError(
                f"hard ({self.hard}) must be at least close_at ({self.close_at}) and notes ({self.notes}) together"
            )
        return self

    def within(self, window: int | None, *, reply: int) -> Room:
        """The same shares of a smaller context, where a model's ``window`` holds less than ``hard`` beside a ``reply``."""
        most = self.hard if window is None else max(window - reply, window // 2)
        if most >= self.hard:
            return self
        share = most / self.hard
        close_at = max(int(self.close_at * share), 2)
        return self.model_copy(
            update={
                "close_at": close_at,
                "keep": min(int(self.keep * share), close_at - 1),
                "notes": max(int(self.notes * share), 1),
                "hard": most,
            }
        )


class Prefix(NamedTuple):
    """How much of one call's prompt the next one begins with: ``shared`` of ``before`` tokens; ``rerendered`` is what it would be with all notes in the first message.

    ``closed``: a note took the place of steps in between.
    """

    before: int
    shared: int
    rerendered: int
    closed: bool = False

    @classmethod
    def between(
        cls, before: Sequence[Message], now: Sequence[Message], *, opening: int, told: bool, closed: bool
    ) -> Prefix:
        """Of two successive prompts of one peer, ``told`` something in between or not."""

        def size(messages: Sequence[Message]) -> int:
            return sum(message.size + 12 for message in messages) // 3

        same = 0
        for one, other in zip(before, now, strict=False):
            if one != other:
                break
            same += 1
        shared = size(before[:same])
        return cls(size(before), shared, size(before[:opening]) if told or closed else shared, closed)


class Shown(BaseModel):
    """A note as a peer is shown it: its id, what it says, and what stands for it where room is short."""

    id: str
    text: str
    short: str = ""


class RawSteps(BaseModel):
    """Steps of a teammate as they were, up to and with the step ``last``."""

    peer: str
    last: int
    text: str


class Attention(BaseModel):
    """What a peer is told before a step. ``notes`` are shown whole, ``titles`` by their titles; ``raw`` are steps shown as they were.

    ``swap`` says which of its episodes are replaced by a note, made how; ``lost`` which could not be written. ``news`` are marks of claims it was shown that are disputed since.
    """

    notes: list[Shown] = []
    titles: list[Shown] = []
    raw: list[RawSteps] = []
    swap: list[tuple[int, Literal["ok", "degraded"]]] = []
    lost: list[int] = []
    disputed: dict[str, list[str]] = {}
    news: list[str] = []
    pointers: list[tuple[str, list[str]]] = []
    stop: bool = False


class Answer(Value):
    """How a peer ended, with what it did. ``status`` ``stopped``: its team had agreed without it; ``budget``: that of the whole run was used up. ``first`` is its answer before review."""

    peer: str
    status: Status
    answer: str | None = None
    confidence: float | None = None
    sources: tuple[Source, ...] = ()
    failure: Failure | None = None
    steps: int = 0
    first: str | None = None


class Peer:
    """One peer at work. ``stop`` is set once its team needs no more answers; ``None`` where that never happens."""

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
        pointers: bool = False,
        read_seconds: float = 60.0,
        stop: asyncio.Event | None = None,
    ) -> None:
        self.name = name
        self.run = run
        self.sight = sight
        self.steps: list[Step] = []
        self.prefixes: list[Prefix] = []
        self.heard = 0
        self._hub = hub
        self._knowledge = knowledge
        self._pointers = pointers
        self._stop = stop
        self._prompts = load_prompts("motet.fugue", "peer")
        model = run.model(config.model, role=f"peer:{name}")
        self.room = room.within(model.info.context, reply=config.max_tokens)
        used = [knowledge.wrap(tool, peer=name) for tool in tools]
        if hub is not None and sight.read:
            # A first step that must call a tool could only read notes that are not there, where there is nothing else to call.
            config = config.model_copy(update={"look_first": config.look_first and bool(used)})
            used.append(reading_tool(hub, peer=name, shown=lambda: self._shown | self._pointed, seconds=read_seconds))
        self.agent = Agent(config, task, run=run, model=model, tools=used)
        self.context = Context(self.agent.messages)
        self._episodes: dict[int, Episode] = {}
        self._writing: dict[int, asyncio.Task[Note | None]] = {}
        self._closed: set[int] = set()
        self._degraded: set[int] = set()
        self._shown: set[str] = set()
        self._raw_shown: dict[str, int] = {}
        self._pointed: set[str] = set()
        self._known_disputes: set[str] = set()
        self._patience = 0
        self._recorded = 0
        self._before: tuple[Message, ...] = ()
        self._swapped = self._told = self._stopped = False

    async def work(self) -> Answer:
        """Take steps until there is an answer, and, where answers are reviewed, once more. A failure that is the peer's own, or a budget, ends it and nobody else."""
        first: str | None = None
        try:
            found = await self._search()
            if found is not None and self.sight.review and not self._stopped:
                first = found
                found = await self._review() or found
        except (ModelError, ToolError) as error:
            return self._end("failed", failure=Failure.of(error, scope=self.run.scope), first=first)
        except BudgetExceeded as error:
            own = error.account == self.run.scope or error.account.startswith(f"{self.run.scope}/")
            return self._end(
                "failed" if own else "budget", failure=Failure.of(error, scope=self.run.scope), first=first
            )
        return self._end("answered" if found is not None else "stopped" if self._stopped else "none", first=first)

    @property
    def closes(self) -> int:
        """How many episodes it has closed."""
        return len(self._episodes)

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
        attention = await self._decide("review", self._review_now)
        self._stopped = attention.stop
        if attention.stop or not (attention.notes or attention.titles):
            return None
        notes, titles = self._take_in(attention)
        self._tell(self._prompts("review", notes=notes, titles=titles))
        self.run.emit("fugue.heard", peer=self.name, **_heard(attention))
        return await self._search()

    async def _attend(self) -> bool:
        """Take in what came from outside since the last step; whether to stop."""
        if self._hub is None and self._stop is None:
            return False
        attention = await self._decide("attention", self._now)
        self._stopped = attention.stop
        for number, how in attention.swap:
            await self._swap(number, how, attention)
        for number in attention.lost:
            self._lose(number)
        if attention.swap or self.context.tokens >= self.room.hard:
            self._swapped |= self.context.fold(high=self.room.notes, low=self.room.notes // 2) > 0
        self._hear(attention)
        if attention.stop:
            self.run.emit("fugue.stopped", peer=self.name)
        return attention.stop

    def _hear(self, attention: Attention) -> None:
        self._known_disputes.update(attention.disputed)
        if attention.raw:
            self._raw_shown.update({steps.peer: steps.last for steps in attention.raw})
            text = "\n\n".join(f"{steps.peer}:\n{steps.text}" for steps in attention.raw)
            names = ", ".join(f"{steps.peer} up to step {steps.last}" for steps in attention.raw)
            self._tell(self._prompts("raw", steps=text), short=f"(steps of {names})")
            self.heard += len(attention.raw)
        if attention.notes or attention.titles or attention.news:
            notes, titles = self._take_in(attention)
            text = self._prompts("others", notes=notes, titles=titles, disputed=", ".join(attention.news))
            short = "\n".join(note.short or note.text for note in (*attention.notes, *attention.titles))
            self._tell(text, short=short or f"(disputed: {', '.join(attention.news)})")
            self.run.emit("fugue.heard", peer=self.name, **_heard(attention))
        for id_, words in attention.pointers:
            self._pointed.add(id_)
            self._tell(self._prompts("pointer", note=id_, words=", ".join(words)), short=f"({id_})")
            self.run.emit("fugue.pointed", peer=self.name, note=id_, words=[*words])

    def _take_in(self, attention: Attention) -> tuple[str, str]:
        """Count what was shown; notes and titles as texts."""
        self._shown.update(note.id for note in (*attention.notes, *attention.titles))
        self.heard += len(attention.notes) + len(attention.titles)
        return "\n".join(note.text for note in attention.notes), "\n".join(note.text for note in attention.titles)

    def _now(self) -> Attention:
        """The state of hub and team at this moment, as this peer may see it."""
        found = Attention(stop=self._stop is not None and self._stop.is_set())
        if self._hub is None:
            return found
        tokens = self.context.tokens
        # At the hard limit as many notes are made by rule as it takes to be clear of it.
        over = tokens - self.room.hard + self.room.close_at if tokens >= self.room.hard else 0
        for number, task in sorted(self._writing.items()):
            if task.done() and not _unaffordable(task):
                if task.result() is None:
                    found.lost.append(number)
                else:
                    found.swap.append((number, "ok"))
            elif over > 0 and number not in self._degraded:
                found.swap.append((number, "degraded"))
                over -= total(self._episodes[number].steps)
        if self.sight.raw:
            found.raw = self._new_steps()
        elif self.sight.others:
            self._look_at_notes(found)
        return found

    def _new_steps(self) -> list[RawSteps]:
        """Steps of teammates that have been closed and not been shown. By their numbers: what could not be written is closed again."""
        assert self._hub is not None
        steps: dict[str, dict[int, Step]] = {}
        for episode in self._hub.episodes.values():
            if episode.peer != self.name:
                steps.setdefault(episode.peer, {}).update({step.number: step for step in episode.steps})
        found = []
        for peer, theirs in steps.items():
            new = [step for number, step in sorted(theirs.items()) if number > self._raw_shown.get(peer, 0)]
            if new:
                text = Episode(peer=peer, number=0, steps=tuple(new)).raw()
                found.append(RawSteps(peer=peer, last=new[-1].number, text=text))
        return found

    def _look_at_notes(self, found: Attention) -> None:
        assert self._hub is not None
        disputed = self._hub.disputed()
        own = [task.result() for number, task in self._writing.items() if (number, "ok") in found.swap]
        others = [note for note in self._others() if note.id not in self._shown]
        self._fit(others, found, disputed)
        seen = [mark for note in self._hub.notes.values() if note.id in self._shown for mark in note.marks]
        found.news = [mark for mark in seen if mark in disputed and mark not in self._known_disputes]
        whole = {note.id for note in found.notes}
        told = [*(note for note in own if note is not None), *(note for note in others if note.id in whole)]
        marks = {*found.news, *(mark for note in told for mark in note.marks)}
        found.disputed = {mark: sorted(disputed[mark]) for mark in sorted(marks) if mark in disputed}
        if self._pointers and self.steps:
            found.pointers = bearing(self.steps[-1], [note for note in others if note.id not in self._pointed])

    def _review_now(self) -> Attention:
        assert self._hub is not None
        found = Attention(stop=self._stop is not None and self._stop.is_set())
        self._fit(self._others(), found, self._hub.disputed())
        return found

    def _others(self) -> list[Note]:
        assert self._hub is not None
        return [self._hub.told(note) for note in self._hub.notes.values() if note.peer != self.name]

    def _fit(self, notes: Sequence[Note], found: Attention, disputed: Mapping[str, set[str]]) -> None:
        """Notes whole as long as there is room for them, then some by their titles; the rest waits until a close makes room, for nothing else shrinks a context."""
        room = self.room.notes - self.context.note_tokens
        for note in notes:
            whole, short = render(note, disputed=disputed), title(note)
            if size_of(whole) <= room:
                found.notes.append(Shown(id=note.id, text=whole, short=short))
                room -= size_of(whole)
            elif size_of(short) <= room + self.room.notes // 4:
                found.titles.append(Shown(id=note.id, text=short))
                room -= size_of(short)
            else:
                break

    async def _decide(self, what: str, now: Callable[[], Attention]) -> Attention:
        """What ``now`` says, or said in an earlier sitting to a peer that stood where this one stands."""

        def produce() -> JsonValue:
            told: JsonValue = now().model_dump(mode="json", exclude_defaults=True)
            return told

        waits = [
            [number, self._episodes[number].first, self._episodes[number].last] for number in sorted(self._writing)
        ]
        state = digest([self.agent.steps, waits])[:12]
        return Attention.model_validate(await self.run.input(f"{what} {state}", produce))

    async def _swap(self, number: int, how: Literal["ok", "degraded"], attention: Attention) -> None:
        assert self._hub is not None
        episode = self._episodes[number]
        if how == "degraded":
            note: Note | None = self._hub.degrade(episode, scope=self.run)
            self._degraded.add(number)
        else:
            # On resume this waits for its own write alone, which the journal answers.
            note = await self._writing[number]
            if note is None:
                self._lose(number)
                return
            del self._writing[number]
            self._patience = 0
        assert note is not None
        self._shown.add(note.id)
        self._swapped = True
        text = self._prompts("own_note", note=render(note, disputed=attention.disputed, own=True))
        self.context.replace(episode, text, short=title(note, own=True))
        self.run.emit("fugue.swapped", peer=self.name, episode=number, status=note.status)

    def _lose(self, number: int) -> None:
        """There will be no note by the hub model. Steps without any are raw again, and closed with those that follow; later each time, or a hub that is down would be asked at every step."""
        del self._writing[number]
        self._patience += 1
        if number not in self._degraded:
            self._closed -= {step.number for step in self._episodes[number].steps}

    def _took_step(self) -> None:
        """Remember the step, and close an episode where the raw steps have grown too long. The note is written while the peer goes on."""
        step = self.context.take_step(self.agent.steps)
        self.steps.append(step)
        self._share_calls()
        if self._hub is None or not self.sight.own:
            return
        raw = [step for step in self.steps if step.number not in self._closed]
        number = to_close(raw, high=self._close_at(total(raw), newest=step), low=self.room.keep)
        if number:
            # An episode has no gap: where steps of a lost one come before steps of which a note is being written, they are closed by themselves.
            whole = next((place for place in range(1, number) if raw[place].number != raw[0].number + place), number)
            self._close(raw[:whole])

    def _share_calls(self) -> None:
        """Let the team know of the calls of this step, also of those that the journal answered and no tool has seen."""
        for use in self.run.trace[self._recorded :]:
            if use.tool == READ and self._hub is not None:
                intent, refs = use.arguments.get("intent"), use.arguments.get("refs")
                if isinstance(intent, str) and isinstance(refs, list):
                    self._hub.recall(intent, behind([str(ref) for ref in refs]), None if use.error else use.text)
            else:
                self._knowledge.add(
                    use.tool, use.arguments, Observation(text=use.text, error=use.error), peer=self.name
                )
        self._recorded = len(self.run.trace)

    def _close_at(self, raw: int, *, newest: Step) -> int:
        """How many raw tokens close an episode: later after failures, sooner where the context would pass ``hard``, and never so few that closes outrun the text."""
        room = self.room
        left = room.hard - (self.context.tokens - raw) - (2 * newest.tokens if room.adaptive else 0)
        return max(min(room.close_at * (1 + self._patience), left), (room.keep + room.close_at) // 2)

    def _measure_prefix(self) -> None:
        now = tuple(self.agent.messages)
        if self._before:
            self.prefixes.append(
                Prefix.between(
                    self._before, now, opening=len(self.context.opening), told=self._told, closed=self._swapped
                )
            )
        self._before = now
        self._swapped = self._told = False

    def _close(self, steps: Sequence[Step]) -> None:
        assert self._hub is not None
        number = len(self._episodes) + 1
        episode = Episode(peer=self.name, number=number, steps=tuple(steps))
        self._episodes[number] = episode
        self._closed.update(step.number for step in steps)
        self.run.emit("fugue.closed", peer=self.name, episode=number, steps=[episode.first, episode.last])
        self._writing[number] = self._hub.write(episode)

    def _tell(self, text: str, *, short: str = "") -> None:
        self._told = True
        self.context.tell(self.agent.hear(text), short=short)

    def _end(self, status: Status, *, failure: Failure | None = None, first: str | None = None) -> Answer:
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


def _unaffordable(task: asyncio.Task[Note | None]) -> bool:
    """Whether a write stopped on a budget of the run: then there will be no note, and everything else that has a price will stop as well."""
    return isinstance(task.exception(), BudgetExceeded)


def _heard(attention: Attention) -> dict[str, JsonValue]:
    return {"notes": [note.id for note in attention.notes], "titles": [note.id for note in attention.titles]}

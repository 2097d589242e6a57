"""Run: the scope in which a system works. Every answer from outside passes through it, is journaled, metered and told.

A Run is one node of a tree: ``run.child("peer-1")`` is the scope of a peer, a node or a round, with its own place in the journal and, if wanted,
its own budget. Within one scope, calls are numbered in the order in which they are made; so a scope is for one sequence of thought, and work that runs
side by side gets children.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol, TypeAlias

from pydantic import JsonValue

from motet.canonical import clean_text, digest
from motet.errors import Cancelled, InputError, ModelError, RunError, StoreError, ToolError, WorldError
from motet.models.model import Model, Observer
from motet.runs.budget import Account, Budget, Charge
from motet.runs.events import Events
from motet.runs.journal import Journal, Kind, Place, unconfirmed_write
from motet.runs.layers import Counter, Journaled, Metered
from motet.runs.ledger import Ledger, Line, is_under
from motet.settings import nearest
from motet.store.store import Store
from motet.task import Result, Source
from motet.tools.tool import Observation, Tool
from motet.usage import Totals, Usage
from motet.value import Value
from motet.worlds.world import World, Write

_NAME = re.compile(r"[A-Za-z0-9_.#:-]{1,200}")
_LABEL = re.compile(r"[A-Za-z0-9_.#:-]{1,60}")

# The namespace of records that all runs share which are given no other.
SHARED = "solve"

# Says whether a plan of writes that act outside may be carried out: yes or no to any, or asked with the plan. ``None``: there is nobody to ask.
Approve: TypeAlias = bool | Callable[[Sequence[Write]], bool | Awaitable[bool]] | None

ReadDeltas = Callable[[str, str], None]  # scope, text


class Resolve(Protocol):
    """Finds the model that a name stands for. Raises InputError for an unknown one."""

    def __call__(self, name: str) -> Model:
        """The model named ``name``."""
        ...


class LoadTools(Protocol):
    """Makes fresh tools from their specs. Raises InputError for an unknown one."""

    def __call__(self, specs: Sequence[str | Tool]) -> tuple[Tool, ...]:
        """The tools that ``specs`` stand for."""
        ...


@dataclass
class Best:
    """The best answer so far of a task, for runs that stop early."""

    answer: str | None = None
    sources: tuple[Source, ...] = ()


class Offer(NamedTuple):
    """A finished candidate beside the result that a system returns: ``label`` names it, ``world`` is where it was done, if not in the task's own."""

    label: str
    result: Result
    world: World | None


class ToolUse(Value):
    """A call of a tool with what came back, as a trace holds it."""

    tool: str
    arguments: dict[str, JsonValue]
    text: str
    error: bool = False


class Found(Value):
    """An answer to whether a result may be inherited. ``usage`` is what the result cost whoever computed it, with ``model``; ``None`` where nothing is inherited."""

    value: JsonValue
    usage: Totals | None = None
    model: str = ""


@dataclass(frozen=True, kw_only=True)
class Core:
    """What all scopes of one sitting share."""

    journal: Journal
    ledger: Ledger
    events: Events
    resolve: Resolve
    load_tools: LoadTools
    assume: Literal["done", "redo"] | None = None
    charged: Mapping[str, Charge] = field(default_factory=dict)
    counters: dict[str, Counter] = field(default_factory=dict)
    read_deltas: ReadDeltas | None = None
    namespace: str = SHARED
    approve: Approve = None


class Run:
    """One scope of a run. Made by ``motet.solve`` and its kin, never by hand."""

    def __init__(
        self,
        core: Core,
        *,
        scope: str,
        account: Account,
        best: Best | None = None,
        world: World | None = None,
        given: tuple[str | Tool, ...] = (),
        read_only: bool = False,
        only: tuple[str, ...] | None = None,
        trace: dict[Place, ToolUse] | None = None,
        offers: dict[str, Offer] | None = None,
        role: str | None = None,
    ) -> None:
        self._core = core
        self._given = given
        self._only = only
        self._trace = trace
        self.scope = scope
        self.world = world
        self.read_only = read_only
        self.role = role
        self._account = account
        self._best = best or Best()
        self._offers = {} if offers is None else offers
        self._counter = core.counters[scope] = Counter(scope)

    @property
    def id(self) -> str:
        """The run's id."""
        return self._core.journal.fence.run_id

    @property
    def store(self) -> Store:
        """The store that holds the run, and the records of other runs."""
        return self._core.journal.store

    @property
    def namespace(self) -> str:
        """The namespace of the store's records that this run reads and writes."""
        return self._core.namespace

    @property
    def ledger(self) -> Ledger:
        """The run's ledger."""
        return self._core.ledger

    @property
    def best(self) -> Best:
        """The best answer so far of the task that this scope belongs to."""
        return self._best

    def child(
        self,
        name: str,
        *,
        budget: Budget | None = None,
        world: World | None = None,
        tools: Sequence[str | Tool] = (),
        read_only: bool = False,
        only: Sequence[str] | None = None,
        apart: bool = False,
        role: str | None = None,
    ) -> Run:
        """A scope below this one, with its own place in the journal and its own ``budget`` within this scope's.

        It works in this scope's world, or in ``world``, and is given this scope's tools, and ``tools``. In a ``read_only`` scope, and in all below it, no tool may write, whoever asks.
        With ``only``, those are all the tools that it may use, in that order. A scope ``apart`` is not given this scope's tools: its world brings all that it needs.
        ``role`` is what agents in it are called in the ledger, where they have no name of their own.
        The name must be new in this scope and the same each time the work is done: it is how a resumed run finds its place.
        """
        assert _NAME.fullmatch(name), f"a scope's name is letters, digits and _.#:- , not {name!r}"
        scope = f"{self.scope}/{name}" if self.scope else name
        assert scope not in self._core.counters, f"scope {scope!r} is already open: name each child differently"
        account = Account(
            budget or Budget(),
            name=scope,
            parent=self._account,
            spent=spent_under(self._core.charged, scope) if budget else None,
        )
        return Run(
            self._core,
            scope=scope,
            account=account,
            best=self._best,
            world=world or self.world,
            given=tuple(tools) if apart else (*self._given, *tools),
            read_only=self.read_only or read_only,
            only=self._only if only is None else tuple(only),
            trace=self._trace,
            offers=self._offers,
            role=role or self.role,
        )

    def follow(self) -> Run:
        """Keep what earlier sittings left in this scope: its outcome is known without asking it again."""
        self._counter.next = max(self._counter.next, self._core.journal.length(self.scope))
        return self

    def aside(self, name: str) -> Run:
        """A scope below this one whose calls are in the ledger but count against no budget: for judging what was done here."""
        run = self.child(name)
        run._account = Account(Budget(), name=run.scope)
        return run

    def separate_answers(self) -> Run:
        """Give this scope a best answer of its own, apart from its parent's: for peers that each answer the task."""
        self._best = Best()
        return self

    def separate_task(self) -> Run:
        """Give this scope a best answer and offers of its own: for tasks, and for parts of one that are tasks themselves, where another system may offer its own candidates."""
        self._offers = {}
        return self.separate_answers()

    def keep_trace(self) -> Run:
        """Remember from now on which tools are used here and below, apart from what is used above."""
        self._trace = {}
        return self

    @property
    def trace(self) -> tuple[ToolUse, ...]:
        """The tools used since ``keep_trace``, by scope and in the order they were called."""
        return tuple(use for _, use in sorted((self._trace or {}).items()))

    # Outside answers

    def model(self, model: str | Model, *, role: str) -> Model:
        """``model`` as this scope may ask it: journaled, metered under ``role``, gated. Raises InputError for an unknown name."""
        found = self._core.resolve(model) if isinstance(model, str) else model
        line = Line(self.scope, role, found.info.name, "paid")
        events = self._core.events
        metered = Metered(found, account=self._account, ledger=self._core.ledger, line=line, events=events)
        return Journaled(
            metered,
            journal=self._core.journal,
            line=line,
            events=events,
            counter=self._counter,
            observer=self._observer(),
        )

    def tools(self, specs: Sequence[str | Tool]) -> tuple[Tool, ...]:
        """Fresh tools for one agent: those of the world, as far as this scope may use them, those given with the task, and those of ``specs``.

        Raises InputError for an unknown spec, for two tools of one name, and where this scope is to use a tool that there is not.
        """
        ours = self.world.tools() if self.world is not None else ()
        found = self._core.load_tools((*ours, *self._given, *specs))
        if self._only is not None:
            by_name = {tool.name: tool for tool in found}
            for name in self._only:
                if name not in by_name:
                    raise InputError(
                        f"scope {self.scope} is to use the tool {name!r}, which there is not{nearest(name, by_name)}"
                    )
            found = tuple(by_name[name] for name in self._only)
        return tuple(tool for tool in found if tool.effect == "read" or not self.read_only)

    async def tool(self, tool: Tool, arguments: Mapping[str, JsonValue]) -> Observation:
        """Call ``tool``, or read from the journal what it answered. A tool's failure is an observation with ``error`` set.

        A write is journaled before it is sent and after it is confirmed. Raises UnconfirmedWrite when an earlier sitting sent it and nobody can say
        whether it happened.
        """
        if self.read_only and tool.effect == "write":
            return Observation(
                text=f"{tool.name} was not called: it writes, and here nothing may be written.", error=True
            )
        request: dict[str, JsonValue] = {"tool": tool.name, "version": tool.version, "arguments": dict(arguments)}
        kind: Kind = "write" if tool.effect == "write" else "tool"
        place = self._counter.take()
        name = digest(request)
        key = digest({"run": self.id, "scope": place.scope, "ordinal": place.ordinal, "request": name})[:32]
        journal = self._core.journal
        entry = journal.find(place, kind, name)
        if entry is not None and entry.state == "done":
            observation = Observation.model_validate(await journal.body(entry))
            if kind == "write" and tool.delivery == "local":
                await self._redo(tool, arguments, observation, key)
            self._tell_tool(tool, arguments, observation, place=place, seconds=0.0, replayed=True)
            return observation
        settled: Observation | None = None
        if entry is not None:
            settled = await self._settle(tool, arguments, key)
        else:
            await journal.open(place, kind, name)
        self.emit("tool.called", tool=tool.name, arguments=dict(arguments))
        if kind == "write" and entry is None:
            await journal.record(place, kind, tool.name, digest=name, request=request, reply=None, state="sent")
        start = time.perf_counter()
        observation = settled or await _observe(tool, arguments, key)
        seconds = time.perf_counter() - start
        body = observation.model_dump(mode="json", exclude_defaults=True)
        self._tell_tool(tool, arguments, observation, place=place, seconds=seconds, replayed=False)
        if kind == "write":
            await journal.confirm(place, body, seconds=seconds)
        else:
            await journal.record(place, kind, tool.name, digest=name, request=request, reply=body, seconds=seconds)
        return observation

    async def input(self, name: str, produce: Callable[[], JsonValue | Awaitable[JsonValue]]) -> JsonValue:
        """An outside input that is no model's and no tool's (a clock, a random draw, a delivered note), journaled under ``name``."""
        place = self._counter.take()
        asked = digest({"input": name})
        recorded = await self._recorded_input(place, asked)
        if recorded is not None:
            return recorded["value"]
        value = produce()
        if isinstance(value, Awaitable):
            value = await value
        await self._core.journal.record(place, "input", name, digest=asked, request=None, reply={"value": value})
        return value

    async def approve(self, plan: Sequence[Write]) -> None:
        """Return when ``plan`` may be carried out with the tools of this scope: at once where none of its writes acts outside, else after a yes, which is journaled.

        Raises Cancelled on a no, or when there is nobody to ask. Neither is journaled, so the resumed run asks again.
        """
        local = {tool.name for tool in self.tools(()) if tool.delivery == "local"}
        if all(write.tool in local for write in plan):
            return

        writes: list[JsonValue] = [write.model_dump(mode="json") for write in plan]

        async def ask() -> JsonValue:
            seam = self._core.approve
            said = seam(tuple(plan)) if callable(seam) else seam
            if isinstance(said, Awaitable):
                said = await said
            if said is True:
                return writes
            calls = "1 call" if len(plan) == 1 else f"{len(plan)} calls"
            raise Cancelled(
                f"a plan of {calls} waits for a yes, and nothing of it was done; to carry it out: motet resume {self.id} --yes"
            )

        await self.input(f"approval {digest(writes)[:16]}", ask)

    async def inherit(self, name: str, find: Callable[[], Awaitable[Found]], *, request: JsonValue) -> JsonValue:
        """What ``find`` says about a result that may be inherited for ``request``, journaled: a resumed run keeps to what was decided.

        Inherited usage goes into the ledger's own column under the role ``name``, and counts against no budget.
        """
        place = self._counter.take()
        asked = digest({"inherit": name, "request": request})
        recorded = await self._recorded_input(place, asked)
        if recorded is not None:
            return recorded["value"]
        journal = self._core.journal
        found = await find()
        reply = {"value": found.value}
        # Not waited for: it asked nobody outside, and a sitting that dies before this is committed may decide anew.
        if found.usage is None:
            journal.post(place, "input", name, digest=asked, reply=reply)
            return found.value
        usage, money = _as_one(found.usage)
        journal.post(place, "input", name, digest=asked, reply=reply, inherited=(found.model, usage, money))
        self._core.ledger.add(Line(self.scope, name, found.model, "inherited"), usage, money=money)
        return found.value

    async def _recorded_input(self, place: Place, asked: str) -> dict[str, JsonValue] | None:
        """The input that an earlier sitting recorded at ``place``; ``None`` makes room for a new one."""
        entry = self._core.journal.find(place, "input", asked)
        if entry is None:
            await self._core.journal.open(place, "input", asked)
            return None
        body = await self._core.journal.body(entry)
        assert isinstance(body, dict)
        return body

    # Telling

    def emit(self, kind: str, **payload: JsonValue) -> None:
        """Tell an event of this scope. What an earlier sitting told and stored is not stored again."""
        replaying = self._core.journal.replaying(Place(self.scope, self._counter.next))
        self._core.events.emit(kind, scope=self.scope, payload=payload, stored=not replaying)

    def retell(self, kind: str, **payload: JsonValue) -> None:
        """Tell an event that an earlier sitting stored, for whoever watches this one."""
        self._core.events.emit(kind, scope=self.scope, payload=payload, stored=False)

    def keep(self, answer: str, *, sources: Sequence[Source] = ()) -> None:
        """Keep ``answer`` as the best so far, to be returned if the run has to stop early."""
        self._best.answer = answer
        self._best.sources = tuple(sources)
        self.emit("answer.kept", answer=answer)

    def offer(self, label: str, result: Result, world: World | None = None) -> None:
        """Offer a finished candidate as another ``result`` of the task, done in ``world``: whoever judges the task judges it too.

        Offers are kept in memory, and made again by a resumed run; a label is letters, digits and _.#:- , and names one candidate of the task.
        """
        assert _LABEL.fullmatch(label), f"a candidate's label is letters, digits and _.#:- , not {label!r}"
        assert label not in self._offers, f"the candidate {label!r} is offered already: label each differently"
        self._offers[label] = Offer(label, result, world)

    @property
    def offers(self) -> tuple[Offer, ...]:
        """The candidates that were offered for the task that this scope belongs to, in order."""
        return tuple(self._offers.values())

    def spent(self) -> Charge:
        """What this scope and those below it have been charged, when it has a budget; else what was charged here.

        A resumed run counts earlier sittings from the start, so this is for telling and not for deciding: what depends on it goes through ``input``.
        """
        return self._account.spent

    def _observer(self) -> Observer | None:
        return _Deltas(self._core.read_deltas, self.scope) if self._core.read_deltas else None

    def _tell_tool(
        self,
        tool: Tool,
        arguments: Mapping[str, JsonValue],
        observation: Observation,
        *,
        place: Place,
        seconds: float,
        replayed: bool,
    ) -> None:
        if self._trace is not None:
            self._trace[place] = ToolUse(
                tool=tool.name, arguments=dict(arguments), text=observation.text, error=observation.error
            )
        self._core.events.emit(
            "tool.replied",
            scope=self.scope,
            payload={
                "tool": tool.name,
                "arguments": dict(arguments),
                "error": observation.error,
                "text": observation.text[:300],
                "characters": len(observation.text),
                "seconds": round(seconds, 3),
                "replayed": replayed,
            },
            stored=not replayed,
        )

    async def _redo(self, tool: Tool, arguments: Mapping[str, JsonValue], before: Observation, key: str) -> None:
        """Do a write of an earlier sitting again, on state that died with its process. Raises WorldError if the state differs."""
        again = await _observe(tool, arguments, key)
        if again != before:
            raise WorldError(
                f"the world cannot be rebuilt: {tool.name} in scope {self.scope} gave {again.text[:80]!r} with {again.data}, "
                f"and {before.text[:80]!r} with {before.data} before; its tools or its data have changed since the run began"
            )

    async def _settle(self, tool: Tool, arguments: Mapping[str, JsonValue], key: str) -> Observation | None:
        """What became of a write that an earlier sitting sent: its observation, or ``None`` if it is to be sent (again)."""
        if tool.delivery in ("keyed", "local"):
            return None
        if tool.delivery == "confirmable":
            return await tool.confirm(key)
        if self._core.assume == "redo":
            return None
        if self._core.assume == "done":
            return Observation(text="The call was sent; that it was done is assumed, not confirmed.")
        raise unconfirmed_write(self.id, tool.name, arguments)


def spent_under(charged: Mapping[str, Charge], scope: str) -> Charge:
    """What earlier sittings were charged in ``scope`` and below."""
    return sum((amount for place, amount in charged.items() if is_under(place, scope)), Charge())


def _as_one(totals: Totals) -> tuple[Usage, float | None]:
    """``totals`` as the usage and money of one result; unknown as soon as a part of it is."""
    names = ("prompt", "cached", "completion", "reasoning", "latent_steps")
    usage = Usage(**{name: getattr(totals, name) for name in names})
    if totals.unknown:
        usage = Usage(latent_steps=totals.latent_steps)
    return usage, None if totals.unpriced else totals.money


class _Deltas:
    """Passes a reply's text on while it streams."""

    wants_deltas = True

    def __init__(self, read: ReadDeltas, scope: str) -> None:
        self._read = read
        self._scope = scope

    def delta(self, text: str, *, reasoning: bool = False) -> None:
        """Pass it on."""
        self._read(self._scope, text)

    def failed(self, error: ModelError, *, attempt: int, wait: float) -> None:
        """Nothing to do: the ledger tells retries."""


async def _observe(tool: Tool, arguments: Mapping[str, JsonValue], key: str) -> Observation:
    """Call ``tool``; its failures become observations, while the run's own rules and the store's failures pass."""
    try:
        answered: object = await tool(arguments, key=key)
    except (RunError, StoreError, InputError):
        raise
    except ToolError as error:
        return Observation(text=clean_text(str(error)), error=True)
    except asyncio.CancelledError:
        current = asyncio.current_task()
        if current is None or current.cancelling() or tool.effect == "write":
            # A write that ended so may have happened: it stays in doubt, and the run's resume settles it.
            raise
        # Nobody cancelled the agent: the tool awaited work of its own that had been cancelled.
        return Observation(text=f"{tool.name} failed: work that it waited for was cancelled", error=True)
    except Exception as error:  # noqa: BLE001 - a tool is foreign code; whatever it raises is shown to the agent
        return Observation(text=clean_text(f"{tool.name} failed: {type(error).__name__}: {error}"[:2000]), error=True)
    if isinstance(answered, Observation):
        return answered
    return Observation(text=f"{tool.name} failed: it gave a {type(answered).__name__}, not an Observation", error=True)

"""A team's run as one HTML page: a lane for each peer with what it searched, closed, wrote, heard, read and answered, when; its notes, its answers, and what tokens went to.

Everything is read from the run's events, its journal and its result. The page has no script, loads nothing, and escapes every text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import ValidationError

from motet.bench.html import render_html
from motet.bench.team import purposes, read_history
from motet.cli.sight import Sight
from motet.cli.story import sentence
from motet.errors import InputError
from motet.fugue.measures import PeerRow
from motet.fugue.note import Note, render
from motet.fugue.reading import NAME as READ
from motet.store.queries import CallRow, EventRow, call_list
from motet.store.store import Store
from motet.usage import Totals

_LEFT, _WIDTH, _LANE, _TOP = 110, 1000, 46, 26  # of the drawing, in its own units
_TICKS = 8
_NO_BAR = 0.5  # units below which a write is no bar

# What is drawn of each kind of event, and how it is called in the legend.
KINDS = {
    "search": "searched",
    "call": "other call",
    "close": "closed an episode",
    "note": "note by the hub model",
    "rule": "note by rule",
    "lost": "note failed",
    "swap": "note took the place of steps",
    "hear": "was shown notes",
    "read": "asked behind notes",
    "point": "was pointed to a note",
    "assign": "was given a part",
    "end": "answered",
    "fail": "ended without an answer",
}
_OF_EVENT = {
    "fugue.closed": "close",
    "fugue.unwritten": "lost",
    "fugue.swapped": "swap",
    "fugue.heard": "hear",
    "fugue.read": "read",
    "fugue.pointed": "point",
    "fugue.stopped": "fail",
    "team.assigned": "assign",
}


class Mark(NamedTuple):
    """Something that happened in a lane, ``at`` seconds of the run's work. ``refs`` are the notes that it is about."""

    at: float
    peer: str
    kind: str
    text: str
    refs: tuple[str, ...] = ()


@dataclass
class Timeline:
    """What happened, by peer and in order. ``ends`` are the peers' ends and ``length`` that of all, in seconds; ``busy`` are the seconds of each peer's own calls of models and tools.

    ``breaks`` are where the run was broken off and resumed: the time between is left out.
    """

    peers: list[str]
    marks: list[Mark]
    length: float
    ends: dict[str, float]
    busy: dict[str, tuple[float, float]]
    breaks: list[float] = field(default_factory=list)

    @property
    def written(self) -> dict[str, Mark]:
        """Each note's mark, by the note's id."""
        return {mark.refs[0]: mark for mark in self.marks if mark.kind in ("note", "rule")}


def timeline(events: Sequence[EventRow]) -> Timeline:
    """The timeline of a run's ``events``; without peers where it was no team's."""
    told = [(event, event.payload if isinstance(event.payload, dict) else {}) for event in events]
    team = [(event, payload) for event, payload in told if event.kind.startswith(("fugue.", "team."))]
    peers = list(dict.fromkeys(str(payload["peer"]) for _, payload in team if payload.get("peer")))
    found = Timeline(sorted(peers, key=_natural), [], 0.0, {}, dict.fromkeys(peers, (0.0, 0.0)))
    start, gap, before = (events[0].time if events else 0.0), 0.0, None
    for event, payload in told:
        if event.kind == "run.resumed" and before is not None:
            gap += max(event.time - before, 0.0)
            found.breaks.append(max(event.time - start - gap, 0.0))
        before = event.time
        at = max(event.time - start - gap, 0.0)
        found.length = max(found.length, at)
        peer = str(payload.get("peer") or _peer_of(event.scope, peers) or "")
        if peer in found.busy:
            _take(found, event, payload, peer=peer, at=at)
    return found


def render_page(store: Store, sight: Sight, events: Sequence[EventRow]) -> str:
    """The page of a run. Raises InputError where no team worked in it."""
    found = timeline(events)
    if not found.peers:
        raise InputError(f"run {sight.row.id} is no bench and no team's: only those have an HTML page")
    told = read_history(sight.result) if sight.result is not None else None
    roles = {name: columns["paid"] for name, columns in sight.columns("role").items()}
    return render_html(
        "motet.cli",
        "swimlane.html",
        sight=sight,
        timeline=found,
        drawing=_draw(found),
        kinds={kind: name for kind, name in KINDS.items() if any(mark.kind == kind for mark in found.marks)},
        rows={row.name: row for row in told.peers} if told is not None else {},
        team=told,
        notes=_notes(store, sight, found),
        chosen=[sentence(event.kind, _payload(event)) for event in events if event.kind == "fugue.chosen"],
        roles=roles,
        purposes=purposes({role: total.tokens for role, total in roles.items()}),
        total=sum(roles.values(), Totals()),
        calls=_calls,
        clock=_clock,
    )


def _take(found: Timeline, event: EventRow, payload: Mapping[str, Any], *, peer: str, at: float) -> None:
    """Add what ``event`` says to the lane of ``peer``."""
    kind = _OF_EVENT.get(event.kind, "")
    refs: tuple[str, ...] = ()
    match event.kind:
        case "model.replied" | "tool.replied":
            model, tool = found.busy[peer]
            seconds = float(payload.get("seconds") or 0.0)
            found.busy[peer] = (model + seconds, tool) if event.kind == "model.replied" else (model, tool + seconds)
        case "tool.called" if payload.get("tool") != READ:
            arguments = payload.get("arguments")
            kind = "search" if isinstance(arguments, dict) and "query" in arguments else "call"
        case "fugue.noted":
            kind = "rule" if payload.get("status") == "degraded" else "note"
            refs = (_note_id(payload),)
        case "fugue.closed" | "fugue.unwritten":
            refs = (_note_id(payload),)
        case "fugue.heard":
            refs = (*_ids(payload.get("notes")), *_ids(payload.get("titles")))
        case "fugue.read":
            refs = _ids(payload.get("refs"))
        case "fugue.pointed":
            refs = _ids([payload.get("note")])
        case "fugue.answered" | "team.reported":
            kind = "end" if payload.get("status") == "answered" else "fail"
            found.ends[peer] = at
        case _:
            pass
    if kind and not (kind in ("note", "rule") and refs[0] in found.written):
        found.marks.append(Mark(at, peer, kind, sentence(event.kind, payload), refs))


def _peer_of(scope: str, peers: Sequence[str]) -> str | None:
    """The peer in whose scope something happened: the second part of the scope, below the task's."""
    parts = scope.split("/")
    return parts[1] if len(parts) > 1 and parts[1] in peers else None


def _note_id(payload: Mapping[str, Any]) -> str:
    return f"{payload.get('peer')}.{payload.get('episode')}{'r' if payload.get('status') == 'degraded' else ''}"


def _ids(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _natural(name: str) -> tuple[str, int, str]:
    """p2 before p10."""
    letters = name.rstrip("0123456789")
    digits = name[len(letters) :]
    return letters, int(digits) if digits else -1, name


def _payload(event: EventRow) -> Mapping[str, Any]:
    return event.payload if isinstance(event.payload, dict) else {}


# The drawing


@dataclass
class _Drawing:
    """Where everything is, in the drawing's units. ``threads`` lead from where a note was written to where it was heard or read; ``writes`` are the times that notes took."""

    height: int
    lanes: list[tuple[str, int]]
    marks: list[tuple[float, int, Mark]]
    threads: list[tuple[str, str]]
    writes: list[tuple[float, float, int]]
    breaks: list[float]
    ticks: list[tuple[float, str]]
    width: int = _LEFT + _WIDTH + 30
    left: int = _LEFT
    right: int = _LEFT + _WIDTH


def _draw(found: Timeline) -> _Drawing:
    scale = _WIDTH / max(found.length, 1e-9)
    lane = {peer: _TOP + _LANE * place + _LANE // 2 for place, peer in enumerate(found.peers)}

    def x(at: float) -> float:
        return round(_LEFT + at * scale, 1)

    written = found.written
    threads, writes = [], []
    closed = {mark.refs[0]: mark for mark in found.marks if mark.kind == "close"}
    for mark in found.marks:
        if mark.kind in ("note", "lost") and mark.refs[0] in closed:
            begun, ended = x(closed[mark.refs[0]].at), x(mark.at)
            if ended - begun > _NO_BAR:
                writes.append((begun, round(ended - begun, 1), lane[mark.peer]))
        if mark.kind not in ("hear", "read"):
            continue
        for ref in mark.refs:
            note = written.get(ref) or written.get(f"{ref}r")
            if note is not None and note.peer != mark.peer:
                path = f"M{x(note.at)} {lane[note.peer]} L{x(mark.at)} {lane[mark.peer]}"
                threads.append((mark.kind, path))
    return _Drawing(
        height=_TOP + _LANE * len(found.peers) + 24,
        lanes=list(lane.items()),
        marks=[(x(mark.at), lane[mark.peer], mark) for mark in found.marks],
        threads=threads,
        writes=writes,
        breaks=[x(at) for at in found.breaks],
        ticks=[(x(found.length * step / _TICKS), _clock(found.length * step / _TICKS)) for step in range(_TICKS + 1)],
    )


# Notes and answers


class _Shown(NamedTuple):
    """A note: what it says, where that is known, and who was shown it or asked behind it."""

    id: str
    mark: Mark
    text: str
    heard: list[str]
    read: list[str]


def _notes(store: Store, sight: Sight, found: Timeline) -> list[_Shown]:
    texts = _texts(store, sight)
    heard: defaultdict[str, list[str]] = defaultdict(list)
    read: defaultdict[str, list[str]] = defaultdict(list)
    for mark in found.marks:
        into = heard if mark.kind == "hear" else read if mark.kind == "read" else None
        for ref in mark.refs if into is not None else ():
            assert into is not None
            into[ref].append(f"{mark.peer} at {_clock(mark.at)}")
    return [
        _Shown(id_, mark, texts.get(id_, ""), heard[id_], read[id_.removesuffix("r")])
        for id_, mark in found.written.items()
    ]


def _texts(store: Store, sight: Sight) -> dict[str, str]:
    """What the hub model's notes say, as the journal has them."""
    found: dict[str, str] = {}
    for task in sight.tasks:
        for call in call_list(store, sight.row.id, scope=f"{task.id}/hub"):
            note = _note_in(call)
            if note is not None:
                found.setdefault(note.id, render(note, disputed={}))
    return found


def _note_in(call: CallRow) -> Note | None:
    value = call.reply.get("value") if isinstance(call.reply, dict) else None
    if call.kind != "input" or call.superseded or not isinstance(value, dict) or "note" not in value:
        return None
    try:
        return Note.model_validate(value["note"])
    except ValidationError:
        # Written by another version: the timeline tells that there was one.
        return None


def _calls(row: PeerRow | None) -> str:
    return ", ".join(f"{tool} {count:,}" for tool, count in row.calls.items()) if row is not None else ""


def _clock(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 600 else f"{seconds / 60:.1f} min"

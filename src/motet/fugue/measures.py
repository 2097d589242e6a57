"""What a team did, as a value: for reports, plots and the swimlane. Source: AgentFugue, measurements."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import combinations

from pydantic import Field

from motet.fugue.aggregate import Choice
from motet.fugue.hub import Hub
from motet.fugue.knowledge import is_repeat
from motet.fugue.peer import Answer, Peer
from motet.fugue.reading import NAME as READ
from motet.runs.run import ToolUse
from motet.value import Value

_PLACES = ("url", "address", "page", "document", "title", "id")
_WORD = re.compile(r"\w+")


class PeerRow(Value):
    """One peer. ``calls`` counts its tool calls by tool, as it issued them, whoever answered; ``queries`` and ``pages`` are what it searched for and opened.

    ``prefix`` is the share of each call's prompt that the next one began with, between closes; ``rerendered`` what it would be with all notes in the first message.
    """

    name: str
    status: str
    answer: str | None = None
    first: str | None = None
    confidence: float | None = None
    failure: str = ""
    steps: int = 0
    calls: dict[str, int] = Field(default_factory=dict)
    queries: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    closes: int = 0
    notes: int = 0
    degraded: int = 0
    refused: int = 0
    heard: int = 0
    reads: int = 0
    repeats: int = 0
    prefix: float | None = None
    rerendered: float | None = None


class TeamHistory(Value):
    """All peers, and the team: ``duplicates`` is the share of queries that were made before by anyone; ``diversity`` the mean pairwise 1 - Jaccard of pages and of query terms.

    ``rules`` has each rule's answer; ``repeats`` counts calls answered from a teammate's record.
    """

    version: int = 1
    peers: tuple[PeerRow, ...]
    rules: dict[str, str | None]
    duplicates: float | None = None
    diversity_pages: float | None = None
    diversity_terms: float | None = None
    repeats: int = 0
    disputed: int = 0


def history(
    peers: Sequence[Peer],
    answers: Sequence[Answer],
    *,
    hub: Hub | None,
    choices: Mapping[str, Choice],
) -> TeamHistory:
    """What came of ``peers``."""
    rows = [_row(peer, answer, hub=hub) for peer, answer in zip(peers, answers, strict=True)]
    return of_rows(
        rows,
        rules={name: choice.answer for name, choice in choices.items()},
        repeats=sum(row.repeats for row in rows),
        disputed=len(hub.disputed()) if hub is not None else 0,
    )


def of_rows(
    rows: Sequence[PeerRow], *, rules: Mapping[str, str | None], repeats: int = 0, disputed: int = 0
) -> TeamHistory:
    """The history of a team whose peers are ``rows``, with what follows from them together."""
    asked = [" ".join(sorted(_terms([query]))) for row in rows for query in row.queries]
    return TeamHistory(
        peers=tuple(rows),
        rules=dict(rules),
        duplicates=1 - len(set(asked)) / len(asked) if asked else None,
        diversity_pages=diversity([set(row.pages) for row in rows]),
        diversity_terms=diversity([_terms(row.queries) for row in rows]),
        repeats=repeats,
        disputed=disputed,
    )


def uses(trace: Sequence[ToolUse]) -> tuple[dict[str, int], tuple[str, ...], tuple[str, ...]]:
    """What a trace comes to: calls by tool, queries in their order, and the pages opened, each once."""
    calls: dict[str, int] = {}
    queries, pages = [], []
    for use in trace:
        calls[use.tool] = calls.get(use.tool, 0) + 1
        if use.tool == READ:
            continue
        queries += [str(value) for name, value in use.arguments.items() if name == "query"]
        pages += [str(value) for name, value in use.arguments.items() if name in _PLACES]
    return calls, tuple(queries), tuple(dict.fromkeys(pages))


def diversity(sets: Sequence[set[str]]) -> float | None:
    """The mean over pairs of 1 - Jaccard; ``None`` with fewer than two sets, or where all are empty."""
    pairs = [(one, other) for one, other in combinations(sets, 2) if one | other]
    return sum(1 - len(one & other) / len(one | other) for one, other in pairs) / len(pairs) if pairs else None


def _row(peer: Peer, answer: Answer, *, hub: Hub | None) -> PeerRow:
    calls, queries, pages = uses(peer.run.trace)
    notes = [note for note in hub.notes.values() if note.peer == peer.name] if hub is not None else []
    kept = [prefix for prefix in peer.prefixes if not prefix.closed]
    before = sum(prefix.before for prefix in kept)
    return PeerRow(
        name=peer.name,
        status=answer.status,
        answer=answer.answer,
        first=answer.first,
        confidence=answer.confidence,
        failure=answer.failure.message if answer.failure else "",
        steps=answer.steps,
        calls=calls,
        queries=queries,
        pages=pages,
        closes=peer.closes,
        notes=sum(note.status == "ok" for note in notes),
        degraded=sum(note.status == "degraded" for note in notes),
        refused=sum(note.refused for note in notes),
        heard=peer.heard,
        reads=calls.get(READ, 0),
        repeats=sum(is_repeat(use.text) for use in peer.run.trace),
        prefix=sum(prefix.shared for prefix in kept) / before if before else None,
        rerendered=sum(prefix.rerendered for prefix in kept) / before if before else None,
    )


def _terms(queries: Sequence[str]) -> set[str]:
    return {word.lower() for query in queries for word in _WORD.findall(query)}

"""A note: what a stretch of a peer's work comes to, for itself and its teammates. Typed, capped, and shown as the claims of a named peer. Source: AgentFugue, "Write"."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field

from motet.canonical import clean_text
from motet.models.structured import Written
from motet.value import Value
from motet.words import clipped, json_line

_TEXT, _QUOTE, _ITEMS = 240, 200, 8
_SMALL = 80  # characters of a text that a small model writes


def _capped(value: object) -> object:
    return clipped(clean_text(value), width=_TEXT) if isinstance(value, str) else value


def _quoted(value: object) -> object:
    return clipped(clean_text(value), width=_QUOTE) if isinstance(value, str) else value


def _few(value: object) -> object:
    return value[:_ITEMS] if isinstance(value, list | tuple) else value


Line: TypeAlias = Annotated[str, BeforeValidator(_capped)]
Quote: TypeAlias = Annotated[str, BeforeValidator(_quoted)]
Lines: TypeAlias = Annotated[tuple[Line, ...], BeforeValidator(_few)]


class Claim(Written):
    """Something that was established: what, where it stands, and the words there."""

    claim: Line
    source: Line = ""
    quote: Quote = ""


class Writing(Written):
    """A note as the hub model writes it. ``contradicts`` holds the marks of teammates' claims that the work contradicts."""

    established: Annotated[tuple[Claim, ...], BeforeValidator(_few)] = ()
    tried: Lines = ()
    ruled_out: Lines = ()
    open: Lines = ()
    candidate_answer: Line = ""
    confidence: float = Field(default=0.0, ge=0, le=1)
    contradicts: Annotated[tuple[str, ...], BeforeValidator(_few)] = ()


class SmallClaim(Written):
    """A claim as a small model writes it."""

    claim: Annotated[str, Field(max_length=_SMALL)]
    quote: Annotated[str, Field(max_length=_SMALL)]


class SmallWriting(Written):
    """What a small model writes of a note, so short that it cannot go wrong; what was tried is added by rule."""

    established: Annotated[tuple[SmallClaim, ...], Field(max_length=2)]
    candidate_answer: Annotated[str, Field(max_length=_SMALL)]


class Note(Value):
    """A note in the hub. Author, steps and status are stamped by the system, never by a model.

    ``status``: ``ok`` as the hub model wrote it, ``degraded`` as extracted by rule where it could not. ``refused`` counts claims that were left out because their quote does not
    stand in the raw steps.
    """

    version: Literal[1] = 1
    peer: str
    episode: int
    first: int
    last: int
    status: Literal["ok", "degraded"] = "ok"
    writing: Writing
    refused: int = 0

    @property
    def id(self) -> str:
        """``PEER.EPISODE``, with an ``r`` behind it where it was made by rule: the note of a hub model that was late may still come."""
        return f"{self.peer}.{self.episode}{'r' if self.status == 'degraded' else ''}"

    def mark(self, position: int) -> str:
        """The mark of the claim at ``position``, by which others speak of it."""
        return f"{self.id}:{position + 1}"

    @property
    def marks(self) -> tuple[str, ...]:
        """The marks of all claims."""
        return tuple(map(self.mark, range(len(self.writing.established))))


def render(note: Note, *, disputed: Mapping[str, Collection[str]], own: bool = False) -> str:
    """The note as a peer reads it: quoted claims of whoever made them. ``disputed`` says of marks which peers contradict them."""
    who = "you" if own else note.peer
    lines = [f"[{note.id}] steps {note.first} to {note.last} of {who}{_state(note)}"]
    for position, claim in enumerate(note.writing.established):
        mark = note.mark(position)
        source = f" (source {json_line(claim.source)})" if claim.source else ""
        quote = f" quote {json_line(claim.quote)}" if claim.quote else ""
        doubt = f" DISPUTED by {', '.join(sorted(disputed[mark]))}" if disputed.get(mark) else ""
        lines.append(f"  {mark} claims {json_line(claim.claim)}{source}{quote}{doubt}")
    for name, items in (
        ("tried", note.writing.tried),
        ("ruled out", note.writing.ruled_out),
        ("open", note.writing.open),
    ):
        lines += [f"  {name}: {json_line(item)}" for item in items]
    if note.writing.candidate_answer:
        lines.append(
            f"  candidate answer: {json_line(note.writing.candidate_answer)} (confidence {note.writing.confidence:.2f})"
        )
    return "\n".join(lines)


def title(note: Note, *, own: bool = False) -> str:
    """The note in one line, for when there is no room for more."""
    writing = note.writing
    gist = writing.candidate_answer or next((claim.claim for claim in writing.established), "") or "nothing established"
    who = "you" if own else note.peer
    return f"[{note.id}] steps {note.first} to {note.last} of {who}{_state(note)}, in short: {json_line(clipped(gist, width=100))}"


def verified(writing: Writing, raw: str) -> tuple[Writing, int]:
    """``writing`` without the claims whose quote does not stand in ``raw``, word for word, and how many those were. A claim without a quote is none of them."""
    text = f" {_plain(raw)} "
    kept = tuple(claim for claim in writing.established if not claim.quote or _stands(claim.quote, text))
    return writing.model_copy(update={"established": kept}), len(writing.established) - len(kept)


def _stands(quote: str, text: str) -> bool:
    words = _plain(quote)
    # A quote that was cut for its length may end within a word.
    return bool(words) and (f" {words}" if quote.endswith("…") else f" {words} ") in text


def _state(note: Note) -> str:
    return " (extracted by rule)" if note.status == "degraded" else ""


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))

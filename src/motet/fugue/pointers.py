"""Proactive pointers: which new notes bear on what a peer is doing, by the rare words that both share. For agents that do not think of reading by themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence

from motet.fugue.episode import Step
from motet.fugue.note import Note, render

_LEAST = 2  # words that note and step must share
_MOST = 2  # pointers at a time
_WORD = re.compile(r"\w{4,}")


def bearing(step: Step, notes: Sequence[Note]) -> list[tuple[str, list[str]]]:
    """Those of ``notes`` that share the most telling words with the calls of ``step``: (id, words), the best first."""
    doing = {
        word
        for message in step.messages
        for text in (
            *(call.arguments for call in message.tool_calls),
            message.content if message.role == "assistant" else "",
        )
        for word in _words(text)
    }
    found = []
    for note in notes:
        shared = sorted(doing & _words(render(note, disputed={})), key=lambda word: (-len(word), word))
        if len(shared) >= _LEAST:
            found.append((note.id, shared[:4]))
    return sorted(found, key=lambda item: -len(item[1]))[:_MOST]


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)} - _COMMON


_COMMON_WORDS = (
    "about after also answer been before claims confidence candidate from have into note open over quote ruled search source steps step that their them they this "
    "tool tried were what when where which with would arguments query visit"
)
_COMMON = frozenset(_COMMON_WORDS.split())

"""Text without the characters that nobody sees.

A page can carry words that only a machine reads: in tag characters and variation selectors (which can spell any text), between
zero-width characters (which also split words that a filter looks for), or turned around by direction marks. All of
Unicode's format controls and default-ignorable characters go, with the control characters of terminals. What stays:

- line ends and tabs; U+2028 and U+2029 become line ends;
- the joiners U+200C and U+200D between two letters or marks that are not Latin, where Persian, the scripts of India and
  emoji families need them.

Text hidden by a page's style (white on white, off the screen) is not found here, nor are letters that only look alike.
"""

from __future__ import annotations

import functools
import re
import unicodedata

# Default-ignorable characters (DerivedCoreProperties.txt) whose category is not Cf: fillers, variation selectors, unassigned.
_IGNORABLE = (
    "\u034f\u115f-\u1160\u17b4-\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff"
)
_JOINER = re.compile("[\u200c\u200d]")
_LATIN_END = 0x250
_LAST_FORMAT = 0x20000  # the planes above hold no control or format character but those just named


def visible(text: str) -> str:
    """``text`` without invisible characters."""
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n").replace("\u2029", "\n")
    text = _invisible().sub("", text)
    return _JOINER.sub(_kept, text) if "\u200c" in text or "\u200d" in text else text


def _kept(match: re.Match[str]) -> str:
    """A joiner where its two neighbours are of a script that needs it."""
    text, place = match.string, match.start()
    if place == 0 or place + 1 >= len(text):
        return ""
    return match.group() if _joins(text[place - 1]) and _joins(text[place + 1]) else ""


def _joins(character: str) -> bool:
    return ord(character) >= _LATIN_END and unicodedata.category(character)[0] in "LMS"


@functools.cache
def _invisible() -> re.Pattern[str]:
    """Control, format and surrogate characters but for tab, line end and the joiners, and the ignorable ones."""
    runs: list[str] = []
    start: int | None = None
    for code in range(_LAST_FORMAT):
        character = chr(code)
        wanted = unicodedata.category(character) in ("Cc", "Cf", "Cs") and character not in "\t\n\u200c\u200d"
        if wanted and start is None:
            start = code
        elif not wanted and start is not None:
            runs.append(f"{re.escape(chr(start))}-{re.escape(chr(code - 1))}")
            start = None
    return re.compile(f"[{''.join(runs)}{_IGNORABLE}]+")

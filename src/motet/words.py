"""How ids and texts that come from models are shown in one line: cut, quoted, without control characters."""

from __future__ import annotations

import json
from collections.abc import Iterable

from motet.settings import nearest

_ID = 60  # characters; longer than any valid id
_MANY = 30  # names in one message


def shown(name: str) -> str:
    """``name`` in quotes, cut, with everything that is not printable written out."""
    return repr(name if len(name) <= _ID else f"{name[: _ID - 1]}…")


def near(name: str, known: Iterable[str]) -> str:
    """``; did you mean 'x'?`` for the closest of ``known`` ids, else all of them; those that no line should hold are left out."""
    names = [id_ for id_ in known if id_.isprintable() and len(id_) <= _ID]
    found = nearest(name, names)
    return found if len(names) <= _MANY or "did you mean" in found else f"; known: {listed(names)}"


def listed(names: Iterable[str], *, none: str = "none") -> str:
    """``names`` in quotes, with commas between; after many, only how many more there are."""
    shown_names = [shown(name) for name in names]
    more = [f"and {len(shown_names) - _MANY} more"] if len(shown_names) > _MANY else []
    return ", ".join(shown_names[:_MANY] + more) or none


def clipped(text: str, *, width: int) -> str:
    """``text`` on one line of at most ``width`` characters, with everything that is not printable shown as a space or a box."""
    line = " ".join(text.split())
    line = "".join(character if character.isprintable() else "□" for character in line)
    return line if len(line) <= width else f"{line[: width - 1]}…"


def json_line(text: str) -> str:
    """``text`` in full as a JSON string on one line, readable, with everything that is not printable escaped."""
    written = json.dumps(text, ensure_ascii=False)
    return "".join(character if character.isprintable() else json.dumps(character)[1:-1] for character in written)


def count(number: int, thing: str) -> str:
    """``1 node``, ``2 nodes``."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"

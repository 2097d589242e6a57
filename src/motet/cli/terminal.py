"""The terminal: what may be written to it, and where.

Text that comes from models, tools, web pages and stores is data. Before it reaches a terminal its control characters are made visible, so
that it can neither colour, move the cursor, set a title nor turn its direction around.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO, cast

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

# C0 but tab and newline, DEL, C1, line and paragraph separators, direction marks, and lone surrogates.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_PIPE_WIDTH = 140  # columns of a table that goes into a pipe or a file


def clean(text: str) -> str:
    """``text`` with every control character but tab and newline written out as its code."""
    return _CONTROL.sub(_written_out, text.replace("\r\n", "\n"))


def one_line(text: str, *, width: int = 100) -> str:
    """``text`` on one line of at most ``width`` characters, cleaned."""
    line = clean(" ".join(text.split()))
    return line if len(line) <= width else f"{line[: max(width - 1, 0)]}…"


def styled(text: str, style: str = "") -> Text:
    """``text``, cleaned, as rich prints it without reading any markup in it."""
    from rich.text import Text

    return Text(clean(text), style=style)


def clipped(text: str, style: str = "") -> Text:
    """``text``, cleaned, for a table's cell that is cut rather than broken where there is no room."""
    from rich.text import Text

    return Text(clean(text), style=style, no_wrap=True, overflow="ellipsis")


def put(console: Console, shown: RenderableType) -> None:
    """Print to ``console``, without the spaces at the end of lines that a terminal does not show and a file would keep."""
    if console.is_terminal:
        console.print(shown)
        return
    with console.capture() as captured:
        console.print(shown)
    lines = "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())
    console.file.write(lines)


def json_text(value: object, *, indent: int | None = 2) -> str:
    """``value`` as JSON that is safe on a terminal; plain ASCII where the output cannot carry more."""
    ascii_only = not (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf8")
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    return _CONTROL.sub(lambda found: found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}", text)


def output() -> Console:
    """Standard output for tables."""
    return _console(sys.stdout)


def messages() -> Console:
    """Standard error."""
    return _console(sys.stderr)


def say(text: str) -> None:
    """Write a line to standard error, if anybody is there to read it."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"{clean(text)}\n")
        sys.stderr.flush()


def prepare() -> None:
    """Make the three standard streams usable, whatever they were given as.

    A closed one is opened on the null device, because the next file to be opened would otherwise take its number and be written to by
    whoever prints. Characters that the locale cannot show become question marks instead of errors.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - stays open as long as the process
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


@contextlib.contextmanager
def kept_output() -> Iterator[None]:
    """Keep standard output for the answer alone: whatever else is printed meanwhile, by tools and libraries too, goes to standard error."""
    sys.stdout.flush()
    try:
        number = sys.stdout.fileno()
        target = sys.stderr.fileno()
    except (OSError, ValueError):
        # Not a real file, as in a test that captures it.
        with contextlib.redirect_stdout(sys.stderr):
            yield
        return
    saved = os.dup(number)
    try:
        os.dup2(target, number)
        yield
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        os.dup2(saved, number)
        os.close(saved)


def is_terminal(stream: object) -> bool:
    """Whether ``stream`` is a terminal that can be drawn on."""
    try:
        return cast(TextIO, stream).isatty() and os.environ.get("TERM", "") not in ("", "dumb")
    except (AttributeError, OSError, ValueError):
        return False


def _console(stream: TextIO) -> Console:
    from rich.console import Console

    width = None if is_terminal(stream) or os.environ.get("COLUMNS") else _PIPE_WIDTH
    return Console(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=False, width=width)


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"

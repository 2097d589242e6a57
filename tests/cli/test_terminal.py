"""What reaches a terminal."""

from __future__ import annotations

import json
import unicodedata
from io import StringIO

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from motet.cli.render import grid
from motet.cli.terminal import clean, clipped, json_text, one_line, styled

ANY_TEXT = st.text(st.characters(), max_size=60)


def is_control(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or character in "\u202a\u202e\u2066\u2069\u200f"


@given(ANY_TEXT)
def test_no_control_character_survives(text: str) -> None:
    """Cleaned text has no control character but tab and newline, whatever it was made of."""
    assert not [character for character in clean(text) if is_control(character) and character not in "\t\n"]


@given(st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=60))
def test_plain_text_stays_as_it_is(text: str) -> None:
    """Text without control characters is not changed."""
    assert clean(text) == text


def test_an_escape_sequence_is_shown_and_not_obeyed() -> None:
    """The codes of a terminal become visible text."""
    assert clean("\x1b[31mred\x9b0m\u202e") == "\\x1b[31mred\\x9b0m\\u202e"


@given(ANY_TEXT, st.integers(min_value=1, max_value=80))
def test_one_line_is_one_line_of_that_width(text: str, width: int) -> None:
    """One line holds no line break and is no longer than asked for."""
    line = one_line(text, width=width)
    assert len(line) <= width
    assert len(line.splitlines()) <= 1


@given(st.text(max_size=60))
def test_json_for_a_terminal_is_the_same_json(text: str) -> None:
    """Making JSON safe for a terminal changes its spelling and not its value."""
    shown = json_text({"text": text})
    assert json.loads(shown) == {"text": text}
    assert not [character for character in shown if is_control(character) and character != "\n"]


@given(ANY_TEXT)
def test_markup_in_data_is_not_read(text: str) -> None:
    """Rich prints data with brackets as it is, whether or not that looks like markup."""
    out = StringIO()
    console = Console(file=out, width=1000, markup=False, emoji=False, highlight=False)
    console.print(styled(f"[red]{text.strip()}[/red] :smile:"), soft_wrap=True)
    assert (
        clean(out.getvalue()) == f"[red]{clean(text.strip())}[/red] :smile:\n".replace("\t", "        ") or "\t" in text
    )


def test_a_clipped_cell_is_cut_at_the_edge() -> None:
    """A clipped cell stays on its line."""
    out = StringIO()
    table = grid("who", "said", header=False)
    table.add_row("agent", clipped("many words on one line"))
    Console(file=out, width=19).print(table)
    assert [line.rstrip() for line in out.getvalue().splitlines()] == ["agent  many words …"]

"""Tables and words."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from motet.cli.render import Columns, bytes_text, ledger_table, model_notes, money_text, seconds_text, tokens_text
from motet.usage import Totals, Usage

KNOWN = Totals().plus(Usage(prompt=1200, completion=30), money=0.5)
UNKNOWN = Totals().plus(Usage(), money=None)


def test_unknown_is_never_shown_as_zero() -> None:
    """Usage and money that nobody knows are called unknown and unpriced, beside what is known."""
    assert tokens_text(UNKNOWN) == "1 unknown"
    assert money_text(UNKNOWN) == "unpriced"
    assert tokens_text(KNOWN + UNKNOWN) == "1,200 + 30 + 1 unknown"
    assert money_text(KNOWN + UNKNOWN) == "$0.5000 + 1 unpriced"
    assert tokens_text(Totals()) == money_text(Totals()) == "·"


def test_the_ledger_keeps_its_columns_apart() -> None:
    """What was paid now, paid earlier and inherited stand in columns of their own, with a sum; inherited costs no money."""
    groups: dict[str, Columns] = {
        "agent": {"paid": KNOWN, "earlier": KNOWN, "inherited": KNOWN},
        "[red]judge": {"paid": UNKNOWN},
    }
    out = StringIO()
    table = ledger_table(groups, by="role", origins=("paid", "earlier", "inherited"))
    Console(file=out, width=120, markup=False).print(table)
    lines = [line.split("  ") for line in out.getvalue().splitlines()]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    assert cells == [
        ["role", "calls", "paid", "earlier", "inherited", "money"],
        ["agent", "3", "1,200 + 30", "1,200 + 30", "1,200 + 30", "$1.0000"],
        ["[red]judge", "1", "1 unknown", "·", "·", "unpriced"],
        ["total", "4", "1,200 + 30 + 1 unknown", "1,200 + 30", "1,200 + 30", "$1.0000 + 1 unpriced"],
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (59.94, "59.9 s"), (60, "1 min 0 s"), (3599.6, "1 h 0 min"), (90_000, "25 h 0 min")],
)
def test_durations(seconds: float, text: str) -> None:
    """Durations are told in the two units that matter."""
    assert seconds_text(seconds) == text


def test_sizes() -> None:
    """Sizes are told in the unit that fits, up to gigabytes."""
    assert [bytes_text(size) for size in (0, 999, 1500, 5e12)] == ["0 bytes", "999 bytes", "1.5 kB", "5000.0 GB"]


def test_small_and_scripted_models_are_called_what_they_are() -> None:
    """A tiny model and a scripted policy are said to be that; other models are not commented."""
    assert "135M" in model_notes(["embedded"])[0]
    assert "135M" in model_notes(["embedded:smollm2"])[0]
    assert "scripted policy" in model_notes(["scripted:reader"])[0]
    assert model_notes(["openai:gpt-4o-mini", "embedded@http://127.0.0.1:1"]) == []

"""Tables and words for people: the ledger, sources, money, times. Nothing here reads or writes a store."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from motet.cli.terminal import clipped, one_line, styled
from motet.usage import Origin, Totals

if TYPE_CHECKING:
    from rich.table import Table

    from motet.task import Source

Columns = Mapping[Origin, Totals]

_STYLES = {
    "completed": "green",
    "running": "cyan",
    "budget": "yellow",
    "cancelled": "yellow",
    "interrupted": "yellow",
    "unconfirmed": "red",
    "failed": "red",
}


def status_style(status: str) -> str:
    """The colour of a run's status."""
    return _STYLES.get(status, "")


def grid(*headers: str, right: Sequence[str] = (), header: bool = True, fold: bool = False) -> Table:
    """A table without lines. Columns in ``right`` are numbers. Where there is no room, the last column gives way: with ``fold`` by
    breaking over several lines, else by being cut, if its cells are made by ``clipped``.
    """
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False, show_header=header)
    for position, name in enumerate(headers):
        last = position == len(headers) - 1 and name not in right
        table.add_column(
            name,
            justify="right" if name in right else "left",
            no_wrap=not last,
            overflow="fold" if last and fold else "ellipsis",
        )
    return table


def ledger_table(groups: Mapping[str, Columns], *, by: str, origins: Sequence[Origin], total: bool = True) -> Table:
    """What was paid, by ``by`` (role, scope, model): for each of ``origins`` prompt + completion tokens, then money.

    Usage that no provider reported is shown as unknown and calls without a price as unpriced; neither is a zero.
    """
    everything = list(groups.values())
    sums: dict[Origin, Totals] = {
        origin: sum((columns.get(origin, Totals()) for columns in everything), Totals()) for origin in origins
    }
    whole = sum(sums.values(), Totals())
    extras = [name for name in ("cached", "reasoning", "latent_steps") if getattr(whole, name)]
    numbers = ["calls", *origins, *(name.replace("_", " ") for name in extras), "money"]
    table = grid(by, *numbers, right=numbers)
    rows = dict(groups)
    if total and len(rows) > 1:
        rows["total"] = sums
    for name, columns in rows.items():
        own = sum((columns.get(origin, Totals()) for origin in origins), Totals())
        table.add_row(
            styled(one_line(name or "(the run)", width=40)),
            calls_text(own),
            *(tokens_text(columns.get(origin, Totals())) for origin in origins),
            *(f"{getattr(own, extra):,}" for extra in extras),
            # What is inherited was paid by the run that computed it.
            money_text(sum((columns.get(origin, Totals()) for origin in origins if origin != "inherited"), Totals())),
            style="bold" if name == "total" and len(rows) > len(groups) else None,
        )
    return table


def calls_text(totals: Totals) -> str:
    """Calls, and how many of them failed."""
    return f"{totals.calls:,}" + (f" ({totals.failed:,} failed)" if totals.failed else "")


def tokens_text(totals: Totals) -> str:
    """Prompt + completion tokens, and how many calls reported none."""
    if not totals.calls:
        return "·"
    known = f"{totals.prompt:,} + {totals.completion:,}"
    if not totals.unknown:
        return known
    unknown = f"{totals.unknown:,} unknown"
    return unknown if totals.unknown == totals.calls else f"{known} + {unknown}"


def money_text(totals: Totals) -> str:
    """Dollars, and how many calls have no price."""
    if not totals.calls:
        return "·"
    if totals.unpriced == totals.calls:
        return "unpriced"
    known = f"${totals.money:.4f}"
    return f"{known} + {totals.unpriced:,} unpriced" if totals.unpriced else known


def seconds_text(seconds: float) -> str:
    """A duration, such as 4.2 s or 3 min 20 s."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def age_text(when: float, *, now: float | None = None) -> str:
    """How long ago ``when`` (seconds since the epoch) was."""
    seconds = max((time.time() if now is None else now) - when, 0)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "just now"


def date_text(when: float) -> str:
    """A time in the local zone."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(when))


def bytes_text(size: float) -> str:
    """A size such as 12.3 MB."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    raise AssertionError("GB is the last unit")


def sources_table(sources: Sequence[Source]) -> Table:
    """The sources of an answer, with the beginning of what was quoted."""
    table = grid("", "source", "")
    for number, source in enumerate(sources, start=1):
        title = f"{source.title}: " if source.title else ""
        quote = one_line(source.quote, width=200)
        table.add_row(str(number), styled(one_line(source.ref, width=60)), clipped(f"{title}{quote}", style="dim"))
    return table


def model_notes(models: Sequence[str]) -> list[str]:
    """What a reader must know about the models before taking an answer seriously."""
    notes = []
    if any(model.partition(":")[0] == "embedded" for model in models):
        notes.append(
            "the embedded model is tiny (135M parameters) and meant for trying things out: its answers may be wrong"
        )
    if any(model.startswith("scripted:") for model in models):
        notes.append("a scripted policy answered, not a language model: it shows mechanics and measures nothing")
    return notes

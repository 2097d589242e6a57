"""What a judge model says of tables: which names are the same, and which cells of a column are right.

Asked through the run under the role ``judge``, in batches. Every name and cell is data in a JSON object; what a judge answers about others is dropped, and a cell of which it says nothing, or two things, is wrong.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple, TypeVar

from pydantic import JsonValue, StrictBool

from motet.bench.scoring.judge import ROLE, ask_typed
from motet.models.model import Message, Request, Sampling
from motet.prompts import load_prompts
from motet.runs.run import Run
from motet.value import Value

T = TypeVar("T")

_BATCH = 50  # names or cells of one question
_REFERENCE = 1_000  # names of the right table that a judge is shown
_SHOWN = 500  # characters of a cell
_MAX_TOKENS = 4_096


class Pair(Value):
    """A name and the right table's name for the same thing."""

    given: str
    right: str


class Pairs(Value):
    """What a judge says of names."""

    pairs: tuple[Pair, ...]


class CellVerdict(Value):
    """What a judge says of one cell."""

    number: int
    correct: StrictBool


class CellVerdicts(Value):
    """What a judge says of a column's cells."""

    verdicts: tuple[CellVerdict, ...]


_V = TypeVar("_V", Pairs, CellVerdicts)


class CellPair(NamedTuple):
    """A cell that was given and the right one."""

    given: str
    right: str


async def align(judge: str, given: Sequence[str], right: Sequence[str], *, what: str, run: Run) -> dict[str, str]:
    """Which of ``given`` stand for which of ``right``. A name that a judge matches with two different ones is left out. Raises ModelError and BudgetExceeded."""
    found: dict[str, set[str]] = defaultdict(set)
    known = set(right)
    for batch in _batches(dict.fromkeys(given)):
        question: dict[str, JsonValue] = {"what": what, "given": [*batch], "right": [*right[:_REFERENCE]]}
        reply = await _ask(judge, "align", question, Pairs, quotable=any("pairs" in name for name in batch), run=run)
        for pair in reply.pairs if reply is not None else ():
            if pair.given in batch and pair.right in known:
                found[pair.given].add(pair.right)
    return {name: next(iter(names)) for name, names in found.items() if len(names) == 1}


async def judge_cells(
    judge: str, cells: Sequence[CellPair], *, column: str, criterion: str, run: Run
) -> dict[CellPair, bool]:
    """Which of ``cells`` are right; equal ones are asked about once. Raises ModelError and BudgetExceeded."""
    found: dict[CellPair, bool] = {}
    for batch in _batches(dict.fromkeys(cells)):
        shown: list[JsonValue] = [
            {"number": number, "given": cell.given[:_SHOWN], "right": cell.right[:_SHOWN]}
            for number, cell in enumerate(batch, start=1)
        ]
        question: dict[str, JsonValue] = {"column": column, "criterion": criterion, "cells": shown}
        quotable = any("verdicts" in cell.given for cell in batch)
        reply = await _ask(judge, "cells", question, CellVerdicts, quotable=quotable, run=run)
        said: Mapping[int, set[bool]] = defaultdict(set)
        for verdict in reply.verdicts if reply is not None else ():
            said[verdict.number].add(verdict.correct)
        found |= {cell: said[number] == {True} for number, cell in enumerate(batch, start=1)}
    return found


def table_version() -> str:
    """Of a judge's words on tables."""
    return load_prompts("motet.bench", "tables").version


async def _ask(
    judge: str, words: str, question: Mapping[str, JsonValue], type_: type[_V], *, quotable: bool, run: Run
) -> _V | None:
    prompts = load_prompts("motet.bench", "tables")
    given = json.dumps(question, ensure_ascii=False, indent=1)
    request = Request(
        messages=(
            Message(role="system", content=prompts(words)),
            Message(role="user", content=prompts("given", given=given)),
        ),
        max_tokens=_MAX_TOKENS,
        sampling=Sampling(temperature=0.0),
    )
    return await ask_typed(run.model(judge, role=ROLE), request, type_, quotable=quotable)


def _batches(items: Mapping[T, None]) -> Iterator[list[T]]:
    rest = iter(items)
    while batch := list(islice(rest, _BATCH)):
        yield batch

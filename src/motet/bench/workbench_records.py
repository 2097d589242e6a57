"""WorkBench's recorded runs as its agents' framework wrote them: a file per domain, a row per question.

A row's ``full_response`` is the ``repr`` of Python objects: texts, records, ``AgentAction(...)``, ``array([...])``. It is read as a syntax tree; nothing is evaluated.
"""

from __future__ import annotations

import ast
import csv
import hashlib
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from motet.bench.workbench_questions import Question, actions_of
from motet.errors import InputError
from motet.worlds.workbench.quiet import quietly
from motet.worlds.workbench.render import Addresses
from motet.worlds.workbench.tables import Timestamp

_COLUMNS: Final = ("query", "function_calls", "full_response", "error")


class Step(NamedTuple):
    """A call that an agent made and what it was told: values as ``render`` takes them."""

    tool: str
    arguments: dict[str, Any] | str
    observation: Any


class Row(NamedTuple):
    """A recorded run. ``steps`` is ``None`` where the framework broke off before it wrote them down."""

    question: Question
    actions: tuple[str, ...]
    error: str
    steps: tuple[Step, ...] | None


class File(NamedTuple):
    """A recorded file. ``contestant`` is the model and its tools, as the file's name gives them."""

    path: Path
    sha256: str
    contestant: str
    rows: tuple[Row, ...]


def read_record(path: Path, questions: Sequence[Question]) -> File:
    """Read one recorded file. Its rows must be the questions of one domain in their order.

    Raises InputError that names the file and what is wrong with it.
    """
    try:
        data = path.read_bytes()
        reader = csv.DictReader(io.StringIO(data.decode("utf-8"), newline=""), strict=True)
        columns, rows = reader.fieldnames, list(reader)
    except OSError as error:
        raise InputError(f"recorded file {path} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} is no recorded file of WorkBench: {error}") from None
    missing = [name for name in _COLUMNS if name not in (columns or ())]
    if missing:
        raise InputError(f"{path} is no recorded file of WorkBench: it has no column {missing[0]!r}")
    if not rows:
        raise InputError(f"{path} is no recorded file of WorkBench: it has no rows")
    asked = _domain_of(path, rows[0]["query"], questions)
    if len(rows) > len(asked):
        raise InputError(f"{path} has {len(rows)} rows, but {asked[0].domain} has {len(asked)} questions")
    read = tuple(_row(path, index, row, asked[index]) for index, row in enumerate(rows))
    contestant = "_".join(path.stem.split("_")[:2])
    return File(path, hashlib.sha256(data).hexdigest(), contestant, read)


def _domain_of(path: Path, query: str, questions: Sequence[Question]) -> list[Question]:
    for question in questions:
        if question.row == 0 and question.query == query:
            return [other for other in questions if other.domain == question.domain]
    raise InputError(
        f"{path} is no recorded file of WorkBench: its first query, {(query or '')[:60]!r}, opens none of the six domains"
    )


def _row(path: Path, index: int, row: dict[str, str | None], question: Question) -> Row:
    where = f"{path}, row {index}"
    if row["query"] != question.query:
        raise InputError(f"{where}: the query is not that of {question.id}, {question.query[:60]!r}")
    actions = actions_of(row["function_calls"] or "", where=where)
    return Row(question, tuple(actions), row["error"] or "", _steps(row["full_response"] or "", where=where))


def _steps(text: str, *, where: str) -> tuple[Step, ...] | None:
    if not text.strip():
        return None
    try:
        response = _value(quietly(lambda: ast.parse(text.strip(), mode="eval")).body)
        return tuple(
            Step(action["tool"], action["tool_input"], observation)
            for action, observation in response["intermediate_steps"]
        )
    except (ValueError, SyntaxError, KeyError, TypeError, RecursionError, MemoryError) as error:
        raise InputError(f"{where}: full_response cannot be read: {error}") from None


def _value(node: ast.expr) -> Any:
    """The value of a ``repr``. An empty cell (``nan``) is ``None``. Raises ValueError for anything that is none."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.List(elts=items):
            return [_value(item) for item in items]
        case ast.Tuple(elts=items):
            return tuple(_value(item) for item in items)
        case ast.Dict(keys=keys, values=values):
            return {_value(key): _value(value) for key, value in zip(keys, values, strict=True) if key is not None}
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.Name(id="nan"):
            return None
        case ast.Call(func=ast.Name(id="AgentAction"), keywords=keywords):
            return {keyword.arg: _value(keyword.value) for keyword in keywords}
        case ast.Call(func=ast.Name(id="array"), args=[items, *_]):
            return Addresses(tuple(_value(items)))
        case ast.Call(func=ast.Name(id="Timestamp"), args=[moment, *_]):
            return Timestamp(_value(moment))
    raise ValueError(f"unexpected {ast.unparse(node)[:60]!r}")

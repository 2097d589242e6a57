"""WideSearch's files: the questions in ``widesearch.jsonl``, and the right table of each in ``widesearch_gold/ID.csv``."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar, get_args

from motet.bench.files import locate, read_bytes, read_text
from motet.bench.scoring.cells import Preprocess, Rule
from motet.bench.scoring.tables import Table, arrange, column_name
from motet.errors import InputError
from motet.settings import nearest
from motet.task import Task

Metric: TypeAlias = Rule | Literal["llm_judge"]

_N = TypeVar("_N", bound=str)

FILE = "widesearch.jsonl"
GOLD = "widesearch_gold"
_HOW = (
    "get it with `hf download ByteDance-Seed/WideSearch --repo-type dataset --local-dir $MOTET_DATA_DIR/widesearch` (https://huggingface.co/datasets/ByteDance-Seed/WideSearch), "
    "or name the file or its folder with path=PATH"
)
_PREPROCESS: tuple[Preprocess, ...] = get_args(Preprocess)
_METRICS: tuple[Metric, ...] = (*get_args(Rule), "llm_judge")
_CRITERION = "It means the same as what is right."


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a right table and how its cells are compared: by all of ``metrics``. Those with ``key`` tell rows apart."""

    name: str
    key: bool
    preprocess: tuple[Preprocess, ...]
    metrics: tuple[Metric, ...]
    criterion: str
    tolerance: float


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its right table, whose columns are ``columns``, in their order."""

    question: str
    language: str
    columns: tuple[Column, ...]
    table: Table


@dataclass(frozen=True)
class Questions:
    """Questions by id, in their order, and the SHA-256 of all that they were read from."""

    items: Mapping[str, Question]
    digest: str


def open_questions(path: Path | None) -> Questions:
    """The questions in ``path`` (the file or its folder), else in the data directory; read once for each version of the file.

    Raises InputError that says what is missing and how to get it, or what is wrong with a file.
    """
    file = locate("WideSearch", path, folder="widesearch", name=FILE, how=_HOW)
    state = file.stat()
    return _read(file.resolve(), state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=2)
def _read(file: Path, _modified: int, _size: int) -> Questions:
    data = read_bytes("WideSearch", file)
    whole = hashlib.sha256(data)
    items: dict[str, Question] = {}
    # Lines end with a line feed only: other separators may stand inside a JSON text.
    for number, line in enumerate(read_text("WideSearch", file, data).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            if not isinstance(row, dict):
                raise TypeError("it is no JSON object")
            name = _text(row["instance_id"])
            # A folder's name in an id would lead out of the folder of right tables.
            Task(id=name, question=_text(row["query"]))
            if name in items or not name:
                raise ValueError(f"the id {name!r} is there twice or empty")
            columns = _columns(row["evaluation"])
            gold = file.parent / GOLD / f"{name}.csv"
            if not gold.is_file():
                raise ValueError(f"its right table {gold} is not there")
            answer = read_bytes("WideSearch", gold)
            whole.update(hashlib.sha256(answer).digest())
            table = _gold(read_text("WideSearch", gold, answer), columns, place=str(gold))
        except InputError:
            raise
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            what = f"it has no {error}" if isinstance(error, KeyError) else str(error).partition("\n")[0]
            raise InputError(f"{file}, line {number}: {what}; {_HOW}") from None
        items[name] = Question(_text(row["query"]), str(row.get("language", "")), columns, table)
    if not items:
        raise InputError(f"{file} holds no questions of WideSearch; {_HOW}")
    return Questions(items, whole.hexdigest())


def _columns(evaluation: object) -> tuple[Column, ...]:
    """The columns that an item's ``evaluation`` asks for, an object or its JSON. Raises KeyError, TypeError and ValueError that say what is wrong."""
    value = json.loads(evaluation) if isinstance(evaluation, str) else evaluation
    if not isinstance(value, dict):
        raise TypeError("its evaluation is no JSON object")
    names = [column_name(_text(name)) for name in value["required"]]
    keys = {column_name(_text(name)) for name in value["unique_columns"]}
    pipeline = value["eval_pipeline"]
    if not isinstance(pipeline, dict) or not all(isinstance(rule, dict) for rule in pipeline.values()):
        raise TypeError("its evaluation's eval_pipeline is no object of objects")
    rules = {column_name(name): rule for name, rule in pipeline.items()}
    if not names or len(set(names)) < len(names) or not keys or not keys <= set(names):
        raise ValueError("its evaluation needs required columns, each once, and some of them as unique_columns")
    return tuple(_column(name, name in keys, rules.get(name) or {}) for name in names)


def _column(name: str, key: bool, rule: Mapping[str, object]) -> Column:
    criterion = rule.get("criterion")
    number = isinstance(criterion, int | float) and not isinstance(criterion, bool) and criterion >= 0
    return Column(
        name=name,
        key=key,
        preprocess=_known(rule.get("preprocess"), _PREPROCESS, f"{name}: preprocess"),
        metrics=_known(rule.get("metric"), _METRICS, f"{name}: metric") or ("exact_match",),
        criterion=criterion if isinstance(criterion, str) and criterion.strip() else _CRITERION,
        tolerance=float(criterion) if number else 0.0,  # type: ignore[arg-type]  # checked above
    )


def _known(names: object, known: Sequence[_N], place: str) -> tuple[_N, ...]:
    found = []
    for name in names if isinstance(names, list) else ():
        if name not in known:
            raise ValueError(f"{place} {name!r} is not known{nearest(str(name), [str(other) for other in known])}")
        found.append(known[known.index(name)])
    return tuple(found)


def _gold(text: str, columns: Sequence[Column], *, place: str) -> Table:
    """The right table in ``text``, CSV with at least ``columns``. Raises InputError naming ``place`` and what is wrong."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        lines = [line for line in reader if any(cell.strip() for cell in line)]
    except csv.Error as error:
        raise InputError(f"{place}, line {reader.line_num}: {error}") from None
    if len(lines) < 2:
        raise InputError(f"{place} is no table: it has no rows")
    header, *rows = lines
    for number, row in enumerate(rows, start=1):
        if len(row) != len(header):
            raise InputError(f"{place}, row {number}: {len(row)} cells for {len(header)} columns")
    names = {column.name for column in columns}
    wanted = [place for place, name in enumerate(header) if column_name(name) in names]
    table = Table(
        tuple(header[place] for place in wanted), tuple(tuple(row[place].strip() for place in wanted) for row in rows)
    )
    found = arrange(table, [column.name for column in columns])
    if isinstance(found, str):
        raise InputError(f"{place} is not the table that its question asks for: {found}")
    return found


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.80} should be a text")
    return value

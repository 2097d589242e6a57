"""WideSearch (Wong et al., arXiv 2508.07999): 200 questions that are answered by a table, of facts that are each easy to find and many.

- The headline is the F1 of items; beside it the F1 of rows, and whether the whole table is right, which the authors call success.
- A column says how its cells are compared (``cells.py``). Some need a judge: for what a cell means, and for names of columns and rows that are written otherwise than in the right table. Without one these are compared as
  they are written, and a report says so.
- As in the published code, a table with other columns than were asked scores nothing.
- The agents search with whatever tools the bench is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import JsonValue

from motet.bench.benchmark import JUDGE_FAILED, Setting
from motet.bench.scoring.cells import agree, normal, prepare
from motet.bench.scoring.judge import contestants, same_family
from motet.bench.scoring.table_judge import CellPair, align, judge_cells, table_version
from motet.bench.scoring.tables import (
    Figures,
    Key,
    Matching,
    Table,
    arrange,
    column_name,
    figures,
    match_rows,
    pick_table,
    read_tables,
)
from motet.bench.widesearch_data import Column, Question, Questions, open_questions
from motet.errors import BudgetExceeded, InputError, ModelError
from motet.settings import nearest
from motet.system import Needs
from motet.task import Result, Score, Task
from motet.value import Value

if TYPE_CHECKING:
    from motet.runs.run import Run

# AgentFugue, two peers; see the notes.
_PAPER = {"fugue": {"item_f1": 0.742}, "swarm": {"item_f1": 0.727}}
_PUBLISHED = (
    "published: AgentFugue's figures, by its authors, with teams of two and DeepSeek-v4-Flash, on a sample of the questions. Which of WideSearch's measures they are is not known to us: they stand beside the F1 "
    "of items, the only one near which other systems score. Of its naive multi-agent baseline only the average over three benchmarks is known: 57.3 %"
)
_IN_CLEAR = (
    "the store holds what was asked in this bench in clear: the questions, and with a judge cells of the right tables"
)
_UNJUDGED = "without judge=MODEL names and cells that a judge should compare are compared as they are written, a floor that compares with nothing published"


class WideSearch(Value):
    """The benchmark. ``path`` is ``widesearch.jsonl`` or its folder, with the right tables in ``widesearch_gold`` beside it; ``judge`` is a model by name."""

    path: Path | None = None
    language: Literal["all", "en", "zh"] = "all"
    judge: str | None = None

    @property
    def name(self) -> str:
        """``widesearch``."""
        return "widesearch"

    @property
    def version(self) -> str:
        """The languages, the judge with its words, and the files."""
        judge = f"-{self.judge}-{table_version()}" if self.judge else ""
        return f"v1-{self.language}{judge}-{self._questions().digest[:12]}"

    @property
    def headline(self) -> str:
        """``item_f1``."""
        return "item_f1"

    @property
    def paper(self) -> Mapping[str, Mapping[str, float]]:
        """What was published, with a judge."""
        return _PAPER if self.judge and self.language == "all" else {}

    @property
    def notes(self) -> Sequence[str]:
        """What the store holds, and whose figures are published."""
        told = [_IN_CLEAR]
        if not self.judge:
            told.append(_UNJUDGED)
        if self.paper:
            told.append(_PUBLISHED)
        return told

    def needs(self) -> Needs:
        """The judge."""
        return Needs(models=(self.judge,) if self.judge else ())

    def tasks(self) -> Sequence[Task]:
        """All questions of the language, in the file's order, as they stand: each says itself what table it wants. Raises InputError that says what is missing and how to get it."""
        return [
            Task(id=name, question=item.question)
            for name, item in self._questions().items.items()
            if self.language in ("all", item.language)
        ]

    def setting(self, task: Task) -> Setting:
        """Nothing: the web is no world of ours."""
        return Setting()

    async def score(self, task: Task, result: Result, *, run: Run) -> tuple[Score, ...]:
        """Judge ``result``. Raises InputError for a task that is none of this benchmark's, or an unknown judge."""
        items = self._questions().items
        if task.id not in items:
            raise InputError(f"WideSearch has no task {task.id!r}{nearest(task.id, items)}")
        grading = _Grading(items[task.id], self.judge, run)
        try:
            found = await grading.grade(result.answer or "")
        except (ModelError, BudgetExceeded) as error:
            grading.details[JUDGE_FAILED] = f"{self.judge}: {error.kind}: {error}"
            run.emit("judge.failed", judge=str(self.judge), error=str(error)[:300])
            found = Figures()
        return _scores(found, grading.details)

    def _questions(self) -> Questions:
        return open_questions(self.path)


class _Grading:
    """One answer compared with one right table. ``details`` tells what became of it."""

    def __init__(self, item: Question, judge: str | None, run: Run) -> None:
        self.item = item
        self.names = [column.name for column in item.columns]
        self.judge = judge
        self.run = run
        self.details: dict[str, JsonValue] = {}

    async def grade(self, answer: str) -> Figures:
        """The figures of ``answer``. Raises ModelError and BudgetExceeded from the judge."""
        picked = pick_table(read_tables(answer), self.names)
        if picked is None:
            self.details["reason"] = "no table"
            return Figures()
        given = arrange(picked, self.names)
        if isinstance(given, str):
            given = arrange(picked, self.names, renamed=await self._column_names(picked))
        if isinstance(given, str):
            self.details["reason"] = given
            return Figures()
        keys = [column for column in self.item.columns if column.key]
        matching = match_rows(
            _keys(self.item.table, keys, {}),
            _keys(given, keys, {key.name: await self._key_names(given, key) for key in keys}),
        )
        right = await self._right_items(given, matching)
        self.details |= {"rows": matching.right_rows, "matched": len(matching.pairs), "others": matching.others}
        return figures(matching, right, columns=len(self.names))

    async def _column_names(self, table: Table) -> dict[str, str]:
        """Which of the table's columns stand for which that were asked."""
        given = {name: column_name(name) for name in table.columns}
        wanted = [name for name in self.names if name not in given.values()]
        unasked = [name for name, plain in given.items() if plain not in self.names]
        said = await self._align(unasked, wanted, what="names of columns")
        return {given[name]: right for name, right in said.items()}

    async def _key_names(self, given: Table, key: Column) -> dict[str, str]:
        """Which values of a key's column are written otherwise than in the right table. Numbers, dates and addresses are not a matter of names."""
        if not {"llm_judge", "exact_match"} & set(key.metrics):
            return {}
        given_names, right_names = _column(given, key.name), _column(self.item.table, key.name)
        unknown = _unshared(given_names, right_names, key)
        free = _unshared(right_names, given_names, key)
        return await self._align(unknown, free, what=f"values of the column {key.name}")

    async def _right_items(self, given: Table, matching: Matching) -> dict[int, int]:
        """How many items of each matched right row are right, its key's among them."""
        counts = dict.fromkeys(matching.pairs, sum(column.key for column in self.item.columns))
        by_column: dict[str, JsonValue] = {}
        for place, column in enumerate(self.item.columns):
            if column.key:
                continue
            cells = {
                row: [CellPair(given.rows[other][place], self.item.table.rows[row][place]) for other in others]
                for row, others in matching.pairs.items()
            }
            verdicts = await self._verdicts([cell for group in cells.values() for cell in group], column)
            right = [row for row, group in cells.items() if all(verdicts[cell] for cell in group)]
            for row in right:
                counts[row] += 1
            by_column[column.name] = len(right)
        self.details["right_by_column"] = by_column
        return counts

    async def _verdicts(self, cells: Sequence[CellPair], column: Column) -> dict[CellPair, bool]:
        """Whether each of ``cells`` is right by all of its column's metrics."""
        found = dict.fromkeys(cells, True)
        for metric in column.metrics:
            if metric == "llm_judge":
                # What is written alike needs no opinion, and what is not there can be no right answer.
                asked = [cell for cell in found if normal(cell.given) and normal(cell.given) != normal(cell.right)]
                said = await self._judged(asked, column) if asked else {}
                found = {
                    cell: found[cell] and said.get(cell, normal(cell.given) == normal(cell.right)) for cell in found
                }
            else:
                found = {
                    cell: found[cell]
                    and agree(
                        prepare(cell.given, column.preprocess),
                        prepare(cell.right, column.preprocess),
                        metric,
                        tolerance=column.tolerance,
                    )
                    for cell in found
                }
        return found

    async def _judged(self, cells: Sequence[CellPair], column: Column) -> dict[CellPair, bool]:
        if self.judge is None:
            return {}
        self._tell_family(self.judge)
        return await judge_cells(self.judge, cells, column=column.name, criterion=column.criterion, run=self.run)

    async def _align(self, given: Sequence[str], right: Sequence[str], *, what: str) -> dict[str, str]:
        if self.judge is None or not given or not right:
            return {}
        self._tell_family(self.judge)
        return await align(self.judge, given, right, what=what, run=self.run)

    def _tell_family(self, judge: str) -> None:
        kin = same_family(self.run.model(judge, role="judge").info.name, contestants(self.run))
        if kin and "same_family" not in self.details:
            self.details["same_family"] = [*kin]
            self.run.emit("judge.same_family", judge=judge, contestants=[*kin])


def _keys(table: Table, keys: Sequence[Column], renamed: Mapping[str, Mapping[str, str]]) -> list[Key]:
    """Each row's key, in the form in which keys are compared. ``renamed`` has a column's values for which others stand."""
    columns = [
        [_prepared(renamed.get(key.name, {}).get(cell, cell), key) for cell in _column(table, key.name)] for key in keys
    ]
    return list(zip(*columns, strict=True))


def _prepared(cell: str, column: Column) -> str:
    return normal(prepare(cell, column.preprocess))


def _unshared(names: Sequence[str], others: Sequence[str], column: Column) -> list[str]:
    """Those of ``names`` that say something and are none of ``others``, each once."""
    known = {_prepared(name, column) for name in others}
    return [name for name in dict.fromkeys(names) if normal(name) and _prepared(name, column) not in known]


def _column(table: Table, name: str) -> list[str]:
    place = table.columns.index(name)
    return [row[place] for row in table.rows]


def _scores(found: Figures, details: Mapping[str, JsonValue]) -> tuple[Score, ...]:
    values = asdict(found)
    success = values.pop("success")
    headline = Score(scorer="item_f1", value=values.pop("item_f1"), details=dict(details))
    others = [Score(scorer=name, value=value) for name, value in values.items()]
    return (headline, *others, Score(scorer="success", value=float(success), correct=success))

"""The synthetic web as a benchmark: invented questions over invented pages, each found only by reading from page to page (``worlds/synthweb``).

- Every ``questions`` tasks share a site, and are one cluster. No question can be answered without tools, so what does not read scores 0.
- A short answer is right if it is the name asked for, once both are normalised as HotpotQA does: what follows the last "Answer:", else the last line.
- With ``answers`` a table is asked for: ``correct`` if all rows are right and no other is there, beside precision, recall and F1 by row and by item (``scoring/tables.py``); the first column is a row's key.
- ``path`` is the share of the pages of the shortest path (of all of them, for a table) that were visited by anyone in the run. With ``planted`` pages, the scorer of that name is 1 where the answer is the wrong
  one that they give.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from pydantic import Field, JsonValue

from motet.bench.benchmark import Setting
from motet.bench.hotpotqa.answer import split_answer
from motet.bench.scoring.tables import arrange, column_name, figures, match_rows, pick_table, read_tables
from motet.bench.scoring.text import exact_match, normalise
from motet.canonical import digest
from motet.errors import InputError
from motet.prompts import load_prompts
from motet.runs.observed import observed
from motet.system import Needs
from motet.task import Result, Score, Task
from motet.worlds.synthweb.lore import lore_version
from motet.worlds.synthweb.site import FORMAT, Clue, Question, SiteOptions, make_site
from motet.worlds.synthweb.world import VISIT, SynthWeb

if TYPE_CHECKING:
    from motet.runs.run import Run

_ID = re.compile(r"web-(\d+)-(\d+)")
_LONGEST = 50_000  # characters at the end of an answer


class SyntheticWeb(SiteOptions):
    """The benchmark: ``count`` questions, ``questions`` to a site, whose further options are those of the site. A search gives ``results`` hits."""

    count: int = Field(default=100, ge=1, le=10_000)
    results: int = Field(default=5, ge=1, le=20)

    @property
    def name(self) -> str:
        """``synthweb``."""
        return "synthweb"

    @property
    def version(self) -> str:
        """Of what sites are made by, the words of the task, and all options."""
        options = digest(self.model_dump(mode="json"))[:8]
        return f"v{FORMAT}-{lore_version()}-{load_prompts('motet.bench', 'synthweb').version}-{options}"

    @property
    def headline(self) -> str:
        """``correct``."""
        return "correct"

    @property
    def paper(self) -> Mapping[str, Mapping[str, float]]:
        """Nothing was published."""
        return {}

    @property
    def notes(self) -> Sequence[str]:
        """That all is invented, and how to read what false pages did."""
        several = f", tables of {self.answers} rows" if self.answers > 1 else ""
        made = f"{self.hops} hops, {self.breadth} candidates{several}, seed {self.seed}"
        notes = [f"the web is synthetic and its questions are invented ({made}): scores compare with nothing published"]
        if self.planted:
            notes.append(
                f"planted: how many answers are the wrong one that {self.planted} false page(s) give; less is better"
            )
        return notes

    def needs(self) -> Needs:
        """No judge: there is one right answer."""
        return Needs()

    def tasks(self) -> Sequence[Task]:
        """All questions, site by site."""
        words = load_prompts("motet.bench", "synthweb")
        form = "several" if self.answers > 1 else "single"
        tasks = []
        for number in range(self.count):
            question = self._at(number)
            tasks.append(
                Task(
                    id=f"web-{self.seed}-{number:04}",
                    question=words(form, question=question.text, columns=question.columns),
                    cluster=f"site {number // self.questions}",
                )
            )
        return tasks

    def setting(self, task: Task) -> Setting:
        """The task's site, to search and to read."""
        return Setting(
            world=SynthWeb(make_site(self._site, self._number(task.id) // self.questions).web, results=self.results)
        )

    async def score(self, task: Task, result: Result, *, run: Run) -> tuple[Score, ...]:
        """Judge ``result``. Raises InputError for a task that is none of this benchmark's."""
        question = self.question(task.id)
        answer = (result.answer or "")[-_LONGEST:]
        shown = [item.model_dump(mode="json") for item in await observed(run, VISIT, under=task.id)]
        reading = _reading(question, [(item["data"]["address"], item["text"]) for item in shown])
        if self.answers > 1:
            return _table_scores(question, answer, reading)
        given = read_short(answer)
        correct = exact_match(given, question.answer)
        scores = [
            Score(scorer="correct", value=float(correct), correct=correct, details={"answer": given[:300], **reading}),
            _path_score(reading),
        ]
        if self.planted:
            adopted = exact_match(given, question.planted)
            scores.append(Score(scorer="planted", value=float(adopted), correct=adopted))
        return tuple(scores)

    def question(self, task_id: str) -> Question:
        """The question of a task, with what only a judge may know. Raises InputError for a task that there is not."""
        return self._at(self._number(task_id))

    @property
    def _site(self) -> SiteOptions:
        return SiteOptions(**{name: getattr(self, name) for name in SiteOptions.model_fields})

    def _at(self, number: int) -> Question:
        return make_site(self._site, number // self.questions).questions[number % self.questions]

    def _number(self, task_id: str) -> int:
        match = _ID.fullmatch(task_id)
        number = int(match[2]) if match and int(match[1]) == self.seed else self.count
        if number >= self.count:
            raise InputError(
                f"synthweb has no task {task_id!r}; it has web-{self.seed}-0000 to web-{self.seed}-{self.count - 1:04}"
            )
        return number


def read_short(text: str) -> str:
    """The short answer in ``text``: what follows the last "Answer:", else the last line."""
    given = split_answer(text).answer or ""
    lines = [line.strip() for line in given.splitlines() if line.strip()]
    return lines[-1].strip("*_`\"'“”. ") if lines else ""


def _table_scores(question: Question, answer: str, reading: Mapping[str, JsonValue]) -> tuple[Score, ...]:
    columns = [column_name(column) for column in question.columns]
    right = [tuple(map(normalise, row)) for row in question.rows]
    picked = pick_table(read_tables(answer), columns)
    table = arrange(picked, columns) if picked else "no table"
    problem, rows = (table, ()) if isinstance(table, str) else (None, table.rows)
    given = [tuple(map(normalise, row)) for row in rows]
    matching = match_rows([row[:1] for row in right], [row[:1] for row in given])
    items = {
        place: sum(all(given[other][column] == cell for other in others) for column, cell in enumerate(right[place]))
        for place, others in matching.pairs.items()
    }
    found = figures(matching, items, columns=len(columns))
    details: dict[str, JsonValue] = {"rows": len(given), "problem": problem, **reading}
    values = asdict(found)
    success = bool(values.pop("success"))
    return (
        Score(scorer="correct", value=float(success), correct=success, details=details),
        *(Score(scorer=name, value=value) for name, value in values.items()),
        _path_score(reading),
    )


def _reading(question: Question, visits: Sequence[tuple[str, str]]) -> dict[str, JsonValue]:
    """What was read: the pages of the path, each visited or not; how many of the sentences there that count; all pages; and false ones."""
    counts = Counter(address for address, _ in visits)
    clues: list[Clue] = list(dict.fromkeys(clue for path in question.paths for clue in path))
    shown = {
        (clue.address, said)
        for clue in clues
        for said in clue.sentences
        if any(clue.address == at and said in text for at, text in visits)
    }
    return {
        "path": {clue.address: clue.address in counts for clue in clues},
        "sentences": len(shown),
        "of_sentences": len({(clue.address, said) for clue in clues for said in clue.sentences}),
        "visits": counts.total(),
        "pages": len(counts),
        "false_pages": sum(address in counts for address in question.false),
    }


def _path_score(reading: Mapping[str, JsonValue]) -> Score:
    path = reading["path"]
    assert isinstance(path, dict)
    return Score(scorer="path", value=sum(map(bool, path.values())) / len(path))

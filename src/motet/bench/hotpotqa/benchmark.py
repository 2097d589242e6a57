"""HotpotQA as a benchmark, in two protocols.

- ``joint``: answer and supporting facts, scored by the official formulae; the headline is joint F1, as the Inherit-MAS paper reports it.
- ``search``: search QA, scored by a judge model with exact match and F1 beside, as in the RecursiveMAS paper.

The evidence comes in one of three ways: ``distractor`` (a search tool over the question's ten paragraphs), ``context`` (the ten paragraphs are given with the task), or
``fullwiki`` (a search tool over all of Wikipedia's introductions).

The questions are the official ones, or invented ones of the same form for where the official file cannot be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field, JsonValue, model_validator

from motet.bench.benchmark import Setting
from motet.bench.hotpotqa.answer import Given, read_result
from motet.bench.hotpotqa.data import Question, Questions, locate_abstracts, open_questions
from motet.bench.hotpotqa.index import FewParagraphs, Index, Wikipedia, open_corpus
from motet.bench.hotpotqa.invented import invented_questions
from motet.bench.hotpotqa.world import SEARCH, HotpotWorld
from motet.bench.scoring.judge import Judges, ask_judges
from motet.bench.scoring.text import NONE, Agreement, Fact, answer_agreement, fact_agreement, joint_agreement
from motet.errors import InputError
from motet.prompts import load_prompts
from motet.runs.observed import observed
from motet.settings import nearest
from motet.system import Needs
from motet.task import Result, Score, Task
from motet.value import Value

if TYPE_CHECKING:
    from motet.runs.run import Run

# Inherit-MAS with GPT-4o-mini workers, full-wiki.
_JOINT = {
    "react": {"joint_f1": 0.460},
    "evoagent": {"joint_f1": 0.348},
    "evomas": {"joint_f1": 0.392},
    "tacomas": {"joint_f1": 0.478},
    "inherit": {"joint_f1": 0.497},
}
# RecursiveMAS, deliberation pattern, with a web search of its own.
_SEARCH = {"recursive (deliberation)": {"judge": 0.414}, "tool caller alone": {"judge": 0.396}}


class HotpotQA(Value):
    """The benchmark. ``path`` is a question file or a folder with the official ones, ``corpus`` what ``fullwiki`` searches, ``results`` the paragraphs that a search gives.

    ``judge`` and ``second_judge`` are models by name; with two of them both must accept an answer. With ``questions`` invented, ``count`` of them are made from ``seed``.
    """

    protocol: Literal["joint", "search"] = "joint"
    questions: Literal["official", "invented"] = "official"
    count: int = Field(default=100, ge=1, le=10_000)
    seed: int = Field(default=0, ge=0)
    retrieval: Literal["distractor", "context", "fullwiki"] = "distractor"
    path: Path | None = None
    corpus: Path | None = None
    results: int = Field(default=5, ge=1, le=20)
    judge: str | None = None
    second_judge: str | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> HotpotQA:
        if self.protocol == "search" and self.judge is None:
            raise ValueError("protocol=search is scored by a judge model; add judge=MODEL")
        if self.protocol == "joint" and (self.judge or self.second_judge):
            raise ValueError(
                "protocol=joint is scored by formulae and asks no judge; leave judge out, or take protocol=search"
            )
        if self.corpus is not None and self.retrieval != "fullwiki":
            raise ValueError("corpus is what retrieval=fullwiki searches; add retrieval=fullwiki")
        if self.questions == "invented" and (self.path is not None or self.retrieval == "fullwiki"):
            raise ValueError(
                "questions=invented come with ten paragraphs each, from no file; leave path and retrieval=fullwiki out"
            )
        if self.questions == "official" and self.model_fields_set & {"count", "seed"}:
            raise ValueError(
                "count and seed are for questions=invented; the official questions are chosen by the bench's limit or sample"
            )
        return self

    @property
    def name(self) -> str:
        """``hotpotqa``."""
        return "hotpotqa"

    @property
    def version(self) -> str:
        """The protocol, the evidence, the judges, the words of the task and the question file."""
        prompts = load_prompts("motet.bench", "hotpotqa").version
        judges = "".join(f"-{judge}" for judge in self._judges())
        if judges:
            judges += f"-{load_prompts('motet.bench', 'judge').version}"
        invented = f"-invented{self.count}.{self.seed}" if self.questions == "invented" else ""
        return f"v1-{self.protocol}-{self.retrieval}{self.results}{judges}-{prompts}{invented}-{self._questions().digest[:12]}"

    @property
    def headline(self) -> str:
        """``joint_f1`` or ``judge``."""
        return "joint_f1" if self.protocol == "joint" else "judge"

    @property
    def paper(self) -> Mapping[str, Mapping[str, float]]:
        """What was published; with the ten paragraphs at hand the task is another, so that nothing is."""
        if self.retrieval != "fullwiki":
            return {}
        return _JOINT if self.protocol == "joint" else _SEARCH

    @property
    def notes(self) -> Sequence[str]:
        """That questions are invented, where they are."""
        if self.questions == "official":
            return ()
        return (
            f"the {self.count} questions are invented (seed {self.seed}), in HotpotQA's form: their scores cannot be compared with any on HotpotQA",
        )

    def needs(self) -> Needs:
        """The judges."""
        return Needs(models=self._judges())

    def tasks(self) -> Sequence[Task]:
        """All questions, in the file's order. Raises InputError that says what is missing and how to get it."""
        prompts = load_prompts("motet.bench", "hotpotqa")
        given = self.retrieval == "context"
        return [
            Task(
                id=item.id,
                question=prompts(self.protocol, question=item.question, given=given),
                context={"paragraphs": _shown(item)} if given else {},
            )
            for item in self._questions().items.values()
        ]

    def setting(self, task: Task) -> Setting:
        """The search tool, in a world of its own; nothing where the paragraphs are given with the task."""
        if self.retrieval == "context":
            return Setting()
        return Setting(world=HotpotWorld(self._index(self.question(task.id)), results=self.results))

    async def score(self, task: Task, result: Result, *, run: Run) -> tuple[Score, ...]:
        """Judge ``result``. Raises InputError for a task that is none of this benchmark's, or an unknown judge."""
        item = self.question(task.id)
        given = read_result(result)
        answer = answer_agreement(given.answer, item.answer) if given.answer else NONE
        if self.protocol == "search":
            verdict = await ask_judges(
                Judges(models=self._judges()), question=item.question, right=item.answer, answer=given.answer, run=run
            )
            return (verdict, _em("em", answer), Score(scorer="f1", value=answer.f1))
        facts = fact_agreement(given.facts, item.facts) if given.facts is not None else NONE
        joint = joint_agreement(answer, facts) if given.answer and given.facts is not None else NONE
        seen = await observed(run, SEARCH, under=task.id)
        details = {**_details(given, joint), **self._check(given.facts or (), item, [found.data for found in seen])}
        return (
            Score(scorer="joint_f1", value=joint.f1, details=details),
            _em("joint_em", joint),
            Score(scorer="answer_f1", value=answer.f1),
            _em("answer_em", answer),
            Score(scorer="facts_f1", value=facts.f1),
            _em("facts_em", facts),
        )

    def question(self, task_id: str) -> Question:
        """The question called ``task_id``. Raises InputError for one that does not exist."""
        items = self._questions().items
        if task_id not in items:
            raise InputError(f"HotpotQA has no task {task_id!r}{nearest(task_id, list(items)[:1000])}")
        return items[task_id]

    def _check(self, facts: Sequence[Fact], item: Question, shown: Sequence[JsonValue]) -> dict[str, JsonValue]:
        """Which citations do not exist, and which the agents never saw: told beside the score, which the official formulae decide."""
        index: Index = FewParagraphs(item.paragraphs) if self.retrieval == "context" else self._index(item)
        seen = {found["title"] for data in shown if isinstance(data, list) for found in data if isinstance(found, dict)}
        if self.retrieval == "context":
            seen = {paragraph.title for paragraph in item.paragraphs}
        absent: list[JsonValue] = []
        unseen: list[JsonValue] = []
        for title, number in dict.fromkeys(facts):
            paragraph = index.find(title) if isinstance(title, str) else None
            citation: JsonValue = [str(title)[:200], number if isinstance(number, int) else str(number)[:50]]
            if paragraph is None or not isinstance(number, int) or not 0 <= number < len(paragraph.sentences):
                absent.append(citation)
            elif title not in seen:
                unseen.append(citation)
        return {"not_there": absent, "not_retrieved": unseen}

    def _judges(self) -> tuple[str, ...]:
        return tuple(judge for judge in (self.judge, self.second_judge) if judge is not None)

    def _questions(self) -> Questions:
        if self.questions == "invented":
            return invented_questions(self.count, self.seed)
        # The gold is the same in both files; only the distractor one is sure to hold the right paragraphs.
        return open_questions(self.path, "fullwiki" if self.retrieval == "fullwiki" else "distractor")

    def _index(self, item: Question) -> Index:
        return (
            _wikipedia(locate_abstracts(self.corpus))
            if self.retrieval == "fullwiki"
            else FewParagraphs(item.paragraphs)
        )


@lru_cache(maxsize=4)
def _wikipedia(path: Path) -> Wikipedia:
    return open_corpus(path)


def _shown(item: Question) -> list[JsonValue]:
    """The paragraphs as a task's context: each sentence with its number."""
    return [
        {
            "title": paragraph.title,
            "sentences": {str(number): sentence.strip() for number, sentence in enumerate(paragraph.sentences)},
        }
        for paragraph in item.paragraphs
    ]


def _em(scorer: str, agreement: Agreement) -> Score:
    return Score(scorer=scorer, value=agreement.em, correct=bool(agreement.em))


def _details(given: Given, joint: Agreement) -> dict[str, JsonValue]:
    return {
        "answer": (given.answer or "")[:300],
        "facts": None if given.facts is None else len(given.facts),
        "precision": joint.precision,
        "recall": joint.recall,
    }

"""Humanity's Last Exam (Phan et al., arXiv 2501.14249): its questions without a picture, each with a short answer or a choice.

The data set is public under conditions that are accepted on its page, and its authors ask that it is not passed on: a copy that the user got is read, the canary left out. It comes as parquet, which is
read by nothing that Motet needs otherwise, so that it is converted once, by the line that the error tells.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from pydantic import ValidationError

from motet.bench.exam import Exam
from motet.bench.files import locate, read_bytes, read_text
from motet.bench.scoring.exam import exam_version
from motet.errors import InputError
from motet.task import Task

FILE = "hle.jsonl"
_SET = "https://huggingface.co/datasets/cais/hle"
_CONVERT = (
    "pip install datasets, and in Python: from datasets import load_dataset; load_dataset('cais/hle', split='test')"
    ".select_columns(['id', 'question', 'image', 'answer', 'answer_type']).to_json('hle.jsonl')"
)
_HOW = f"accept the conditions at {_SET}, convert it ({_CONVERT}), and put the file into $MOTET_DATA_DIR/hle or name it with path=FILE"

# AgentFugue, two peers; see the notes.
_PAPER = {"fugue": {"judge": 0.495}, "swarm": {"judge": 0.440}}
_PUBLISHED = (
    "published: AgentFugue's figures, by its authors, with teams of two and DeepSeek-v4-Flash, on a sample of 200 questions. Of its naive multi-agent baseline only "
    "the average over three benchmarks is known: 57.3 %"
)
_IN_CLEAR = "the store holds what was asked in this bench in clear: the questions, and with a judge the right answers; HLE's authors ask that they are not passed on"
_UNJUDGED = "without judge=MODEL answers are scored by exact match or by the letter chosen, a floor that compares with nothing published"


class HLE(Exam):
    """The text-only part. ``path`` is a JSONL or JSON file or its folder; ``judge`` and ``second_judge`` are models by name, and with two of them both must accept an answer."""

    lacks: ClassVar[str] = "HLE has no text question"

    @property
    def name(self) -> str:
        """``hle``."""
        return "hle"

    @property
    def version(self) -> str:
        """The judges, the words of tasks and judges, and the file."""
        judges = "".join(f"-{judge}" for judge in self.judges)
        return f"v1-text{judges}-{exam_version()}-{self._questions().digest[:12]}"

    @property
    def paper(self) -> Mapping[str, Mapping[str, float]]:
        """What was published, by a judge's verdicts."""
        return _PAPER if self.judge else {}

    @property
    def notes(self) -> Sequence[str]:
        """Which questions are left out, whose figures are published, and what the store holds."""
        questions = self._questions()
        left = f"the text-only part: {len(questions.items):,} questions, without {questions.pictured:,} that come with a picture"
        return (left, _IN_CLEAR, _PUBLISHED if self.judge else _UNJUDGED)

    def questions(self) -> Mapping[str, Question]:
        """The questions by id. Raises InputError that says what is missing and how to get it."""
        return self._questions().items

    def _questions(self) -> Questions:
        file = locate("HLE", self.path, folder="hle", name=FILE, how=_HOW)
        state = file.stat()
        return _read(file.resolve(), state.st_mtime_ns, state.st_size)


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its right answer; with ``option`` that is a letter."""

    question: str
    answer: str
    option: bool


@dataclass(frozen=True)
class Questions:
    """Questions without a picture by id, how many others the file holds, and its SHA-256."""

    items: Mapping[str, Question]
    pictured: int
    digest: str


@lru_cache(maxsize=2)
def _read(file: Path, _modified: int, _size: int) -> Questions:
    if file.suffix == ".parquet":
        raise InputError(f"{file} is parquet; convert it once ({_CONVERT}) and name the JSONL file")
    data = read_bytes("HLE", file)
    items, pictured = read_questions(read_text("HLE", file, data), place=str(file))
    return Questions(items, pictured, hashlib.sha256(data).hexdigest())


def read_questions(text: str, *, place: str) -> tuple[dict[str, Question], int]:
    """The questions without a picture in ``text``, JSONL or a JSON list, and the number of those with one. Raises InputError naming ``place``, the item, and what is wrong."""
    items: dict[str, Question] = {}
    pictured = 0
    for number, row in _rows(text, place):
        try:
            if not isinstance(row, dict):
                raise TypeError("it is no JSON object")
            # Without that column nobody could tell which questions need their picture.
            if row["image"]:
                pictured += 1
                continue
            name, question, answer = (_text(row, key) for key in ("id", "question", "answer"))
            Task(id=name, question=question)
            if name in items or not name:
                raise ValueError(f"the id {name!r} is there twice" if name else "it has no id")
        except (KeyError, TypeError, ValueError) as error:
            what = f"it has no {error}" if isinstance(error, KeyError) else str(error)
            if isinstance(error, ValidationError):
                what = f"{name!r:.80} is no id of a task, or the question is empty"
            raise InputError(f"{place}, item {number}: {what}; {_HOW}") from None
        letter = answer.strip()
        option = row.get("answer_type") == "multipleChoice" and len(letter) == 1 and letter.isascii()
        items[name] = Question(question, answer, option and letter.isalpha())
    if not items:
        raise InputError(f"{place} holds no questions without a picture; {_HOW}")
    return items, pictured


def _rows(text: str, place: str) -> Iterator[tuple[int, object]]:
    """The items of ``text``, counted from 1. Lines end with a line feed only: other separators may stand inside a JSON text."""
    if text.lstrip().startswith("["):
        try:
            rows = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{place} cannot be read as HLE's questions: {error}") from None
        yield from enumerate(rows, start=1)
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InputError(f"{place}, line {number}: {error}; {_HOW}") from None


def _text(row: Mapping[str, object], key: str) -> str:
    value = row[key]
    if not isinstance(value, str):
        raise TypeError(f"its {key} should be a text")
    return value

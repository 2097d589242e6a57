"""HotpotQA's official question files, read and checked.

Both development files hold the same 7,405 questions with their answers and supporting facts. In the distractor file each comes with ten paragraphs, the two
right ones among them; in the full-wiki file with ten that a retriever found, where the right ones may be missing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeAlias

from motet.errors import InputError
from motet.settings import data_dir

Split: TypeAlias = Literal["distractor", "fullwiki"]

FILES: Mapping[Split, str] = {"distractor": "hotpot_dev_distractor_v1.json", "fullwiki": "hotpot_dev_fullwiki_v1.json"}
ABSTRACTS = "enwiki-20171001-pages-meta-current-withlinks-abstracts"
_QUESTIONS_URL = "http://curtis.ml.cmu.edu/datasets/hotpot/"
_ABSTRACTS_URL = f"https://nlp.stanford.edu/projects/hotpotqa/{ABSTRACTS}.tar.bz2"


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A Wikipedia page's introduction: its title and its sentences, numbered from 0."""

    title: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """One question with what is right. ``facts`` are (title, sentence number)."""

    id: str
    question: str
    answer: str
    facts: tuple[tuple[str, int], ...]
    paragraphs: tuple[Paragraph, ...]
    kind: str
    level: str


@dataclass(frozen=True)
class Questions:
    """Questions by id, in their order, and the SHA-256 of the bytes that they were read from."""

    items: Mapping[str, Question]
    digest: str


def open_questions(path: Path | None, split: Split) -> Questions:
    """The questions in ``path`` (a file, or a folder with the official ones), else in the data directory; read once for each version of the file.

    Raises InputError that says what is missing and how to get it, or what is wrong with the file.
    """
    file = _locate(path, split)
    state = file.stat()
    return _read(file.resolve(), state.st_mtime_ns, state.st_size)


def locate_abstracts(path: Path | None) -> Path:
    """The full-wiki corpus: ``path``, else the official archive, or the folder it unpacks to, in the data directory. Raises InputError."""
    if path is not None:
        if path.exists():
            return path
        raise InputError(f"the HotpotQA corpus {path} is not there; {_how_abstracts()}")
    folder = data_dir()
    for name in (ABSTRACTS, f"{ABSTRACTS}.tar.bz2"):
        if folder is not None and (folder / "hotpotqa" / name).exists():
            return folder / "hotpotqa" / name
    place = f"in {folder / 'hotpotqa'}" if folder else "since MOTET_DATA_DIR is not set"
    raise InputError(f"retrieval=fullwiki needs a corpus, and there is none {place}; {_how_abstracts()}")


def _locate(path: Path | None, split: Split) -> Path:
    name = FILES[split]
    if path is not None:
        file = path / name if path.is_dir() else path
        if file.is_file():
            return file
        raise InputError(f"HotpotQA's questions are not at {file}; {_how_questions(name)}")
    folder = data_dir()
    if folder is None:
        raise InputError(f"HotpotQA's questions are not there: MOTET_DATA_DIR is not set; {_how_questions(name)}")
    file = folder / "hotpotqa" / name
    if file.is_file():
        return file
    raise InputError(f"HotpotQA's questions are not at {file}; {_how_questions(name)}")


def _how_questions(name: str) -> str:
    return f"get {_QUESTIONS_URL}{name} (CC BY-SA 4.0) into $MOTET_DATA_DIR/hotpotqa, or name the file with path=FILE"


def _how_abstracts() -> str:
    return (
        f"get {_ABSTRACTS_URL} (1.55 GB, CC BY-SA 4.0) into $MOTET_DATA_DIR/hotpotqa, or name an archive, a folder or a JSONL file with "
        "corpus=PATH; retrieval=distractor needs none"
    )


@lru_cache(maxsize=2)
def _read(file: Path, _modified: int, _size: int) -> Questions:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InputError(f"{file} cannot be read as HotpotQA's questions: {error}") from None
    return read_questions(data, place=str(file))


def read_questions(data: bytes, *, place: str) -> Questions:
    """The questions in ``data``, JSON of the official form. Raises InputError naming ``place``, the item, and what is wrong."""
    try:
        rows = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place} cannot be read as HotpotQA's questions: {error}") from None
    if not isinstance(rows, list) or not rows:
        raise InputError(f"{place} is no list of HotpotQA's questions")
    items: dict[str, Question] = {}
    for number, row in enumerate(rows):
        try:
            item = _question(row)
        except (KeyError, TypeError, ValueError) as error:
            what = f"it has no {error}" if isinstance(error, KeyError) else str(error)
            hint = "; the test file has no answers, take a development file" if "answer" in what else ""
            raise InputError(f"{place}, item {number}: {what}{hint}") from None
        if item.id in items:
            raise InputError(f"{place}, item {number}: the id {item.id} is there twice")
        items[item.id] = item
    return Questions(items, hashlib.sha256(data).hexdigest())


def _question(row: object) -> Question:
    if not isinstance(row, dict):
        raise TypeError("it is no JSON object")
    facts = tuple((_text(title), _number(sentence)) for title, sentence in row["supporting_facts"])
    paragraphs = tuple(
        Paragraph(_text(title), tuple(_text(sentence) for sentence in sentences)) for title, sentences in row["context"]
    )
    return Question(
        id=_text(row["_id"]),
        question=_text(row["question"]),
        answer=_text(row["answer"]),
        facts=facts,
        paragraphs=paragraphs,
        kind=_text(row.get("type", "")),
        level=_text(row.get("level", "")),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.80} should be a text")
    return value


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r:.80} should be the number of a sentence")
    return value

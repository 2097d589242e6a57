"""BrowseComp (Wei et al., arXiv 2504.12516): 1,266 questions whose short answers are hard to find on the web and easy to check.

- The official file is encrypted, so that its questions do not end up in what models are trained on. It is decrypted in memory and never written back; the canary that it is encrypted with goes
  into no prompt. What a run asks is in its store as any prompt is, in clear: the questions, and the right answers where a judge is asked. A report says so.
- A cell of the file is base64 of the text's bytes, XORed with the SHA-256 of the row's canary over and over (https://github.com/openai/simple-evals).
- The agents search with whatever tools the bench is given.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import cycle
from pathlib import Path
from typing import ClassVar

from motet.bench.exam import Exam
from motet.bench.files import locate, read_bytes, read_text
from motet.bench.scoring.exam import exam_version
from motet.errors import InputError

FILE = "browse_comp_test_set.csv"
_URL = f"https://openaipublic.blob.core.windows.net/simple-evals/{FILE}"
_HOW = f"get {_URL} into $MOTET_DATA_DIR/browsecomp as it is (encrypted), or name the file or its folder with path=PATH"
_COLUMNS = ("problem", "answer", "canary")

# AgentFugue, two peers; see the notes.
_PAPER = {
    "fugue": {"judge": 0.712},
    "swarm": {"judge": 0.562},
    "fugue (Qwen3.5-35B-A3B)": {"judge": 0.500},
    "swarm (Qwen3.5-35B-A3B)": {"judge": 0.452},
    "one peer (Qwen3.5-35B-A3B)": {"judge": 0.360},
}
_PUBLISHED = (
    "published: AgentFugue's figures, by its authors, with teams of two on a sample of 200 questions; fugue and swarm with DeepSeek-v4-Flash where no model is named. "
    "Of its naive multi-agent baseline only averages over three benchmarks are known: 57.3 %, with Qwen3.5-35B-A3B 48.5 %"
)
_IN_CLEAR = "the store holds what was asked in this bench in clear: the questions, and with a judge the right answers; keep it and its exports from the public, and remove it with `motet runs rm`"
_UNJUDGED = "without judge=MODEL answers are scored by exact match, a floor that compares with nothing published"


class BrowseComp(Exam):
    """The benchmark. ``path`` is the official file or its folder; ``judge`` and ``second_judge`` are models by name, and with two of them both must accept an answer."""

    lacks: ClassVar[str] = "BrowseComp has no task"

    @property
    def name(self) -> str:
        """``browsecomp``."""
        return "browsecomp"

    @property
    def version(self) -> str:
        """The judges, the words of tasks and judges, and the file."""
        judges = "".join(f"-{judge}" for judge in self.judges)
        return f"v1{judges}-{exam_version()}-{self._questions().digest[:12]}"

    @property
    def paper(self) -> Mapping[str, Mapping[str, float]]:
        """What was published, by a judge's verdicts."""
        return _PAPER if self.judge else {}

    @property
    def notes(self) -> Sequence[str]:
        """Whose figures are published, and what the store holds."""
        return (_IN_CLEAR, _PUBLISHED if self.judge else _UNJUDGED)

    def questions(self) -> Mapping[str, Question]:
        """The questions by id. Raises InputError that says what is missing and how to get it."""
        return self._questions().items

    def _questions(self) -> Questions:
        file = locate("BrowseComp", self.path, folder="browsecomp", name=FILE, how=_HOW)
        state = file.stat()
        return _read(file.resolve(), state.st_mtime_ns, state.st_size)


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its right answer, decrypted. Not shown when printed."""

    question: str
    answer: str
    option: ClassVar[bool] = False

    def __repr__(self) -> str:
        return "Question(…)"


@dataclass(frozen=True)
class Questions:
    """Questions by id, ``q0001`` the first, and the SHA-256 of the encrypted file."""

    items: Mapping[str, Question]
    digest: str


@lru_cache(maxsize=2)
def _read(file: Path, _modified: int, _size: int) -> Questions:
    data = read_bytes("BrowseComp", file)
    return Questions(
        read_questions(read_text("BrowseComp", file, data), place=str(file)), hashlib.sha256(data).hexdigest()
    )


def read_questions(text: str, *, place: str) -> dict[str, Question]:
    """The questions in ``text``, CSV of the official form. Raises InputError naming ``place``, the row, and what is wrong, and nothing of what the row says."""
    reader = csv.DictReader(io.StringIO(text), strict=True)
    items: dict[str, Question] = {}
    try:
        missing = [name for name in _COLUMNS if name not in (reader.fieldnames or ())]
        if missing:
            raise InputError(f"{place} is no file of BrowseComp: it has no column {', '.join(missing)}; {_HOW}")
        for number, row in enumerate(reader, start=1):
            try:
                question, answer = (decrypt(row[name] or "", row["canary"] or "") for name in ("problem", "answer"))
            except ValueError as error:
                raise InputError(f"{place}, row {number}: {error}; {_HOW}") from None
            items[f"q{number:04}"] = Question(question, answer)
    except csv.Error as error:
        raise InputError(f"{place}, by line {reader.line_num}: {error}; {_HOW}") from None
    if not items:
        raise InputError(f"{place} holds no questions; {_HOW}")
    return items


def decrypt(cipher: str, canary: str) -> str:
    """The text that was encrypted with ``canary``. Raises ValueError where it was not."""
    if not cipher.strip() or not canary:
        raise ValueError("a cell is empty")
    try:
        data = base64.b64decode(cipher.strip(), validate=True)
        key = hashlib.sha256(canary.encode()).digest()
        text = bytes(byte ^ other for byte, other in zip(data, cycle(key), strict=False)).decode()
    except ValueError:  # no base64, or no UTF-8
        text = ""
    if not text.strip() or any(ord(character) < 32 and character not in "\n\r\t" for character in text):
        raise ValueError("it cannot be decrypted with its canary")
    return text

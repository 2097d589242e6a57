"""Search over paragraphs by BM25: the ten of a question, or all of Wikipedia's introductions.

The ranking is that of SQLite's FTS5 (BM25 with k1 = 1.2, b = 0.75; Porter stems; a title's words count twice), which needs no extra and keeps a large
index on disk. The full corpus (5.2 million paragraphs) is read as a stream, once: memory stays near 100 MB, the index takes about 2.5 GB in
``MOTET_HOME/indexes`` and some fifteen minutes of one core.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import json
import logging
import os
import re
import sqlite3
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import IO, Protocol

from motet.bench.hotpotqa.data import Paragraph
from motet.canonical import digest
from motet.errors import InputError
from motet.settings import home
from motet.tools.passages import STOP_WORDS

FORMAT = 1  # raised whenever the same corpus may be indexed or ranked differently
_MOST_WORDS = 32  # of a query
_LARGEST_LINE = 4 << 20  # characters of one page
_PROGRESS = 250_000
_SCHEMA = """
CREATE TABLE paragraphs (id INTEGER PRIMARY KEY, title TEXT NOT NULL, sentences TEXT NOT NULL);
CREATE VIRTUAL TABLE words USING fts5(title, text, content='', tokenize='porter unicode61 remove_diacritics 2');
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""
_RANKED = """
SELECT paragraphs.title, paragraphs.sentences FROM
  (SELECT rowid AS id, bm25(words, 2.0, 1.0) AS score FROM words WHERE words MATCH ? ORDER BY score, rowid LIMIT ?) AS found
  JOIN paragraphs ON paragraphs.id = found.id ORDER BY found.score, found.id
"""

logger = logging.getLogger(__name__)


class Index(Protocol):
    """Paragraphs that can be searched. ``version`` names its content and the ranking."""

    @property
    def version(self) -> str:
        """Changes whenever the same query may find something else."""
        ...

    def search(self, query: str, *, limit: int) -> list[Paragraph]:
        """The best ``limit`` paragraphs for ``query``, best first; none where no word is shared."""
        ...

    def find(self, title: str) -> Paragraph | None:
        """The paragraph with exactly this title."""
        ...


class FewParagraphs:
    """An index of a few paragraphs, made anew for each query in a millisecond, so that nothing is shared between threads."""

    def __init__(self, paragraphs: Sequence[Paragraph]) -> None:
        self.paragraphs = tuple(paragraphs)
        content = digest([[paragraph.title, list(paragraph.sentences)] for paragraph in self.paragraphs])
        self.version = f"{_engine()} sha256:{content}"

    def search(self, query: str, *, limit: int) -> list[Paragraph]:
        """The best paragraphs."""
        with closing(sqlite3.connect(":memory:")) as connection:
            _fill(connection, self.paragraphs)
            return _search(connection, query, limit)

    def find(self, title: str) -> Paragraph | None:
        """The paragraph with this title."""
        return next((paragraph for paragraph in self.paragraphs if paragraph.title == title), None)


class Wikipedia:
    """An index on disk. ``file`` was made by ``open_corpus``."""

    def __init__(self, file: Path) -> None:
        self._file = file
        with closing(self._connect()) as connection:
            about = dict(connection.execute("SELECT name, value FROM about").fetchall())
        self.size = int(about["size"])
        self.version = f"{_engine()} sha256:{about['digest']}"

    def search(self, query: str, *, limit: int) -> list[Paragraph]:
        """The best paragraphs."""
        with closing(self._connect()) as connection:
            return _search(connection, query, limit)

    def find(self, title: str) -> Paragraph | None:
        """The paragraph with this title."""
        with closing(self._connect()) as connection:
            row = connection.execute("SELECT title, sentences FROM paragraphs WHERE title = ?", (title,)).fetchone()
        return _paragraph(row) if row else None

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(f"file:{self._file}?mode=ro", uri=True)


def open_corpus(path: Path) -> Wikipedia:
    """The index of the corpus at ``path``, built at the first use of this version of it.

    ``path`` is the official archive (``.tar.bz2``), a folder, or a file of JSON lines (``.jsonl``, ``.json``, without a suffix; plain, ``.bz2`` or ``.gz``), each line
    with ``title`` and ``text``, a list of sentences. Raises InputError naming the file and line that cannot be used.
    """
    file = home() / "indexes" / f"hotpotqa-{_identity(path)}.sqlite"
    if not file.exists():
        _build(path, file)
    return Wikipedia(file)


def _build(path: Path, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    # A name of its own: whoever builds at the same time builds the same, and the last one stays.
    unfinished = file.with_suffix(f".{os.getpid()}.tmp")
    unfinished.unlink(missing_ok=True)
    logger.info("indexing %s; this happens once", path)
    try:
        with closing(sqlite3.connect(unfinished)) as connection:
            connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;")
            size = _fill(connection, read_corpus(path))
            if not size:
                raise InputError(f"the corpus {path} holds no paragraph")
            connection.execute("CREATE INDEX by_title ON paragraphs (title)")
            connection.execute("INSERT INTO words (words) VALUES ('optimize')")
            connection.commit()
        unfinished.replace(file)
    finally:
        unfinished.unlink(missing_ok=True)


def _fill(connection: sqlite3.Connection, paragraphs: Iterable[Paragraph]) -> int:
    """Index ``paragraphs``; how many there were."""
    try:
        connection.executescript(_SCHEMA)
    except sqlite3.OperationalError as error:
        raise InputError(f"searching HotpotQA needs SQLite with FTS5, and this Python's has none: {error}") from None
    content = hashlib.sha256()
    size = 0
    for size, paragraph in enumerate(paragraphs, 1):
        sentences = json.dumps(paragraph.sentences, ensure_ascii=False)
        content.update(f"{paragraph.title}\n{sentences}\n".encode("utf-8", "replace"))
        connection.execute("INSERT INTO paragraphs VALUES (?, ?, ?)", (size, paragraph.title, sentences))
        connection.execute(
            "INSERT INTO words (rowid, title, text) VALUES (?, ?, ?)",
            (size, paragraph.title, " ".join(paragraph.sentences)),
        )
        if size % _PROGRESS == 0:
            connection.commit()
            logger.info("%d paragraphs indexed", size)
    about = [("size", str(size)), ("digest", content.hexdigest())]
    connection.executemany("INSERT INTO about VALUES (?, ?)", about)
    connection.commit()
    return size


def _search(connection: sqlite3.Connection, query: str, limit: int) -> list[Paragraph]:
    wanted = _query(query)
    return [_paragraph(row) for row in connection.execute(_RANKED, (wanted, limit))] if wanted else []


def _query(text: str) -> str:
    """``text`` as a query for any of its words. Only words pass, so that nothing in it is an operator."""
    words = list(dict.fromkeys(re.findall(r"[^\W_]+", text.lower())))
    telling = [word for word in words if word not in STOP_WORDS] or words
    return " OR ".join(f'"{word}"' for word in telling[:_MOST_WORDS])


def _paragraph(row: tuple[str, str]) -> Paragraph:
    return Paragraph(row[0], tuple(json.loads(row[1])))


def _engine() -> str:
    return f"fts5-{FORMAT}-sqlite-{sqlite3.sqlite_version}"


def _identity(path: Path) -> str:
    """Names the corpus without reading it: its files with their sizes and times, and how they are indexed."""
    files = sorted(_files(path))
    if not files:
        raise InputError(f"the corpus {path} holds no .jsonl, .json, .bz2 or .gz file")
    states = [(str(file.relative_to(path)) if file != path else file.name, file.stat()) for file in files]
    return digest([FORMAT, [[name, state.st_size, state.st_mtime_ns // 1000] for name, state in states]])[:24]


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    else:
        yield from (
            file for file in path.rglob("*") if file.is_file() and file.suffix in (".jsonl", ".json", ".bz2", ".gz")
        )


def read_corpus(path: Path) -> Iterator[Paragraph]:
    """The paragraphs at ``path``, one after the other. Raises InputError naming the file and line that cannot be used."""
    for file in sorted(_files(path)):
        if file.name.endswith((".tar.bz2", ".tar.gz", ".tar")):
            yield from _read_archive(file)
        else:
            try:
                with _open(file) as lines:
                    yield from _read_lines(lines, str(file))
            except (OSError, EOFError, UnicodeDecodeError) as error:
                raise InputError(f"the corpus file {file} cannot be read: {error}") from None


def _read_archive(file: Path) -> Iterator[Paragraph]:
    """The members of an archive in its own order, each unpacked in memory: none is ever written to disk."""
    try:
        with tarfile.open(file, "r|*") as archive:
            for member in archive:
                stream = archive.extractfile(member) if member.isfile() else None
                if stream is None:
                    continue
                inner: IO[bytes] = bz2.open(stream) if member.name.endswith(".bz2") else stream  # noqa: SIM115 - closed with its archive
                yield from _read_lines((line.decode("utf-8") for line in inner), f"{file}:{member.name}")
    except (OSError, EOFError, tarfile.TarError, UnicodeDecodeError) as error:
        raise InputError(f"the corpus archive {file} cannot be read: {error}") from None


def _open(file: Path) -> IO[str]:
    if file.suffix == ".bz2":
        return bz2.open(file, "rt", encoding="utf-8")
    if file.suffix == ".gz":
        return gzip.open(file, "rt", encoding="utf-8")
    return file.open(encoding="utf-8")


def _read_lines(lines: Iterable[str], name: str) -> Iterator[Paragraph]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            if len(line) > _LARGEST_LINE:
                raise ValueError(f"it has {len(line)} characters")
            row = json.loads(line)
            title, text = row["title"], row["text"]
            sentences = (
                [text]
                if isinstance(text, str)
                else [item for part in text for item in ([part] if isinstance(part, str) else part)]
            )
            if not isinstance(title, str) or not all(isinstance(sentence, str) for sentence in sentences):
                raise TypeError("title and sentences should be texts")
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            what = f"it has no {error}" if isinstance(error, KeyError) else error
            raise InputError(
                f"{name}, line {number}: {what}; a line is a JSON object with title and text, a list of sentences"
            ) from None
        yield Paragraph(title, tuple(sentences))

"""The corpus tools: search a folder of documents by words, and read one of them page by page.

``corpus_search`` ranks passages by BM25; ``corpus_read`` shows a document in windows. Both only ever see the documents
that ``open_corpus`` listed: a name asked for is looked up among these and never becomes a path.

The index is built at the first call, in that call's thread, and kept in memory for as long as a tool of it lives. It is not
kept on disk: 1,000 files are indexed in about two seconds (``benchmarks/corpus_index.py``).
"""

from __future__ import annotations

import bisect
import functools
import importlib.metadata
import importlib.util
import logging
import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, JsonValue

from motet.canonical import digest
from motet.errors import InputError, ToolError
from motet.settings import nearest
from motet.task import Source
from motet.tools.documents import Document, Folder, Skipped, open_folder
from motet.tools.function import NAME, FunctionTool
from motet.tools.passages import Ranking, Span, cut, query_words, snippet, words
from motet.tools.tool import Observation, Tool

FORMAT = 1  # raised whenever the same documents may be cut, ranked or shown differently
WINDOW = 3_000  # characters of one page of ``corpus_read``
SNIPPET = 400
MAX_RESULTS = 20
# Reading and indexing may take minutes on a large folder, and happens within the first call.
_TIMEOUT = 900.0
_SHOWN_SKIPPED = 10
_LIBRARIES = ("bm25s", "pypdf", "trafilatura")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage found: its document, its number there (from 1), its place, the slice of text to show, and its BM25 score."""

    document: Document
    number: int
    passage: Span
    quote: Span
    score: float

    @property
    def ref(self) -> str:
        """``document#passage``, as sources name it."""
        return f"{self.document.ref}#{self.number}"

    @property
    def text(self) -> str:
        """The quoted slice, exactly as it stands in the document."""
        return self.document.text[self.quote.start : self.quote.end]


@dataclass(frozen=True)
class _Index:
    documents: Mapping[str, Document]
    passages: Mapping[str, list[Span]]
    places: list[tuple[str, int]]
    ranking: Ranking
    skipped: tuple[Skipped, ...]


class Corpus:
    """A searchable folder. Safe to use from several threads; the first use builds the index."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._index: _Index | None = None
        self._building = threading.Lock()

    @property
    def version(self) -> str:
        """Names everything that decides an answer: the documents' SHA-256, this module's format, the readers' versions."""
        return f"corpus-{FORMAT} sha256:{self.folder.digest} {_readers()}"

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """The files that could not be used; complete once the index is built."""
        return self._index.skipped if self._index else self.folder.skipped

    def search(self, query: str, *, limit: int = 5) -> list[Hit]:
        """The best ``limit`` passages for ``query``, best first; equal ones in the order of their documents."""
        index = self._built()
        wanted = query_words(query)
        weights = {word: index.ranking.weight(word) for word in wanted}
        hits = []
        for place, score in index.ranking.top(wanted, limit=limit):
            ref, number = index.places[place]
            document, passage = index.documents[ref], index.passages[ref][number - 1]
            quote = snippet(document.text, passage, weights, size=SNIPPET)
            hits.append(Hit(document, number, passage, quote, score))
        return hits

    def find(self, name: str) -> tuple[Document, int]:
        """The document called ``name``, and 0; or for ``document#passage`` where that passage starts.

        Raises ToolError offering the nearest names.
        """
        index = self._built()
        if name in index.documents:
            return index.documents[name], 0
        ref, _, number = name.rpartition("#")
        if ref in index.documents and number.isdecimal():
            passages = index.passages[ref]
            if 1 <= int(number) <= len(passages):
                return index.documents[ref], passages[int(number) - 1].start
            raise ToolError(f"{ref!r} has passages 1 to {len(passages)}, not {number}")
        raise ToolError(f"no document {name[:200]!r}{_offer(name, index.documents)}")

    def passage_at(self, document: Document, position: int) -> int:
        """The number of the first passage that ends after ``position``."""
        ends = [passage.end for passage in self._built().passages[document.ref]]
        return min(bisect.bisect_right(ends, position), len(ends) - 1) + 1

    def _built(self) -> _Index:
        if self._index is None:
            with self._building:
                if self._index is None:
                    self._index = _build(self.folder)
        return self._index


# One index for all tools of the same folder and content in this process, for as long as any of them lives.
_open: weakref.WeakValueDictionary[tuple[Path, str], Corpus] = weakref.WeakValueDictionary()
_opening = threading.Lock()


def open_corpus(folder: str | Path) -> Corpus:
    """The corpus in ``folder``, shared with whoever has opened the same content already.

    Raises InputError when the folder is not there or holds no document, or when the extra is not installed.
    """
    missing = [library for library in _LIBRARIES if importlib.util.find_spec(library) is None]
    if missing:
        raise InputError(f"corpus tools need {', '.join(missing)}: pip install 'motet[corpus]'")
    found = open_folder(folder)
    with _opening:
        corpus = _open.get((found.root, found.digest))
        if corpus is None:
            corpus = _open[found.root, found.digest] = Corpus(found)
    return corpus


def corpus_tools(folder: str | Path, *, name: str = "corpus") -> tuple[Tool, Tool]:
    """``{name}_search`` and ``{name}_read`` over the documents in ``folder``; give another name to a second corpus.

    Raises InputError as ``open_corpus`` does.
    """
    if not NAME.fullmatch(f"{name}_search"):
        raise InputError(f"corpus name {name!r} is not valid; use up to 57 of the characters a-z, A-Z, 0-9, _ and -")
    corpus = open_corpus(folder)
    read_name = f"{name}_read"

    def search(
        query: Annotated[str, Field(min_length=1, max_length=1_000)],
        limit: Annotated[int, Field(ge=1, le=MAX_RESULTS)] = 5,
    ) -> Observation:
        """Search the documents by words. Returns the passages that match best, each with the document it stands in.

        Args:
            query: The words to look for: names and telling nouns work best.
            limit: How many passages to return.
        """
        return _search(corpus, query, limit, read_name=read_name)

    def read(document: Annotated[str, Field(min_length=1)], start: Annotated[int, Field(ge=0)] = 0) -> Observation:
        """Read a document, one page of about 3,000 characters at a time.

        Args:
            document: The document's name, as the search shows it.
            start: The character to start from; each page tells where the next one starts.
        """
        return _read(corpus, document, start)

    version = corpus.version
    return (
        FunctionTool(search, name=f"{name}_search", version=version, timeout=_TIMEOUT),
        FunctionTool(read, name=read_name, version=version, timeout=_TIMEOUT),
    )


def _search(corpus: Corpus, query: str, limit: int, *, read_name: str) -> Observation:
    hits = corpus.search(query, limit=limit)
    if not hits:
        count = len(corpus.folder.files) - (len(corpus.skipped) - len(corpus.folder.skipped))
        return Observation(
            text=f"No passage in the {count} documents holds a word of {query!r}. Try other words.", data=[]
        )
    lines = []
    data: list[JsonValue] = []
    for rank, hit in enumerate(hits, 1):
        quote = " ".join(hit.text.split())
        before = "… " if hit.quote.start > hit.passage.start else ""
        after = " …" if hit.quote.end < hit.passage.end else ""
        lines.append(
            f"{rank}. {hit.document.title}\n"
            f"   document {hit.document.ref!r}, passage {hit.number}, start {hit.passage.start}, score {hit.score:.2f}\n"
            f"   {before}{quote}{after}"
        )
        data.append({"document": hit.document.ref, "passage": hit.number, "score": round(hit.score, 4)})
    lines.append(f"Read on with {read_name}(document, start).")
    sources = tuple(Source(ref=hit.ref, title=hit.document.title, quote=hit.text) for hit in hits)
    return Observation(text="\n".join(lines), sources=sources, data=data)


def _read(corpus: Corpus, name: str, start: int) -> Observation:
    document, offset = corpus.find(name)
    start = start or offset
    size = len(document.text)
    if start >= size:
        raise ToolError(f"start {start} is past the end: {document.ref!r} has {size} characters")
    end = page_end(document.text, start)
    head = f"{document.title} ({document.ref}), characters {start} to {end} of {size}"
    foot = f"The next page starts at start={end}." if end < size else "This is the end of the document."
    source = Source(ref=f"{document.ref}#{corpus.passage_at(document, start)}", title=document.title)
    return Observation(
        text=f"{head}\n\n{document.text[start:end].strip()}\n\n{foot}",
        sources=(source,),
        data={"document": document.ref, "start": start, "end": end, "size": size},
    )


def page_end(text: str, start: int) -> int:
    """Where the page from ``start`` ends: with a paragraph, a line or a word in its last third, else after ``WINDOW``."""
    full = start + WINDOW
    if full >= len(text):
        return len(text)
    for mark in ("\n\n", "\n", " "):
        place = text.rfind(mark, full - WINDOW // 3, full)
        if place > start:
            return place + len(mark)
    return full


def _offer(name: str, documents: Mapping[str, Document]) -> str:
    """The documents that ``name`` may mean: those that hold it in their name or title, else the nearest name."""
    part = Path(name.replace("\\", "/")).stem.strip().casefold()
    held = [ref for ref, document in documents.items() if part and part in f"{ref}\n{document.title}".casefold()]
    if held:
        return f"; did you mean {' or '.join(repr(ref) for ref in held[:3])}?"
    near = nearest(name, documents)
    if len(documents) <= 30 or near.startswith("; did you mean"):
        return near
    return "; a search shows the names of documents"


def _build(folder: Folder) -> _Index:
    documents, skipped = folder.read()
    if skipped:
        shown = "".join(f"\n  {item}" for item in skipped[:_SHOWN_SKIPPED])
        more = f"\n  and {len(skipped) - _SHOWN_SKIPPED} more" if len(skipped) > _SHOWN_SKIPPED else ""
        logger.warning("corpus %s: %d files skipped:%s%s", folder.root.name, len(skipped), shown, more)
    if not documents:
        raise ToolError("no document could be read: " + "; ".join(map(str, skipped[:3])))
    passages = {document.ref: cut(document.text) for document in documents}
    places = [(ref, number) for ref, spans in passages.items() for number in range(1, len(spans) + 1)]
    texts: list[list[str]] = []
    for document in documents:
        title = words(document.title)  # a passage is about what its document is about
        texts.extend(title + words(document.text[span.start : span.end]) for span in passages[document.ref])
    return _Index(
        documents={document.ref: document for document in documents},
        passages=passages,
        places=places,
        ranking=Ranking(texts),
        skipped=tuple(skipped),
    )


@functools.cache
def _readers() -> str:
    """A short name for the versions of the libraries that turn files into words."""
    return digest({name: importlib.metadata.version(name) for name in _LIBRARIES})[:12]

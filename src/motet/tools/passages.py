"""Passages and words: how a text is cut for search, and BM25 over the pieces.

- A passage is a slice of its text of about 150 to 250 words, cut between paragraphs, and between sentences where a paragraph
  is longer. A rest of fewer than 75 words joins the passage before it. Neighbours share up to 40 words, so that a fact on a border is whole in one of them.
- Words are compared without case, accents and width (NFKD, without the combining marks U+0300–U+036F), in any script.
- Scripts written without spaces (Chinese, Japanese, Korean, Thai, Lao, Burmese, Khmer) are compared by single characters and pairs.
- Stemming only makes English plurals singular (Harman's "S" stemmer, "How effective is suffixing?", 1991, and ``-sses``,
  ``-xes``, ``-ches``, ``-shes``). Other endings are left, so that no language is damaged much.
- Stop words are a short English list. They are dropped from a query that has other words, and never from the text; in other
  languages BM25's own weights do that work.
"""

from __future__ import annotations

import functools
import logging
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

MIN_WORDS = 150
MAX_WORDS = 250
OVERLAP_WORDS = 40
REST_WORDS = 75  # a short last passage would be ranked by its length more than by its words

_SENTENCE_WORDS = 60  # paragraphs longer than this may be cut between sentences
_LONG = 1_200  # characters of a run without any sentence end, cut by force

_STOP_WORDS = """
a about an and are as at be been but by can could did do does for from had has have he her him his how i if in into is it
its many me much my no not of on or our s she so such t than that the their them there these they this those to was we
were what when where which who whom whose why will with would you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())

# Without spaces between words: kana, Han, Hangul, Thai, Lao, Burmese, Khmer.
_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    r"\U00020000-\U0003ffff"
)
_ACCENTS = re.compile("[\u0300-\u036f]+")
_BLANK_LINE = re.compile(r"\n[ \t]*\n\s*")
_SENTENCE = re.compile(r".+?(?:[.!?…]['\"”’)\]]*(?=\s)|[。！？]|\n(?=\s*(?:[-*+|#>•]|\d+[.)]))|$)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Span:
    """A slice of a text by character offsets, and its size in words."""

    start: int
    end: int
    words: int = 0


def words(text: str) -> list[str]:
    """The words of ``text`` as the index compares them."""
    folded = fold(text).replace("_", " ")
    runs = _runs().findall(folded)
    if not _has_unspaced(folded):  # most texts, and three times as fast
        return [_stem(run) for run in runs]
    return [word for run in runs for piece in _pieces(run) for word in _compared(piece)]


def query_words(text: str) -> list[str]:
    """The distinct words of a query in their order, without stop words where any other is left."""
    distinct = list(dict.fromkeys(words(text)))
    return [word for word in distinct if word not in STOP_WORDS] or distinct


def located(text: str) -> Iterator[tuple[str, int, int]]:
    """Each word of ``text`` with its place: (word, start, end)."""
    for run in _runs().finditer(text.replace("_", " ")):
        start = run.start()
        for piece in _pieces(run.group()):
            folded = fold(piece)
            if _is_unspaced(piece) and len(folded) == len(piece):
                for offset in range(len(piece)):
                    yield folded[offset], start + offset, start + offset + 1
                    if offset + 1 < len(piece):
                        yield folded[offset : offset + 2], start + offset, start + offset + 2
            else:
                for word in _compared(folded):
                    yield word, start, start + len(piece)
            start += len(piece)


def fold(text: str) -> str:
    """``text`` without differences of case, accents and width."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", text.casefold())))


def cut(text: str) -> list[Span]:
    """The passages of ``text``, in order; every word is in at least one, and none is empty."""
    units = list(_units(text))
    passages: list[Span] = []
    first = 0
    while first < len(units):
        last, size = first, 0
        while last < len(units) and (last == first or size + units[last].words <= MAX_WORDS):
            size += units[last].words
            last += 1
            if (
                size >= MIN_WORDS
                and last < len(units)
                and text[units[last - 1].end : units[last].start].count("\n") > 1
            ):
                break  # enough, and a paragraph ends here
        rest = sum(unit.words for unit in units[last : last + REST_WORDS])
        if last + REST_WORDS > len(units) and rest < REST_WORDS:
            last, size = len(units), size + rest
        passages.append(Span(units[first].start, units[last - 1].end, size))
        if last == len(units):
            break
        following, shared = last, 0
        while following - 1 > first and shared + units[following - 1].words <= OVERLAP_WORDS:
            following -= 1
            shared += units[following].words
        if shared + units[last].words > MAX_WORDS:
            following = last  # nothing new would fit beside what is shared
        first = following
    return passages


def snippet(text: str, passage: Span, wanted: Mapping[str, float], *, size: int) -> Span:
    """The slice of at most ``size`` characters of ``passage`` that covers the most weight of ``wanted`` words."""
    if passage.end - passage.start <= size:
        return Span(passage.start, passage.end)
    hits = [
        (word, passage.start + start, passage.start + end)
        for word, start, end in located(text[passage.start : passage.end])
        if word in wanted
    ]
    first, last, most = passage.start, passage.start, 0.0
    for index, (_, start, _) in enumerate(hits):
        seen: set[str] = set()
        reach = start
        for word, _, end in hits[index:]:
            if end - start > size * 3 // 4:  # the rest is for what leads up to it
                break
            seen.add(word)
            reach = end
        weight = sum(wanted[word] for word in seen)
        if weight > most:
            first, last, most = start, reach, weight
    begin = _sentence_start(
        text, earliest=max(passage.start, last - size), before=first, at_start=last - size <= passage.start
    )
    return Span(begin, _word_end(text, at_least=last, at_most=min(passage.end, begin + size), stop=passage.end))


def _sentence_start(text: str, *, earliest: int, before: int, at_start: bool) -> int:
    """The latest start of a sentence in ``text[earliest:before]``, else of a word."""
    starts = [match.end() for match in re.finditer(r"[.!?]\s+|[。！？]|\n\s*", text[earliest:before])]
    if starts:
        return earliest + starts[-1]
    blank = None if at_start else re.search(r"\s+", text[earliest:before])
    return earliest + blank.end() if blank else earliest


def _word_end(text: str, *, at_least: int, at_most: int, stop: int) -> int:
    """The latest end of a word in ``text[at_least:at_most]``; ``stop`` where nothing is cut off."""
    if at_most == stop:
        return stop
    blanks = [match.start() for match in re.finditer(r"\s+", text[at_least:at_most])]
    return at_least + blanks[-1] if blanks else at_most


class Ranking:
    """BM25 (Lucene's variant: k1 = 1.5, b = 0.75) over passages given as lists of words.

    The computation is bm25s's (https://arxiv.org/abs/2407.03618), with numpy alone. Equal scores keep the passages' order.
    """

    def __init__(self, passages: Sequence[list[str]]) -> None:
        import bm25s

        # The library turns its own logger to DEBUG at import, which prints wherever a program has set up logging.
        logging.getLogger("bm25s").setLevel(logging.WARNING)
        vocabulary = {
            word: number for number, word in enumerate(sorted({word for words in passages for word in words}))
        }
        self._size = len(passages)
        self._index = None
        if vocabulary:
            self._index = bm25s.BM25(backend="numpy", csc_backend="numpy", auto_compile=False)
            numbered = [[vocabulary[word] for word in words] for words in passages]
            self._index.index((numbered, vocabulary), show_progress=False, create_empty_token=False)
        self._vocabulary = vocabulary

    def top(self, query: Sequence[str], *, limit: int) -> list[tuple[int, float]]:
        """(passage, score) of the best ``limit`` passages that share a word with ``query``."""
        known = [self._vocabulary[word] for word in query if word in self._vocabulary]
        if self._index is None or not known:
            return []
        import numpy as np

        scores: np.ndarray = self._index.get_scores_from_ids(known)
        order = np.argsort(-scores, kind="stable")[:limit]
        return [(int(passage), float(scores[passage])) for passage in order if scores[passage] > 0]

    def weight(self, word: str) -> float:
        """How telling ``word`` is: the logarithm of one over the share of passages that hold it; 0 for unknown words."""
        number = self._vocabulary.get(word)
        if self._index is None or number is None:
            return 0.0
        bounds = self._index.scores["indptr"]
        return math.log1p(self._size / max(1, int(bounds[number + 1] - bounds[number])))


def _units(text: str) -> Iterator[Span]:
    """The pieces that passages are made of: paragraphs, or the sentences of long ones."""
    start = 0
    for blank in [*_BLANK_LINE.finditer(text), None]:
        end = blank.start() if blank else len(text)
        if _size(text[start:end]) <= _SENTENCE_WORDS:
            yield from _bounded(text, start, end)
        else:
            for sentence in _SENTENCE.finditer(text, start, end):
                yield from _bounded(text, sentence.start(), sentence.end())
        start = blank.end() if blank else end


def _bounded(text: str, start: int, end: int) -> Iterator[Span]:
    """``text[start:end]`` in pieces of at most ``_LONG`` characters, cut at blanks where there are any."""
    while start < end:
        stop = end
        if end - start > _LONG:
            blank = max(text.rfind(" ", start + 1, start + _LONG), text.rfind("\n", start + 1, start + _LONG))
            stop = blank if blank > start else start + _LONG
        piece = text[start:stop]
        begin = start + len(piece) - len(piece.lstrip())
        finish = stop - (len(piece) - len(piece.rstrip()))
        if begin < finish:
            yield Span(begin, finish, _size(text[begin:finish]))
        start = stop


def _size(text: str) -> int:
    """Words; two characters count as one where words are not spaced. At least 1 for any text."""
    if not _has_unspaced(text):
        return len(text.split()) or 1
    pieces = (piece for run in _runs().findall(text) for piece in _pieces(run))
    return sum((len(piece) + 1) // 2 if _is_unspaced(piece) else 1 for piece in pieces) or 1


def _compared(piece: str) -> list[str]:
    """What one piece of a run is compared by: a stem, or characters and pairs."""
    if not _is_unspaced(piece):
        return [_stem(piece)]
    return [*piece, *(piece[index : index + 2] for index in range(len(piece) - 1))]


def _pieces(run: str) -> list[str]:
    """``run`` split where it passes between an unspaced script and any other."""
    return [run] if run.isascii() else _scripts().findall(run)


def _is_unspaced(piece: str) -> bool:
    return not piece.isascii() and bool(_unspaced().match(piece))


def _has_unspaced(text: str) -> bool:
    return not text.isascii() and bool(_unspaced().search(text))


@functools.cache
def _unspaced() -> re.Pattern[str]:
    return re.compile(f"[{_UNSPACED}]")


@functools.cache
def _scripts() -> re.Pattern[str]:
    return re.compile(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")


@functools.cache
def _runs() -> re.Pattern[str]:
    """Letters, digits, and the marks that scripts such as Devanagari spell with and word characters leave out."""
    marks = "".join(
        character for character in map(chr, range(0x300, 0x10000)) if unicodedata.category(character).startswith("M")
    )
    return re.compile(rf"[\w{marks}]+")


@functools.lru_cache(maxsize=100_000)
def _stem(word: str) -> str:
    if len(word) < 4 or not word.endswith("s") or not word.isascii():
        return word
    if word.endswith("ies"):
        return word if word.endswith(("eies", "aies")) else word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    if word.endswith("es"):
        return word if word.endswith(("aes", "ees", "oes")) else word[:-1]
    return word if word.endswith(("us", "ss")) else word[:-1]

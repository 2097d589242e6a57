r"""Mathematical answers: taken out of what was written, and compared exactly.

The comparison goes from the certain to the laborious:

1. the same text, or the same words (``\text{even}``);
2. plain numbers, exactly (``numbers.py``);
3. everything else by ``math-verify`` (https://github.com/huggingface/Math-Verify), in a process with limits (``math_server.py``).

The library is lenient where that gives points away, so that what it is asked is narrowed here: both must be of one kind (a set is no pair, a list of two
candidates is no number), units must not contradict each other, and what is not mathematics is compared as words.

Conventions: a unit, a base or a ``x =`` may be left out; the order of a set or list is free, that of a pair is not; a decimal equals a
fraction only if it is exactly the same number, and an irrational number if it agrees to 12 places.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from motet.bench.scoring.math_process import require_math, shared
from motet.bench.scoring.numbers import parse_number, same_quantity, split_unit
from motet.tools.threads import threads

Reason: TypeAlias = Literal[
    "no answer", "same", "number", "words", "kind", "unit", "too long", "expression", "time", "failed"
]

SECONDS = 5.0  # of one comparison
_READ = 20_000  # characters at the end of a response in which its answer is looked for
_LONGEST = 500  # characters of an answer; beyond them it is none
_BOXES = 50  # of a response's boxes, the last ones: bounds the work on a wall of open braces
_LINE = 200  # characters of a line that may be an answer by itself

_BOX = re.compile(r"\\(?:boxed|fbox)\s*(?=\{)")
_BETWEEN = re.compile(r"(?:[\s,;$]|\\\(|\\\)|\\text|[{}]|\band\b|\bor\b)*")
_STATEMENT = re.compile(r"\banswers?\b[*_ ]{0,4}(?:is|are|:|=)(?:[*_: ]|\bis\b){0,8}", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")
_DOLLARS = re.compile(r"\$\$?([^$]{1,500})\$\$?|\\\((.{1,500}?)\\\)|\\\[(.{1,500}?)\\\]", re.DOTALL)

_CHARACTERS = {
    "√": r"\sqrt", "π": r"\pi", "∞": r"\infty", "∪": r"\cup", "∩": r"\cap", "×": r"\times", "·": r"\cdot", "⋅": r"\cdot", "÷": r"\div",
    "−": "-", "–": "-", "≤": r"\le", "≥": r"\ge", "≠": r"\ne", "±": r"\pm", "∈": r"\in", "∅": r"\emptyset", "θ": r"\theta", "α": r"\alpha",
    "β": r"\beta", "λ": r"\lambda", "°": r"^\circ", "²": "^2", "³": "^3", "′": "'", "ℝ": r"\mathbb{R}", "\u00a0": " ", "\u2009": " ", "\u202f": " ",
}  # fmt: skip
_FUNCTION_NAMES = "sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log exp max min gcd lcm mod det sqrt lim arg deg dim ker"
_FUNCTIONS = frozenset(_FUNCTION_NAMES.split())
_TEXT = re.compile(r"\\(?:text|mathrm|mbox|textrm|textbf|mathbf|operatorname|textit)\s*\{([^{}]*)\}")
_MAGNITUDE_TEXT = re.compile(r"\s*\\(?:text|mathrm|mbox)\s*\{\s*(hundred|thousand|million|billion|trillion)s?\s*\}")
_DOLLAR = "＄"  # an escaped dollar, which is money, while the bare ones that delimit mathematics are taken off
_NAMED = re.compile(r"\\(?:text|mathrm|mbox)\s*\{[^{}]*\}\s*=")
_SYMBOL = re.compile(r"\\?[A-Za-z]+(?:_\{?\w+\}?)?'*(?:\([^()=<>]*\))?|\([A-Za-z](?:,[A-Za-z])*\)")
_MISREAD = re.compile(
    r"\d\s+\d|\d\s*_"
)  # two numbers, or a number in another base, which the library reads as one plain number
_RELATION = re.compile(r"=|<|>|\\(?:leq?|geq?|ne|neq|lt|gt|in|leqslant|geqslant)(?![A-Za-z])")


@dataclass(frozen=True)
class MathVerdict:
    """Whether a response gives the gold answer. ``answer`` is what was taken out of it; ``reason`` is the step that decided."""

    correct: bool
    answer: str | None
    reason: Reason


async def judge_math(response: str, gold: str, *, seconds: float = SECONDS) -> MathVerdict:
    """Compare the answer in ``response`` with ``gold``; whatever the response is, this does not raise.

    Raises InputError when the extra ``bench`` is not installed.
    """
    require_math()
    answer = extract_answer(response)
    if answer is None:
        return MathVerdict(False, None, "no answer")
    return await compare(answer, gold, seconds=seconds)


async def compare(answer: str, gold: str, *, seconds: float = SECONDS) -> MathVerdict:
    """Compare one answer with ``gold``. Raises InputError when the extra ``bench`` is not installed."""
    require_math()
    if len(answer) > _LONGEST:
        return MathVerdict(False, answer[:_LONGEST], "too long")
    given, right = tidy(answer), tidy(gold)
    if not given:
        return MathVerdict(False, answer, "no answer")
    decided = _decide(given, right)
    if decided is not None:
        return MathVerdict(decided[0], answer, decided[1])
    expression, wanted = split_unit(given).text, split_unit(right).text
    found = await threads().run(lambda: shared.compare(_spread(wanted), _spread(expression), seconds=seconds))
    if found in ("time", "failed"):
        return MathVerdict(False, answer, found)
    return MathVerdict(found == "equal", answer, "expression")


def extract_answer(response: str) -> str | None:
    """The answer that ``response`` states: its last box (or the last ones, where they stand side by side), else what follows its last "the answer
    is", else its last line if that is one expression. ``None`` when there is none.
    """
    text = response[-_READ:].strip()
    if not text:
        return None
    return _boxed(text) or _stated(text) or _last_line(text)


def tidy(text: str) -> str:
    """``text`` in the plain LaTeX that the steps compare: no delimiters, no spacing commands, ASCII where there is a command for it."""
    text = text.strip().strip("*").strip().replace(r"\$", _DOLLAR)
    for before, after in _CHARACTERS.items():
        if before in text:
            text = text.replace(before, after + " " if after[-1].isalpha() else after)
    text = re.sub(r"\\sqrt\s+(\w)", r"\\sqrt{\1}", text)
    while (bare := _unwrap(text)) != text:
        text = bare
    text = re.sub(r"\\(?:left|right|displaystyle|limits|big|Big|bigg|Bigg)(?![A-Za-z])", "", text)
    text = re.sub(r"(?<=\d)\\[,!](?=\d{3})", ",", text)  # a thin space between thousands
    text = re.sub(r"(?<!\\)\\[!,;: ]|\\q?quad(?![A-Za-z])|~", " ", text)
    text = re.sub(r"\\[dtc]frac(?![A-Za-z])", r"\\frac", text)
    text = _MAGNITUDE_TEXT.sub(r" \1", text)
    text = re.sub(r"\s*\\text\s*\{\s*(?:and|or)\s*\}\s*", ", ", text)
    text = re.sub(r"(?<=[\d)}$])\s+(?:and|or)\s+(?=[\d(\\$\-+a-z])", ", ", text)
    text = text.replace("$", "").replace(_DOLLAR, "$")
    return " ".join(text.split()).rstrip(".").strip()


def _decide(given: str, right: str) -> tuple[bool, Reason] | None:
    """What can be said without the library, or ``None``."""
    # A blank between digits may part two numbers.
    if re.sub(r"\s+(?!\d)|(?<!\d)\s+", "", given) == re.sub(r"\s+(?!\d)|(?<!\d)\s+", "", right):
        return True, "same"
    one, other = split_unit(given), split_unit(right)
    number, wanted = parse_number(one.text), parse_number(other.text)
    if number is not None and wanted is not None:
        return same_quantity(number, one.unit, wanted, other.unit), "number"
    if _is_words(one.text) or _is_words(other.text) or (_is_letter(given) and _is_letter(right)):
        return _words(given) == _words(right) != "", "words"
    if one.unit != other.unit and (one.unit and other.unit):
        return False, "unit"
    if not one.text.isascii() or not other.text.isascii():
        return False, "words"
    if _MISREAD.search(one.text) or _MISREAD.search(other.text) or not _comparable(one.text, other.text):
        return False, "kind"
    return None


def _comparable(given: str, right: str) -> bool:
    """Whether two expressions are of kinds that can be equal at all."""
    kinds = _kind(given), _kind(right)
    if kinds[0] == kinds[1] or set(kinds) == {"set", "list"}:
        return True
    if "list" in kinds:  # 1 ± √2 is a list of two
        return kinds[0] in ("list", "value") and kinds[1] in ("list", "value") and r"\pm" in given + right
    if "relation" in kinds:
        relation = given if kinds[0] == "relation" else right
        plain = kinds[1] if kinds[0] == "relation" else kinds[0]
        if plain not in ("value", "()", "[]", "(]", "[)", "set", "matrix"):
            return False
        # "x = 5" gives 5; "1 = 5" gives nothing.
        left, _, rest = relation.partition("=")
        named = bool(rest) and "=" not in rest and _SYMBOL.fullmatch(re.sub(r"\s|\\text|[{}]", "", left)) is not None
        return named or ("=" not in relation and plain in ("value", "()", "[]", "(]", "[)"))
    return False


def _kind(text: str) -> str:
    """What an expression is: a matrix, a set, a pair of brackets round a list, a bare list, a relation, or a value."""
    if r"\begin" in text:
        return "matrix"
    compact = text.replace(r"\{", "⟨").replace(r"\}", "⟩")
    depth, commas, closes = 0, [], []
    for place, character in enumerate(compact):
        if character in "([⟨{":
            depth += 1
        elif character in ")]⟩}":
            depth -= 1
            if depth == 0:
                closes.append(place)
        elif character in ",;" and depth <= 1:
            commas.append(depth)
    whole = bool(closes) and closes[0] == len(compact) - 1
    if compact[:1] == "⟨" and whole:
        return "set"
    if whole and (compact[:1] == "[" or (compact[:1] == "(" and 1 in commas)):
        return compact[0] + compact[-1]
    if 0 in commas:
        return "list"
    return "relation" if _RELATION.search(text) else "value"


def _spread(text: str) -> str:
    """``text`` with what the library misreads spelt out: scientific notation."""
    return re.sub(r"(?<![A-Za-z\\])(\d(?:\.\d+)?)[eE]([+-]?\d{1,4})(?![\w.])", r"\1 \\times 10^{\2}", text)


def _is_words(text: str) -> bool:
    """Whether ``text`` is no mathematics: it has a word, also in a text command, which the library would drop."""
    text = re.sub(r"\\(?:begin|end)\s*\{[a-z]+\}", " ", _NAMED.sub("", text))
    if _TEXT.sub("", text).strip("() .,") == "":
        return True
    if any(len(inner.strip()) > 1 and inner.strip() not in _FUNCTIONS for inner in _TEXT.findall(text)):
        return True
    bare = re.sub(r"\\[A-Za-z]+", " ", text)
    words = re.findall(r"[A-Za-z]{3,}", bare)
    return any(word.lower() not in _FUNCTIONS for word in words)


def _is_letter(text: str) -> bool:
    return re.fullmatch(r"\(?[A-Za-z]\)?", _words(text) or "?") is not None


def _words(text: str) -> str:
    plain = _TEXT.sub(r" \1 ", text).replace("\\", " ").casefold()
    return " ".join(re.sub(r"[^\w\s/+-]", " ", plain).split())


def _unwrap(text: str) -> str:
    """``text`` without one pair of delimiters round the whole of it."""
    text = text.strip()
    for left, right in (("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]")):
        inner = text[len(left) : len(text) - len(right)]
        if len(text) > len(left + right) - 1 and text.startswith(left) and text.endswith(right) and left not in inner:
            return inner.strip()
    box = _BOX.match(text)
    if box:
        end = _closing(text, box.end())
        if end == len(text) - 1:
            return text[box.end() + 1 : end].strip()
    return text.removesuffix(".").strip() if text.endswith((".", "$.")) else text


def _boxed(text: str) -> str | None:
    """The last box; joined by commas with those right before it, as a response that boxes two answers gives both."""
    found: list[tuple[int, int, str]] = []
    for match in list(_BOX.finditer(text))[-_BOXES:]:
        end = _closing(text, match.end())
        if end is not None and not (found and match.start() < found[-1][1]):
            found.append((match.start(), end + 1, text[match.end() + 1 : end].strip()))
    if not found:
        return None
    last = [found[-1]]
    for earlier in reversed(found[:-1]):
        if not _BETWEEN.fullmatch(text, earlier[1], last[0][0]):
            break
        last.insert(0, earlier)
    answers = list(dict.fromkeys(content for _, _, content in last))
    return ", ".join(answers) or None


def _closing(text: str, start: int) -> int | None:
    """Where the brace that opens at ``start`` closes."""
    depth = 0
    for place in range(start, len(text)):
        if text[place - 1 : place] == "\\":
            continue
        if text[place] == "{":
            depth += 1
        elif text[place] == "}":
            depth -= 1
            if depth == 0:
                return place
    return None


def _stated(text: str) -> str | None:
    statements = list(_STATEMENT.finditer(text))
    if not statements:
        return None
    start = statements[-1].end()
    rest = text[start : start + _LONGEST]
    line = rest.lstrip().split("\n", 1)[0]
    sentence_end = _SENTENCE_END.search(line)
    return _formula(line[: sentence_end.start()] if sentence_end else line)


def _last_line(text: str) -> str | None:
    line = text.rsplit("\n", 1)[-1].strip()
    return None if len(line) > _LINE or line.endswith("?") else _formula(line)


def _formula(line: str) -> str | None:
    """The one formula between delimiters in ``line``, else the line itself; ``None`` for several formulas in a sentence."""
    line = line.strip().strip("*").strip()
    formulas: list[str] = [next(filter(None, match.groups())) for match in _DOLLARS.finditer(line)]
    outside = _DOLLARS.sub("", line)
    if len(formulas) == 1 and not re.search(r"\d", outside):
        return formulas[0].strip()
    if formulas and re.search(r"[A-Za-z]{3,}", outside):
        return None
    return line or None

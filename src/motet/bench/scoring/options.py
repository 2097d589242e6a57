r"""Option letters: which one a response chose, and options put in a seeded order.

A letter counts where the response *states* it: ``\boxed{C}``, "the answer is (C)", "Answer: C", "I choose option C". The last
statement wins, and one that names two letters states none. Without any statement, the only letter that stands on a line of its own counts
(``C``, ``**C.**``, ``(C) Paris``), and nothing when there are several, as in a question that is repeated with its options.
No letter means a wrong answer, never a guess.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import NamedTuple

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_READ = 20_000  # characters at the end of a response in which a choice is looked for
_STATEMENTS = 100  # the last ones are looked at: bounds the work on a wall of them
_MARKS = r"[\s*_`$\"'“”‘’]{0,8}"
_OPENING = r"(?:\\(?:text|mathrm|mathbf|textbf|boxed|fbox)\s?\{|[(\[{\s*_`$\"'“”‘’]){0,12}?"
_SAYS = re.compile(
    rf"(?:\b(?:answer|choice|option|letter)\b{_MARKS}(?:(?:is|was|would be|should be|must be)\b|:|=|->|→){_MARKS}(?:is\b|:)?"
    rf"|\b(?:choose|select|pick|answer|go with|chose)\b)"
    rf"{_MARKS}(?:(?:the )?(?:correct |right |best )?(?:option|choice|answer|letter)\b{_MARKS}(?:is\b|:)?)?",
    re.IGNORECASE,
)
_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
_NEGATED = re.compile(
    r"\b(?:not|never|cannot|unlikely|if|whether|unless|neither|wrong|incorrect)\b|n['’]t\b", re.IGNORECASE
)
_CLAUSE = re.compile(r"[.,;:!?\n]|\b(?:so|but|hence|thus|therefore|and|because)\b", re.IGNORECASE)
# What may follow the article "a" or the pronoun "I" only when it is a letter.
_AFTER = re.compile(r"\s*(?:because|since|as|based|for|given|due|\(|—|–|-|,|\.|;|:|\)|$)", re.IGNORECASE)


class Shuffled(NamedTuple):
    """Options in their new order; ``letter`` is where the right one is, and ``order`` holds their old positions."""

    options: tuple[str, ...]
    letter: str
    order: tuple[int, ...]


def shuffle_options(question: str, options: Sequence[str], *, right: int, seed: int = 0) -> Shuffled:
    """``options`` in an order that only the question, the options and ``seed`` decide, whatever order they came in but for equal ones.

    Raises ValueError for more options than letters, and for a ``right`` that is none of them.
    """
    if not 0 <= right < len(options) <= len(LETTERS):
        raise ValueError(
            f"option {right} of {len(options)}: there must be 1 to {len(LETTERS)}, and the right one among them"
        )

    def place(index: int) -> tuple[str, int]:
        parts = (str(seed), question, options[index])
        text = "".join(f"{len(part)}:{part}" for part in parts)
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(), index

    order = tuple(sorted(range(len(options)), key=place))
    return Shuffled(tuple(options[index] for index in order), LETTERS[order.index(right)], order)


def show_options(options: Sequence[str]) -> str:
    """Options as a question shows them, one a line."""
    return "\n".join(f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=False))


def extract_option(response: str, *, count: int = 4) -> str | None:
    """The letter that ``response`` chose among the first ``count``, or ``None``."""
    letters = LETTERS[:count]
    text = response[-_READ:]
    stated = [
        (match.start(), _letter_at(text, match.end(), letters, boxed=True))
        for match in list(_BOX.finditer(text))[-_STATEMENTS:]
    ]
    for match in list(_SAYS.finditer(text))[-_STATEMENTS:]:
        clause = _CLAUSE.split(text[max(0, match.start() - 80) : match.start()])[-1]
        found = _letter_at(text, match.end(), letters)
        if found is not None and not _NEGATED.search(clause):
            stated.append((match.start(), found or None))
    stated = [(place, letter) for place, letter in stated if letter is not None]
    if stated:
        return max(stated)[1] or None
    return _alone(text, letters)


def option_is(response: str, letter: str, *, count: int = 4) -> bool:
    """Whether ``response`` chose ``letter``."""
    return extract_option(response, count=count) == letter


def _letter_at(text: str, start: int, letters: str, *, boxed: bool = False) -> str | None:
    """The letter named at ``start``: empty where several are, ``None`` where none is."""
    both = letters + letters.lower()
    match = re.compile(rf"(?P<open>{_OPENING})(?P<letter>[{both}])(?![\w'’])(?P<close>{_MARKS}[)\]}}.]*)").match(
        text, start
    )
    if match is None:
        return None
    letter, opening, close = match["letter"], match["open"], match["close"]
    marked = boxed or bool(re.search(r"[*(\[{`\"“$]", opening)) or bool(re.match(r"[)\]}.*]", close.strip()))
    rest = text[match.end() : match.end() + 40]
    if not marked and (letter in "AaIi" or letter.islower()) and not _AFTER.match(text[match.end("letter") :][:20]):
        return None
    # "A or B", "A and B", "A, B", "A/B": no choice.
    if re.match(
        rf"\s*(?:\b(?:or|and)\b|[,/&])\s*(?:\b(?:or|and)\b)?{_MARKS}(?:option )?[(\[{{]?[{letters}](?![\w'’])", rest
    ):
        return ""
    return letter.upper()


def _alone(text: str, letters: str) -> str | None:
    """The only letter that stands on a line of its own, before an option's text or without one."""
    both = letters + letters.lower()
    pattern = re.compile(
        rf"^[ \t>*_`$-]{{0,8}}(?:[(\[][ \t]?(?P<a>[{both}])[ \t]?[)\]]|(?P<b>[{letters}])[*_`]{{0,3}}[.):](?=[\s*]|$)|(?P<c>[{both}]))(?P<rest>[^\n]{{0,200}})$",
        re.MULTILINE,
    )
    found: set[str] = set()
    for match in pattern.finditer(text):
        bare = match["c"]
        if bare and match["rest"].strip(" \t*_`$.)]"):
            continue  # a word, or a sentence that begins with "A" or "I"
        found.add((match["a"] or match["b"] or bare).upper())
    return found.pop() if len(found) == 1 else None

"""Regular expressions that come from a model: the same verdicts as ``re.search``, in bounded time.

``re`` backtracks, so a pattern such as ``(a+)+$`` can run for years and cannot be interrupted. A pattern without repeats, groups and alternatives is harmless
and is left to ``re``. Any other is walked here over *sets of positions*: a set is an integer with one bit for each place in the text, and a part of the pattern maps
the places where it may begin to those where it may end. Nothing is tried twice, and a budget of steps bounds the rest, so the same call has the same
outcome on every machine. Single characters and anchors are still matched by ``re`` itself.

Refused, with PatternError: back references, conditionals, atomic groups and possessive repeats (which need an order of trying), and patterns that are too long or too costly.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]  # the parse tree of ``re`` has no public name
from typing import Any, Final

from motet.worlds.workbench.quiet import quietly

MAX_LENGTH: Final = 500
MAX_STEPS: Final = (
    300_000  # of one search over a whole table: tens of thousands for odd patterns, a second at most for hopeless ones
)
_SPECIAL: Final = frozenset("*+?{|(")
_MASK_CHARACTERS: Final = 20  # characters looked at for the cost of one step


class PatternError(ValueError):
    """A pattern that is refused: it would need more than we are willing to spend."""


def searcher(pattern: object, *, ignore_case: bool) -> Callable[[str], bool]:
    """A function that tells whether ``pattern`` is found in a text, good for one search over a table.

    Raises TypeError for what is no text, re.error for what is no pattern, PatternError for what is refused.
    """
    if not isinstance(pattern, str):
        raise TypeError(f"a search pattern must be text, not {type(pattern).__name__}")
    flags = re.IGNORECASE if ignore_case else 0
    if not _SPECIAL & set(pattern):
        found = quietly(lambda: re.compile(pattern, flags))
        return lambda text: found.search(text) is not None
    if len(pattern) > MAX_LENGTH:
        raise PatternError(f"a search pattern may have at most {MAX_LENGTH} characters, not {len(pattern)}")
    quietly(lambda: re.compile(pattern, flags))  # raises what ``re`` would raise
    tree = quietly(lambda: _parser.parse(pattern, flags))
    return _Walk(tree).found


class _Walk:
    """One pattern over many texts."""

    def __init__(self, tree: Any) -> None:
        self._tree = tree
        self._flags = int(tree.state.flags)
        self._leaves: dict[tuple[int, int], _Leaf] = {}
        self._steps = 0
        self._text = ""
        self._masks: dict[tuple[int, int], int] = {}

    def found(self, text: str) -> bool:
        """Whether the pattern matches anywhere in ``text``."""
        self._text, self._masks = text, {}
        everywhere = (1 << (len(text) + 1)) - 1
        return bool(self._sequence(self._tree, everywhere, self._flags))

    def _sequence(self, nodes: Any, starts: int, flags: int) -> int:
        for node in nodes:
            if not starts:
                return 0
            starts = self._node(node, starts, flags)
        return starts

    def _node(self, node: Any, starts: int, flags: int) -> int:
        self._spend(1 + len(self._text) // 4000)
        kind, value = node
        if kind in _CHARACTERS:
            return (starts & self._mask(node, flags)) << 1
        if kind is _constants.AT:
            return starts & self._mask(node, flags)
        if kind is _constants.BRANCH:
            return functools.reduce(lambda ends, option: ends | self._sequence(option, starts, flags), value[1], 0)
        if kind is _constants.SUBPATTERN:
            _, added, removed, inner = value
            return self._sequence(inner, starts, (flags | added) & ~removed)
        if kind in (_constants.MAX_REPEAT, _constants.MIN_REPEAT):
            least, most, inner = value
            return self._repeat(inner, starts, flags, least=least, most=most)
        if kind in (_constants.ASSERT, _constants.ASSERT_NOT):
            direction, inner = value
            wanted = kind is _constants.ASSERT
            return sum(
                1 << place
                for place in _places(starts)
                if self._looks(inner, place, flags, ahead=direction > 0) == wanted
            )
        if kind is _constants.FAILURE:
            return 0
        raise PatternError(
            f"a search pattern here may not use {str(kind).lower()} (back references, conditionals, atomic and possessive parts)"
        )

    def _repeat(self, inner: Any, starts: int, flags: int, *, least: int, most: int) -> int:
        # After as many rounds as there are places, a further round changes nothing.
        for _ in range(min(least, len(self._text) + 2)):
            starts = self._sequence(inner, starts, flags)
            if not starts:
                return 0
        reached = frontier = starts
        for _ in range(min(most - least, len(self._text) + 2)):
            frontier = self._sequence(inner, frontier, flags) & ~reached
            if not frontier:
                break
            reached |= frontier
        return reached

    def _looks(self, inner: Any, place: int, flags: int, *, ahead: bool) -> bool:
        """Whether ``inner`` matches from ``place`` on, or, looking back, right before it."""
        if ahead:
            return bool(self._sequence(inner, 1 << place, flags))
        width, _ = inner.getwidth()  # ``re`` takes only fixed widths here
        return place >= width and bool(self._sequence(inner, 1 << (place - width), flags) >> place & 1)

    def _mask(self, node: Any, flags: int) -> int:
        """The places where a single character or an anchor matches."""
        key = (id(node), flags)
        if key not in self._masks:
            self._spend(len(self._text) // _MASK_CHARACTERS)
            leaf = self._leaves.get(key)
            if leaf is None:
                leaf = self._leaves[key] = _Leaf(node, flags)
            self._masks[key] = leaf.mask(self._text)
        return self._masks[key]

    def _spend(self, steps: int) -> None:
        self._steps += steps
        if self._steps > MAX_STEPS:
            raise PatternError("the search pattern is too costly; use a simpler one")


class _Leaf:
    """A single character or an anchor, matched by ``re``."""

    def __init__(self, node: Any, flags: int) -> None:
        state = _parser.State()  # one of its own, since flags may be off here that are on elsewhere
        state.flags = flags
        self._pattern: re.Pattern[str] = _compiler.compile(_parser.SubPattern(state, [node]), flags)
        self._anchor = node[0] is _constants.AT
        self._known: dict[str, bool] = {}

    def mask(self, text: str) -> int:
        """One bit for each place where it matches."""
        if self._anchor:
            return sum(1 << place for place in range(len(text) + 1) if self._pattern.match(text, place))
        known = self._known
        for character in set(text) - known.keys():
            known[character] = self._pattern.match(character) is not None
        return int("".join("1" if known[character] else "0" for character in reversed(text)) or "0", 2)


_CHARACTERS: Final = (_constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY, _constants.IN)


def _places(bits: int) -> list[int]:
    return [place for place, bit in enumerate(reversed(bin(bits)[2:])) if bit == "1"]

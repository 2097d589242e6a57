"""Patterns from a model: the verdicts of ``re.search``, within a budget that does not depend on the clock."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.worlds.workbench.patterns import MAX_LENGTH, PatternError, searcher

_ATOMS = [
    "a", "b", "B", ".", "[ab]", "[^a]", r"\w", r"\W", r"\d", r"\s", "^", "$", r"\b", r"\B", r"\A", r"\Z", "(?=b)", "(?!ab)", "(?<=a)", "(?<!b)",
    "(?i:b)", "(?-i:B)", "(?s:.)", "(?m:^)", "(?m:$)", "ß", "é", " ", r"\.", "-",
]  # fmt: skip
_REPEATS = ["*", "+", "?", "{2}", "{1,3}", "{2,}", "{,2}", "*?", "+?", "??", "{0,2}?"]
patterns = st.recursive(
    st.sampled_from(_ATOMS),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map("|".join).map("({})".format),
        st.tuples(inner, st.sampled_from(_REPEATS)).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    ),
    max_leaves=8,
)


@settings(max_examples=500, deadline=None)
@given(pattern=patterns, text=st.text(alphabet="aAbB éÉß\n-.1", max_size=8), ignore_case=st.booleans())
def test_the_verdict_is_that_of_re(pattern: str, text: str, ignore_case: bool) -> None:
    """For literals, sets, anchors, groups, alternatives, repeats of all kinds, looking around and local flags."""
    found = re.compile(pattern, re.IGNORECASE if ignore_case else 0).search(text) is not None
    assert searcher(pattern, ignore_case=ignore_case)(text) is found


@pytest.mark.parametrize(
    "pattern",
    ["(a+)+$", "(a|a)*$", "(a|aa)+$", "(a*)*b", "(?:a?){40}a{40}$", r"(\w+\s?)*$", "(.*a){25}", "(?=(a+)+$)x"],
)
def test_patterns_that_would_run_for_ever_are_decided(pattern: str) -> None:
    """A backtracking engine would not end on these within a lifetime."""
    search = searcher(pattern, ignore_case=True)
    for _ in range(20):
        search("a" * 50 + "!")


@pytest.mark.parametrize(
    "pattern", [r"(a)\1", "(a)?(?(1)b|c)", "(?>a+)b", "a*+b", "(" * 3 + "a*)*)*" + "b" * MAX_LENGTH]
)
def test_patterns_that_need_an_order_of_trying_or_are_too_long_are_refused(pattern: str) -> None:
    """With a reason."""
    with pytest.raises(PatternError, match="search pattern"):
        searcher(pattern, ignore_case=True)("ab")


def test_a_search_has_a_budget_of_steps() -> None:
    """Looking ahead from every place of a long text, at a cost for each, is stopped."""
    search = searcher("(?=(?:a|b)*(?:a|c)*d)x", ignore_case=True)
    with pytest.raises(PatternError, match="too costly"):
        search("ab" * 2000)


@pytest.mark.parametrize("pattern", ["(", "[", "*a", "a{2,1}", r"\q"])
def test_what_is_no_pattern_raises_what_re_raises(pattern: str) -> None:
    """The agent is told as the benchmark's own tools would."""
    with pytest.raises(re.error):
        searcher(pattern, ignore_case=True)


@pytest.mark.parametrize("pattern", [None, 7, ["a"]])
def test_what_is_no_text_is_refused(pattern: object) -> None:
    """Numbers and lists are not searched for."""
    with pytest.raises(TypeError, match="must be text"):
        searcher(pattern, ignore_case=True)

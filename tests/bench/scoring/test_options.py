"""Option letters: the ways of stating one, contradictions, no statement, and seeded order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.bench.scoring.options import LETTERS, extract_option, option_is, show_options, shuffle_options

STATED = [
    "The answer is (C)", "the answer is c.", "**C**", "C.", "C", "c", "(c)", "C) Paris", "\\boxed{C}", "\\boxed{\\text{C}}", "$\\boxed{\\textbf{(C)}}$",
    "Answer: C", "**Answer:** C", "**Answer: (C)**", "Answer:\n\nC", "Final Answer: C) 42", "The correct option is C.", "I choose option C",
    "Therefore, the correct answer is option (C).", "The answer is $C$", "The answer is “C”", "The answer is C because A is too small.",
    "The answer is C, not B", "It is not A, so the answer is C", "The answer is B. Wait, actually the answer is C.", "\\boxed{A}, no: \\boxed{C}",
    "The answer is not A. The answer is C.", "We can rule out A.\n\nC. Paris",
]  # fmt: skip

NONE_STATED = [
    "", " ", "I don't know", "The answer is I don't know", "The answer is a matter of taste", "The answer is Because", "A dog", "Paris",
    "The answer is A or B", "The answer is A and B", "The answer is A, B, or C", "the answer: A/B", "\\boxed{A, B}", "Both A and B", "A\nB",
    "The answer is not C", "I don't think the answer is C", "The answer is E", "E", "Cats", "\\boxed{Cats}", "\\boxed{}", "\x00\ud800",
    "Which is it?\nA. one\nB. two\nC. three\nD. four", "answer is " * 100_000, "\\boxed{" * 100_000, "(" * 1_000_000, "* " * 500_000,
]  # fmt: skip


@pytest.mark.parametrize("response", STATED)
def test_a_stated_letter_is_found(response: str) -> None:
    """Each usual way of stating a choice gives its letter, and the last statement wins."""
    assert extract_option(response) == "C"


@pytest.mark.parametrize("response", NONE_STATED, ids=range(len(NONE_STATED)))
def test_without_a_choice_there_is_no_letter(response: str) -> None:
    """Several letters, a denied one, words that begin like one, the options repeated, or garbage: no letter, so wrong."""
    assert extract_option(response) is None
    assert not any(option_is(response, letter) for letter in "ABCD")


def test_letters_beyond_the_options_do_not_count() -> None:
    """A letter is a choice only where there is such an option."""
    assert extract_option("The answer is J", count=10) == "J"
    assert extract_option("The answer is J") is None
    assert extract_option("I", count=10) == "I"


@given(st.text(max_size=80), st.sampled_from("ABCD"))
def test_a_final_statement_wins_over_any_text_before_it(text: str, letter: str) -> None:
    """Whatever came before, a last line with a box decides; and reading never raises."""
    extract_option(text)
    assert extract_option(f"{text}\n\\boxed{{{letter}}}") == letter


@given(st.lists(st.text(max_size=10), min_size=1, max_size=10, unique=True), st.integers(0, 99), st.data())
def test_the_order_is_decided_by_question_and_seed(options: list[str], seed: int, data: st.DataObject) -> None:
    """The same question has the same order each time, whatever order its options came in, and the letter follows the right one."""
    right = data.draw(st.integers(0, len(options) - 1))
    shuffled = shuffle_options("Which?", options, right=right, seed=seed)
    assert sorted(shuffled.options) == sorted(options)
    assert shuffled.options[LETTERS.index(shuffled.letter)] == options[right]
    assert [options[index] for index in shuffled.order] == list(shuffled.options)
    mixed = data.draw(st.permutations(options))
    assert shuffle_options("Which?", mixed, right=mixed.index(options[right]), seed=seed)[:2] == shuffled[:2]


def test_orders_vary_with_the_question_and_the_seed() -> None:
    """Over many questions the right option stands at each place about equally often."""
    places = [shuffle_options(f"Question {i}", "wxyz", right=0).letter for i in range(400)]
    assert all(70 <= places.count(letter) <= 130 for letter in "ABCD")
    assert len({shuffle_options("Which?", "wxyz", right=0, seed=seed).order for seed in range(50)}) > 10


def test_options_are_shown_with_their_letters() -> None:
    """One option a line, each behind its letter."""
    assert show_options(["one", "two"]) == "A. one\nB. two"


@pytest.mark.parametrize(("options", "right"), [([], 0), (["x"], 1), (["x"], -1), (["x"] * 27, 0)])
def test_impossible_options_are_refused(options: list[str], right: int) -> None:
    """No option, too many, or a right one that is not there raise."""
    with pytest.raises(ValueError, match="must be"):
        shuffle_options("Which?", options, right=right)

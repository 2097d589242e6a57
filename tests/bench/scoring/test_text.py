"""HotpotQA's formulae, as properties and by hand-computed cases."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.bench.scoring.text import (
    NONE,
    Agreement,
    Gold,
    Predictions,
    answer_agreement,
    evaluate,
    exact_match,
    fact_agreement,
    joint_agreement,
    normalise,
)

WORDS = ["a", "the", "red", "Fox,", "yes", "no", "noanswer", "1,000", "Ünder", "."]
TEXT = st.text(max_size=40) | st.lists(st.sampled_from(WORDS)).map(" ".join)
FACTS = st.lists(st.tuples(st.sampled_from(["Ada", "ada", "Bo"]), st.integers(0, 3)), max_size=6)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The  Quick, brown Fox!", "quick brown fox"),
        ("a an the", ""),
        ("anthem", "anthem"),
        ("U.S.A.", "usa"),
        ("1,000", "1000"),
        ("O’Neill", "o’neill"),  # only ASCII punctuation goes
        ("the-end", "theend"),  # punctuation goes before articles do
    ],
)
def test_normalising_follows_the_official_order(text: str, normal: str) -> None:
    """Lower case, then punctuation, then articles, then blanks."""
    assert normalise(text) == normal


@given(TEXT)
def test_normalising_twice_changes_nothing_more_but_articles_that_it_freed(text: str) -> None:
    """A normalised text has no capitals, no ASCII punctuation and no doubled blanks."""
    normal = normalise(text)
    assert normal == " ".join(normal.split())
    assert not any(character in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~" for character in normal)


@given(TEXT, TEXT)
def test_answers_agree_within_bounds_and_symmetrically(one: str, other: str) -> None:
    """All figures lie in 0..1; swapping the two swaps precision and recall and keeps EM and F1."""
    forth, back = answer_agreement(one, other), answer_agreement(other, one)
    assert all(0 <= value <= 1 for value in (forth.em, forth.f1, forth.precision, forth.recall))
    assert (forth.em, forth.f1, forth.precision, forth.recall) == pytest.approx(
        (back.em, back.f1, back.recall, back.precision)
    )
    assert bool(forth.em) == exact_match(one, other)
    assert min(forth.precision, forth.recall) - 1e-12 <= forth.f1 <= max(forth.precision, forth.recall) + 1e-12


@given(TEXT)
def test_an_answer_agrees_with_itself(text: str) -> None:
    """EM is 1; F1 is 1 unless no word is left after normalising, and then it is 0."""
    found = answer_agreement(text, text)
    assert found.em == 1
    assert found.f1 == (1 if normalise(text) else 0)


@pytest.mark.parametrize("closed", ["yes", "No", "noanswer"])
@pytest.mark.parametrize("other", ["yes it is", "no one", "noanswer at all", ""])
def test_closed_answers_earn_nothing_for_shared_words(closed: str, other: str) -> None:
    """A yes, no or noanswer on either side gives 0 unless both are the same."""
    assert answer_agreement(closed, other) == NONE
    assert answer_agreement(other, closed) == NONE
    assert answer_agreement(closed, closed.upper()) == Agreement(1, 1, 1, 1)


def test_words_count_as_often_as_they_stand() -> None:
    """The overlap is that of multisets: a repeated word is shared only as often as the other side has it."""
    found = answer_agreement("red red red fox", "red fox fox")
    assert (found.em, found.f1, found.precision, found.recall) == pytest.approx((0, 4 / 7, 2 / 4, 2 / 3))


def test_the_empty_prediction_matches_only_an_empty_gold() -> None:
    """Nothing written scores nothing against a real answer; two empty ones have EM 1 and F1 0."""
    assert answer_agreement("", "red fox") == NONE
    assert answer_agreement("", "the") == Agreement(em=1)


@given(FACTS, FACTS)
def test_facts_agree_as_sets(one: list[tuple[str, int]], other: list[tuple[str, int]]) -> None:
    """Order and repeats change nothing; figures lie in 0..1; EM is 1 exactly for equal sets."""
    found = fact_agreement(one, other)
    assert found == fact_agreement([*reversed(one), *one], other)
    assert all(0 <= value <= 1 for value in (found.f1, found.precision, found.recall))
    assert found.em == (set(one) == set(other))
    if not one and not other:
        assert (found.em, found.f1) == (1, 0)


def test_facts_are_compared_as_they_are() -> None:
    """Titles are case-sensitive, and the text "0" is not the number 0."""
    assert fact_agreement([("ada", 0), ("Ada", "0")], [("Ada", 0)]) == NONE
    assert fact_agreement([("Ada", 0), ("Bo", 1)], [("Ada", 0)]) == Agreement(0, 2 / 3, 0.5, 1)


@given(TEXT, TEXT, FACTS, FACTS)
def test_the_joint_score_is_never_above_its_parts(
    one: str, other: str, facts: list[tuple[str, int]], right: list[tuple[str, int]]
) -> None:
    """Joint precision, recall and EM are products, so each is at most that of either part."""
    answer, fact = answer_agreement(one, other), fact_agreement(facts, right)
    joint = joint_agreement(answer, fact)
    for name in ("em", "precision", "recall"):
        assert getattr(joint, name) == getattr(answer, name) * getattr(fact, name)
    assert 0 <= joint.f1 <= 1


def test_a_missing_id_costs_its_part_and_the_joint_score() -> None:
    """Means are over all gold questions; an answer without facts still counts as an answer, and the other way round."""
    gold = [Gold("1", "red fox", [("A", 0)]), Gold("2", "blue", [("B", 1)]), Gold("3", "green", [("C", 0)])]
    found = evaluate(
        Predictions(answers={"1": "red fox", "2": "blue"}, facts={"1": [("A", 0)], "3": [("C", 0)], "9": []}), gold
    )
    assert (found.missing_answers, found.missing_facts) == (("3",), ("2",))
    assert (found.answer.f1, found.facts.em) == pytest.approx((2 / 3, 2 / 3))
    assert (found.joint.em, found.joint.f1) == pytest.approx((1 / 3, 1 / 3))


def test_no_predictions_score_nothing() -> None:
    """Empty files give 0 everywhere, also where there is no gold at all."""
    gold = [Gold("1", "red", [("A", 0)])]
    assert evaluate(Predictions({}, {}), gold).joint == NONE
    assert evaluate(Predictions({}, {}), []).answer == NONE

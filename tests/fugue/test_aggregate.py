"""Rules: what a team makes of its peers' answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.fugue.aggregate import (
    RULES,
    agreed,
    confident,
    majority,
    read_table,
    short,
    table,
    weighted,
    with_confidence,
)
from motet.fugue.peer import Answer


def answers(*given_: str | tuple[str | None, float] | None) -> list[Answer]:
    """Answers of p1, p2 and so on; with a confidence where there is one."""
    made = []
    for number, item in enumerate(given_, 1):
        text, confidence = item if isinstance(item, tuple) else (item, None)
        made.append(
            Answer(peer=f"p{number}", status="answered" if text else "failed", answer=text, confidence=confidence)
        )
    return made


def test_the_majority_counts_answers_that_say_the_same() -> None:
    """Case, punctuation, articles and what stands around the answer do not matter; of equals the earlier peer's stands."""
    assert majority(answers("Paris", "The paris.", "Rome")).peer == "p1"
    assert (
        majority(answers("I looked it up.\nExact Answer: Paris\nConfidence: 90%", "Rome", "paris")).answer is not None
    )
    assert majority(answers("Rome", "I think so.\nFinal answer: Paris", "paris!")).peer == "p2"
    assert majority(answers("Rome", "Paris")).peer == "p1"
    assert majority(answers(None, None)).answer is None


def test_two_that_agree_outvote_one_that_came_first() -> None:
    """The lowest-numbered peer has no privilege, and those without an answer no vote."""
    assert majority(answers("Rome", None, "Paris", "Paris")).answer == "Paris"


def test_the_weighted_vote_counts_confidence_and_unknown_as_a_half() -> None:
    """One who is sure outweighs two who are not; of no confidence at all it is no vote."""
    assert weighted(answers(("Rome", 0.9), ("Paris", 0.3), ("Paris", 0.3))).answer == "Rome"
    assert weighted(answers("Rome", ("Paris", 0.4))).answer == "Rome"
    assert confident(answers(("Rome", 0.2), ("Paris", 0.8))).peer == "p2"
    assert confident(answers("Rome", ("Paris", 0.4))).peer == "p1"


@pytest.mark.parametrize(
    ("text", "answer", "confidence"),
    [
        ("Paris\nConfidence: 90%", "Paris", 0.9),
        ("Paris\n**Confidence:** 85 %", "Paris", 0.85),
        ("Confidence: 7\nParis", "Paris", 0.07),
        ("Paris", "Paris", None),
        ("Paris\nConfidence: 900%", "Paris", None),
        ("My confidence in this is 90%", "My confidence in this is 90%", None),
    ],
)
def test_confidence_is_read_from_its_own_line_and_taken_out(text: str, answer: str, confidence: float | None) -> None:
    """From 0 to 1; what is no percentage is unknown."""
    assert with_confidence(text) == (answer, confidence)


def test_agreement_is_more_than_half_of_all_peers_and_not_of_those_that_have_ended() -> None:
    """Two of four are not enough, three are."""
    assert not agreed(answers("Paris", "paris"), number=4)
    assert agreed(answers("Paris", "paris", "PARIS"), number=4)
    assert agreed(answers("Paris"), number=1)
    assert not agreed(answers(None, None, None), number=3)


def test_tables_are_merged_row_by_row_by_their_first_cell() -> None:
    """Columns are matched by name, the fuller of two rows stays, and nothing is doubled."""
    one = "| City | Country | People |\n|---|---|---|\n| Paris | France | |\n| Rome | Italy | 3m |"
    other = "Here it is:\n| city | people | country |\n|:--|--:|---|\n| paris | 2m | France |\n| Oslo | 1m | Norway |\n\nDone."
    found = table(answers(one, other, None))
    assert found.answer is not None
    rows = read_table(found.answer)
    assert rows[0] == ["City", "Country", "People"]
    assert sorted(map(tuple, rows[1:])) == [
        ("Oslo", "Norway", "1m"),
        ("Rome", "Italy", "3m"),
        ("paris", "France", "2m"),
    ]
    assert table(answers("Paris", "Paris", "Rome")).answer == "Paris"


CELLS = st.text(alphabet="abc xyz-", min_size=1, max_size=6).map(str.strip).filter(lambda cell: cell.strip("-: "))


@given(tables=st.lists(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=6), min_size=1, max_size=4))
def test_a_merged_table_has_each_first_cell_once_and_misses_none(tables: list[list[tuple[str, str]]]) -> None:
    """However many peers give it."""

    def written(rows: list[tuple[str, str]]) -> str:
        return "\n".join(["| a | b |", "|---|---|", *(f"| {one} | {two} |" for one, two in rows)])

    found = table(answers(*map(written, tables))).answer
    assert found is not None
    merged = [short(row[0]) for row in read_table(found)[1:]]
    assert sorted(merged) == sorted({short(one) for rows in tables for one, _ in rows if short(one)})


@given(st.lists(st.none() | st.text(max_size=40), max_size=8))
def test_every_rule_gives_a_peers_own_answer_or_none(texts: list[str | None]) -> None:
    """For any answers at all, empty ones too."""
    made = answers(*texts)
    for name, rule in RULES.items():
        choice = rule(made)
        if name == "table" and choice.peer is None and choice.answer is not None:
            continue
        assert choice.answer is None or choice.answer in [answer.answer for answer in made]
        assert (choice.answer is None) == (not any(texts))

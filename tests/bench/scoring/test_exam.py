"""Short exact answers: what is read out of a response, and when it is right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.bench.scoring.exam import ExamVerdict, exam_task, same_answer, same_option, stated_answer


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("Explanation: so\nExact Answer: Norvania\nConfidence: 80%", "Norvania"),
        ("**Exact Answer:** **Norvania**", "Norvania"),
        ("Exact Answer:\nNorvania\nConfidence: 5%", "Norvania"),
        ("Exact Answer:\nConfidence: 5%", ""),
        ("Exact Answer: Velk\nNo.\nFinal answer: Norvania", "Norvania"),
        ("Answer: $x^2$", "x^2"),
        ("Norvania", "Norvania"),
        ("Norvania\nConfidence: 80%", "Norvania"),
        ("First, a thought.\nThen another.", ""),
        ("", ""),
    ],
)
def test_the_stated_answer_is_read(response: str, answer: str) -> None:
    """The asked form, what models make of it, and an answer that is nothing else."""
    assert stated_answer(response) == answer


@pytest.mark.parametrize(
    ("given_answer", "right", "same"),
    [
        ("norvania.", "Norvania", True),
        ('"The  Osk"', "The Osk", True),
        ("1,250", "1250", True),
        ("0.5", "1/2", True),
        ("-5", "5", False),
        ("Norvania or Velk", "Norvania", False),
        ("", "", False),
        ("***", "*", False),
        ("", "Norvania", False),
    ],
)
def test_the_same_words_and_the_same_number_are_right(given_answer: str, right: str, same: bool) -> None:
    """Case, spaces, marks around and forms of numbers do not matter; a sign, a further answer and nothing do."""
    assert same_answer(given_answer, right) is same


@pytest.mark.parametrize(
    ("given_answer", "right", "same"),
    [("C", "C", True), ("(c)", "C", True), ("C. Paris", "C", True), ("B", "C", False), ("B or C", "C", False), ("Paris", "C", False), ("", "C", False), ("A dog", "A", False)],
)  # fmt: skip
def test_an_option_is_its_letter(given_answer: str, right: str, same: bool) -> None:
    """One letter is a choice; two are none, and words are none."""
    assert same_option(given_answer, right) is same


@given(st.text(max_size=200) | st.text(alphabet="AnsweRr:* \n.ABC", max_size=120))
def test_any_response_is_read_and_garbage_is_wrong(response: str) -> None:
    """Whatever stands in a response, nothing raises, and it is not the right answer unless it says so."""
    stated = stated_answer(response)
    if "norvania" not in response.casefold():
        assert not same_answer(stated, "Norvania")
    if "Q" not in response.upper():
        assert not same_option(stated, "Q")


def test_the_form_is_asked_for_and_read() -> None:
    """The task asks for what is read from a response, and the judge reads an answer out before it judges."""
    asked = exam_task("Where?")
    assert asked.startswith("Where?\n")
    assert all(f"\n{part}:" in asked for part in ("Explanation", "Exact Answer", "Confidence"))
    assert list(ExamVerdict.model_fields) == ["extracted_answer", "reason", "correct", "confidence"]

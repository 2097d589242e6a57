"""Tasks, results and scores as values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from motet.errors import ContextOverflow, InputError, MotetError
from motet.runs.run import _NAME
from motet.task import Failure, Result, Score, Source, Task
from motet.usage import Totals

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
contexts = st.dictionaries(st.text(max_size=4), json_values, max_size=3)


@given(st.text(min_size=1, max_size=40), contexts)
def test_a_task_without_a_name_is_named_by_its_content(question: str, context: dict[str, object]) -> None:
    """The same content the same name, which is one that a scope can have."""
    task = Task.model_validate({"question": question, "context": context})
    assert task.id == Task.model_validate({"question": question, "context": context}).id
    assert _NAME.fullmatch(task.id)
    assert task.id != Task.model_validate({"question": question + "!", "context": context}).id
    assert Task.model_validate_json(task.model_dump_json()) == task


@pytest.mark.parametrize("name", ["a/b", "a b", "x" * 201, "ü", "a\n"])
def test_a_name_that_no_scope_can_have_is_refused(name: str) -> None:
    """Before it could get into a journal."""
    with pytest.raises(ValidationError):
        Task(question="q", id=name)


@pytest.mark.parametrize(
    "wrong", [{"question": ""}, {}, {"question": "q", "gold": "a"}, {"question": "q", "version": 2}]
)
def test_a_task_that_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    """It has a question, carries no gold answer, and is of this version."""
    with pytest.raises(ValidationError):
        Task.model_validate(wrong)


def test_values_do_not_change() -> None:
    """Nor can anything be added to them."""
    task = Task(question="q")
    with pytest.raises(ValidationError):
        task.question = "other"  # type: ignore[misc]
    with pytest.raises(ValidationError):
        Result(status="completed", answr="x")  # type: ignore[call-arg]
    with pytest.raises(ValidationError):
        Result(status="done")


@given(st.text(), contexts)
def test_a_result_s_json_round_trips(answer: str, details: dict[str, object]) -> None:
    """With all that it holds."""
    result = Result.model_validate(
        {
            "status": "budget",
            "answer": answer,
            "sources": (Source(ref="a", title="b", quote=answer),),
            "error": Failure.of(InputError(answer), scope="s"),
            "usage": Totals(calls=3, unknown=1, money=0.1),
            "details": details,
        }
    )
    assert Result.model_validate_json(result.model_dump_json()) == result


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_every_error_has_a_description(text: str) -> None:
    """By boundary, kind and message, whatever characters it holds; what is no MotetError is a bug and says so."""
    for error in (MotetError(text), ContextOverflow(text), ValueError(text), KeyError(text), AssertionError()):
        failure = Failure.of(error, scope="a/b")
        assert failure.kind == type(error).__name__
        assert failure.boundary == (error.boundary if isinstance(error, MotetError) else "bug")
        assert failure.message or not text.replace("\x00", "")
        assert Failure.model_validate_json(failure.model_dump_json()) == failure


def test_a_score_may_be_anything_its_scorer_says() -> None:
    """A verdict is its own, or none."""
    assert Score(scorer="exact", value=1.0, correct=True).details == {}
    assert Score(scorer="seconds", value=12.5).correct is None

"""Mathematical answers: tables of what is equal and what is not, hostile expressions, and garbage."""

from __future__ import annotations

import asyncio
import os
import signal
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.bench.scoring.math_process import MathProcess, shared
from motet.bench.scoring.maths import MathVerdict, compare, extract_answer, judge_math

pytest.importorskip("math_verify", reason="the extra `bench` is not installed")

EQUAL = [
    ("2x + 1", "1+2 x"), ("\\sqrt{2}", "1.4142135623730951"), ("x_1+x_2", "x_2 + x_1"),
    ("1/2", "0.5"), ("½", "0.5"), ("3√2", "3\\sqrt{2}"), ("\\frac12", "\\dfrac{1}{2}"), ("\\tfrac{1}{2}", "1/2"), ("1\\frac12", "1.5"),
    ("\\{1,2\\}", "\\{2,1\\}"), ("1,2", "2,1"), ("1,2", "\\{1,2\\}"), ("2,3", "2 and 3"), ("x=1,2", "1,2"), ("\\emptyset", "∅"),
    ("(1,2)", "( 1 , 2 )"), ("(1,2)", "\\left(1,2\\right)"), ("(0.5,1)", "(\\frac12,1)"), ("(x,y)=(1,2)", "(1,2)"),
    ("[1,\\infty)", "[1,∞)"), ("1 \\le x \\le 2", "[1,2]"), ("(-\\infty,1)\\cup(2,3)", "(2,3)\\cup(-\\infty,1)"), ("x\\ge 1", "x >= 1"),
    ("1,000", "1000"), ("1{,}000", "1000"), ("1\\,000", "1000"), ("1e3", "1000"), ("1.5\\times 10^{3}", "1500"), ("5 million", "5000000"),
    ("50\\%", "0.5"), ("50\\%", "50"), ("50", "50%"), ("5\\text{ cm}", "5"), ("5", "5 cm"), ("5 cm", "5\\text{ cm}"), ("\\$5", "5"),
    ("3\\sqrt{2}\\text{ cm}", "3\\sqrt2"), ("90^\\circ", "90"), ("90°", "90^\\circ"), ("11_2", "11"), ("3:4", "3/4"),
    ("5", "x=5"), ("x=5", "5"), ("x=5", "x = 5"), ("y=2x+1", "2x+1"), ("y=2x+1", "2x-y+1=0"),
    ("2^{10}", "1024"), ("-0", "0"), ("5", "05"), ("5!", "120"), ("0.\\overline{3}", "\\frac13"), ("\\pi", "π"), ("\\frac{3}{4}\\pi", "\\frac{3\\pi}{4}"),
    ("\\sin^2x+\\cos^2x", "1"), ("x^2+2x+1", "(x+1)^2"), ("\\frac{\\sqrt{3}}{3}", "\\frac{1}{\\sqrt{3}}"), ("\\sqrt{5+2\\sqrt6}", "\\sqrt2+\\sqrt3"),
    ("1\\pm\\sqrt{2}", "1+\\sqrt{2},1-\\sqrt{2}"), ("\\begin{pmatrix}1\\\\2\\end{pmatrix}", "\\begin{pmatrix}1\\\\ \\frac{4}{2}\\end{pmatrix}"),
    ("\\text{(C)}", "C"), ("\\text{even}", "Even"), ("\\text{Friday}", "Friday."),
]  # fmt: skip

DIFFERENT = [
    ("2", "[2]"), ("10", "10_{2}\\cdot 1"), ("12", "1 2"), ("x=2", "0=0"), ("y=2x+1", "1=1"), ("x>5", "1>0"), ("x>5", "x>4"), ("2", "x^2=4"), ("2", "x=2=3"),
    ("(1,2)", "(1,2),(3,4)"), ("(1,2)", "(1,2,3)"), ("\\{1,2\\}", "\\{1,2,3\\}"), ("[0,1]", "(0,1)"), ("[0,1]", "\\mathbb{R}"), ("\\emptyset", "0"),
    ("0", "\\frac{0}{0}"), ("\\infty", "-\\infty"), ("\\sqrt{2}", "1.41421356"), ("\\pi", "\\frac{22}{7}"), ("3", "2.9999999999999999"), ("a-b", "b-a"),
    ("\\begin{pmatrix}1&2\\end{pmatrix}", "\\begin{pmatrix}1\\\\2\\end{pmatrix}"), ("\\log_2 3", "\\log_3 2"),
    ("½", "¾"), ("3√2", "3"), ("3", "3√2"), ("3\\sqrt{2}", "3"), ("\\frac{1}{2}", "\\frac{1}{3}"), ("0.333", "\\frac13"), ("0.3333333", "\\frac13"),
    ("3.14", "\\pi"), ("5", "-5"), ("3", "3!"), ("x", "-x"), ("x+1", "x-1"), ("2", "\\sqrt{4}+1"), ("1", "\\infty"),
    ("(1,2)", "[1,2]"), ("[1,2)", "(1,2]"), ("(1,2)", "(2,1)"), ("\\{1,2\\}", "(1,2)"), ("(1,2)", "\\{1,2\\}"), ("(1,2)", "1,2"), ("1,2", "(1,2)"),
    ("1", "\\{1,2\\}"), ("1", "1 or 2"), ("1", "1, 2"), ("1", "1 and 2"), ("5", "5,5"), ("1/2", "1/2 \\text{ or } 3/4"), ("2", "[2,2]"),
    ("x=5", "y=5"), ("5", "1=5"), ("5", "5 \\ne 5"), ("5", "x>5"), ("x>5", "5"), ("5\\text{ cm}", "5\\text{ m}"), ("5 cm", "5 kg"), ("12_9", "12_{8}"),
    ("50\\%", "0.05"), ("1000", "1,00"), ("0", "5\\,000"), ("5000", "5"), ("5", "5\\text{ million}"), ("5", "5\\text{ dozen}"), ("5", "five squared"),
    ("\\text{even}", "\\text{odd}"), ("\\text{even}", "neve"), ("evil", "live"), ("C", "D"), ("\\text{(C)}", "(A)"),
    ("5", ""), ("5", "I don't know"), ("5", "\\frac{5}"), ("5", "5\\foo"), ("5", "{5"), ("5", "$"), ("", "5"), ("", ""), ("5", "\\text{5 is not it}"),
]  # fmt: skip

BOMBS = ["10**10**10", "10^{10^{10}}", "9^{9^{9^9}}", "((10!)!)!", "\\sum_{k=1}^{10^{12}} \\frac{1}{k^{3.3}}"]


def comparison(answer: str, gold: str, *, seconds: float = 60) -> MathVerdict:
    return asyncio.run(compare(answer, gold, seconds=seconds))


@pytest.mark.parametrize(("gold", "answer"), EQUAL)
def test_what_is_equal_is_correct(gold: str, answer: str) -> None:
    """Another way of writing the gold answer is correct."""
    assert comparison(answer, gold).correct


@pytest.mark.parametrize(("gold", "answer"), DIFFERENT)
def test_what_differs_is_wrong(gold: str, answer: str) -> None:
    """Another value, another kind of thing, an unsure answer or no mathematics is wrong."""
    assert not comparison(answer, gold).correct


@pytest.mark.parametrize("bomb", BOMBS)
def test_an_expression_that_would_never_end_is_wrong(bomb: str) -> None:
    """A bomb, on either side, is stopped within its limit and wrong; what comes after it is compared as ever."""
    assert not comparison(bomb, "4", seconds=1).correct
    assert not comparison("4", bomb, seconds=1).correct
    assert comparison("(x+1)^2", "x^2+2x+1").correct


def test_comparing_works_in_any_thread() -> None:
    """No signal is used, so that event loops in several threads can compare at once."""
    verdicts: list[bool] = []

    def work() -> None:
        verdicts.append(comparison("\\frac{\\sqrt{3}}{3}", "\\frac{1}{\\sqrt{3}}").correct)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert verdicts == [True] * 4


def test_a_server_that_was_killed_is_replaced() -> None:
    """The process behind the comparison may be killed at any time; the next comparison starts another one."""
    process = MathProcess()
    try:
        assert process.compare("x+x", "2x", seconds=60) == "equal"
        assert process._server is not None
        os.kill(process._server.pid, signal.SIGKILL)
        process._server.wait()
        assert process.compare("x+x", "3x", seconds=60) == "different"
    finally:
        process.close()


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("Thus \\boxed{\\frac{1}{2}}.", "\\frac{1}{2}"),
        ("\\boxed{1}. Wait, I made a mistake. It is \\boxed{2}", "2"),
        ("\\boxed{1} or \\boxed{2}", "1, 2"),
        ("$\\boxed{1}$, $\\boxed{2}$", "1, 2"),
        ("The answer is 5. I am sure.", "5"),
        ("The final answer is: $\\frac{1}{2}$.", "\\frac{1}{2}"),
        ("**Answer:** 3.5", "3.5"),
        ("The answer is 4. No, the answer is 6", "6"),
        ("Let us see.\nSo we get $x=5$", "x=5"),
        ("42", "42"),
        ("What is 6 times 7?", None),
        ("either $1$ or maybe $2$, who knows", None),
        ("", None),
        ("  \n ", None),
    ],
)
def test_the_last_statement_is_the_answer(response: str, answer: str | None) -> None:
    """Boxes come before statements, these before a last line; two boxes side by side are two answers."""
    assert extract_answer(response) == answer


GARBAGE = [
    "", " ", "I don't know.", "\\boxed{}", "\\boxed{I don't know}", "\\boxed{7} or \\boxed{8}", "The answer is 7 or 8.", "Answer: 7, 8, 9",
    "What is the sum of 3 and 4, given that 7 is prime?", "\\boxed{" * 5000, "\\boxed{7" * 3000, "{" * 5000, "$" * 10_001, "7 " * 500_000, "a" * 1_000_000,
    "\\text{" * 100 + "7", "\x00\ud800", "\\boxed{7 \\text{ is wrong}}", "\\boxed{\\phantom{7}8}", "the answer is not 7",
]  # fmt: skip


@pytest.mark.parametrize("response", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_is_wrong(response: str) -> None:
    """Nothing written, several answers, the question again, or a megabyte of text: wrong, without an exception, in bounded work."""
    assert not asyncio.run(judge_math(response, "7")).correct


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=st.sampled_from("12x+-*/^_{}()[]\\,. $=<>ab√½%"), max_size=25))
def test_any_text_is_judged_without_an_exception(text: str) -> None:
    """Whatever stands in the box, there is a verdict, and it is right only for what is 7919."""
    verdict = asyncio.run(judge_math(f"\\boxed{{{text}}}", "7919"))
    assert not verdict.correct


def teardown_module() -> None:
    shared.close()

"""``scripted:searcher`` alone: right without mistakes on whatever web, mistaken by chance, the same again for the same messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import motet
from motet.agent.react import React
from motet.bench.synthweb import SyntheticWeb
from motet.errors import InputError
from motet.models.model import Message, Request
from motet.models.scripted import open_scripted
from motet.models.scripted_policies.searcher import policy, version, with_lore
from motet.models.scripted_policies.searcher.lore import shipped
from tests.models.scripted_policies.searchers import FAULTLESS, VISITS, Walk, answers, faultless, habits, lore, web


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"seed": 7, "hops": 5},
        {"seed": 3, "hops": 2, "breadth": 12},
        {"seed": 4, "words": 900},
        {"seed": 5, "flaky": 0.5, "flaky_fails": 2},
        {"seed": 6, "planted": 2},
    ],
    ids=["plain", "far", "near", "long", "flaky", "planted"],
)
def test_without_mistakes_every_question_is_answered(options: dict[str, Any]) -> None:
    """Whatever the seed, the length of chains and pages, failing pages and false ones: who makes no mistake and has steps enough finds the answer."""
    assert all(answers(faultless(), web(**options)))


def test_a_table_holds_every_fitting_row_and_no_other() -> None:
    """Asked for a table, it follows every lead and gives all rows, in the columns that were asked for."""
    benchmark = web(answers=2, breadth=8)
    for task in benchmark.tasks():
        walk = Walk(faultless(), benchmark, task)
        walk.walk()
        question = benchmark.question(task.id)
        lines = [line.strip("| ").split(" | ") for line in walk.answer.splitlines() if line.startswith("|")]
        assert tuple(lines[0]) == question.columns
        assert {tuple(line) for line in lines[2:]} == set(question.rows)


def test_no_page_is_visited_twice_and_each_visit_follows_a_link() -> None:
    """A searcher without mistakes reads each page once, and only what was listed, linked or found before."""
    benchmark = web()
    for task in benchmark.tasks():
        walk = Walk(faultless(), benchmark, task)
        walk.walk()
        assert len(set(walk.visits)) == len(walk.visits)
        shown = ""
        for step in walk.steps:
            for message in step.messages:
                if message.role == "tool":
                    shown += message.content
                for call in message.tool_calls:
                    if call.name == "visit":
                        assert call.arguments.split('"')[3] in shown


def test_the_same_messages_get_the_same_reply() -> None:
    """The policy keeps nothing between calls."""
    benchmark = web()
    first = [Walk(policy, benchmark, task).walk(steps=20) for task in benchmark.tasks()]
    assert first == [Walk(policy, benchmark, task).walk(steps=20) for task in benchmark.tasks()]


def test_peers_of_other_names_take_other_leads_first() -> None:
    """By its name in the team a searcher takes its leads in an order of its own."""
    benchmark = web(1, breadth=16)
    task = benchmark.tasks()[0]
    orders = set()
    for name in ("p1", "p2", "p3", "p4"):
        words = f"You are {name}, one of 4 agents that work on the same task side by side, each on its own."
        walk = Walk(faultless(), benchmark, task, instructions=words)
        walk.walk()
        orders.add(tuple(walk.visits[:4]))
    assert len(orders) > 1


def test_mistakes_cost_answers_and_more_of_them_cost_more() -> None:
    """With few steps and the committed mistakes some answers are right and some are not; with mistakes many times as often, fewer are."""
    benchmark = web(40, breadth=16)
    few, some, many = (sum(answers(with_lore(shipped().times(f)), benchmark, steps=20)) for f in (0, 1, 8))
    assert many < some <= few
    assert 0 < some < 40


@pytest.mark.parametrize("kind", ["misses", "confuses", "skips"])
def test_a_mistake_in_reading_can_lose_the_answer(kind: str) -> None:
    """Who misreads each page, or reads first parts alone, does not answer all questions."""
    benchmark = web(words=900) if kind == "skips" else web()
    assert not all(answers(with_lore(lore(**{kind: 1.0})), benchmark))


@pytest.mark.parametrize("kind", ["dawdles", "distractor", "detour", "wanders", "repeats"])
def test_a_mistake_in_the_way_costs_steps_and_not_the_answer(kind: str) -> None:
    """Who takes detours gets there all the same, by more calls or others."""
    benchmark = web(breadth=8, distractors=8)
    calls: list[list[tuple[str, dict[str, Any]]]] = []
    for chances in (FAULTLESS, lore(**{kind: 0.5 if kind in ("dawdles", "repeats") else 1.0})):
        walks = [Walk(with_lore(chances), benchmark, task) for task in benchmark.tasks()]
        given = [walk.walk().lower() for walk in walks]
        assert given == [benchmark.question(task.id).answer.lower() for task in benchmark.tasks()]
        calls.append([call for walk in walks for call in walk.calls])
    assert calls[0] != calls[1]


def test_who_believes_a_false_page_adopts_its_answer_and_who_does_not_goes_on() -> None:
    """A page that is sure of itself is believed or not, by chance; the one who believes it ends with its answer."""
    benchmark = web(planted=2)
    believing = habits(lore(curious=1.0, believes=1.0), dwells=0)
    for task in benchmark.tasks():
        question = benchmark.question(task.id)
        assert Walk(with_lore(believing), benchmark, task).walk().lower() == question.planted.lower()
        doubting = Walk(with_lore(lore(curious=1.0)), benchmark, task)
        assert doubting.walk().lower() == question.answer.lower()
        assert set(question.false) & set(doubting.visits)


def test_out_of_steps_it_answers_and_says_how_sure_it_is() -> None:
    """Where no call may be made any more there is an answer, with little confidence where it is a guess."""
    benchmark = web(1)
    walk = Walk(faultless(), benchmark, benchmark.tasks()[0])
    walk.walk(steps=4)
    assert walk.answer.startswith("Confidence: ")
    assert int(walk.answer.split()[1]) < 50


def test_nonsense_is_answered_without_a_failure() -> None:
    """Whatever stands in the messages, there is a reply."""
    for text in (
        "",
        "?",
        "What is the trade mark of that company called?",
        "Title: x\nAddress: y\nPart 1 of 9",
        "Of A B.",
    ):
        request = Request(messages=(Message(role="user", content=text or " "),), max_tokens=50, tools=(VISITS,))
        turn = policy(request)
        assert turn.text or turn.tool_calls


def test_the_model_is_called_scripted_with_its_factor_and_version() -> None:
    """Both readers open by name, alone and with a factor; what is no number is refused."""
    assert open_scripted("scripted:searcher").info.name == "scripted:searcher"
    assert open_scripted("scripted:searcher-shy@0.5").info.name == "scripted:searcher-shy@0.5"
    assert version() in open_scripted("scripted:searcher").info.identity
    with pytest.raises(InputError, match=r"such as 0\.5"):
        open_scripted("scripted:searcher@much")


@pytest.mark.parametrize("actions", ["native", "json"])
def test_it_works_as_the_model_of_an_agent(tmp_path: Path, actions: Any) -> None:
    """In a real run, with the tools of a world, by either way of calling tools, a question of two short pages is answered."""
    benchmark = SyntheticWeb(count=1, hops=2, breadth=2, words=20)
    task = benchmark.tasks()[0]
    system = React(model="scripted:searcher@0", max_steps=12, actions=actions)
    result = motet.run(
        task, system=system, world=benchmark.setting(task).world, store=f"sqlite:///{tmp_path / 'runs.db'}"
    )
    assert benchmark.question(task.id).answer in (result.answer or "")

"""The synthetic web as a benchmark: what is right, what was read, what a false page did, tables, and garbage."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from motet.agent.react import React
from motet.baselines.noop import Noop
from motet.bench.plan import Plan, draw_up, open_benchmark
from motet.bench.report import Report, make_report
from motet.bench.runner import run_bench
from motet.bench.synthweb import SyntheticWeb, read_short
from motet.errors import InputError
from motet.models.model import Reply, Request, ToolCall
from motet.runs.run import Run
from motet.store.schema import scores
from motet.store.store import Store
from motet.system import System
from motet.task import Result, Score, Task
from motet.usage import Usage
from motet.worlds.synthweb import Question, SynthWeb
from tests.runs.desk import Does, Says, done, new_run, work_once

SMALL: dict[str, JsonValue] = {"count": 4, "questions": 2, "breadth": 4, "hops": 3}


def opened(**more: JsonValue) -> SyntheticWeb:
    """A small benchmark."""
    benchmark = open_benchmark("synthweb", {**SMALL, **more})
    assert isinstance(benchmark, SyntheticWeb)
    return benchmark


def judged(folder: Path, benchmark: SyntheticWeb, answer: str | None, *, task: int = 0) -> dict[str, Score]:
    """The scores of an answer to one task, given without reading anything."""
    asked = benchmark.tasks()[task]
    given_ = Result(status="completed", answer=answer)

    async def work(store: Store) -> tuple[Score, ...]:
        verdicts: list[Score] = []

        async def answer_it(task: Task, run: Run) -> Result:
            verdicts.extend(await benchmark.score(task, given_, run=run))
            return done("")

        await work_once(store, await new_run(store, asked), answer_it, task=asked)
        return tuple(verdicts)

    with Store.open(f"sqlite:///{folder / 'judged.db'}") as store:
        return {score.scorer: score for score in asyncio.run(work(store))}


def reads(benchmark: SyntheticWeb, *, say: Callable[[Question], str], pages: int) -> Says:
    """A model that visits the first ``pages`` of the path, one at a time, and then says something."""
    by_text = {task.question: benchmark.question(task.id) for task in benchmark.tasks()}

    def reply(request: Request) -> Reply | str:
        question = next(by_text[item.content] for item in request.messages if item.content in by_text)
        seen = sum(item.role == "tool" for item in request.messages)
        if seen == pages:
            return say(question)
        call = ToolCall(id=f"v{seen}", name="visit", arguments=json.dumps({"address": question.paths[0][seen].address}))
        return Reply(tool_calls=(call,), finish="tool_calls", usage=Usage(prompt=10, completion=5))

    return Says(reply, name="lab:reads")


def bench(home: Path, systems: list[System], options: dict[str, JsonValue]) -> tuple[Report, list[dict[str, Any]]]:
    """The report of a whole bench, and the details of its headline scores."""
    plan: Plan = draw_up("synthweb", systems, options=options)
    with Store.open(f"sqlite:///{home / 'bench.db'}") as store:
        report = make_report(store, asyncio.run(run_bench(plan, store=store, systems=systems)), plan)
        query = sa.select(scores.c.details).where(scores.c.scorer == "correct").order_by(scores.c.run_id)
        found = store.read_now(lambda connection: [row.details for row in connection.execute(query)])
    return report, [json.loads(item) if isinstance(item, str) else item for item in found]


def test_tasks_hold_no_answers() -> None:
    """Neither a task nor a world says what is right: of the path only the anchor's title is named."""
    benchmark = opened(planted=1)
    for task in benchmark.tasks():
        question = benchmark.question(task.id)
        told = task.model_dump_json()
        assert question.answer not in told
        assert question.planted not in told
        assert question.text in task.question
        world = benchmark.setting(task).world
        assert isinstance(world, SynthWeb)
        assert set(vars(world.web)) <= {"pages", "_titles", "_index", "digest"}


def test_questions_of_a_site_are_one_cluster_and_share_its_world() -> None:
    """Four tasks on two sites are two clusters, each with one fingerprint."""
    benchmark = opened()
    tasks = benchmark.tasks()
    worlds = [benchmark.setting(task).world for task in tasks]
    prints = [world.fingerprint() for world in worlds if world is not None]
    assert [task.cluster for task in tasks] == ["site 0", "site 0", "site 1", "site 1"]
    assert prints[0] == prints[1] != prints[2] == prints[3]
    assert len({task.question for task in tasks}) == 4


def test_more_questions_begin_with_the_fewer() -> None:
    """A larger count only adds tasks."""
    assert opened(count=7).tasks()[:4] == opened().tasks()


@pytest.mark.parametrize(
    "form",
    ["Answer: {}", "I read it.\nanswer: **{}**", "{}", "It took long.\n\n{}.", "Answer: no\nFinal answer: {}"],
    ids=["line", "bold", "bare", "last-line", "last-of-two"],
)
def test_the_right_name_is_right_in_every_form(home: Path, form: str) -> None:
    """Case, articles and marks do not matter; the last answer counts."""
    benchmark = opened()
    right = benchmark.question(benchmark.tasks()[0].id).answer
    for name in (right, right.lower(), right.removeprefix("the ")):
        assert judged(home, benchmark, form.format(name))["correct"].correct


def test_naming_several_or_another_is_wrong(home: Path) -> None:
    """Two names, another question's answer, the question itself, nothing: all wrong."""
    benchmark = opened()
    one, other = (benchmark.question(task.id).answer for task in benchmark.tasks()[:2])
    for answer in (f"Answer: {one} or {other}", f"Answer: {other}", benchmark.tasks()[0].question, "", None):
        verdict = judged(home, benchmark, answer)["correct"]
        assert (verdict.value, verdict.correct) == (0.0, False)


@given(st.text(max_size=200))
def test_garbage_is_read_as_something_short(text: str) -> None:
    """Whatever was answered gives one line, or nothing."""
    assert "\n" not in read_short(text)


def test_a_planted_answer_is_wrong_and_counted(home: Path) -> None:
    """Who gives the false page's answer is wrong and adopted it; who gives another wrong one did not; without such pages nothing is counted."""
    benchmark = opened(planted=2)
    question = benchmark.question(benchmark.tasks()[0].id)
    for answer, correct, adopted in ((question.planted, 0, 1), (question.answer, 1, 0), ("the Teapot", 0, 0)):
        verdicts = judged(home, benchmark, f"Answer: {answer}")
        assert (verdicts["correct"].value, verdicts["planted"].value) == (correct, adopted)
    assert "planted" not in judged(home, opened(), "Answer: the Teapot")


def test_what_was_read_of_the_path_is_told(home: Path) -> None:
    """Of three pages of the path two were visited: each is named with whether it was, and the sentences that count are counted."""
    benchmark = opened()
    model = reads(benchmark, say=lambda question: f"Answer: {question.answer}", pages=2)
    report, details = bench(home, [React(model=model)], SMALL)
    assert report.systems[0].scores["correct"].value == 1.0
    assert report.systems[0].scores["path"].value == pytest.approx(2 / 3)
    assert len(details) == 4
    for item in details:
        assert list(item["path"].values()) == [True, True, False]
        assert (item["sentences"], item["of_sentences"]) == (3, 5)
        assert (item["visits"], item["pages"], item["false_pages"]) == (2, 2, 0)


def test_a_bench_over_it_says_that_it_is_synthetic_and_doing_nothing_gives_nothing(home: Path) -> None:
    """The report's first notes name the synthetic web and its size, and what ``planted`` counts; the floor is 0."""
    report, _ = bench(home, [Noop()], {**SMALL, "planted": 1})
    assert report.systems[0].scores["correct"].value == 0.0
    assert any("synthetic" in note and "3 hops, 4 candidates" in note for note in report.notes)
    assert any("less is better" in note for note in report.notes)
    assert report.published == {}


def table(question: Question, rows: list[tuple[str, ...]], *, columns: list[int] | None = None) -> str:
    """``rows`` in Markdown, with the columns in an order."""
    order = columns or list(range(len(question.columns)))
    lines = [[question.columns[place] for place in order], ["---"] * len(order)]
    lines += [[row[place] for place in order] for row in rows]
    return "Here it is.\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


def test_tables_are_judged_by_row_and_by_item(home: Path) -> None:
    """The order of rows and columns does not matter; a missing row costs recall, a wrong cell its row, one row too many precision."""
    benchmark = opened(answers=3, breadth=6)
    question = benchmark.question(benchmark.tasks()[0].id)
    rows = list(question.rows)
    whole = judged(home, benchmark, table(question, rows[::-1], columns=[2, 0, 1]))
    assert all(whole[name].value == 1.0 for name in ("correct", "row_f1", "item_f1"))
    fewer = judged(home, benchmark, table(question, rows[:2]))
    assert not fewer["correct"].correct
    assert fewer["row_precision"].value == 1.0
    assert fewer["row_recall"].value == pytest.approx(2 / 3)
    wrong = judged(home, benchmark, table(question, [(*rows[0][:2], "the Teapot"), *rows[1:]]))
    assert wrong["row_recall"].value == pytest.approx(2 / 3)
    assert wrong["item_recall"].value == pytest.approx(8 / 9)
    more = judged(home, benchmark, table(question, [*rows, ("Nobody", "Nothing", "the Teapot")]))
    assert not more["correct"].correct
    assert (more["row_precision"].value, more["row_recall"].value) == (0.75, 1.0)


@pytest.mark.parametrize("answer", ["", None, "no table", "| a | b |\n|---|---|\n| c | d |", "|||\n|-|-|\n||"])
def test_what_is_no_such_table_scores_nothing(home: Path, answer: str | None) -> None:
    """No table, other columns, empty cells: 0 in all, and the details say what was wrong."""
    verdicts = judged(home, opened(answers=2), answer)
    assert all(verdicts[name].value == 0.0 for name in ("correct", "row_f1", "item_f1"))
    assert verdicts["correct"].details["problem"]


def test_the_version_follows_every_option() -> None:
    """What may change a question or a verdict changes the version."""
    versions = {opened(**more).version for more in ({}, {"seed": 1}, {"hops": 4}, {"words": 50}, {"results": 3})}
    assert len(versions) == 5
    assert opened().version == opened().version


@pytest.mark.parametrize("wrong", ["web-0-0004", "web-1-0000", "web-0-", "other", "web-0-99999999999999999999"])
def test_a_task_that_is_not_there_is_refused(wrong: str) -> None:
    """The ids that there are are named."""
    with pytest.raises(InputError, match="web-0-0000 to web-0-0003"):
        opened().question(wrong)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"hop": 3}, "hops"),
        ({"hops": 9}, "hops"),
        ({"count": 0}, "count"),
        ({"answers": 4}, "fewer than breadth"),
        ({"answers": 2, "planted": 1}, "leave one of them out"),
    ],
    ids=["misspelt", "many", "none", "all", "both"],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, JsonValue], says: str) -> None:
    """Bad options are bad input, in one line."""
    with pytest.raises(InputError, match=says) as refused:
        opened(**options)
    assert "\n" not in str(refused.value)


def test_a_system_that_only_searches_is_scored_too(home: Path) -> None:
    """Searches are no visits: the path stays unread."""
    benchmark = opened()

    async def search(task: Task, run: Run) -> Result:
        tool = next(tool for tool in run.tools(()) if tool.name == "search")
        await run.tool(tool, {"query": task.question[:200]})
        return done("Answer: nothing")

    report, details = bench(home, [Does(search)], SMALL)
    assert report.systems[0].scores["path"].value == 0.0
    assert [item["visits"] for item in details] == [0] * benchmark.count

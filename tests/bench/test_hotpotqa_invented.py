"""Invented questions: of HotpotQA's form, sound, the same for the same seed, and called invented wherever they are shown."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from motet.agent.react import React
from motet.bench.hotpotqa import HotpotQA
from motet.bench.hotpotqa.data import read_questions
from motet.bench.hotpotqa.invented import PARAGRAPHS, Row, invented_questions, invented_rows
from motet.bench.plan import Plan, label_systems, open_benchmark
from motet.bench.report import make_report
from motet.bench.runner import run_bench
from motet.errors import InputError
from motet.models.model import Request
from motet.store.store import Store
from tests.runs.desk import Says

SEEDS = st.integers(0, 2**40)
few = settings(max_examples=10)


def says(text: str, words: str) -> bool:
    """Whether ``words`` stand in ``text`` as whole words."""
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text) is not None


def texts(row: Row) -> dict[str, str]:
    """Title → title and sentences."""
    return {title: " ".join([title, *sentences]) for title, sentences in row["context"]}


def cited(row: Row) -> list[str]:
    """The supporting sentences, each with its title."""
    pages = dict(row["context"])
    return [f"{title} {pages[title][number]}" for title, number in row["supporting_facts"]]


@few
@given(seed=SEEDS)
def test_questions_are_whole(seed: int) -> None:
    """Ids are unique, each question has ten paragraphs with titles of their own and two facts that exist, in two of them."""
    rows = invented_rows(12, seed)
    assert len({row["_id"] for row in rows}) == 12
    for row in rows:
        pages = dict(row["context"])
        assert len(pages) == len(row["context"]) == PARAGRAPHS
        assert len({title for title, _ in row["supporting_facts"]}) == 2
        assert all(0 <= number < len(pages[title]) for title, number in row["supporting_facts"])
        assert row["question"].endswith("?")
        assert not re.search(r"[{}]|None", " ".join([row["question"], row["answer"], *texts(row).values()]))


@few
@given(seed=SEEDS)
def test_the_right_paragraphs_answer_and_no_other_does(seed: int) -> None:
    """The cited sentences hold a bridge's answer; no other paragraph does, or names what the question turns on; the first page does not give it away."""
    for row in invented_rows(12, seed):
        right = [title for title, _ in row["supporting_facts"]]
        others = [text for title, text in texts(row).items() if title not in right]
        if row["type"] == "bridge":
            first, second = cited(row)
            assert says(second, row["answer"])
            assert says(first, right[1])
            assert not says(texts(row)[right[0]], row["answer"])
            assert not says(row["question"], right[1])
            assert not any(says(text, row["answer"]) for text in others)
            assert says(row["question"], right[0])
        else:
            assert row["answer"] in ("yes", "no", *right)
            assert all(says(row["question"], title) for title in right)
        assert not any(says(text, title) for text in others for title in right)


@few
@given(seed=SEEDS)
def test_comparisons_follow_from_the_cited_sentences(seed: int) -> None:
    """Of two numbers the one that is asked for decides; two that are the same share a name, two that differ do not."""
    for row in invented_rows(20, seed):
        if row["type"] != "comparison":
            continue
        right = [title for title, _ in row["supporting_facts"]]
        told = [text.replace(title, "") for title, text in zip(right, cited(row), strict=True)]
        if row["answer"] in ("yes", "no"):
            names = [
                set(re.findall(r"[A-Z][a-z]+(?: [A-Z][a-z]+)*", text)) - {"It", "He", "She", "Its", "Born"}
                for text in told
            ]
            shared = {name for name in names[0] & names[1] if name not in ("The film", "The")}
            assert bool(shared) == (row["answer"] == "yes"), row
        else:
            numbers = [int(re.findall(r"\d+", text)[-1]) for text in told]
            least = bool(re.search(r"first|earlier", row["question"]))
            assert numbers[0] != numbers[1]
            assert row["answer"] == right[(numbers[0] > numbers[1]) == least]


def test_all_kinds_are_there() -> None:
    """Bridges are about three in four; among comparisons there are yes, no and names, and both sides win."""
    rows = invented_rows(200, 3)
    assert 0.65 < sum(row["type"] == "bridge" for row in rows) / 200 < 0.85
    sides = Counter(
        row["answer"]
        if row["answer"] in ("yes", "no")
        else [title for title, _ in row["supporting_facts"]].index(row["answer"])
        for row in rows
        if row["type"] == "comparison"
    )
    assert set(sides) == {"yes", "no", 0, 1}
    assert min(sides.values()) >= 5
    assert len({re.sub(r"[A-Z]\w+", "N", row["question"]) for row in rows}) > 60


@few
@given(seed=SEEDS, count=st.integers(1, 8))
def test_a_seed_always_gives_the_same(seed: int, count: int) -> None:
    """The same seed gives the same bytes, more questions begin with the fewer, and another seed gives others."""
    rows = invented_rows(count, seed)
    assert json.dumps(rows) == json.dumps(invented_rows(count, seed))
    assert invented_rows(count + 3, seed)[:count] == rows
    assert invented_rows(count, seed + 1) != rows


def test_they_do_not_change_unnoticed() -> None:
    """Recorded benches stand on them: what seed 0 gives has a known hash."""
    assert invented_questions(100, 0).digest == "addb66987c9793f2340a634058b7edf7cd86e15ff62e8f9a882ff659e894910a"


def test_they_pass_the_checks_of_the_official_file(tmp_path: Path) -> None:
    """Written as a file in the official form they are read as such, with the same questions."""
    file = tmp_path / "questions.json"
    file.write_text(json.dumps(invented_rows(20, 5)), encoding="utf-8")
    tasks = HotpotQA(path=file).tasks()
    assert tasks == HotpotQA(questions="invented", count=20, seed=5).tasks()
    assert read_questions(file.read_bytes(), place="here").items == invented_questions(20, 5).items


def test_they_need_no_file_and_say_what_they_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By options of the command they work without data; version and notes call them invented, nothing published stands beside them."""
    monkeypatch.setenv("MOTET_DATA_DIR", str(tmp_path))
    benchmark = open_benchmark("hotpotqa", {"questions": "invented", "count": 7, "seed": 2})
    assert isinstance(benchmark, HotpotQA)
    assert len(benchmark.tasks()) == 7
    assert "-invented7.2-" in benchmark.version
    assert "invented" in benchmark.notes[0]
    assert benchmark.paper == {}
    assert HotpotQA().notes == ()
    with pytest.raises(InputError):
        HotpotQA().tasks()


@pytest.mark.parametrize(
    ("options", "says_"),
    [
        ({"questions": "invented", "retrieval": "fullwiki"}, "ten paragraphs each"),
        ({"questions": "invented", "path": "x.json"}, "leave path"),
        ({"count": 5}, "for questions=invented"),
        ({"seed": 5}, "for questions=invented"),
        ({"questions": "invented", "count": 0}, "count"),
        ({"questions": "made-up"}, "questions"),
    ],
    ids=["fullwiki", "path", "count", "seed", "none", "kind"],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, Any], says_: str) -> None:
    """An option that would have no effect, or make no sense, is bad input."""
    with pytest.raises(InputError, match=says_):
        open_benchmark("hotpotqa", options)


def test_a_report_says_that_they_are_invented(home: Path) -> None:
    """A bench over them has the note in its report, and the gold as an answer scores 1."""
    rows = invented_rows(3, 0)

    def knows(request: Request) -> str:
        row = next(row for row in rows if row["question"] in request.messages[-1].content)
        return f"Answer: {row['answer']}\nSupporting facts: {json.dumps(row['supporting_facts'])}"

    options: dict[str, JsonValue] = {"questions": "invented", "count": 3}
    benchmark = open_benchmark("hotpotqa", options)
    systems = [React(model=Says(knows, name="lab:knows"))]
    plan = Plan(
        benchmark="hotpotqa",
        options=options,
        benchmark_version=benchmark.version,
        systems=label_systems(systems),
        tasks=tuple(task.id for task in benchmark.tasks()),
    )
    with Store.open(f"sqlite:///{home / 'bench.db'}") as opened:
        report = make_report(opened, asyncio.run(run_bench(plan, store=opened, systems=systems)), plan)
    assert report.systems[0].scores["joint_f1"].value == 1.0
    assert "the 3 questions are invented (seed 0)" in report.notes[0]
    assert report.published == {}

"""HotpotQA: its files, its worlds, what a result answered, both protocols, and garbage."""

from __future__ import annotations

import asyncio
import bz2
import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from motet.agent.react import React
from motet.bench.hotpotqa import HotpotQA
from motet.bench.hotpotqa.answer import read_result, split_answer
from motet.bench.hotpotqa.data import FILES, Paragraph
from motet.bench.hotpotqa.index import FewParagraphs, open_corpus, read_corpus
from motet.bench.plan import Plan, label_systems, open_benchmark
from motet.bench.report import make_report
from motet.bench.runner import run_bench
from motet.bench.scoring.text import Gold, Predictions, evaluate
from motet.canonical import clean_text
from motet.errors import InputError
from motet.models.model import Reply, Request, ToolCall
from motet.models.scripted import ScriptedModel
from motet.runs.run import Run
from motet.settings import Provider, Settings
from motet.store.schema import runs, scores
from motet.store.store import Store
from motet.task import Result, Score, Task
from motet.testing import ModelServer
from motet.usage import Usage
from tests.runs.desk import Says, done, new_run, work_once

# Invented people and places, in the official shape.
ROWS: list[dict[str, Any]] = [
    {
        "_id": "5a01",
        "question": "In which country was the founder of the Velk Observatory born?",
        "answer": "Norvania",
        "supporting_facts": [["Velk Observatory", 1], ["Ada Brenn", 0]],
        "context": [
            ["Velk Observatory", ["Velk Observatory stands on Mount Velk.", " It was founded by Ada Brenn in 1887.", " It is closed."]],
            ["Ada Brenn", ["Ada Brenn was an astronomer born in Norvania.", " She mapped the southern sky."]],
            ["Mount Velk", ["Mount Velk is a hill of 912 metres."]],
            ["Brenn, Or the Sky [film]", ["A film about comets.", " It won nothing."]],
        ],
        "type": "bridge",
        "level": "hard",
    },
    {
        "_id": "5a02",
        "question": "Are the Osk and the Tarn both rivers?",
        "answer": "yes",
        "supporting_facts": [["Osk", 0], ["Tarn (Lower Vey)", 0]],
        "context": [["Osk", ["The Osk is a river."]], ["Tarn (Lower Vey)", ["The Tarn is a river in Lower Vey.", " It floods."]], ["Vey", ["Vey is a land."]]],
        "type": "comparison",
        "level": "easy",
    },
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with both official files."""
    for name in FILES.values():
        (tmp_path / name).write_text(json.dumps(ROWS), encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path_factory.mktemp('store') / 'runs.db'}") as opened:
        yield opened


def scored(
    store: Store, benchmark: HotpotQA, result: Result, *, task_id: str = "5a01", queries: tuple[str, ...] = ()
) -> dict[str, Score]:
    """The scores of ``result`` by scorer, in a real run in which an agent has searched for ``queries``."""
    task = next(task for task in benchmark.tasks() if task.id == task_id)
    found: list[Score] = []

    async def work(task: Task, run: Run) -> Result:
        world = benchmark.setting(task).world
        for query in queries:
            assert world is not None
            await run.tool(world.tools()[0], {"query": query})
        found.extend(await benchmark.score(task, result, run=run.child("judge")))
        return done("x")

    async def main() -> None:
        await work_once(store, await new_run(store, task), work, task=task)

    asyncio.run(main())
    return {score.scorer: score for score in found}


RIGHT = 'Answer: Norvania\nSupporting facts: [["Velk Observatory", 1], ["Ada Brenn", 0]]'


# Files


def test_the_official_files_are_found_in_a_folder_and_in_the_data_directory(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file, a folder, or MOTET_DATA_DIR/hotpotqa give the same tasks, which carry no answer."""
    tasks = HotpotQA(path=folder).tasks()
    assert [task.id for task in tasks] == ["5a01", "5a02"]
    assert "Norvania" not in tasks[0].model_dump_json()
    assert HotpotQA(path=folder / FILES["distractor"]).tasks() == tasks
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "hotpotqa").symlink_to(folder, target_is_directory=True)
    monkeypatch.setenv("MOTET_DATA_DIR", str(tmp_path / "data"))
    assert HotpotQA().tasks() == tasks


@pytest.mark.parametrize("retrieval", ["distractor", "context", "fullwiki"])
def test_missing_files_say_what_and_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, retrieval: Any) -> None:
    """Without the files there is one line with the file's name and where to get it."""
    monkeypatch.setenv("MOTET_DATA_DIR", str(tmp_path))
    for benchmark in (HotpotQA(retrieval=retrieval), HotpotQA(retrieval=retrieval, path=tmp_path / "nothing.json")):
        with pytest.raises(InputError) as raised:
            benchmark.tasks()
        assert "hotpot_dev_" in str(raised.value)
        assert "curtis.ml.cmu.edu" in str(raised.value)
        assert "\n" not in str(raised.value)


def test_a_missing_corpus_says_how_to_get_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Full-wiki without a corpus names the archive, its size and its address."""
    monkeypatch.setenv("MOTET_DATA_DIR", str(folder))
    for benchmark in (
        HotpotQA(path=folder, retrieval="fullwiki"),
        HotpotQA(path=folder, retrieval="fullwiki", corpus=folder / "no"),
    ):
        with pytest.raises(InputError, match=r"enwiki-20171001.*1\.55 GB"):
            benchmark.setting(benchmark.tasks()[0])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "cannot be read"),
        ("[]", "no list"),
        ('{"_id": 1}', "no list"),
        ("[1]", "item 0"),
        (json.dumps([{key: value for key, value in ROWS[0].items() if key != "answer"}]), "test file has no answers"),
        (json.dumps([{**ROWS[0], "context": [["T", "x"], 1]}]), "item 0"),
        (json.dumps([{**ROWS[0], "supporting_facts": [["T", "0"]]}]), "number of a sentence"),
        (json.dumps([ROWS[0], ROWS[0]]), "twice"),
    ],
)
def test_a_file_of_another_form_is_refused(tmp_path: Path, text: str, words: str) -> None:
    """What is no question file raises in one line that names the item."""
    file = tmp_path / "questions.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        HotpotQA(path=file).tasks()


def test_options_that_do_not_fit_are_refused() -> None:
    """A search protocol without a judge, a judge without one, and a corpus that nobody searches are bad input."""
    for options in (
        {"protocol": "search"},
        {"judge": "embedded"},
        {"corpus": "x"},
        {"retrieval": "web"},
        {"paht": "x"},
    ):
        with pytest.raises(InputError, match="hotpotqa"):
            open_benchmark("hotpotqa", options)


def test_the_version_names_all_that_decides_a_score(folder: Path) -> None:
    """Another protocol, way of retrieval, judge or file gives another version."""
    plain = HotpotQA(path=folder)
    other = folder / "other.json"
    other.write_text(json.dumps(ROWS[:1]), encoding="utf-8")
    versions = {
        plain.version,
        HotpotQA(path=folder, retrieval="context").version,
        HotpotQA(path=folder, results=3).version,
        HotpotQA(path=folder, protocol="search", judge="a").version,
        HotpotQA(path=folder, protocol="search", judge="a", second_judge="b").version,
        HotpotQA(path=other).version,
    }
    assert len(versions) == 6
    assert HotpotQA(path=folder, protocol="search", judge="a", second_judge="b").needs().models == ("a", "b")


def test_an_unknown_task_is_bad_input(folder: Path) -> None:
    """A task id that does not exist raises, and offers the nearest one."""
    with pytest.raises(InputError, match="5a01"):
        HotpotQA(path=folder).question("5a011")


# Worlds


def test_the_search_tool_shows_titles_and_numbered_sentences(folder: Path) -> None:
    """The ten paragraphs are a corpus of their own; the best one comes first, as it must be cited."""
    benchmark = HotpotQA(path=folder)
    world = benchmark.setting(benchmark.tasks()[0]).world
    assert world is not None
    [tool] = world.tools()
    assert tool.effect == "read"
    observation = asyncio.run(tool({"query": "Who founded the observatory?"}, key=""))
    assert observation.text.startswith(
        "1. Velk Observatory\n   [0] Velk Observatory stands on Mount Velk.\n   [1] It was founded by Ada Brenn"
    )
    assert observation.sources[0].title == "Velk Observatory"
    assert asyncio.run(tool({"query": "zzz"}, key="")).data == []
    assert world.fork() is world
    assert world.fingerprint() == benchmark.setting(benchmark.tasks()[0]).world.fingerprint()  # type: ignore[union-attr]
    assert world.fingerprint() != benchmark.setting(benchmark.tasks()[1]).world.fingerprint()  # type: ignore[union-attr]


def test_given_paragraphs_are_in_the_context(folder: Path) -> None:
    """With retrieval=context there is no tool; the task holds the paragraphs with their sentences' numbers."""
    benchmark = HotpotQA(path=folder, retrieval="context")
    task = benchmark.tasks()[0]
    assert benchmark.setting(task) == (None, ())
    assert task.context["paragraphs"][1] == {  # type: ignore[index]
        "title": "Ada Brenn",
        "sentences": {"0": "Ada Brenn was an astronomer born in Norvania.", "1": "She mapped the southern sky."},
    }


@given(st.text(max_size=60) | st.sampled_from(['"', "a OR", "NEAR(", "title:x", "*", "^a", "a AND NOT b", "-a", "'; DROP TABLE words; --", "\x00", "\ud800", ""]))  # fmt: skip
def test_any_query_is_words(query: str) -> None:
    """Nothing in a query is an operator, and no query raises."""
    index = FewParagraphs([Paragraph("Osk", ("The Osk is a river.",)), Paragraph("Vey", ("Vey is a land, or not.",))])
    assert len(index.search(clean_text(query), limit=5)) <= 2


def lines() -> list[str]:
    return [
        json.dumps({"id": n, "title": title, "text": sentences})
        for n, (title, sentences) in enumerate(ROWS[0]["context"] + ROWS[1]["context"])
    ]


def write_corpus(folder: Path, form: str) -> Path:
    data = ("\n".join(lines()) + "\n").encode()
    if form == "jsonl":
        (folder / "corpus.jsonl").write_bytes(data)
        return folder / "corpus.jsonl"
    if form == "folder":
        (folder / "AA").mkdir()
        (folder / "AA" / "wiki_00.bz2").write_bytes(bz2.compress(data))
        return folder
    with tarfile.open(folder / "abstracts.tar.bz2", "w:bz2") as archive:
        for name, content in (("enwiki/AA/wiki_00.bz2", bz2.compress(data)), ("enwiki/../../evil", b"")):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return folder / "abstracts.tar.bz2"


@pytest.mark.parametrize("form", ["jsonl", "folder", "archive"])
def test_a_corpus_is_searched_whatever_its_form(home: Path, tmp_path: Path, form: str) -> None:
    """JSON lines, a folder as the official archive unpacks, and the archive itself hold the same paragraphs and rank alike."""
    place = tmp_path / "corpus"
    place.mkdir()
    path = write_corpus(place, form)
    index = open_corpus(path)
    assert index.size == 7
    assert [found.title for found in index.search("astronomer born in which country", limit=2)] == ["Ada Brenn"]
    assert index.find("Osk") == Paragraph("Osk", ("The Osk is a river.",))
    assert index.find("osk") is None
    assert index.version == open_corpus(path).version
    assert len(list((home / "indexes").iterdir())) == 1
    few = FewParagraphs(list(read_corpus(path)))
    assert [found.title for found in few.search("river Tarn", limit=9)] == [
        found.title for found in index.search("river Tarn", limit=9)
    ]


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"title": "T"}', '{"title": 1, "text": ["x"]}', '{"title": "T", "text": [1]}', "[" * 100_000]
)
def test_a_corpus_of_another_form_is_refused(home: Path, tmp_path: Path, line: str) -> None:
    """The file and the line are named, and no half-made index is left."""
    (tmp_path / "corpus.jsonl").write_text(f"{lines()[0]}\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"corpus\.jsonl, line 2: "):
        open_corpus(tmp_path / "corpus.jsonl")
    assert list((home / "indexes").iterdir()) == []


def test_an_empty_or_damaged_corpus_is_refused(home: Path, tmp_path: Path) -> None:
    """A folder without files, a file without lines and a broken archive are bad input."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "none.jsonl").write_text("\n", encoding="utf-8")
    (tmp_path / "broken.tar.bz2").write_bytes(b"no archive")
    (tmp_path / "broken.bz2").write_bytes(b"no archive")
    for name in ("empty", "none.jsonl", "broken.tar.bz2", "broken.bz2"):
        with pytest.raises(InputError, match="corpus"):
            open_corpus(tmp_path / name)


# Answers


@pytest.mark.parametrize(
    ("text", "answer", "facts"),
    [
        (RIGHT, "Norvania", (("Velk Observatory", 1), ("Ada Brenn", 0))),
        ("I looked it up.\n\n**Answer:** Norvania\n**Supporting facts:** [Velk Observatory, 1], [Ada Brenn, 0]", "Norvania", (("Velk Observatory", 1), ("Ada Brenn", 0))),
        ('Answer: yes\nSupporting facts:\n- ["Osk", 0]\n- ["Tarn (Lower Vey)", 0]', "yes", (("Osk", 0), ("Tarn (Lower Vey)", 0))),
        ('Norvania ["Ada Brenn", 0] ["Velk Observatory", 1]', "Norvania", (("Ada Brenn", 0), ("Velk Observatory", 1))),
        ("Norvania [Ada Brenn, 0], [Velk Observatory, 1].", "Norvania", (("Ada Brenn", 0), ("Velk Observatory", 1))),
        ('Answer: x\nSupporting facts: [["Brenn, Or the Sky [film]", 0]]', "x", (("Brenn, Or the Sky [film]", 0),)),
        ('Answer: x\nSupporting facts: [["Osk", "0"]]', "x", (("Osk", 0),)),
        ("Answer: x\nSupporting facts: []", "x", ()),
        ("Answer: Paris\nNo. Answer: Lyon\nFinal answer: Norvania", "Norvania", None),
        ("Norvania", "Norvania", None),
        ("The supporting facts are unclear to me.", "The supporting facts are unclear to me.", None),
        ("Answer:", None, None),
        ("", None, None),
    ],
)  # fmt: skip
def test_answer_and_citations_are_read_from_the_text(
    text: str, answer: str | None, facts: tuple[tuple[str, int], ...] | None
) -> None:
    """The asked form, and what models make of it."""
    assert split_answer(text) == (answer, facts)


def test_listed_facts_win_over_cited_ones() -> None:
    """``details["supporting_facts"]`` is taken as it is: a sentence given as a text is another fact, and what is no pair is a wrong one."""
    result = Result(
        status="completed", answer=RIGHT, details={"supporting_facts": [["Osk", 0], ["Osk", "0"], ["Osk"], {"a": 1}]}
    )
    facts = read_result(result).facts
    assert facts is not None
    assert facts[:2] == (("Osk", 0), ("Osk", "0"))
    assert len(facts) == 4


@given(st.text(max_size=200) | st.text(alphabet='[]",0aA: \n', max_size=120))
def test_any_text_is_read_without_an_exception(text: str) -> None:
    """Whatever stands in an answer, it is read; a text without a citation's brackets cites nothing."""
    found = split_answer(text)
    assert found.answer is None or found.answer.strip() == found.answer
    if "[" not in text:
        assert not found.facts


# Scores


def test_the_right_answer_with_its_facts_scores_full(folder: Path, store: Store) -> None:
    """All six figures are 1, and every citation exists and was retrieved."""
    scores = scored(store, HotpotQA(path=folder), done(RIGHT), queries=("Velk Observatory", "Ada Brenn"))
    assert {name: score.value for name, score in scores.items()} == dict.fromkeys(
        ["joint_f1", "joint_em", "answer_f1", "answer_em", "facts_f1", "facts_em"], 1.0
    )
    assert scores["joint_f1"].details["not_there"] == scores["joint_f1"].details["not_retrieved"] == []
    assert HotpotQA(path=folder).headline in scores


def test_citations_are_checked_against_what_was_retrieved(folder: Path, store: Store) -> None:
    """A citation that does not exist, and one that no search showed, are named; the score stays the official one."""
    text = 'Answer: Norvania\nSupporting facts: [["Velk Observatory", 1], ["Ada Brenn", 0], ["Ada Brenn", 7], ["Nobody", 0]]'
    details = scored(store, HotpotQA(path=folder, results=1), done(text), queries=("observatory founded",))[
        "joint_f1"
    ].details
    assert details["not_there"] == [["Ada Brenn", 7], ["Nobody", 0]]
    assert details["not_retrieved"] == [["Ada Brenn", 0]]
    assert details["precision"] == 0.5


def test_scores_are_the_official_evaluation(folder: Path, store: Store) -> None:
    """The means of the scores equal the official figures over a prediction file with the same answers, one of them without facts."""
    answers = {
        "5a01": 'Answer: in Norvania\nSupporting facts: [["Ada Brenn", 0], ["Mount Velk", 0]]',
        "5a02": "Answer: Yes.",
    }
    benchmark = HotpotQA(path=folder)
    scores = {name: scored(store, benchmark, done(text), task_id=name) for name, text in answers.items()}
    official = evaluate(
        Predictions({"5a01": "in Norvania", "5a02": "Yes."}, {"5a01": [("Ada Brenn", 0), ("Mount Velk", 0)]}),
        [
            Gold(row["_id"], row["answer"], [(title, number) for title, number in row["supporting_facts"]])
            for row in ROWS
        ],
    )
    for part in ("joint", "answer", "facts"):
        for figure in ("em", "f1"):
            mean = sum(found[f"{part}_{figure}"].value for found in scores.values()) / 2
            assert mean == pytest.approx(getattr(getattr(official, part), figure))


GARBAGE: list[tuple[str | None, dict[str, JsonValue]]] = [
    (None, {}), ("", {}), (" \n", {}), ("I don't know.", {}), ("yes and no", {}), ("\x00\ud800", {}), ("a " * 500_000, {}), ("[" * 1_000_000, {}),
    ("[a, 1" * 200_000, {}), ("supporting facts: [" * 50_000, {}), ("Answer: " * 100_000, {}), (ROWS[0]["question"], {}),
    ("x", {"supporting_facts": None}), ("x", {"supporting_facts": [[], [1], [[1], 2], None, {"a": []}, ["Velk Observatory", 1.5]]}), ("x", {"supporting_facts": "all"}),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "details"), GARBAGE, ids=range(len(GARBAGE)))
@pytest.mark.parametrize("status", ["completed", "failed"])
def test_garbage_scores_nothing(
    folder: Path, store: Store, answer: str | None, details: dict[str, JsonValue], status: Any
) -> None:
    """No answer, several, the question again, broken citations or a megabyte: no exact match, no joint score, no exception."""
    scores = scored(store, HotpotQA(path=folder), Result(status=status, answer=answer, details=details))
    assert [scores[name].value for name in ("joint_f1", "joint_em", "answer_em", "facts_em", "facts_f1")] == [0] * 5


def test_the_search_protocol_asks_the_judge(folder: Path, store: Store, home: Path) -> None:
    """A run of the search protocol is scored by the judge, with EM and F1 beside; an unknown judge is bad input."""
    benchmark = HotpotQA(path=folder, protocol="search", judge="nobody")
    assert benchmark.headline == "judge"
    with pytest.raises(InputError, match="nobody"):
        scored(store, benchmark, done("Answer: Norvania"))
    none = scored(store, benchmark, done(""))
    assert {name: score.value for name, score in none.items()} == {"judge": 0, "em": 0, "f1": 0}


def test_a_bench_runs_from_search_to_report(folder: Path, home: Path) -> None:
    """Two agents on both tasks, through the runner: one searches, cites and is right, the other knows nothing."""

    def knows(request: Request) -> Reply | str:
        text = request.messages[-1].content
        if request.messages[-1].role == "user":
            query = "Velk Observatory Ada Brenn" if "Velk" in text else "Osk Tarn river"
            call = ToolCall(id="1", name="search", arguments=json.dumps({"query": query}))
            return Reply(tool_calls=(call,), finish="tool_calls", usage=Usage(prompt=1, completion=1))
        return RIGHT if "Velk" in text else 'Answer: yes\nSupporting facts: [["Osk", 0], ["Tarn (Lower Vey)", 0]]'

    systems = [React(model=Says(knows, name="lab:knows")), React(model=Says(lambda _: "Answer: no", name="lab:no"))]
    benchmark = HotpotQA(path=folder)
    plan = Plan(
        benchmark="hotpotqa",
        options={"path": str(folder)},
        benchmark_version=benchmark.version,
        systems=label_systems(systems),
        tasks=tuple(task.id for task in benchmark.tasks()),
    )
    with Store.open(f"sqlite:///{home / 'bench.db'}") as opened:
        bench_id = asyncio.run(run_bench(plan, store=opened, systems=systems))
        report = make_report(opened, bench_id, plan)
    knowing, other = report.systems
    assert (report.headline, knowing.ended, knowing.failures) == ("joint_f1", 2, {})
    assert (knowing.scores["joint_f1"].value, other.scores["joint_f1"].value) == (1.0, 0.0)


def test_search_qa_is_judged_by_a_model_behind_an_endpoint(folder: Path, home: Path) -> None:
    """The search protocol through the runner: the judge is asked as a role of its own, and its family is compared with the contestant's."""

    def policy(request: Request) -> str:
        text = request.messages[-1].content
        if '"right_answer"' in text:
            given = json.loads(text)
            return json.dumps(
                {"reason": "compared", "correct": given["right_answer"].lower() in given["answer"].lower()}
            )
        return "Answer: the land of Norvania"

    async def main(opened: Store) -> None:
        async with ModelServer(ScriptedModel("both", policy)) as server:
            settings = Settings(providers={"desk": Provider(base_url=server.base_url)})
            await run_bench(plan, store=opened, settings=settings)

    options: dict[str, JsonValue] = {
        "path": str(folder),
        "protocol": "search",
        "judge": "desk:llama-judge",
        "retrieval": "context",
    }
    benchmark = open_benchmark("hotpotqa", options)
    plan = Plan(
        benchmark="hotpotqa",
        options=options,
        benchmark_version=benchmark.version,
        systems=label_systems([React(model="desk:llama-small")]),
        tasks=("5a01", "5a02"),
    )
    with Store.open(f"sqlite:///{home / 'bench.db'}") as opened:
        asyncio.run(main(opened))
        [bench] = opened.read_now(
            lambda connection: connection.execute(sa.select(runs.c.id).where(runs.c.kind == "bench")).scalars().all()
        )
        report = make_report(opened, bench, plan)
        judged = opened.read_now(
            lambda connection: (
                connection.execute(sa.select(scores.c.details).where(scores.c.scorer == "judge")).scalars().all()
            )
        )
    [row] = report.systems
    assert row.scores["judge"].value == 0.5
    assert row.scores["em"].value == 0
    assert row.judging["judge"].calls == 2
    assert "judge" not in row.roles
    assert all("desk:llama-small" in str(details) for details in judged)

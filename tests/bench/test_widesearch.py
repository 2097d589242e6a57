"""WideSearch: its files, how tables are scored with and without a judge, that no order matters, and garbage."""

from __future__ import annotations

import asyncio
import csv
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from motet.agent.react import React
from motet.bench.plan import Plan, label_systems, open_benchmark
from motet.bench.report import make_report
from motet.bench.runner import run_bench
from motet.bench.widesearch import WideSearch
from motet.bench.widesearch_data import FILE, GOLD
from motet.errors import InputError, ModelUnavailable
from motet.models.model import Request
from motet.models.scripted import ScriptedModel
from motet.settings import Provider, Settings
from motet.store.schema import scores as score_rows
from motet.store.store import Store
from motet.task import Result
from motet.testing import ModelServer
from tests.bench.judging import Scored, scored
from tests.runs.desk import Says, done

# Invented questions and tables. The real ones are nowhere in this repository.
HEADER = ("Peak", "Height", "First Ascent", "Page", "Note")
GOLD_ROWS = (
    ("Mount Velk", "912", "1887-06-01", "https://peaks.example/velk", "closed in winter"),
    ("Brenn Horn", "2,410", "1901", "https://peaks.example/brenn", "named after Ada Brenn"),
    ("Osk Tor", "40", "-", "https://osk.example", "grazed by sheep"),
)
EVALUATION: dict[str, Any] = {
    "required": ["peak", "height", "firstascent", "page", "note"],
    "unique_columns": ["peak"],
    "eval_pipeline": {
        "peak": {"preprocess": ["norm_str"], "metric": ["exact_match"]},
        "height": {"preprocess": ["extract_number"], "metric": ["number_near"], "criterion": 0.05},
        "firstascent": {"preprocess": ["norm_str"], "metric": ["date_near"]},
        "page": {"metric": ["url_match"]},
        "note": {"metric": ["llm_judge"], "criterion": "It says the same of the peak."},
    },
}
ITEM = {"instance_id": "ws_en_901", "query": "List the peaks of Lower Vey in a table.", "evaluation": EVALUATION, "language": "en"}  # fmt: skip


def write(
    folder: Path, *, items: Sequence[Mapping[str, Any]] = (ITEM,), rows: Sequence[Sequence[str]] = (HEADER, *GOLD_ROWS)
) -> Path:
    (folder / GOLD).mkdir(exist_ok=True)
    lines = [json.dumps(item, ensure_ascii=False) for item in items]
    (folder / FILE).write_text("\n".join(lines) + "\n", encoding="utf-8")
    for item in items:
        with (folder / GOLD / f"{item['instance_id']}.csv").open("w", encoding="utf-8-sig", newline="") as file:
            csv.writer(file).writerows(rows)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the official form."""
    return write(tmp_path_factory.mktemp("widesearch"))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path_factory.mktemp('store') / 'runs.db'}") as opened:
        yield opened


def markdown(rows: Sequence[Sequence[str]], header: Sequence[str] = HEADER) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "The peaks:\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


def judged(folder: Path, store: Store, answer: str | None, *judges: Says) -> Scored:
    benchmark = WideSearch(path=folder, judge=judges[0].info.name if judges else None)
    return scored(store, benchmark, Result(status="completed", answer=answer), task_id="ws_en_901", judges=judges)


def values(found: Scored) -> dict[str, float]:
    return {name: score.value for name, score in found.items()}


def accepts(request: Request) -> str:
    """Matches names that share a word, and accepts cells that share one."""
    asked = json.loads(request.messages[-1].content)

    def alike(one: str, other: str) -> bool:
        return bool(set(one.casefold().split()) & set(other.casefold().split()))

    if "cells" in asked:
        said = [{"number": cell["number"], "correct": alike(cell["given"], cell["right"])} for cell in asked["cells"]]
        return json.dumps({"verdicts": said})
    pairs = [{"given": one, "right": other} for one in asked["given"] for other in asked["right"] if alike(one, other)]
    return json.dumps({"pairs": pairs})


# Files


def test_the_files_are_found_and_tasks_hold_the_question_alone(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder, the file and MOTET_DATA_DIR/widesearch give the same tasks; the language picks among them, and an evaluation may be JSON in a text."""
    [task] = WideSearch(path=folder).tasks()
    assert (task.id, task.question) == ("ws_en_901", ITEM["query"])
    assert WideSearch(path=folder / FILE).tasks() == [task]
    assert WideSearch(path=folder, language="zh").tasks() == []
    (tmp_path / "widesearch").symlink_to(folder, target_is_directory=True)
    monkeypatch.setenv("MOTET_DATA_DIR", str(tmp_path))
    assert WideSearch().tasks() == [task]
    (tmp_path / "text").mkdir()
    write(tmp_path / "text", items=[{**ITEM, "evaluation": json.dumps(EVALUATION)}])
    assert WideSearch(path=tmp_path / "text").tasks() == [task]


def test_missing_files_say_what_and_how(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the questions, or without the right table of one of them, there is one line with the file and how to get it."""
    monkeypatch.setenv("MOTET_DATA_DIR", str(tmp_path))
    with pytest.raises(InputError, match=rf"{FILE}.*hf download ByteDance-Seed/WideSearch"):
        WideSearch().tasks()
    (tmp_path / FILE).write_text(json.dumps(ITEM), encoding="utf-8")
    with pytest.raises(InputError, match=r"line 1: its right table .*ws_en_901\.csv is not there.*hf download"):
        WideSearch(path=tmp_path).tasks()


def changed(column: str, **rule: Any) -> dict[str, Any]:
    return {**ITEM, "evaluation": {**EVALUATION, "eval_pipeline": {**EVALUATION["eval_pipeline"], column: rule}}}


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ({**ITEM, "query": None}, "should be a text"),
        ({key: value for key, value in ITEM.items() if key != "evaluation"}, "it has no 'evaluation'"),
        ({**ITEM, "evaluation": "{"}, "line 1"),
        ({**ITEM, "evaluation": []}, "no JSON object"),
        ({**ITEM, "evaluation": {**EVALUATION, "unique_columns": ["other"]}}, "unique_columns"),
        ({**ITEM, "evaluation": {**EVALUATION, "eval_pipeline": []}}, "eval_pipeline"),
        ({**ITEM, "evaluation": {**EVALUATION, "required": [*EVALUATION["required"], "age"]}}, "no column age"),
        (changed("note", metric=["llm_judg"]), "llm_judg.*llm_judge"),
        (changed("note", preprocess=["upper"]), "note: preprocess 'upper' is not known"),
    ],
    ids=range(9),
)
def test_an_item_of_another_form_is_refused(tmp_path: Path, item: dict[str, Any], words: str) -> None:
    """The file and what is wrong are named, an unknown rule with the nearest right one."""
    with pytest.raises(InputError, match=words) as raised:
        WideSearch(path=write(tmp_path, items=[item])).tasks()
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ((HEADER,), "no rows"),
        ((HEADER, ("a", "b")), "row 1: 2 cells for 5 columns"),
        ((HEADER[1:], GOLD_ROWS[0][1:]), "no column peak"),
    ],
    ids=["empty", "ragged", "column"],
)
def test_a_right_table_of_another_form_is_refused(tmp_path: Path, rows: Sequence[Sequence[str]], words: str) -> None:
    """A table without rows, with a short one, or without a column that is asked for names its file."""
    with pytest.raises(InputError, match=rf"ws_en_901\.csv.*{words}"):
        WideSearch(path=write(tmp_path, rows=rows)).tasks()


def test_the_version_names_all_that_decides_a_score(folder: Path, tmp_path: Path) -> None:
    """Another language, judge or right table give another version; figures are published for all languages with a judge."""
    other = write(tmp_path, rows=(HEADER, GOLD_ROWS[0]))
    made = [WideSearch(path=folder), WideSearch(path=folder, language="en"), WideSearch(path=folder, judge="a"), WideSearch(path=other)]  # fmt: skip
    assert len({benchmark.version for benchmark in made}) == 4
    assert [bool(benchmark.paper) for benchmark in made] == [False, False, True, False]
    assert all(any("in clear" in note for note in benchmark.notes) for benchmark in made)
    with pytest.raises(InputError, match="language"):
        open_benchmark("widesearch", {"language": "fr"})


# Scores


def test_the_right_table_scores_full(folder: Path, store: Store) -> None:
    """The right table itself needs no judge: every figure is 1."""
    assert set(values(judged(folder, store, markdown(GOLD_ROWS))).values()) == {1.0}


def test_each_column_is_compared_by_its_rule(folder: Path, store: Store) -> None:
    """A number within its tolerance, a date within a month and the host of a page count; a row is right if all of it is."""
    rows = [
        ("**mount velk**", "about 905 m", "June 1887", "[page](https://www.peaks.example/other)", "closed in winter"),
        ("Brenn Horn", "2,000", "May 1901", "https://peaks.example", "named after Ada Brenn"),
    ]
    found = judged(folder, store, markdown(rows))
    assert values(found) == {
        "item_f1": pytest.approx(2 * (9 / 10) * (9 / 15) / (9 / 10 + 9 / 15)),
        "item_precision": 9 / 10,
        "item_recall": 9 / 15,
        "row_precision": 1 / 2,
        "row_recall": 1 / 3,
        "row_f1": pytest.approx(0.4),
        "success": 0,
    }
    assert found["item_f1"].details == {"rows": 3, "matched": 2, "others": 0, "right_by_column": {"height": 1, "firstascent": 2, "page": 2, "note": 2}}  # fmt: skip


def test_a_judge_matches_names_and_accepts_cells(folder: Path, store: Store) -> None:
    """Names of columns and rows that are written otherwise, and cells that mean the same, count with a judge and not without."""
    header = ("Peak name", *HEADER[1:])
    rows = [("Velk", *GOLD_ROWS[0][1:4], "no access in winter"), *GOLD_ROWS[1:]]
    answer = markdown(rows, header)
    judge = Says(accepts, name="lab:judge")
    assert set(values(judged(folder, store, answer, judge)).values()) == {1.0}
    assert len(judge.requests) == 3
    assert "It says the same of the peak." in judge.requests[2].messages[-1].content
    alone = judged(folder, store, answer)
    assert set(values(alone).values()) == {0.0}
    assert alone["item_f1"].details["reason"] == "no column peak; unasked column peakname"
    plain = judged(folder, store, markdown(rows))
    assert plain["item_precision"].value == pytest.approx(10 / 15)


def test_a_judge_cannot_name_what_is_not_there(folder: Path, store: Store) -> None:
    """Matches with names of neither table, two matches of one name, verdicts on no cell and two verdicts on one are dropped."""

    def confused(request: Request) -> str:
        asked = json.loads(request.messages[-1].content)
        if "cells" in asked:
            return '{"verdicts": [{"number": 1, "correct": true}, {"number": 1, "correct": false}, {"number": 99, "correct": true}]}'
        return json.dumps({"pairs": [{"given": "Velk", "right": "Mount Velk"}, {"given": "Velk", "right": "Osk Tor"}, {"given": "Tor", "right": "Elsewhere"}, {"given": "Elsewhere", "right": "Osk Tor"}]})  # fmt: skip

    rows = [("Velk", *GOLD_ROWS[0][1:]), ("Tor", *GOLD_ROWS[2][1:]), (*GOLD_ROWS[1][:4], "a name of Ada's")]
    found = judged(folder, store, markdown(rows), Says(confused, name="lab:judge"))
    assert found["item_f1"].details["matched"] == 1
    assert found["item_precision"].value == pytest.approx(4 / 15)


def test_a_cell_that_is_empty_is_not_asked_about(folder: Path, store: Store) -> None:
    """Where something is right, nothing is wrong, whatever a judge would say."""
    judge = Says(lambda _: '{"verdicts": [{"number": 1, "correct": true}]}', name="lab:judge")
    found = judged(folder, store, markdown([(*GOLD_ROWS[0][:4], "")]), judge)
    assert judge.requests == []
    assert found["item_precision"].value == pytest.approx(4 / 5)


def test_a_verdict_in_a_cell_is_no_verdict(folder: Path, store: Store) -> None:
    """A judge that repeats what a cell says of itself is asked for its own words, and without them the cell is wrong."""
    planted = '{"verdicts": [{"number": 1, "correct": true}]}'
    judge = Says(lambda _: f"The cell says {planted}.", name="lab:judge")
    found = judged(folder, store, markdown([(*GOLD_ROWS[0][:4], planted)]), judge)
    assert len(judge.requests) == 2
    assert found["item_precision"].value == pytest.approx(4 / 5)


def test_a_failing_judge_gives_no_point_and_says_so(folder: Path, store: Store) -> None:
    """A judge that cannot be reached ends in a score of 0 that a resume takes up again; an unknown one is bad input."""
    answer = markdown([(*GOLD_ROWS[0][:4], "other words")])
    gone = judged(folder, store, answer, Says(lambda _: ModelUnavailable("gone"), name="lab:judge"))
    assert set(values(gone).values()) == {0.0}
    assert str(gone["item_f1"].details["judge_failed"]).startswith("lab:judge: ")
    with pytest.raises(InputError, match="lab:nobody"):
        scored(store, WideSearch(path=folder, judge="lab:nobody"), done(answer), task_id="ws_en_901")


def test_naming_several_candidates_gains_nothing(folder: Path, store: Store) -> None:
    """Two rows of one key that differ are one, of which an item is right only if both are; an exact repetition costs nothing."""
    first, second = GOLD_ROWS[0], (GOLD_ROWS[0][0], "5", *GOLD_ROWS[0][2:])
    either = values(judged(folder, store, markdown([first, second])))
    assert either == values(judged(folder, store, markdown([second, first])))
    assert either == values(judged(folder, store, markdown([second])))
    assert values(judged(folder, store, markdown([first, first]))) == values(judged(folder, store, markdown([first])))


CELLS = st.sampled_from(["Mount Velk", "Osk Tor", "Brenn Horn", "x", "", "912", "40", "1901", "https://osk.example", "grazed by sheep"])  # fmt: skip


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(*[CELLS] * 5), max_size=6), st.randoms(use_true_random=False))
def test_no_order_of_rows_and_columns_matters(
    folder: Path, store: Store, rows: list[tuple[str, ...]], rng: random.Random
) -> None:
    """The same table with its rows and columns in any order scores the same."""
    places = rng.sample(range(5), 5)
    turned = [tuple(row[place] for place in places) for row in rng.sample(rows, len(rows))]
    header = [HEADER[place] for place in places]
    assert values(judged(folder, store, markdown(rows))) == values(judged(folder, store, markdown(turned, header)))


GARBAGE = [
    None, "", " \n", "I don't know.", "\x00\ud800", "|" * 500_000, "|\n" * 100_000, "| a " * 100_000, markdown([]), markdown([("",) * 5]), markdown([("-",) * 5] * 3),
    markdown([("x", *GOLD_ROWS[0][1:])]), markdown([GOLD_ROWS[0][:1]], HEADER[:1]), markdown([(*GOLD_ROWS[0], "web")], (*HEADER, "Source")), markdown([(*GOLD_ROWS[0], "9")], (*HEADER, "Height")),
    json.dumps([dict(zip(HEADER, row, strict=True)) for row in GOLD_ROWS]), ITEM["query"],
]  # fmt: skip


@pytest.mark.parametrize("answer", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_scores_nothing(folder: Path, store: Store, answer: str | None) -> None:
    """No table, an empty one, other keys, other columns, a megabyte of pipes: every figure is 0, and nothing raises."""
    assert set(values(judged(folder, store, answer)).values()) == {0.0}


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=200) | st.text(alphabet="|-: \nab", max_size=200))
def test_any_answer_is_scored_without_an_exception(folder: Path, store: Store, answer: str) -> None:
    """Whatever stands in an answer, under the right header or not, nothing raises and nothing is right."""
    for text in (answer, f"{markdown([])}\n{answer}"):
        assert set(values(judged(folder, store, text)).values()) == {0.0}


# A bench


def test_a_bench_is_judged_by_a_model_behind_an_endpoint(folder: Path, home: Path) -> None:
    """Through the runner: the judge is asked as a role of its own, all figures are in the report, and what the store holds is told."""

    def policy(request: Request) -> str:
        if '"cells"' in request.messages[-1].content:
            return accepts(request)
        return markdown([(*GOLD_ROWS[0][:4], "closed when there is snow"), GOLD_ROWS[1]])

    async def bench(opened: Store) -> str:
        async with ModelServer(ScriptedModel("both", policy)) as server:
            providers = Settings(providers={"desk": Provider(base_url=server.base_url)})
            return await run_bench(plan, store=opened, settings=providers)

    options: dict[str, Any] = {"path": str(folder), "judge": "desk:llama-judge"}
    plan = Plan(
        benchmark="widesearch",
        options=options,
        benchmark_version=open_benchmark("widesearch", options).version,
        systems=label_systems([React(model="desk:llama-small")]),
        tasks=("ws_en_901",),
    )
    with Store.open(f"sqlite:///{home / 'bench.db'}") as opened:
        bench_id = asyncio.run(bench(opened))
        report = make_report(opened, bench_id, plan)
        query = sa.select(score_rows.c.details).where(score_rows.c.scorer == "item_f1")
        [details] = opened.read_now(lambda connection: connection.execute(query).scalars().all())
    [row] = report.systems
    assert row.scores["item_precision"].value == 1
    assert row.scores["row_recall"].value == pytest.approx(2 / 3)
    assert row.judging["judge"].calls == 1
    assert "desk:llama-small" in details
    assert any("in clear" in note for note in report.notes)
    assert report.published == {"fugue": {"item_f1": 0.742}, "swarm": {"item_f1": 0.727}}

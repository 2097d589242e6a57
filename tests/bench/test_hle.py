"""HLE: its files, the text-only part, options and short answers, the judge, and garbage."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from motet.bench.hle import FILE, HLE
from motet.bench.plan import open_benchmark
from motet.errors import InputError
from motet.store.store import Store
from motet.task import Result
from tests.bench.judging import scored
from tests.runs.desk import Says, done

# Invented questions. The real ones are nowhere in this repository.
CANARY = "hle:invented:1f0a"
ROWS: list[dict[str, Any]] = [
    {"id": "6a01", "question": "Which is a river?\n\nAnswer Choices:\nA. Velk\nB. Osk\nC. Brenn", "image": "", "answer": "B", "answer_type": "multipleChoice", "canary": CANARY},
    {"id": "6a02", "question": "How high is Mount Velk,\u2028 in metres?", "image": None, "answer": "912", "answer_type": "exactMatch", "canary": CANARY},
    {"id": "6a03", "question": "What does the picture show?", "image": "data:image/png;base64,AAAA", "answer": "a hill", "answer_type": "exactMatch", "canary": CANARY},
    {"id": "6a04", "question": "Name the letter.", "image": "", "answer": "B", "answer_type": "exactMatch", "canary": CANARY},
]  # fmt: skip


def write(file: Path, rows: list[dict[str, Any]] = ROWS) -> Path:
    lines = (json.dumps(row, ensure_ascii=False) for row in rows)
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of the converted form."""
    return write(tmp_path / FILE)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path_factory.mktemp('store') / 'runs.db'}") as opened:
        yield opened


def test_the_text_only_part_is_asked(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions with a picture are left out and counted; JSONL, a JSON list, a folder and MOTET_DATA_DIR/hle give the same tasks, without answers and canary."""
    tasks = HLE(path=file).tasks()
    assert [task.id for task in tasks] == ["6a01", "6a02", "6a04"]
    assert any("3 questions, without 1 that come with a picture" in note for note in HLE(path=file).notes)
    told = "".join(task.model_dump_json() for task in tasks)
    assert CANARY not in told
    assert "912" not in told
    assert HLE(path=tmp_path).tasks() == tasks
    (tmp_path / "list.json").write_text(json.dumps(ROWS), encoding="utf-8")
    assert HLE(path=tmp_path / "list.json").tasks() == tasks
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "hle").symlink_to(tmp_path, target_is_directory=True)
    monkeypatch.setenv("MOTET_DATA_DIR", str(tmp_path / "data"))
    assert HLE().tasks() == tasks


def test_a_missing_file_and_parquet_say_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line names the file, where its conditions are accepted, and the call that converts it."""
    monkeypatch.setenv("MOTET_DATA_DIR", str(tmp_path))
    (tmp_path / "test.parquet").write_bytes(b"PAR1")
    for benchmark in (HLE(), HLE(path=tmp_path / "no.jsonl"), HLE(path=tmp_path / "test.parquet")):
        with pytest.raises(InputError, match=r"load_dataset\('cais/hle'.*to_json\('hle\.jsonl'\)") as raised:
            benchmark.tasks()
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "line 1"),
        ("[1, 2", "cannot be read"),
        ("", "no questions without a picture"),
        ("[]", "no questions without a picture"),
        ("1", "item 1: it is no JSON object"),
        (json.dumps({key: value for key, value in ROWS[0].items() if key != "image"}), "item 1: it has no 'image'"),
        (json.dumps({**ROWS[0], "answer": 5}), "item 1: its answer should be a text"),
        (json.dumps({**ROWS[0], "id": "../x"}), "item 1: '../x' is no id"),
        (json.dumps({**ROWS[0], "question": ""}), "item 1:"),
        (f"{json.dumps(ROWS[0])}\n{json.dumps(ROWS[0])}", "item 2: the id '6a01' is there twice"),
        (json.dumps(ROWS[2]), "no questions without a picture"),
    ],
    ids=range(11),
)
def test_a_file_of_another_form_is_refused(tmp_path: Path, text: str, words: str) -> None:
    """What is no file of HLE raises in one line that names the item."""
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words) as raised:
        HLE(path=tmp_path).tasks()
    assert "\n" not in str(raised.value)


def test_the_version_names_all_that_decides_a_score(file: Path, tmp_path: Path) -> None:
    """Another judge, a second one or another file give another version; a second judge alone is bad input."""
    other = write(tmp_path / "other.jsonl", ROWS[:1])
    versions = {
        HLE(path=path, judge=first, second_judge=second).version
        for path, first, second in ((file, None, None), (file, "a", None), (file, "a", "b"), (other, None, None))
    }
    assert len(versions) == 4
    with pytest.raises(InputError, match="add judge=MODEL"):
        open_benchmark("hle", {"second_judge": "b"})


@pytest.mark.parametrize(
    ("task_id", "answer", "value"),
    [
        ("6a01", "Exact Answer: B\nConfidence: 40%", 1),
        ("6a01", "Exact Answer: (B) Osk", 1),
        ("6a01", "Exact Answer: Osk", 0),
        ("6a01", "Exact Answer: B or C", 0),
        ("6a02", "Exact Answer: 912", 1),
        ("6a02", "Exact Answer: 912.0", 1),
        ("6a02", "Exact Answer: -912", 0),
        ("6a04", "Exact Answer: b", 1),
        ("6a04", "Exact Answer: (B) Osk", 0),
    ],
)
def test_options_are_letters_and_short_answers_are_compared(
    file: Path, store: Store, task_id: str, answer: str, value: int
) -> None:
    """Without a judge a choice is right by its letter, another answer by its words or its number."""
    found = scored(store, HLE(path=file), done(answer), task_id=task_id)
    assert list(found) == ["em"]
    assert found["em"].value == value


def test_the_judge_decides_and_the_confidence_is_kept(file: Path, store: Store) -> None:
    """With a judge its verdict is the headline, with exact match beside and published figures to compare with."""
    said = json.dumps({"extracted_answer": "the Osk", "reason": "same", "correct": True, "confidence": 40})
    judge = Says(lambda _: said, name="lab:judge")
    benchmark = HLE(path=file, judge="lab:judge")
    found = scored(store, benchmark, done("It is the Osk, 40% sure."), task_id="6a01", judges=(judge,))
    assert benchmark.headline == "judge"
    assert (found["judge"].value, found["em"].value, found["judge"].details["confidence"]) == (1, 0, 0.4)
    assert benchmark.paper == {"fugue": {"judge": 0.495}, "swarm": {"judge": 0.44}}
    assert HLE(path=file).paper == {}


GARBAGE = [None, "", " \n", "?", "A, B or C", "\x00\ud800", "b " * 100_000, "Exact Answer:", "Confidence: 100%", "Answer: " * 20_000, '{"correct": true}', ROWS[0]["question"]]  # fmt: skip


@pytest.mark.parametrize("answer", GARBAGE, ids=range(len(GARBAGE)))
@pytest.mark.parametrize("task_id", ["6a01", "6a02"])
def test_garbage_scores_nothing(file: Path, store: Store, answer: str | None, task_id: str) -> None:
    """No answer, several, the question again or a megabyte: wrong, and no exception."""
    found = scored(store, HLE(path=file), Result(status="completed", answer=answer), task_id=task_id)
    assert (found["em"].value, found["em"].correct) == (0, False)

"""``motet study`` as its users run it: every study at a tiny size, from the store again, interrupted, and with what they get wrong."""

from __future__ import annotations

import asyncio
import re
from itertools import count
from typing import Any

import pytest

from motet.testing import ModelServer
from tests.e2e.command import Desk, Done, interrupt
from tests.runs.desk import Says

SMALL = ("--limit", "2", "--progress", "none", "-c", "candidates=3")
TABLES = {
    "inheritance": ["The same with and without", "Scores", "Tokens saved", "By round", "By kind of edit"],
    "switches": ["Scores", "Tasks gained and lost per round", "Candidates beside their parents, by kind of edit"],
    "locality": ["Local edits", "Edits by affected share", "Rank correlations", "Scores"],
    "models": ["Scores", "Teams and the choice among them"],
    "budget": ["native", "equal-budget"],
    "control": ["Control tokens", "Calls by role", "Scores"],
}


def rows(found: Any, title: str) -> list[dict[str, Any]]:
    """A table's rows by the names of its columns."""
    table = next(table for table in found["tables"] if table["title"] == title)
    return [dict(zip((column["name"] for column in table["columns"]), row, strict=True)) for row in table["rows"]]


@pytest.mark.parametrize("name", TABLES)
def test_a_study_is_found_and_found_again_from_its_benches(scripted: Desk, name: str) -> None:
    """Tables, plots and how to make them again; from the store nothing is run and the same is found."""
    done = scripted.run("study", name, *SMALL, "--json", "--html", "study.html")
    assert done.code == 0, done.err
    found = done.json
    assert [table["title"] for table in found["tables"]] == TABLES[name]
    assert found["complete"]
    assert found["scripted"]
    assert (found["tasks"], found["seed"], found["failures"]) == (2, 0, [])
    assert len(found["benches"]) == (2 if name == "budget" else 1)
    assert all(row for table in found["tables"] for row in table["rows"])
    page = (scripted.folder / "study.html").read_text(encoding="utf-8")
    assert page.count("<svg") == len(found["plots"])
    before = len(scripted.runs())
    again = scripted.run(*found["again"].split()[1:], "--progress", "none", "--json")
    assert (again.code, again.json) == (0, found), again.err
    assert len(scripted.runs()) == before


def test_inheritance_changes_no_output_and_no_score(scripted: Desk) -> None:
    """On WorkBench's kind of world too, where an executor writes: every pair is the same throughout, and something was inherited."""
    done = scripted.run("study", "inheritance", *SMALL, "--json")
    (same,) = rows(done.json, "The same with and without")
    assert (same["pairs of cells"], same["the same throughout"], same["differ"], same["other teams"]) == (2, 2, 0, 0)
    assert same["of them inherited"] > 0
    tokens = {row["tokens"]: row for row in rows(done.json, "Tokens saved")}
    assert tokens["worker"]["on"] < tokens["worker"]["off"]
    assert tokens["meta"]["on"] == tokens["meta"]["off"]
    assert tokens["worker"]["paper"] == pytest.approx(0.346)


@pytest.mark.parametrize("temperature", [0, 1])
def test_workers_that_never_say_the_same_twice_are_found_out(scripted: Desk, temperature: int) -> None:
    """Where they decode greedily that is a failure, with exit code 1, that names task, round and node; where they sample it is told."""

    async def main() -> Done:
        numbers = count()
        async with ModelServer(Says(lambda request: f"reply {next(numbers)}")) as server:
            worker = f"fickle@{server.base_url}"
            sampling = f"sampling.temperature={temperature}"
            command = ("study", "inheritance", *SMALL, "--worker-model", worker, "-c", sampling, "--json")
            return await asyncio.to_thread(scripted.run, *command)

    done = asyncio.run(main())
    (same,) = rows(done.json, "The same with and without")
    assert same["differ"] == 2
    if temperature:
        assert (done.code, done.json["failures"]) == (0, [])
        assert any("workers sample" in note for note in done.json["notes"])
    else:
        assert done.code == 1
        assert re.search(r"task invented-0-\d+, round 0, node \w+ says something else", done.error_lines[0])


def test_gained_less_lost_is_what_the_table_says_the_score_changed_by(scripted: Desk) -> None:
    """The last score in each variant's rounds is that of the variant."""
    found = scripted.run("study", "switches", *SMALL, "--json").json
    scores = {row["variant"]: row["joint_f1"]["value"] for row in rows(found, "Scores")}
    after: dict[str, float] = {}
    label = ""
    for row in rows(found, "Tasks gained and lost per round"):
        label = row["variant"] or label
        assert row["score after it"] - after.get(label, 0.0) == pytest.approx(row["change"])
        after[label] = row["score after it"]
    assert after == pytest.approx(scores)


def test_an_interrupted_study_goes_on_from_its_bench(scripted: Desk) -> None:
    """It says how; what was found then is what is found undisturbed."""
    command = ("study", "control", "--limit", "2", "-c", "candidates=3", "--json")
    cut = scripted.run_until("bench.started", interrupt, *command, "--progress", "json")
    assert cut.code == 130
    again = cut.error_lines[-1].partition("go on with: motet ")[2].split()
    whole = scripted.run(*again, "--progress", "none", "--json")
    assert whole.code == 0, whole.err
    fresh = scripted.run(*command, "--progress", "none")
    assert fresh.json["tables"] == whole.json["tables"]


def test_studies_are_listed_and_forecast(scripted: Desk) -> None:
    """Without a name every study says what it asks; a dry run counts cells and stores nothing."""
    assert set(scripted.run("study", "--json").json) >= set(TABLES)
    assert "switches" in scripted.run("study").out
    dry = scripted.run("study", "switches", "--limit", "2", "--dry-run")
    assert dry.code == 0
    assert "12 cells" in dry.out
    assert scripted.runs() == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("swiches",), "did you mean 'switches'"),
        (("locality", "--worker-models", "embedded"), "the study locality takes no --worker-models"),
        (("locality", "-c", "candidates=2", "-c", "candidates=3"), "candidates is given twice"),
        (("locality", "--from", "last"), "there is no run"),
        (("locality", "--from", "last", "--limit", "3"), "--from takes benches as they were begun"),
        (("locality", "--html", "nowhere/x.html"), "is not there"),
        (("switches", "-c", "edits=3"), "edits is what this study sets itself"),
    ],
)
def test_bad_input_is_one_line_and_stores_nothing(desk: Desk, arguments: tuple[str, ...], words: str) -> None:
    """Exit code 2, what was wrong, and what would be right."""
    done = desk.run("study", *arguments)
    assert (done.code, done.out) == (2, "")
    (line,) = done.error_lines
    assert words in line
    assert desk.runs() == []


def test_tables_are_printed_and_the_bench_of_another_study_is_refused(scripted: Desk) -> None:
    """On paper the question, the seed and that a script answered; the refusal names the variant that is not there."""
    text = scripted.run("study", "locality", *SMALL).out
    assert text.startswith("Do edits that reach little of a team improve it")
    assert "2 tasks · scripted:scholar · seed 0" in text
    assert "scripted policy: these figures show mechanics only" in text
    assert "share that is local" in text
    done = scripted.run("study", "control", "--from", "last")
    assert done.code == 2
    assert "none of the study control: it has no variant 'compact'" in done.err

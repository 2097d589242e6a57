"""A world and a benchmark of your own: books on shelves, to be put where they belong.

    python examples/own_benchmark.py
    motet bench examples.own_benchmark:Tidy --systems react,noop --limit 6
    motet solve "Which books are on the low shelf?" --world examples.own_benchmark:Shelves

A World is tools over a state. It can be copied and says by a fingerprint what state it is in, so that a run that was cut short is rebuilt and
goes on. A Benchmark is tasks, the world of each, and a verdict. What it knows of right answers never reaches a system: tasks carry none, and the verdict is
on the state that the system left, whatever it says.

By default the model here is a script that reads only its messages, so that the outcome is known; ``--model`` takes any other.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from typing import Self

from pydantic import Field, JsonValue

import motet
from motet.baselines.noop import Noop
from motet.bench.benchmark import Setting
from motet.bench.page import percent, points, span
from motet.bench.plan import draw_up
from motet.bench.report import make_report
from motet.bench.runner import run_bench
from motet.canonical import digest
from motet.models.model import Request, ToolCall
from motet.models.scripted import ScriptedModel, Turn
from motet.tools.function import FunctionTool

BOOKS = ("Ars Nova", "Micrologus", "Musica Enchiriadis", "Practica Musicae")
SHELVES = ("low", "middle", "high")
START = {book: SHELVES[place % 3] for place, book in enumerate(BOOKS)}


class Shelves:
    """Books on three shelves. The state is in this process, so the world can be copied."""

    name = "shelves"
    version = "1"
    forkable = True

    def __init__(self, books: Mapping[str, str] = START) -> None:
        self.books = dict(books)

    def tools(self) -> tuple[motet.Tool, ...]:
        """Look, and move. A write to a state in this process is delivered ``local``: on resume it is done again, on a new copy."""

        def look(shelf: str) -> str:
            """List the books on a shelf.

            :param shelf: low, middle or high.
            """
            return ", ".join(book for book, place in self.books.items() if place == shelf) or "nothing"

        def move(book: str, shelf: str) -> str:
            """Put a book on a shelf.

            :param book: The book's whole title.
            :param shelf: low, middle or high.
            """
            if book not in self.books or shelf not in SHELVES:
                return "There is no such book or shelf."
            self.books[book] = shelf
            return "Moved."

        # The functions hold this world, which their source does not show: they carry its version.
        return (
            FunctionTool(look, version=self.version),
            FunctionTool(move, effect="write", delivery="local", version=self.version),
        )

    def fingerprint(self) -> str:
        """The state, by its content."""
        return digest({"version": self.version, "books": dict(self.books)})

    def fork(self) -> Self:
        """A copy."""
        return type(self)(self.books)

    def score(self, expected: JsonValue) -> tuple[motet.Score, ...]:
        """Right if every book is where ``expected`` has it."""
        right = self.books == expected
        return (motet.Score(scorer="correct", value=float(right), correct=right),)


class Tidy(motet.Configured):
    """Each book to each shelf: a task for each pair. The tasks of one book are near-copies, so they are one cluster.

    The fields are the benchmark's options: ``-b books=2``.
    """

    books: int = Field(default=len(BOOKS), ge=1, le=len(BOOKS))

    @property
    def name(self) -> str:
        """The name in tables and reports."""
        return "tidy"

    @property
    def version(self) -> str:
        """Of tasks and verdicts: a bench is not resumed over another."""
        return "tidy-1"

    @property
    def headline(self) -> str:
        """The scorer that counts."""
        return "correct"

    @property
    def paper(self) -> Mapping[str, Mapping[str, float]]:
        """Figures of others to print beside; there are none."""
        return {}

    def tasks(self) -> Sequence[motet.Task]:
        """All tasks, in their order."""
        return [
            motet.Task(id=f"{number}-{shelf}", question=f'Put "{book}" on the {shelf} shelf.', cluster=book)
            for number, book in enumerate(BOOKS[: self.books], start=1)
            for shelf in SHELVES
        ]

    def setting(self, task: motet.Task) -> Setting:
        """A world for each task, made anew."""
        return Setting(world=Shelves())

    async def score(self, task: motet.Task, result: motet.Result, *, run: motet.Run) -> tuple[motet.Score, ...]:
        """The verdict on the world as the system left it."""
        number, _, shelf = task.id.partition("-")
        assert run.world is not None
        return run.world.score({**START, BOOKS[int(number) - 1]: shelf})


def policy(request: Request) -> Turn | str:
    """Move what the task names to where it says, unless it is too heavy; then say so."""
    if request.messages[-1].role == "tool":
        return "Done."
    said = next(message.content for message in request.messages if message.role == "user")
    found = re.search(r'Put "(.+)" on the (\w+) shelf', said)
    if found is None or found[1] == "Practica Musicae":
        return "I cannot do that."
    arguments = json.dumps({"book": found[1], "shelf": found[2]})
    return Turn(tool_calls=(ToolCall(id="move", name="move", arguments=arguments),))


def main() -> None:
    """Two systems on the same tasks, and what came out."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--model", help="a model by name, in place of the script")
    model = arguments.parse_args().model or ScriptedModel("tidy", policy)
    systems: list[motet.System] = [motet.React(model=model), Noop()]
    plan = draw_up("examples.own_benchmark:Tidy", systems)
    with motet.Store.open() as store:
        bench = asyncio.run(run_bench(plan, store=store, systems=systems))
        report = make_report(store, bench, plan)
    for system in report.systems:
        score = system.scores[report.headline]
        print(f"{system.label}: {percent(score.value)} of {score.n} tasks, {system.total.calls} calls")
    difference = report.systems[1].difference
    assert difference is not None
    print(f"difference: {points(difference.value)} points, 95 % interval {span(difference)}")
    print(f"look inside: motet show {bench}")


if __name__ == "__main__":
    main()

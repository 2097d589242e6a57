"""``motet inherit``: what belongs to the system of that name alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from motet.cli.modes import Mode
from motet.cli.options import JsonOption, ProgressOption, StoreOption

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from motet.runs.events import Event, Watcher
    from motet.task import Result, Task

# Of one core for a node with the embedded model, for the estimate that is told at the start.
_SECONDS = 1.1
# Benchmarks have long questions too; a prompt's tokens are most of the time here, so those are left out.
_LONGEST = 100  # characters

app = typer.Typer(
    name="inherit",
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Workflows that evolve: check what their inheritance promises.",
)


@app.callback()
def inherit() -> None:
    """Workflows that evolve: check what their inheritance promises."""


@app.command("replay")
def replay(
    model: Annotated[
        str, typer.Option("--model", metavar="NAME", help="A model whose replies its requests decide.")
    ] = "embedded",
    tasks: Annotated[int, typer.Option("--tasks", metavar="N", min=1, help="How many tasks are drawn.")] = 20,
    edits: Annotated[
        int, typer.Option("--edits", metavar="N", min=0, help="Edits of each task's workflow, one after the other.")
    ] = 1,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="Of the tasks and of the edits.")] = 0,
    benchmark: Annotated[
        str,
        typer.Option("--benchmark", metavar="NAME", help="Where the tasks are from: workbench, hotpotqa or none."),
    ] = "workbench",
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="The first N of the drawn tasks.")
    ] = None,
    max_tokens: Annotated[int, typer.Option("--max-tokens", metavar="N", min=1, help="Tokens of one reply.")] = 8,
    store: StoreOption = None,
    as_json: JsonOption = False,
    progress: ProgressOption = Mode.auto,
) -> int:
    """Check that inheriting gives what running everything gives, byte for byte, at the price of the distinct records.

    Workflows and edits are drawn by the seed and carried out in three arms: everything is run (twice, and must be the same), only the store
    is asked, and what an edit did not reach is taken from the candidate before as well. Ends with 1 where any equality does not hold.

    \b
    Examples:
      motet inherit replay --model embedded
      motet inherit replay --model scripted:echo --benchmark none
      motet inherit replay --tasks 4 --edits 5 --seed 7

    The run is kept: motet show last, and after a break motet resume last.
    """
    from motet.api import solve
    from motet.cli.sit import sit
    from motet.cli.story import counted
    from motet.cli.terminal import say
    from motet.inherit.replay import Replay, node_runs
    from motet.store.store import Store
    from motet.task import Task

    drawn = _tasks(benchmark, number=tasks, seed=seed)[:limit]
    system = Replay(model=model, edits=edits, seed=seed, max_tokens=max_tokens, tasks=drawn)
    nodes = node_runs(system.courses)
    minutes = counted(max(round(nodes * _SECONDS / 60), 1), "minute")
    takes = f", about {minutes} of one core" if str(system.model).startswith("embedded") else ""

    def work(*, watchers: Sequence[Watcher], **onlookers: Any) -> Awaitable[Result]:
        heard = watchers if progress is Mode.json else [_milestones(watcher) for watcher in watchers]
        return solve(Task(question=system.question), system=system, kind="replay", watchers=heard, **onlookers)

    with Store.open(store) as opened:
        if progress is not Mode.none:
            say(f"motet: at most {nodes:,} nodes are run{takes}")
        return sit(
            work,
            store=opened,
            mode=progress,
            as_json=as_json,
            models=[str(system.model)],
            title=f"{system.name} · {system.model}",
            hint=f" --store {opened.name}" if store else "",
        )


def _tasks(benchmark: str, *, number: int, seed: int) -> tuple[Task, ...]:
    """``number`` tasks, one from each group of near-copies as far as there are so many. Raises InputError where there are fewer, or no data."""
    import random

    from motet.errors import InputError
    from motet.settings import nearest

    kinds = {"workbench": _workbench, "hotpotqa": _hotpotqa, "none": _general}
    if benchmark not in kinds:
        raise InputError(f"there are no replay tasks of {benchmark!r}{nearest(benchmark, kinds)}")
    try:
        found = kinds[benchmark]()
    except InputError as error:
        raise InputError(f"{error}; without data: --benchmark none") from None
    if number > len(found):
        raise InputError(f"--tasks {number}: {benchmark} has {len(found)} short questions; take at most so many")
    # A stable order in which near-copies come after all first ones.
    shuffled = random.Random(seed).sample(list(found), len(found))  # noqa: S311 - a choice of tasks, no secret
    seen: dict[str, int] = {}
    ranks = []
    for task in shuffled:
        group = task.cluster or task.id
        seen[group] = seen.get(group, 0) + 1
        ranks.append(seen[group])
    order = sorted(range(len(shuffled)), key=lambda position: ranks[position])
    return tuple(shuffled[position] for position in order[:number])


def _workbench() -> list[Task]:
    from motet.bench.workbench import WorkBench
    from motet.task import Task

    bench = WorkBench()
    questions = [bench.question(task.id) for task in bench.tasks()]
    return _short([Task(id=one.id, question=one.query, cluster=one.cluster) for one in questions])


def _hotpotqa() -> list[Task]:
    from motet.bench.hotpotqa import HotpotQA
    from motet.task import Task

    bench = HotpotQA()
    return _short([Task(id=task.id, question=bench.question(task.id).question) for task in bench.tasks()])


def _general() -> list[Task]:
    from motet.inherit.replay_drawing import general_tasks

    return list(general_tasks())


def _short(tasks: Sequence[Task]) -> list[Task]:
    return [task for task in tasks if len(task.question) <= _LONGEST]


def _milestones(watcher: Watcher) -> Watcher:
    """Passes on what concerns the check as a whole; of its thousand replies only those that fail."""
    told = ("run.", "task.", "replay.", "model.retry", "model.failed")

    def hear(event: Event) -> None:
        if event.kind.startswith(told):
            watcher(event)

    return hear

"""The replay check: what inheritance gives is what running everything gives, and costs what its records cost.

Every task has a workflow and a sequence of edits, drawn by a seed, and after each edit the whole workflow is carried out in three arms:

- *full*: every node is done, whatever was done before. This is done twice, and must equal itself, or the model decides nothing.
- *store*: what a record answers is not done again. Nothing is known of what an edit can reach.
- *localised*: as well, what an edit cannot reach is taken from the candidate before.

Each arm has scopes of its own, so that none is answered from another's journal, and the two that inherit have records of their own. After the Inherit-MAS paper's deterministic check.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from pydantic import Field, JsonValue, field_validator

from motet.agent.react import React
from motet.canonical import digest
from motet.inherit.edits import KINDS, Kind
from motet.inherit.engine import Worker, execute, react_worker
from motet.inherit.execution import Execution
from motet.inherit.records import Records
from motet.inherit.replay_drawing import TOOLS, Course, draw, replay_roles
from motet.inherit.replay_figures import ARMS, Arm, ArmName, ReplayCheck, Saving, TaskHashes
from motet.models.embedded import EXACT, NAME
from motet.models.model import Sampling
from motet.runs.run import Run
from motet.system import Configured, ModelRef, Needs
from motet.task import Failure, Result, Task

_CALL = 32  # tokens that a call of a tool without arguments may take


class Replay(Configured):
    """The replay check as a system, so that it is a run like any other. Its result fails where an equality does not hold; ``details`` hold a ReplayCheck.

    ``tasks`` are worked on with so many ``edits`` each, drawn by ``seed``; ``max_tokens`` bounds each reply. The embedded model is asked one call at a time and without its
    prompt cache; any other must answer equal requests equally by itself.
    """

    model: ModelRef = EXACT
    edits: int = Field(default=1, ge=0)
    seed: int = 0
    max_tokens: int = Field(default=8, gt=0)
    tasks: tuple[Task, ...] = Field(min_length=1)

    @field_validator("model")
    @classmethod
    def _exact(cls, model: ModelRef) -> ModelRef:
        return EXACT if model in (NAME, f"{NAME}:smollm2") else model

    @property
    def name(self) -> str:
        """``inherit-replay``."""
        return "inherit-replay"

    @property
    def courses(self) -> tuple[Course, ...]:
        """What is done to each task. Raises InputError for two tasks of one id."""
        return draw(self.tasks, edits=self.edits, seed=self.seed)

    @property
    def question(self) -> str:
        """The check as a task."""
        return f"Replay in every arm: tasks {len(self.tasks)}, edits of each {self.edits}, seed {self.seed}"

    def needs(self) -> Needs:
        """The one model and the tools."""
        return Needs(models=(self.model,), tools=TOOLS)

    async def solve(self, task: Task, *, run: Run) -> Result:
        """Check; ``task`` is only its title."""
        found = await check(
            self.tasks, run=run, model=self.model, edits=self.edits, seed=self.seed, max_tokens=self.max_tokens
        )
        details = found.model_dump(mode="json")
        if found.ok:
            return Result(status="completed", answer=found.text(), details=details)
        failure = Failure(boundary="run", kind="ReplayDiffers", message="; ".join(found.problems), scope=run.scope)
        return Result(status="failed", answer=found.text(), details=details, error=failure)


async def check(
    tasks: Sequence[Task],
    *,
    run: Run,
    model: ModelRef = EXACT,
    edits: int = 1,
    seed: int = 0,
    max_tokens: int = 8,
) -> ReplayCheck:
    """Carry out every arm in the scope ``run`` and compare. Ends early where running everything twice differs, since then there is nothing to compare with.

    Passes on what ends a run: its budget, cancellation, bad input, a store that fails.
    """
    courses = draw(tasks, edits=edits, seed=seed)
    desk = _Desk(run, _worker(model, max_tokens=max_tokens))
    run.emit(
        "replay.began", tasks=len(courses), edits=sum(len(course.edits) for course in courses), nodes=node_runs(courses)
    )
    for number, course in enumerate(courses, 1):
        scope = run.child(f"task-{number}")
        differs = await desk.work(course, scope)
        scope.emit("replay.task", number=number, of=len(courses), left=node_runs(courses[number:]), differs=differs)
        if differs:
            break
    identity = run.model(model, role="node").info.identity
    return await desk.figures(identity=identity, seed=seed, wanted=len(courses))


def node_runs(courses: Sequence[Course]) -> int:
    """How many nodes are done live for ``courses`` in all arms, at most."""
    return sum(2 * course.nodes + 2 * course.affected for course in courses)


def _worker(model: ModelRef, *, max_tokens: int) -> Worker:
    """ReAct agents of at most two steps. Those that hold a tool have the room for a call of it."""
    plain = React(model=model, tools=TOOLS, max_steps=2, max_tokens=max_tokens, sampling=Sampling(temperature=0))
    holding = plain.model_copy(update={"max_tokens": max(max_tokens, _CALL)})
    works = {False: react_worker(plain), True: react_worker(holding)}
    return lambda node, instructions: works[bool(node.tools)](node, instructions)


class _Candidate(NamedTuple):
    """One candidate of one arm: what became of it, and the tokens spent on it."""

    execution: Execution
    tokens: int
    unknown: int


class _Desk:
    """The check in progress. ``done`` has, for each course begun, the candidates of each arm."""

    def __init__(self, run: Run, worker: Worker) -> None:
        self.run = run
        self.worker = worker
        self.records: dict[ArmName, Records] = {
            name: Records(run.store, f"replay/{run.id}/{name}") for name in ("store", "localised")
        }
        self.done: list[tuple[Course, dict[ArmName, list[_Candidate]]]] = []
        self.problems: list[str] = []

    async def work(self, course: Course, scope: Run) -> str:
        """All arms on one course; returns the first difference, or an empty text."""
        arms: dict[ArmName, list[_Candidate]] = {}
        self.done.append((course, arms))
        for name in ARMS:
            arms[name] = await self._arm(name, course, scope.child(name))
            if name == "full":
                continue
            differs = _difference(course, arms["full"], arms[name])
            if differs:
                self.problems.append(
                    f"the model is not deterministic, so nothing can be compared: running everything twice differs at {differs}"
                    if name == "again"
                    else f"the arm {name!r} differs from running everything at {differs}"
                )
                return differs
        return ""

    async def _arm(self, name: ArmName, course: Course, scope: Run) -> list[_Candidate]:
        made: list[_Candidate] = []
        for number, workflow in enumerate(course.candidates):
            place = scope.child(f"candidate-{number}")
            execution = await execute(
                workflow,
                course.task,
                run=place,
                worker=self.worker,
                roles=replay_roles(),
                records=self.records.get(name),
                parent=made[-1].execution if name == "localised" and made else None,
            )
            spent = [place.ledger.total(origin, under=place.scope) for origin in ("paid", "earlier")]
            tokens, unknown = (sum(getattr(part, field) for part in spent) for field in ("tokens", "unknown"))
            made.append(_Candidate(execution, tokens, unknown))
        return made

    async def figures(self, *, identity: str, seed: int, wanted: int) -> ReplayCheck:
        """What was found so far."""
        arms = [await self._sums(name) for name in ARMS]
        surprises = sum(1 for _ in self._surprises())
        return ReplayCheck(
            model=identity,
            seed=seed,
            wanted=wanted,
            tasks=tuple(_hashes(course, made) for course, made in self.done),
            arms=tuple(arms),
            kinds=self._kinds(),
            surprises=surprises,
            problems=(*self.problems, *self._wrong(arms, surprises)),
        )

    async def _sums(self, name: ArmName) -> Arm:
        made = [candidate for _, arms in self.done for candidate in arms.get(name, ())]
        outcomes = [outcome for candidate in made for outcome in candidate.execution.outcomes.values()]
        hashes: list[JsonValue] = [_sha256(arms.get(name, [])) for _, arms in self.done]
        arm = Arm(
            name=name,
            ran=sum(outcome.how == "ran" for outcome in outcomes),
            reused=sum(outcome.how == "reused" for outcome in outcomes),
            tokens=sum(candidate.tokens for candidate in made),
            sha256=digest(hashes),
        )
        records = self.records.get(name)
        if records is None:
            return arm
        keys = dict.fromkeys(outcome.key for outcome in outcomes if outcome.key is not None)
        found = [(await records.get(key)).record for key in keys]
        return arm.model_copy(
            update={"keys": len(keys), "recorded": sum(record.usage.tokens for record in found if record is not None)}
        )

    def _wrong(self, arms: Sequence[Arm], surprises: int) -> Iterator[str]:
        """What does not hold besides the outputs."""
        for course, made in self.done:
            for outcome in (outcome for one in made["full"] for outcome in one.execution.outcomes.values()):
                if outcome.status == "failed":
                    yield f"task {course.task.id}: {outcome.node!r} {outcome.ended}"
        unknown = sum(one.unknown for _, made in self.done for arm in made.values() for one in arm)
        if unknown:
            yield f"{unknown} replies came without their usage, so tokens cannot be compared"
        for arm in arms:
            if arm.recorded is not None and arm.recorded != arm.tokens:
                yield f"the arm {arm.name!r} spent {arm.tokens:,} tokens, and its {arm.keys:,} distinct keys have records of {arm.recorded:,}"
        if surprises:
            yield f"{surprises} nodes that no edit could reach had another key"

    def _surprises(self) -> Iterator[str]:
        """Nodes of the localised arm that no edit could reach and whose key differs all the same."""
        for _, made in self.done:
            executions = [candidate.execution for candidate in made.get("localised", ())]
            for before, after in pairwise(executions):
                for id_, outcome in after.outcomes.items():
                    if id_ not in after.affected and outcome.key != before.outcomes[id_].key:
                        yield id_

    def _kinds(self) -> tuple[Saving, ...]:
        sums: dict[Kind, Saving] = {}
        for course, made in self.done:
            if len(made) < len(ARMS):
                continue
            for number, edit in enumerate(course.edits, 1):
                full, store, localised = (made[name][number] for name in ("full", "store", "localised"))
                saving = Saving(
                    kind=edit.kind,
                    edits=1,
                    full=full.tokens,
                    store=store.tokens,
                    localised=localised.tokens,
                    nodes=len(localised.execution.outcomes),
                    affected=len(localised.execution.affected),
                )
                sums[edit.kind] = sums[edit.kind] + saving if edit.kind in sums else saving
        return tuple(sums[kind] for kind in KINDS if kind in sums)


def _outputs(made: Sequence[_Candidate]) -> Iterator[tuple[int, str, str | None]]:
    """Number of the candidate, node and output."""
    for number, candidate in enumerate(made):
        for id_, outcome in candidate.execution.outcomes.items():
            yield number, id_, outcome.output


def _sha256(made: Sequence[_Candidate]) -> str:
    return digest([list(found) for found in _outputs(made)])


def _hashes(course: Course, made: dict[ArmName, list[_Candidate]]) -> TaskHashes:
    return TaskHashes(
        task=course.task.id,
        edits=tuple(edit.kind for edit in course.edits),
        outputs=course.nodes,
        texts=len({output for _, _, output in _outputs(made["full"])}),
        sha256={name: _sha256(candidates) for name, candidates in made.items()},
    )


def _difference(course: Course, one: Sequence[_Candidate], other: Sequence[_Candidate]) -> str:
    """Where two arms first differ, with the beginnings of what each says; empty where they do not."""
    for (number, id_, before), (_, _, after) in zip(_outputs(one), _outputs(other), strict=True):
        if before != after:
            when = f"after edit {number}" if number else "before any edit"
            return f"task {course.task.id}, {when}, node {id_!r}: {_shown(before)} and {_shown(after)}"
    return ""


def _shown(output: str | None) -> str:
    return "nothing" if output is None else repr(output[:60])

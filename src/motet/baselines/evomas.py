"""``evomas``: teams are bred for the task from a pool: parents are chosen and fitted to it, then the best is mutated or the two best are crossed.

Source: Hu et al., Evolutionary Generation of Multi-Agent Systems, arXiv 2602.06511. What the paper leaves open, or has in a form that does not fit here, is marked as inferred. Left
out are its memory of experiences and its growing pool, which make a task's result depend on the order of the tasks, and its last fresh execution: the chosen candidate's own
output and writes are the result, as they were judged.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, Literal

from pydantic import Field, create_model

from motet.baselines.search import Search, quality, rewritten
from motet.canonical import clean_text
from motet.errors import InputError, ModelError
from motet.inherit import guided
from motet.inherit.candidate import Candidate
from motet.inherit.choices import enumerate_edits
from motet.inherit.edits import Edit, apply
from motet.inherit.roles import starts_of
from motet.inherit.team import Desk, Team
from motet.inherit.trial import Proposal
from motet.inherit.workflow import Workflow
from motet.models.structured import Written
from motet.runs.run import Run
from motet.task import Result, Task
from motet.words import listed, near, shown

_GENERATIONS = {"workbench": 3, "hotpotqa": 2}  # the paper's, by role set
_OTHERWISE = 2  # inferred: HotpotQA's, for tasks of any kind
_TOKEN = 1e-6  # what a live worker token takes from the reward

# The kinds of edits that change each component and keep ids, order and roles.
COMPONENTS: dict[str, tuple[str, ...]] = {
    "prompts": ("prompt", "subtask"),
    "tools": ("tools",),
    "topology": ("add_edge", "remove_edge", "reorder_inputs"),
}


class Parents(Written):
    """Names from the pool."""

    parents: list[str]


class AdaptedNode(Written):
    """A node's texts for this task."""

    id: str
    subtask: str = ""
    prompt: str = ""


class Adapted(Written):
    """A team's texts for this task."""

    nodes: list[AdaptedNode]


class MutatedNode(AdaptedNode):
    """A node that changes. Only what belongs to the mutation's component counts."""

    tools: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()


class Mutation(Written):
    """A change of one component."""

    component: Literal["prompts", "tools", "topology"]
    nodes: list[MutatedNode]


class CrossedNode(AdaptedNode):
    """A node of a child that is not as in the parent whose topology it has."""

    tools: tuple[str, ...] | None = None


class Crossed(Written):
    """A child: the parent whose topology it has, and what differs from it."""

    topology: Literal["first", "second"]
    nodes: list[CrossedNode]


class EvoMAS(Team):
    """The system. ``parents`` are taken from the role set's starts, then ``generations`` children follow (3 for ``workbench``, else 2), each a mutation with the chance ``mutation``.

    The meta-model asks with ``control_sampling``, as in all methods here; the paper's temperature is 0.7. Results are inherited only where ``inherit`` is set.
    """

    parents: int = Field(default=2, ge=1)
    generations: int | None = Field(default=None, ge=0)
    mutation: float = Field(default=0.8, ge=0, le=1)
    inherit: bool = False

    @property
    def name(self) -> str:
        """``evomas``."""
        return "evomas"

    async def solve(self, task: Task, *, run: Run) -> Result:
        """Breed teams for ``task``, and give the best one's result. Raises InputError where the role set has no start that is valid with these tools."""
        return await Breeding(self, self.open(task, run=run), run=run).work()


class Breeding(Search):
    """A breeding in progress. All chance comes from a generator that the question seeds, so a resumed run draws the same."""

    def __init__(self, config: EvoMAS, desk: Desk, *, run: Run) -> None:
        super().__init__(desk, prompts="evomas", run=run)
        self.config = config
        roles = desk.brief.roles
        self.pool = starts_of(roles, desk.brief.effects)
        if not self.pool:
            raise InputError(f"the role set {roles.name!r} has no start that is valid with these tools")
        seed = hashlib.sha256(f"evomas-{roles.name}\0{clean_text(desk.brief.task.question)}".encode()).digest()
        self.chance = random.Random(int.from_bytes(seed))  # noqa: S311 - draws of a search, no secret
        given = config.generations
        self.generations = _GENERATIONS.get(roles.name, _OTHERWISE) if given is None else given
        self._tried: list[tuple[str, Edit]] = []

    async def evolve(self) -> None:
        """Parents, then generations of one child each."""
        scope = self.open_round(0)
        parents = await self._select(scope)
        for index, parent in enumerate(parents):
            scope = self.open_round(index) if index else scope
            workflow = await self._adapt(self.pool[parent], index=index, scope=scope)
            await self.attempt(Proposal("initial", workflow), index=index, scope=scope)
        for index in range(len(parents), len(parents) + self.generations):
            scope = self.open_round(index)
            drawn = self.chance.random()
            # Inferred: a candidate is valid if its output is.
            valid = [candidate for candidate in self.candidates if candidate.audit.valid]
            mutates = drawn < self.config.mutation or len(valid) < 2
            try:
                proposal = await (self._mutate(scope) if mutates else self._cross(valid, scope))
            except ModelError as error:
                self.spend(index, "mutation" if mutates else "crossover", error, scope=scope)
                continue
            await self.attempt(proposal, index=index, scope=scope)

    def choose(self, candidates: list[Candidate]) -> Candidate:
        """The highest reward, then the fewest hard failures, then the earliest."""
        return ranked(candidates)[0]

    async def _select(self, scope: Run) -> list[str]:
        """The names of the parents; nobody is asked where there is no choice."""
        names, number = list(self.pool), min(self.config.parents, len(self.pool))
        if number == len(names):
            return names
        does = {name: self.desk.brief.roles.starts[name].does for name in names}
        child = scope.child("parents")
        try:
            if self.desk.meta.small:
                answer: Any = await self.ask("parents", _pairs_type(names, number), run=child, number=number, pool=does)
                return str(answer.parents).split(", ")
            said = await self.ask(
                "parents", Parents, check=_parents_wrong(names, number), run=child, number=number, pool=does
            )
            return said.parents
        except ModelError as error:
            self.do_without(0, "parents", error, scope=scope)
            # Inferred: the first and the last of the pool, which differ most where a pool goes from simple to rich.
            return [*names[: number - 1], names[-1]]

    async def _adapt(self, start: Workflow, *, index: int, scope: Run) -> Workflow:
        """``start`` with texts for this task. Inferred: a parent that cannot be adapted is tried as it is."""
        child = scope.child("adapt")
        shown_start = self.desk.brief.view.workflow(start)
        try:
            if self.desk.meta.small:
                type_ = guided.design_type({start.name: start})
                written = await self.ask("adapt", type_, run=child, workflow=shown_start)
                return _with_subtasks(start, written)
            said = await self.ask(
                "adapt",
                Adapted,
                check=lambda answer: _unknown(answer.nodes, start) or self.wrong(adapted(start, answer)),
                run=child,
                workflow=shown_start,
            )
            return adapted(start, said)
        except ModelError as error:
            self.do_without(index, "adapt", error, scope=scope)
            return start

    async def _mutate(self, scope: Run) -> Proposal:
        """The best candidate with a change of one component. Raises ModelError."""
        best = self.choose(self.candidates)
        workflow = best.workflow
        child = scope.child("mutation")
        seen = {"workflow": self.desk.brief.view.workflow(workflow), "critique": best.feedback()}
        if self.desk.meta.small:
            edit = await self._mutate_small(workflow, seen, run=child)
            self._tried.append((workflow.hash, edit))
            return Proposal("mutation", apply(workflow, edit), best, edits=(edit,))

        def wrong(answer: Mutation) -> str:
            found = _unknown(answer.nodes, workflow)
            return found or self._wrong_child(mutated(workflow, answer), workflow)

        said = await self.ask("mutate", Mutation, check=wrong, run=child, **seen)
        return Proposal("mutation", mutated(workflow, said), best)

    async def _mutate_small(self, workflow: Workflow, seen: dict[str, str], *, run: Run) -> Edit:
        brief = self.desk.brief
        kinds = {kind for kinds in COMPONENTS.values() for kind in kinds}
        choices = enumerate_edits(workflow, brief.roles, brief.effects, tried=self._tried)
        return await self.choose_edit(
            "mutate_small", [choice for choice in choices if choice.kind in kinds], workflow, run=run, **seen
        )

    async def _cross(self, valid: Sequence[Candidate], scope: Run) -> Proposal:
        """A child of the two best of ``valid``. Raises ModelError."""
        first, second = ranked(valid)[:2]
        parents = {"first": first, "second": second}
        child = scope.child("crossover")
        view = self.desk.brief.view
        seen = {name: view.workflow(parent.workflow) for name, parent in parents.items()}
        seen |= {f"{name}_critique": parent.feedback() for name, parent in parents.items()}
        if self.desk.meta.small:

            def made(answer: Any) -> Workflow:
                return _with_subtasks(parents[answer.design.start].workflow, answer)

            type_ = guided.design_type({name: parent.workflow for name, parent in parents.items()})
            written: Any = await self.ask(
                "cross_small",
                type_,
                check=lambda answer: self._wrong_child(made(answer), parents[answer.design.start].workflow),
                run=child,
                **seen,
            )
            return Proposal("crossover", made(written), parents[written.design.start])

        def wrong(answer: Crossed) -> str:
            parent = parents[answer.topology].workflow
            return _unknown(answer.nodes, parent) or self._wrong_child(crossed(parent, answer), parent)

        said = await self.ask("cross", Crossed, check=wrong, run=child, **seen)
        parent = parents[said.topology]
        return Proposal("crossover", crossed(parent.workflow, said), parent)

    def _wrong_child(self, child: Workflow, parent: Workflow) -> str:
        if child.hash == parent.hash:
            return "the child does the same as its parent; change something"
        # Inferred: at temperature 0 the same mutation of the same team would be proposed again and again.
        if any(child.hash == candidate.workflow.hash for candidate in self.candidates):
            return "this very team was tried already; make a different one"
        return self.wrong(child)


def reward(candidate: Candidate) -> float:
    """The judge's quality less a millionth for each live worker token; a candidate without a verdict comes after all others.

    The paper also takes 0.001 for each second. Seconds differ when a run is resumed, and decide only between equal qualities, so they are left out.
    """
    live = sum(outcome.usage.tokens for outcome in candidate.execution.outcomes.values() if outcome.how == "ran")
    return quality(candidate) - _TOKEN * live


def ranked(candidates: Sequence[Candidate]) -> list[Candidate]:
    """``candidates``, the best first: by reward, then fewer hard failures, then the earlier."""
    return sorted(
        candidates, key=lambda item: (-reward(item), len(item.execution.errors) + (not item.audit.valid), item.index)
    )


def adapted(workflow: Workflow, answer: Adapted) -> Workflow:
    """``workflow`` with the texts of ``answer``."""
    return rewritten(workflow, {node.id: {"subtask": node.subtask, "prompt": node.prompt} for node in answer.nodes})


def mutated(workflow: Workflow, mutation: Mutation) -> Workflow:
    """``workflow`` with the mutation's one component changed; whatever else the mutation says is left aside."""
    fields = {"prompts": ("subtask", "prompt"), "tools": ("tools",), "topology": ("inputs",)}[mutation.component]
    return rewritten(workflow, {node.id: {name: getattr(node, name) for name in fields} for node in mutation.nodes})


def crossed(parent: Workflow, answer: Crossed) -> Workflow:
    """A child with the complete topology of ``parent`` and the texts and tools of ``answer``."""
    changes = {}
    for node in answer.nodes:
        tools = {} if node.tools is None else {"tools": node.tools}
        changes[node.id] = {"subtask": node.subtask, "prompt": node.prompt, **tools}
    return rewritten(parent, changes)


def _with_subtasks(workflow: Workflow, answer: Any) -> Workflow:
    """``workflow`` with the subtasks of a small model's design."""
    return rewritten(workflow, {id_: {"subtask": text} for id_, text in answer.design.subtasks.model_dump().items()})


def _unknown(nodes: Sequence[AdaptedNode], workflow: Workflow) -> str:
    for node in nodes:
        if node.id not in workflow.by_id:
            return f"{shown(node.id)} is no node of the team{near(node.id, workflow.by_id)}"
    return ""


def _parents_wrong(names: Sequence[str], number: int) -> Callable[[Parents], str]:
    def wrong(answer: Parents) -> str:
        if len(set(answer.parents)) == len(answer.parents) == number and set(answer.parents) <= set(names):
            return ""
        return f"choose {number} different ones of: {listed(names)}"

    return wrong


def _pairs_type(names: Sequence[str], number: int) -> type[Written]:
    """One of all ways to choose, so that a small model cannot name one twice: ``parents``."""
    ways: Any = Literal[tuple(", ".join(way) for way in combinations(names, number))]
    return create_model("Parents", __base__=Written, parents=(ways, ...))

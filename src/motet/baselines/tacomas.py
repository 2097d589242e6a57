"""``tacomas``: one team learns while it works: in a fast loop its prompts grow by what a coach adds, in a slow loop its graph changes.

Source: TacoMAS, arXiv 2605.09539. What the paper leaves open, or has in a form that does not fit here, is marked as inferred. Left out are its kinds of birth (clone, mutated role,
hybrid) and of edges, and the change that it forces where quality stagnates: which kinds of nodes and edges there are is the role set's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from types import GenericAlias
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, create_model

from motet.baselines.search import Search, quality
from motet.canonical import clean_text
from motet.errors import InputError, ModelError
from motet.inherit.candidate import Candidate, Mark
from motet.inherit.choices import enumerate_edits
from motet.inherit.edits import Edit, apply
from motet.inherit.roles import Effects, RoleSet, starts_of
from motet.inherit.team import Desk, Team
from motet.inherit.trial import Proposal
from motet.inherit.validity import validate
from motet.inherit.workflow import Node, Workflow
from motet.models.structured import Written
from motet.runs.run import Run
from motet.task import Result, Task
from motet.value import Value
from motet.words import near, shown

_DELTA = 2000  # characters of one addition to a prompt
_PROMPT = 6000  # characters of a prompt that are kept, the last ones
_SMALL = 80  # characters of an addition that a small model writes
_STRUCTURAL = ("add_node", "remove_node", "add_edge", "remove_edge", "insert_node")


class Bounds(Value):
    """How far one slow step may go: new and gone members, edges that differ, and members in all."""

    births: int = Field(default=2, ge=0)
    deaths: int = Field(default=2, ge=0)
    edges: int = Field(default=8, ge=0)
    least: int = Field(default=5, ge=1)
    most: int = Field(default=20, ge=1)

    def wrong(self, before: Workflow, after: Workflow) -> str:
        """How ``after`` goes too far from ``before``, in words; empty where it does not. Edges of new and gone members count."""
        old, new = set(before.by_id), set(after.by_id)
        differ = len(set(before.edges) ^ set(after.edges))
        found = []
        if len(new - old) > self.births:
            found.append(f"{len(new - old)} members are new; at most {self.births} may be")
        if len(old - new) > self.deaths:
            found.append(f"{len(old - new)} members are gone; at most {self.deaths} may go")
        if differ > self.edges:
            found.append(f"{differ} edges differ; at most {self.edges} may")
        if not self.least <= len(new) <= self.most:
            found.append(f"there are {len(new)} members; {self.least} to {self.most} are allowed")
        return "\n".join(f"- {line}" for line in found)


class Capability(Written):
    """What an agent contributed, and what to add to its prompt."""

    agent_id: str
    contribution_score: Mark
    score_reason: str = ""
    prompt_delta: str = ""


class Capabilities(Written):
    """What all agents contributed, and whether to go on."""

    agents: list[Capability]
    continue_evolution: bool


class Member(Written):
    """A member of the next graph; of one that stays, only the inputs count."""

    id: str
    role: str = ""
    subtask: str = ""
    prompt: str = ""
    tools: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()


class Structure(Written):
    """The next graph."""

    nodes: list[Member]


class TacoMAS(Team):
    """The system. ``rounds`` are those of the fast loop; the slow one follows every ``slow_every`` of them, but not the last, and goes no further than ``births`` to ``most``
    say: see ``Bounds``. ``enough`` is the quality, of 100, that ends the rounds.

    The meta-model asks with ``control_sampling``, as in all methods here; the paper's temperature is 0.3. Results are inherited only where ``inherit`` is set.
    """

    rounds: int = Field(default=10, ge=1)
    slow_every: int = Field(default=2, ge=1)
    births: int = Field(default=2, ge=0)
    deaths: int = Field(default=2, ge=0)
    edges: int = Field(default=8, ge=0)
    least: int = Field(default=5, ge=1)
    most: int = Field(default=20, ge=1)
    enough: float = Field(default=99.9, ge=0, le=100)
    inherit: bool = False

    @property
    def name(self) -> str:
        """``tacomas``."""
        return "tacomas"

    async def solve(self, task: Task, *, run: Run) -> Result:
        """Let a team work on ``task`` round by round, and give the best round's result. Raises InputError where the role set has no team to begin with."""
        return await Coaching(self, self.open(task, run=run), run=run).work()


class Coaching(Search):
    """A team in progress."""

    def __init__(self, config: TacoMAS, desk: Desk, *, run: Run) -> None:
        super().__init__(desk, prompts="tacomas", run=run)
        self.config = config
        self.bounds = Bounds.model_validate({name: getattr(config, name) for name in Bounds.model_fields})
        self._tried: list[tuple[str, Edit]] = []

    async def evolve(self) -> None:
        """Rounds, until the work is good enough, the coach says stop, or none is left."""
        brief = self.desk.brief
        workflow = first_team(brief.roles, brief.effects)
        parent: Candidate | None = None
        for index in range(self.config.rounds):
            scope = self.open_round(index)
            candidate = await self.attempt(
                Proposal("round" if index else "initial", workflow, parent), index=index, scope=scope
            )
            # Inferred: after the last round nobody asks what to do better.
            if index == self.config.rounds - 1 or (candidate.quality or 0) >= self.config.enough:
                return
            said = await self._coach(candidate, scope)
            if said is not None and not said.continue_evolution:
                return
            workflow = taught(workflow, said, longest=min(_PROMPT, brief.roles.max_text)) if said else workflow
            if (index + 1) % self.config.slow_every == 0:
                workflow = await self._restructure(workflow, candidate, said, scope)
            parent = candidate

    def choose(self, candidates: list[Candidate]) -> Candidate:
        """The highest quality, and of equals the earliest; one without a verdict comes after all others."""
        return min(candidates, key=lambda item: (-quality(item), item.index))

    async def _coach(self, candidate: Candidate, scope: Run) -> Capabilities | None:
        """What each agent is to learn from the round; ``None`` where the coach gave nothing usable, and the team stays as it is."""
        view, ids = self.desk.brief.view, candidate.workflow.order
        small = self.desk.meta.small
        try:
            said: Written = await self.ask(
                "capabilities",
                _small_capabilities(ids) if small else Capabilities,
                check=None if small else lambda answer: _wrong_capabilities(answer, candidate.workflow),
                run=scope.child("capabilities"),
                round=candidate.index + 1,
                workflow=view.workflow(candidate.workflow),
                outputs=view.outputs(candidate.execution),
                critique=candidate.feedback(),
                longest=_SMALL if small else _DELTA,
            )
        except ModelError as error:
            self.do_without(candidate.index, "capabilities", error, scope=scope)
            return None
        return Capabilities.model_validate(said.model_dump())

    async def _restructure(
        self, workflow: Workflow, candidate: Candidate, said: Capabilities | None, scope: Run
    ) -> Workflow:
        """The next graph; ``workflow`` as it is where what was proposed goes too far or is not valid, twice."""
        child = scope.child("structure")
        brief = self.desk.brief
        seen = {"workflow": brief.view.workflow(workflow), "critique": candidate.feedback()}
        try:
            if self.desk.meta.small:
                choices = [
                    choice
                    for choice in enumerate_edits(workflow, brief.roles, brief.effects, tried=self._tried)
                    if choice.kind in _STRUCTURAL and not self.bounds.wrong(workflow, apply(workflow, choice.edit))
                ]
                edit = await self.choose_edit("structure_small", choices, workflow, run=child, **seen)
                self._tried.append((workflow.hash, edit))
                return apply(workflow, edit)

            def wrong(answer: Structure) -> str:
                after = restructured(workflow, answer)
                return self.bounds.wrong(workflow, after) or self.wrong(after)

            proposed = await self.ask(
                "structure",
                Structure,
                check=wrong,
                run=child,
                scores=_scores(said.agents) if said else "",
                **self._limits(),
                **seen,
            )
            return restructured(workflow, proposed)
        except ModelError as error:
            self.do_without(candidate.index, "structure", error, scope=scope)
            return workflow

    def _limits(self) -> dict[str, int]:
        """The bounds, none wider than the role set's."""
        roles = self.desk.brief.roles
        limits: dict[str, int] = self.bounds.model_dump()
        return {
            **limits,
            "least": max(self.bounds.least, roles.min_nodes),
            "most": min(self.bounds.most, roles.max_nodes),
        }


def first_team(roles: RoleSet, tools: Effects) -> Workflow:
    """Planner, two searchers, verifier and synthesizer, as roles of ``roles``, with an executor where something can be written.

    Inferred: where that does not fit the role set, its largest start. Raises InputError where it has none.
    """
    writing = [tool for tool, effect in tools.items() if effect == "write"]
    nodes = []
    for member in _members():
        role = next((role for role in member["roles"] if role in roles.roles), None)
        if role is None or (role == roles.writer and not writing):
            continue
        held = roles.holdable(role, tools) if member.get("holds_tools") else ()
        if role == roles.writer:
            held = tuple(writing)
        texts = {name: member[name] for name in ("id", "subtask", "prompt")}
        nodes.append(Node(**texts, role=role, tools=held, inputs=tuple(member.get("inputs", ()))))
    team = Workflow(name="tacomas", nodes=tuple(nodes))
    if not validate(team, roles, tools):
        return team
    starts = starts_of(roles, tools)
    if not starts:
        raise InputError(f"the role set {roles.name!r} has no team to begin with that is valid with these tools")
    return max(starts.values(), key=lambda start: len(start.nodes))


def taught(workflow: Workflow, said: Capabilities, *, longest: int) -> Workflow:
    """``workflow`` with what is to be added to the prompts, of which the last ``longest`` characters are kept."""
    deltas: dict[str, str] = {}
    for agent in said.agents:
        deltas.setdefault(agent.agent_id, clean_text(agent.prompt_delta).strip())
    nodes = [
        Node.model_validate({**node.model_dump(), "prompt": f"{node.prompt}\n{deltas[node.id]}"[-longest:]})
        if deltas.get(node.id)
        else node
        for node in workflow.nodes
    ]
    return workflow.model_copy(update={"nodes": tuple(nodes)})


def restructured(workflow: Workflow, proposed: Structure) -> Workflow:
    """The graph that is ``proposed``: members that stay are as they are but for their inputs (inferred: what they are told is the fast loop's)."""
    nodes = []
    for member in proposed.nodes:
        known = workflow.by_id.get(member.id)
        made = {**known.model_dump(), "inputs": member.inputs} if known is not None else member.model_dump()
        nodes.append(Node.model_validate(made))
    return Workflow(name=workflow.name, rationale=workflow.rationale, nodes=tuple(nodes))


@cache
def _members() -> Sequence[Mapping[str, Any]]:
    found = yaml.safe_load(
        files("motet.baselines").joinpath("prompts", "tacomas_team.yaml").read_text(encoding="utf-8")
    )
    assert isinstance(found, list)
    return found


def _wrong_capabilities(answer: Capabilities, workflow: Workflow) -> str:
    for agent in answer.agents:
        if agent.agent_id not in workflow.by_id:
            return f"{shown(agent.agent_id)} is no agent of the team{near(agent.agent_id, workflow.by_id)}"
        if len(agent.prompt_delta) > _DELTA:
            return f"the prompt_delta of {shown(agent.agent_id)} has {len(agent.prompt_delta)} characters; at most {_DELTA} are allowed"
    return ""


def _small_capabilities(ids: Sequence[str]) -> type[Written]:
    """Capabilities with short texts and no ids but those of the team."""
    short = Annotated[str, Field(max_length=_SMALL)]
    parts: dict[str, Any] = {
        "agent_id": (Literal[tuple(ids)], ...),
        "contribution_score": (Mark, ...),
        "score_reason": (short, ...),
        "prompt_delta": (short, ...),
    }
    capability = create_model("SmallCapability", __base__=Written, **parts)
    agents: Any = Annotated[GenericAlias(list, (capability,)), Field(max_length=len(ids))]
    return create_model("SmallCapabilities", __base__=Written, agents=(agents, ...), continue_evolution=(bool, ...))


def _scores(agents: Sequence[Capability]) -> str:
    return "\n".join(f"{agent.agent_id}: {agent.contribution_score}, {agent.score_reason}" for agent in agents)

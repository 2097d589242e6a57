"""``fugue``: peers that search the same task in parallel and share what they find through a hub that they can question. Source: AgentFugue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag, model_validator

from motet.agent.react import React
from motet.fugue.aggregate import Rule
from motet.fugue.hub import LEAST, HubConfig
from motet.fugue.peer import Room
from motet.fugue.team import Manner, Member, Team
from motet.fugue.visibility import Visibility
from motet.models.model import Sampling
from motet.runs.budget import Budget
from motet.runs.run import Run
from motet.system import Configured, ModelRef, Needs, ToolRef
from motet.task import Result, Task
from motet.value import Value

NAME = r"^([a-z][a-z0-9_-]{0,31})?$"  # of a peer, or none
_TAKEN = ("hub", "judge")  # scopes beside the peers


class PeerSpec(Value):
    """One peer of a team whose members differ. What is left out is as the team has it; ``tools`` are beside the team's."""

    name: str = Field(default="", pattern=NAME)
    model: ModelRef | None = None
    tools: tuple[ToolRef, ...] = ()
    sampling: Sampling | None = None
    instructions: str = ""
    max_steps: int | None = Field(default=None, gt=0)
    max_tokens: int | None = Field(default=None, gt=0)
    budget: Budget | None = None


def _how_given(value: object) -> str:
    return "each" if isinstance(value, Sequence) and not isinstance(value, str) else "number"


# How many peers, or each one by itself. Told apart by form, so that what is wrong with one is said of that one.
Peers: TypeAlias = Annotated[
    Annotated[int, Field(strict=True), Tag("number")] | Annotated[tuple[PeerSpec, ...], Tag("each")],
    Discriminator(_how_given),
]


class Fugue(Configured):
    """A team of peers.

    ``peers`` is how many, or each one by itself. ``visibility`` is what they are shown of each other, ``rule`` how their answers become one. ``hub_model`` writes notes and answers
    reads (by default ``model``), with a window of ``hub_window`` tokens; ``room`` says how much of what a peer's context holds. ``verify`` refuses claims whose quote is not in the raw
    steps, ``dispute`` marks contradicted ones, ``synthesis`` answers reads by the hub model rather than by stored notes, ``pointers`` offers notes that bear on what a peer is doing.
    ``early_stop`` ends a search in which more than half agree. ``peer_budget`` is for each peer.
    """

    model: ModelRef = "embedded"
    peers: Peers = 3
    tools: tuple[ToolRef, ...] = ()
    visibility: Visibility = "notes+read"
    rule: Rule = "majority"
    hub_model: ModelRef | None = None
    hub_window: int = Field(default=32_000, gt=0)
    hub_tokens: int = Field(default=900, gt=0)
    read_tokens: int = Field(default=600, gt=0)
    read_seconds: float = Field(default=60.0, gt=0)
    room: Room = Room()
    verify: bool = True
    dispute: bool = True
    synthesis: bool = True
    pointers: bool = False
    early_stop: bool = False
    diversify: bool = True
    judge_model: ModelRef | None = None
    max_steps: int = Field(default=20, gt=0)
    max_tokens: int = Field(default=1024, gt=0)
    max_calls: int = Field(default=8, gt=0)
    sampling: Sampling = Sampling()
    instructions: str = ""
    actions: Literal["auto", "native", "json"] = "auto"
    peer_budget: Budget | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Fugue:
        if (isinstance(self.peers, int) and self.peers < 1) or not self.peers:
            raise ValueError("a team needs at least one peer")
        longest = max(self.hub_tokens, self.read_tokens)
        if self.hub_window <= longest + LEAST:
            raise ValueError(
                f"hub_window is {self.hub_window} tokens, which leaves no room for steps beside the task, the instructions and {longest} tokens of a note or an answer; "
                f"it must be more than {longest + LEAST}"
            )
        names = [member.name for member in self.members()]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"two peers are called {twice!r}; each needs a name of its own")
        taken = next((name for name in names if name in _TAKEN), None)
        if taken is not None:
            raise ValueError(f"a peer cannot be called {taken!r}; the team has a part of that name")
        return self

    @property
    def name(self) -> str:
        """``fugue``."""
        return "fugue"

    def needs(self) -> Needs:
        """The models of all peers, of the hub and of the judge; the tools."""
        members = self.members()
        models: list[Any] = [member.config.model for member in members]
        if self.visibility != "isolated":
            models.append(self.hub_model or self.model)
        if self.rule == "judge":
            models.append(self.judge_model or self.model)
        return Needs(_each(models), tuple(dict.fromkeys(tool for member in members for tool in member.tools)))

    def members(self) -> tuple[Member, ...]:
        """The peers, each with all that it is made of."""
        specs = tuple(PeerSpec() for _ in range(self.peers)) if isinstance(self.peers, int) else self.peers
        return tuple(self._member(spec, number) for number, spec in enumerate(specs, 1))

    async def solve(self, task: Task, *, run: Run) -> Result:
        """Search side by side, and give the team's answer."""
        return await self.team(task, run=run).work()

    def team(self, task: Task, *, run: Run) -> Team:
        """The team for ``task``, in the scope ``run``."""
        hub = HubConfig(
            model=self.hub_model or self.model,
            window=self.hub_window,
            max_tokens=self.hub_tokens,
            read_tokens=self.read_tokens,
            verify=self.verify,
            dispute=self.dispute,
            synthesis=self.synthesis,
        )
        manner = Manner(
            visibility=self.visibility,
            rule=self.rule,
            room=self.room,
            pointers=self.pointers,
            early_stop=self.early_stop,
            read_seconds=self.read_seconds,
            judge=self.judge_model or self.model,
            diversify=self.diversify,
        )
        return Team(self.members(), task, manner=manner, hub=hub, run=run)

    def _member(self, spec: PeerSpec, number: int) -> Member:
        sampling = spec.sampling or self.sampling
        if spec.sampling is None and sampling.seed is not None:
            # One seed for all would make equal peers say equal things.
            sampling = sampling.model_copy(update={"seed": sampling.seed + number - 1})
        config = React(
            model=spec.model or self.model,
            max_steps=spec.max_steps or self.max_steps,
            max_tokens=spec.max_tokens or self.max_tokens,
            max_calls=self.max_calls,
            sampling=sampling,
            instructions="\n\n".join(part for part in (self.instructions, spec.instructions) if part),
            actions=self.actions,
        )
        return Member(
            name=spec.name or f"p{number}",
            config=config,
            tools=(*self.tools, *spec.tools),
            budget=spec.budget or self.peer_budget,
        )


def _each(models: list[Any]) -> tuple[Any, ...]:
    """``models``, each once, in their order."""
    return tuple(model for place, model in enumerate(models) if model not in models[:place])

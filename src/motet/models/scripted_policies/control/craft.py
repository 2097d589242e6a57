"""What the control half has to know of a trade, so that one meta-model and one judge serve several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from motet.models.scripted_policies.control.odds import DesignOdds, Luck
from motet.models.scripted_policies.control.reading import Asked, Blame, Member


class Fault(Protocol):
    """Something wrong in a team's work; ``node`` is empty where somebody is missing, ``remedy`` the words that end it."""

    @property
    def node(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def problem(self) -> str: ...

    @property
    def remedy(self) -> str: ...


class Craft(Protocol):
    """A trade, as whoever steers its teams knows it."""

    @property
    def helpers(self) -> tuple[str, ...]:
        """The roles of which somebody more, between two others, can end a mistake."""
        ...

    def team(self, asked: Asked, *, odds: DesignOdds, luck: Luck) -> list[Member]:
        """A valid team for the task, with the shortcomings that ``luck`` gives it, each node after what it reads."""
        ...

    def faults(self, question: str, outputs: Mapping[str, tuple[str, str]]) -> Sequence[Fault]:
        """What is wrong in ``outputs``, role and text by node."""
        ...

    def idle(self, text: str) -> bool:
        """Whether an output holds nothing that anybody could use."""
        ...

    def recruit(self, asked: Asked, blame: Blame) -> Member | None:
        """Who is missing by ``blame``, without inputs; ``None`` where it does not say."""
        ...

    def hire(self, asked: Asked, role: str, *, luck: Luck) -> Member:
        """Somebody of ``role`` with the usual texts and tools, without inputs."""
        ...

    def tool(self, blame: Blame) -> str:
        """The tool that somebody lacks by ``blame``; empty where none is."""
        ...

    def safe_in_subtask(self, remedy: str) -> bool:
        """Whether ``remedy`` may stand in a subtask without narrowing what its node does."""
        ...

    def remedies(self, role: str) -> Sequence[str]:
        """The words that end the mistakes of ``role``, or with ``""`` those of an agent that works alone."""
        ...

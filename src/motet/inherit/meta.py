"""The meta-model: designs a team, drops what the judge blames, chooses one edit, or designs anew. Source: Inherit-MAS, "Workflow inheritance".

Whatever it proposes is checked by the graph's own rules, goes back once with what is wrong, and is a BadReply after that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from motet.errors import BadReply, InputError
from motet.inherit import guided
from motet.inherit.asking import Brief, Voice, ask, prompts
from motet.inherit.candidate import Candidate
from motet.inherit.choices import Choice, enumerate_edits
from motet.inherit.edits import Edit, check, check_drop, removable
from motet.inherit.roles import starts_of
from motet.inherit.validity import in_words, validate
from motet.inherit.workflow import Node, Workflow
from motet.models.structured import Written
from motet.runs.run import Run
from motet.words import clipped, listed

ROLE = "meta"


class DesignedNode(Written):
    """A node as it is designed."""

    id: str
    role: str
    subtask: str = ""
    prompt: str = ""
    tools: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()


class Design(Written):
    """A team as it is designed."""

    rationale: str = ""
    nodes: list[DesignedNode]

    @property
    def workflow(self) -> Workflow:
        """The document."""
        nodes = tuple(Node.model_validate(node.model_dump()) for node in self.nodes)
        return Workflow(nodes=nodes, rationale=self.rationale)


class Selection(Written):
    """The nodes to drop."""

    drop: list[str]


class EditChoice(Written):
    """A number of the menu with the texts that it asks for."""

    choice: int
    prompt: str = ""
    subtask: str = ""
    tools: tuple[str, ...] = ()
    id: str = ""


class MetaModel:
    """A meta-model at work on one task. Each call is made in the scope it is given, so that the caller decides what belongs to which round.

    ``small`` takes the replies of small models: see ``guided``.
    """

    def __init__(self, voice: Voice, brief: Brief, *, small: bool) -> None:
        self.voice = voice
        self.brief = brief
        self.small = small
        self._begun: set[str] = set()
        self._prompts = prompts("meta")
        view = brief.view
        self._system = self._prompts("system", roles=brief.roles.outline(), tools=view.tools(brief.tools))
        self._task = self._prompts("task", question=brief.task.question, context=brief.context)

    async def design(self, *, run: Run, avoid: Collection[str] = ()) -> Workflow:
        """A first team. ``avoid`` holds hashes of teams that were tried. Raises BadReply."""
        if self.small:
            return await self._choose_start(self._prompts_for_starts(), run=run, avoid=avoid)
        return await self._design(self._prompts("design"), run=run, avoid=avoid)

    async def redesign(self, best: Candidate, *, run: Run, avoid: Collection[str] = ()) -> Workflow:
        """A different team, in view of the best so far. Raises BadReply."""
        told = self._prompts("redesign", **self._seen(best))
        if self.small:
            return await self._choose_start(f"{told}\n\n{self._prompts_for_starts()}", run=run, avoid=avoid)
        return await self._design(told, run=run, avoid=avoid)

    async def select(self, candidate: Candidate, *, run: Run) -> tuple[str, ...]:
        """The nodes of ``candidate`` to drop; nobody is asked where none can be dropped, or where none of those is blamed. Raises BadReply."""
        brief, workflow = self.brief, candidate.workflow
        can = removable(workflow, brief.roles, brief.effects)
        blamed = {blame.node for blame in candidate.verdict.fix} if candidate.verdict else set()
        if not can or not (brief.view.asks_always or blamed & set(can)):
            return ()

        def wrong(answer: Written) -> str:
            return in_words(check_drop(workflow, _drop(answer), brief.roles, brief.effects))

        told = self._prompts("select", **self._seen(candidate), removable=", ".join(can))
        type_: type[Written] = guided.select_type(can) if self.small else Selection
        return _drop(await self._ask(told, type_, wrong, run=run))

    async def edit(
        self, workflow: Workflow, candidate: Candidate, *, tried: Collection[tuple[str, Edit]], run: Run
    ) -> Edit:
        """One change to ``workflow``, which is what is kept of ``candidate``'s. ``tried`` are edits made before, with the hashes of what they were made on.

        Raises BadReply, also where there is nothing left to choose.
        """
        brief = self.brief
        choices = enumerate_edits(workflow, brief.roles, brief.effects, tried=tried)
        if not choices:
            raise BadReply("there is no edit of the workflow left that was not tried")
        by_number = {choice.number: choice for choice in choices}

        def wrong(answer: Written) -> str:
            found = edit_of(answer, by_number)
            return found if isinstance(found, str) else in_words(check(workflow, found, brief.roles, brief.effects))

        seen = {**self._seen(candidate), "workflow": brief.view.workflow(workflow)}
        told = self._prompts("edit", **seen, menu=brief.view.menu(choices))
        type_ = guided.edit_type(choices, workflow, brief.roles, brief.effects) if self.small else EditChoice
        found = edit_of(await self._ask(told, type_, wrong, run=run), by_number)
        assert not isinstance(found, str)
        return found

    def _seen(self, candidate: Candidate) -> dict[str, str]:
        view = self.brief.view
        return {
            "workflow": view.workflow(candidate.workflow),
            "critique": candidate.feedback(),
            "evidence": view.evidence(candidate.execution),
        }

    async def _design(self, told: str, *, run: Run, avoid: Collection[str]) -> Workflow:
        def wrong(answer: Written) -> str:
            assert isinstance(answer, Design)
            return self._wrong(answer.workflow, avoid)

        answer = await self._ask(told, Design, wrong, run=run)
        assert isinstance(answer, Design)
        return answer.workflow

    def _prompts_for_starts(self) -> str:
        return self._prompts("design_small", starts=self.brief.roles.starts)

    async def _choose_start(self, told: str, *, run: Run, avoid: Collection[str]) -> Workflow:
        starts = starts_of(self.brief.roles, self.brief.effects)
        left = {name: workflow for name, workflow in starts.items() if name not in self._begun} or starts
        if not left:
            raise BadReply(f"the role set {self.brief.roles.name!r} has no start that is valid with these tools")

        def wrong(answer: Written) -> str:
            return self._wrong(_started(answer, left), avoid)

        chosen = _started(await self._ask(told, guided.design_type(left), wrong, run=run), left)
        self._begun.add(chosen.name)
        return chosen

    def _wrong(self, workflow: Workflow, avoid: Collection[str]) -> str:
        if workflow.hash in avoid:
            return "this very team was tried already; design a different one"
        return in_words(validate(workflow, self.brief.roles, self.brief.effects))

    async def _ask(self, told: str, type_: type[Written], wrong: Any, *, run: Run) -> Written:
        return await ask(
            self.voice, run=run, role=ROLE, system=self._system, user=(self._task, told), type_=type_, check=wrong
        )


def _drop(answer: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(answer.drop))


def _started(answer: Any, starts: dict[str, Workflow]) -> Workflow:
    """The chosen start with the subtasks that were written; where one is empty, the start's own stays."""
    chosen = answer.design
    workflow = starts[chosen.start]
    written = chosen.subtasks.model_dump()
    nodes = [
        node.model_copy(update={"subtask": written[node.id]}) if written[node.id].strip() else node
        for node in workflow.nodes
    ]
    return workflow.model_copy(update={"nodes": tuple(nodes)})


def edit_of(answer: Any, choices: Mapping[int, Choice]) -> Edit | str:
    """The edit that ``answer``, a reply of either form, makes of ``choices`` by number; or what is wrong with it."""
    written = {name: value for name, value in dict(getattr(answer, "edit", answer)).items() if name != "choice"}
    number = getattr(answer, "edit", answer).choice
    if number not in choices:
        return f"there is no choice {clipped(str(number), width=20)} on the menu, which has: {_numbers(choices)}"
    if "tools" in written:
        written["tools"] = tuple(dict.fromkeys(written["tools"]))
    try:
        return choices[number].complete(**written)
    except InputError as error:
        return str(error)


def _numbers(choices: Collection[int]) -> str:
    numbers = sorted(choices)
    return (
        f"{numbers[0]} to {numbers[-1]}" if len(numbers) == numbers[-1] - numbers[0] + 1 else listed(map(str, numbers))
    )

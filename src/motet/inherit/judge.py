"""The judge: sees a team, what its members gave and the audit, and gives marks, a critique and names. Source: Inherit-MAS, "Judge".

A seam: whatever has ``judge`` may stand in for the model, such as several models of which the median counts.
"""

from __future__ import annotations

from typing import Protocol

from motet.inherit import guided
from motet.inherit.asking import Brief, Voice, ask, prompts
from motet.inherit.audit import Audit
from motet.inherit.candidate import Blame, Mark, Verdict
from motet.inherit.execution import Execution
from motet.models.structured import Written
from motet.runs.run import Run

ROLE = "judge"


class Judge(Protocol):
    """Judges one candidate of a task."""

    async def judge(self, execution: Execution, audit: Audit, *, brief: Brief, run: Run) -> Verdict:
        """The verdict, found in the scope ``run``. Raises ModelError; the candidate then stays without one."""
        ...


class Blamed(Written):
    """A node to blame, as a model writes it."""

    node: str
    problem: str = ""


class VerdictReply(Written):
    """A verdict as a model writes it."""

    quality_score: Mark
    completion_likelihood: Mark
    requirement_coverage: Mark
    artifact_grounding: Mark
    critique: str
    keep: tuple[str, ...] = ()
    fix: tuple[Blamed, ...] = ()


class ModelJudge:
    """One model. ``small`` takes the replies of small models: see ``guided``."""

    def __init__(self, voice: Voice, *, small: bool) -> None:
        self.voice = voice
        self.small = small
        self._prompts = prompts("judge")

    async def judge(self, execution: Execution, audit: Audit, *, brief: Brief, run: Run) -> Verdict:
        """The model's verdict; nodes that it names and that are none are left out, and of several problems of one node all but the first. Raises ModelError."""
        case = self._prompts(
            "case",
            question=brief.task.question,
            context=brief.context,
            workflow=brief.view.workflow(execution.workflow),
            outputs=brief.view.outputs(execution),
            audit=audit.words(),
        )
        ids = execution.workflow.order
        type_: type[Written] = guided.verdict_type(ids) if self.small else VerdictReply
        said = await ask(self.voice, run=run, role=ROLE, system=self._prompts("system"), user=(case,), type_=type_)
        return _verdict(said, frozenset(ids))


def _verdict(said: Written, ids: frozenset[str]) -> Verdict:
    found = VerdictReply.model_validate(said.model_dump())
    problems: dict[str, str] = {}
    for blame in found.fix:
        problems.setdefault(blame.node, blame.problem.strip())
    return Verdict(
        quality_score=found.quality_score,
        completion_likelihood=found.completion_likelihood,
        requirement_coverage=found.requirement_coverage,
        artifact_grounding=found.artifact_grounding,
        critique=found.critique.strip(),
        keep=tuple(id_ for id_ in dict.fromkeys(found.keep) if id_ in ids),
        fix=tuple(Blame(node=id_, problem=problem) for id_, problem in problems.items() if id_ in ids),
    )

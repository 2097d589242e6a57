"""A system that plans before it writes: an agent works on a staged world, then its plan is approved and committed."""

from __future__ import annotations

from collections.abc import Sequence

from motet.agent.react import React
from motet.runs.commit import Committed, commit
from motet.runs.run import Run
from motet.system import Configured, Needs, ToolRef
from motet.task import Failure, Result, Task
from motet.worlds import Shared, Staged, Write, stage


class Planner(Configured):
    """``agent`` drafts on a staged copy of the world and of ``tools``; the plan is carried out at the end."""

    agent: React
    tools: tuple[ToolRef, ...] = ()

    @property
    def name(self) -> str:
        """In tables."""
        return "planner"

    def needs(self) -> Needs:
        """The agent's model, and the tools."""
        return Needs(models=(self.agent.model,), tools=self.tools)

    async def solve(self, task: Task, *, run: Run) -> Result:
        """Draft, ask, commit."""
        real = run.child("real", world=Shared(run.world, run.tools(self.tools)), apart=True)
        assert real.world is not None
        staged = stage(real.world)
        drafted = await self.agent.solve(task, run=real.child("draft", world=staged))
        committed = await carry_out(real, staged)
        if committed.failed is not None:
            why = committed.failed.observation.text
            return Result(status="failed", error=Failure(boundary="tool", kind="ToolError", message=why))
        return Result(status="completed", answer=drafted.answer, details={"writes": len(committed.done)})


async def carry_out(real: Run, staged: Staged) -> Committed:
    """Ask for a yes to what was staged, and commit it in the scope ``real``."""
    plan: Sequence[Write] = tuple(staged.plan)
    await real.approve(plan)
    return await commit(real, plan)

"""Committing a plan: the writes that were staged are carried out for real, each once.

Every write goes through ``Run.tool`` in a scope of its own, so it is journaled before it is sent and after it is confirmed, with its idempotency key; a
resumed run goes on with the first write that was not confirmed.
"""

from __future__ import annotations

from collections.abc import Sequence

from motet.errors import InputError
from motet.runs.run import Run
from motet.settings import nearest
from motet.tools.tool import Observation
from motet.value import Value
from motet.worlds.world import Write


class Carried(Value):
    """A write that was carried out, with what its tool answered."""

    write: Write
    observation: Observation


class Committed(Value):
    """What became of a plan: the writes that were ``done``, the one that ``failed``, if any, and those that were ``left`` because of it. Each in order."""

    done: tuple[Carried, ...] = ()
    failed: Carried | None = None
    left: tuple[Write, ...] = ()


async def commit(run: Run, plan: Sequence[Write]) -> Committed:
    """Carry out ``plan`` in its order, with the tools that ``run`` really has, in its child scope ``commit``; stop at the first write that fails.

    Whether it may be carried out is asked before, by ``Run.approve``. Raises InputError, before anything is written, for a tool that may not be used here or is not there, and
    UnconfirmedWrite when an earlier sitting sent a write of which nobody can say whether it happened.
    """
    scope = run.child("commit")
    tools = {tool.name: tool for tool in scope.tools(())}
    for write in plan:
        if write.tool not in tools:
            raise InputError(
                f"the plan cannot be carried out in scope {run.scope}: it may use no tool {write.tool!r}{nearest(write.tool, tools)}"
            )
    scope.emit("commit.planned", writes=len(plan))
    done: list[Carried] = []
    for position, write in enumerate(plan):
        carried = Carried(write=write, observation=await scope.tool(tools[write.tool], write.arguments))
        if carried.observation.error:
            left = tuple(plan[position + 1 :])
            scope.emit(
                "commit.failed", tool=write.tool, text=carried.observation.text[:300], done=len(done), left=len(left)
            )
            return Committed(done=tuple(done), failed=carried, left=left)
        done.append(carried)
    scope.emit("commit.done", writes=len(done))
    return Committed(done=tuple(done))

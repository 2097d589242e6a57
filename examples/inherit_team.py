"""A team of your own in ``inherit``: its first workflow is given, one role is played by your own code, and a second run inherits what the first one computed.

    python examples/inherit_team.py

``Inherit`` would go on editing this team (``candidates``); with one candidate it is carried out and judged. The catalogue is a System like any other, and being
``Configured`` it has a record key, so that its results are inherited too.
"""

from __future__ import annotations

import asyncio

import motet
from motet.inherit import read_workflow
from motet.inherit.evolution import read_history
from motet.inherit.system import Inherit

WORKFLOW = read_workflow("""
nodes:
  - {id: catalogue, role: worker, subtask: Look the work up., prompt: Be exact.}
  - {id: answer, role: integrator, subtask: Answer the question., prompt: Answer in one short sentence., inputs: [catalogue]}
""")
WORKS = {"Spem in alium": "Spem in alium, by Thomas Tallis, is a motet for forty voices."}


class Catalogue(motet.Configured):
    """Answers from a list and asks no model."""

    edition: int = 1

    @property
    def name(self) -> str:
        """The name in tables and reports."""
        return "catalogue"

    async def solve(self, task: motet.Task, *, run: motet.Run) -> motet.Result:
        """The lines about works that the question names."""
        found = [line for title, line in WORKS.items() if title in task.question]
        return motet.Result(status="completed", answer=" ".join(found) or "There is no such work here.")


async def main() -> None:
    """Solve the same task twice, and print what was paid and how each node came by its result. The judge is asked each time."""
    team = Inherit(
        model="embedded",
        start=WORKFLOW,
        workers={"worker": Catalogue()},
        candidates=1,
        max_tokens=48,
        control_tokens=240,
    )
    for _ in range(2):
        result = await motet.solve("For how many voices is Spem in alium?", system=team)
        history = read_history(result)
        assert history is not None
        print(f"{result.usage.tokens} tokens paid, {result.inherited.tokens} inherited")
        for id_, row in history.rounds[0].nodes.items():
            print(f"  {id_}: {row.how} ({row.why})")


if __name__ == "__main__":
    asyncio.run(main())

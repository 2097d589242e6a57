"""A scripted control plane for tests: whole searches on invented tasks in an invented office, and the requests that they put."""

from __future__ import annotations

from typing import NamedTuple

from motet.inherit import named_roles
from motet.inherit.evolution import read_history
from motet.inherit.history import History
from motet.models.model import Request
from motet.models.scripted import Policy, ScriptedModel, Turn
from motet.models.scripted_policies.office import policy
from motet.runs.run import Run
from motet.store.store import Store
from motet.system import Configured
from motet.task import Result, Task
from tests.models.scripted_policies.crew import asked
from tests.runs.desk import go, new_run, work_once
from tests.worlds.workbench.office import small_office

ROLES = named_roles("workbench")
QUESTIONS = tuple(
    asked(query.format(one=one, other=other))
    for one, other in (("ann", "bo"), ("bo", "ann"))
    for query in (
        "can you reassign all of {one}'s backlog tasks to {other}?",
        "Send {one} an email titled 'Hello' saying 'Bring a pen'",
        "{one} is leaving the company. Can you cancel all future meetings with them?",
        "Did I already schedule a meeting with {one} in the next 6 days? If not, send them an email titled 'Hello?' saying 'Shall we meet?'",
        "If {one} hasn't sent me any emails in the past 5 days, schedule a 45 minute meeting with them for Tuesday at 4:15 called 'Tea'",
    )
)


class Searched(NamedTuple):
    """What a search came to, and what was asked and said in it, in order."""

    result: Result
    requests: list[tuple[Request, str]]

    @property
    def story(self) -> History:
        """The rounds."""
        found = read_history(self.result)
        assert found is not None, self.result.error
        return found


class Heard:
    """A policy that keeps what it is asked and what it says."""

    def __init__(self, inner: Policy) -> None:
        self.inner = inner
        self.requests: list[tuple[Request, str]] = []

    def __call__(self, request: Request) -> Turn:
        """What the inner policy says."""
        said = self.inner(request)
        turn = Turn(text=said) if isinstance(said, str) else said
        self.requests.append((request, turn.text))
        return turn


def search(store: Store, system: type[Configured], question: str, **config: object) -> Searched:
    """``system`` at work on ``question`` in the small office, with the committed policy in every seat."""
    heard = Heard(policy)
    made = system.model_validate({"model": ScriptedModel("office", heard), **config})
    task = Task(id="task", question=question)
    world = small_office()

    async def solve(task: Task, run: Run) -> Result:
        result: Result = await made.solve(task, run=run.child("search", world=world))  # type: ignore[attr-defined]
        return result

    async def main() -> Result:
        return await work_once(store, await new_run(store, task), solve, task=task)

    return Searched(go(main()), heard.requests)

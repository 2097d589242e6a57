"""An evolution for tests: one scripted model that speaks as meta-model, as judge and as every node, in real runs on a real store."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from typing import Any, TypeAlias

from pydantic import JsonValue

from motet.inherit.evolution import read_history
from motet.inherit.history import History
from motet.inherit.system import Inherit
from motet.models.model import Reply, Request, ToolCall
from motet.runs.run import Run
from motet.store.queries import event_list
from motet.store.store import Store
from motet.task import Result, Task
from motet.tools.tool import Tool
from motet.usage import Usage
from motet.worlds.world import World
from tests.inherit.team import speaker, told
from tests.runs.desk import TASK, Answer, BreakOff, Says, go, new_run, sit

Said: TypeAlias = "JsonValue | Exception | Callable[[Request], JsonValue]"

_NUMBERS = count()
USAGE = Usage(prompt=10, completion=5)


def design(*nodes: dict[str, Any]) -> JsonValue:
    """A design as the meta-model writes it."""
    return {"rationale": "as the test says", "nodes": list(nodes)}


def member(id_: str, role: str = "worker", *inputs: str, tools: Sequence[str] = ()) -> dict[str, Any]:
    """A node as the meta-model writes it, whose speaker the model can tell."""
    return {
        "id": id_,
        "role": role,
        "subtask": f"Do {id_}.",
        "prompt": f"Be {id_}.",
        "tools": list(tools),
        "inputs": list(inputs),
    }


TRIO = design(member("find"), member("check", "critic", "find"), member("answer", "integrator", "find", "check"))
PAIR = design(member("look"), member("tell", "integrator", "look"))
ACTING = design(member("find"), member("plan", "integrator", "find"), member("act", "executor", "plan", tools=["send"]))


def marks(quality: int, *blamed: str) -> JsonValue:
    """A verdict as the judge writes it."""
    return {
        "quality_score": quality,
        "completion_likelihood": quality,
        "requirement_coverage": quality,
        "artifact_grounding": quality,
        "critique": "as the test says",
        "keep": [],
        "fix": [{"node": id_, "problem": "it gave nothing"} for id_ in blamed],
    }


def pick(line: str, **texts: Any) -> Callable[[Request], JsonValue]:
    """Chooses the menu's entry ``GROUP: LABEL``, with ``texts``."""

    def choose(request: Request) -> JsonValue:
        group, _, label = line.partition(": ")
        for found in request.messages[-1].content.splitlines():
            head, _, choices = found.partition(": ")
            if head.partition(" (write")[0] == group:
                number = re.search(rf"(?:^|\| )(\d+) {re.escape(label)}(?= \||$)", choices)
                if number:
                    return {"choice": int(number[1]), **texts}
        raise AssertionError(f"the menu has no {line!r}:\n{request.messages[-1].content}")

    return choose


def rewrite(id_: str, text: str) -> Callable[[Request], JsonValue]:
    """Gives the node ``id_`` another prompt."""
    return pick(f"other prompt of: {id_}", prompt=f"Be {id_}. {text}")


class Studio:
    """Runs ``inherit`` with what the meta-model and the judge say, in order; the last of each is said again. ``asked`` counts what the model was asked, by speaker."""

    def __init__(
        self,
        store: Store,
        *,
        meta: Sequence[Said],
        judge: Sequence[Said] = (marks(50),),
        say: Callable[[str, Request], Answer] = told,
        world: World | None = None,
        tools: Sequence[Tool] = (),
        namespace: str = "",
        **config: Any,
    ) -> None:
        self.store = store
        self.model = Says(self._answer, usage=USAGE)
        self.asked: Counter[str] = Counter()
        self.run_id = ""
        self._meta, self._judge = list(meta), list(judge)
        self._say = say
        self._broken = BreakOff(self.model)
        # Of its own, where a test does not share one: the store of a module's tests would give it their results.
        self._namespace = namespace or f"studio-{next(_NUMBERS)}"
        self._world = world
        self._system = Inherit(model=self.model, tools=tuple(tools), **config)

    def solve(self, *, task: Task = TASK, **options: Any) -> Result:
        """The task in a new run."""

        async def main() -> Result:
            self.run_id = await new_run(self.store, task)
            return await self._sit(task, **options)

        return go(main())

    def resume(self, *, task: Task = TASK, **options: Any) -> Result:
        """The same run once more."""
        return go(self._sit(task, **options))

    def break_off(self, position: int, *, task: Task = TASK) -> None:
        """The task in a new run that is broken off at its call ``position``, counted from 0."""

        async def main() -> None:
            self.run_id = await new_run(self.store, task)
            await self._broken.at(position, lambda: self._sit(task))

        go(main())

    async def _sit(self, task: Task, **options: Any) -> Result:
        async with sit(self.store, self.run_id, namespace=self._namespace, **options) as sitting:
            result = await sitting.execute(self._system, task, world=self._world)
            await sitting.finish(result)
            return result

    def move_to(self, world: World) -> None:
        """Go on in ``world``, as another process would."""
        self._world = world

    def told(self, kind: str) -> list[Any]:
        """Payloads of the last run's events of one kind."""
        return [event.payload for event in event_list(self.store, self.run_id) if event.kind == kind]

    def _answer(self, request: Request) -> Answer | Awaitable[Answer]:
        if self._broken.is_due:
            return self._broken.happen()
        system = request.messages[0].content
        for name, first, script in (
            ("meta", "You design and improve", self._meta),
            ("judge", "You judge the work", self._judge),
        ):
            if system.startswith(first):
                said = script[min(self.asked[name], len(script) - 1)]
                self.asked[name] += 1
                if isinstance(said, Exception):
                    return said
                return json.dumps(said(request) if callable(said) else said)
        who = speaker(request)
        self.asked[who] += 1
        return self._say(who, request)


def calls(who: str, *planned: tuple[str, dict[str, Any]]) -> Callable[[str, Request], Answer]:
    """The node ``who`` makes these tool calls, and then says so; the others answer as ever."""

    def say(speaks: str, request: Request) -> Answer:
        if speaks != who:
            return told(speaks, request)
        if any(message.role == "tool" for message in request.messages):
            return "done"
        made = tuple(
            ToolCall(id=str(n), name=name, arguments=json.dumps(args)) for n, (name, args) in enumerate(planned)
        )
        return Reply(text="", tool_calls=made, finish="tool_calls", usage=USAGE)

    return say


def story(result: Result) -> History:
    """The history in a result."""
    found = read_history(result)
    assert found is not None
    return found


__all__ = ["ACTING", "PAIR", "TRIO", "Run", "Studio", "calls", "design", "marks", "member", "pick", "rewrite", "story"]

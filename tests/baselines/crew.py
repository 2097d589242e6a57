"""The baselines for tests: one scripted model that speaks as meta-model, as judge and as every agent, in real runs on a real store."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import count
from typing import Any, TypeAlias

from pydantic import JsonValue

from motet.inherit.evolution import read_history
from motet.inherit.history import History
from motet.models.model import Request
from motet.runs.budget import Budget
from motet.runs.run import Offer, Run
from motet.store.queries import event_list
from motet.store.store import Store
from motet.system import System
from motet.task import Result, Task
from motet.tools.tool import Tool
from motet.usage import Usage
from motet.worlds.world import World
from tests.inherit.studio import marks
from tests.inherit.team import speaker, told
from tests.runs.desk import TASK, Answer, BreakOff, Does, Says, go, new_run, sit

Said: TypeAlias = "JsonValue | Exception | Callable[[Request], JsonValue | Exception]"

# What each kind of question begins with, wherever in the first messages it stands.
SIGNS = {
    "parents": "Choose ",
    "adapt": "Fit this team to the task.",
    "mutate": "Mutate this team in exactly one component",
    "cross": "Cross these two teams into a child.",
    "capabilities": "Say what each agent contributed in round",
    "structure": "Propose the team's next graph",
    "judge": "You judge the work of a team",
    "design": "Design the team for this task.",
    "describe": "Describe one expert for this task",
    "check": "Is this expert worth asking?",
    "refine": "Bring two answers to a task together",
    "split": "Split this task into",
    "synthesise": "Your agents have reported.",
    "describe_step": "Describe one specialist who could say",
}
_NUMBERS = count()


class Crew:
    """Runs ``system`` with what the control roles say by kind of question (see ``SIGNS``): each list in its order, its last again and again. ``asked`` counts by kind.

    Whoever is asked anything else is an agent, and ``say`` answers for it.
    """

    def __init__(
        self,
        store: Store,
        system: Callable[..., System],
        said: Mapping[str, Sequence[Said]],
        *,
        say: Callable[[str, Request], Answer] = told,
        world: World | None = None,
        tools: Sequence[Tool] = (),
        **config: Any,
    ) -> None:
        self.store = store
        self.said: dict[str, Sequence[Said]] = {"judge": [marks(50)], "adapt": [{"nodes": []}], **said}
        self.model = Says(self._answer, usage=Usage(prompt=10, completion=5))
        self.asked: Counter[str] = Counter()
        self.run_id = ""
        self.offers: tuple[Offer, ...] = ()
        self._say = say
        self._broken = BreakOff(self.model)
        self._world = world
        self._namespace = f"crew-{next(_NUMBERS)}"
        self._system = system(model=self.model, tools=tuple(tools), **config)

    def solve(self, *, task: Task = TASK, budget: Budget | None = None) -> Result:
        """The task in a new run."""

        async def main() -> Result:
            self.run_id = await new_run(self.store, task)
            return await self._sit(task, budget)

        return go(main())

    def resume(self, *, task: Task = TASK) -> Result:
        """The same run once more."""
        return go(self._sit(task, None))

    def break_off(self, position: int, *, task: Task = TASK) -> None:
        """The task in a new run that is broken off at its call ``position``, counted from 0."""

        async def main() -> None:
            self.run_id = await new_run(self.store, task)
            await self._broken.at(position, lambda: self._sit(task, None))

        go(main())

    def told(self, kind: str) -> list[Any]:
        """Payloads of the last run's events of one kind."""
        return [event.payload for event in event_list(self.store, self.run_id) if event.kind == kind]

    async def _sit(self, task: Task, budget: Budget | None) -> Result:
        async with sit(self.store, self.run_id, namespace=self._namespace) as sitting:
            result = await sitting.execute(Does(self._work), task, world=self._world, budget=budget)
            await sitting.finish(result)
            return result

    async def _work(self, task: Task, run: Run) -> Result:
        try:
            return await self._system.solve(task, run=run)
        finally:
            self.offers = run.offers

    def _answer(self, request: Request) -> Answer | Awaitable[Answer]:
        if self._broken.is_due:
            return self._broken.happen()
        kind = kind_of(request)
        script = self.said.get(kind, ())
        if not script:
            self.asked["agent"] += 1
            return self._say(speaker(request), request)
        said = script[min(self.asked[kind], len(script) - 1)]
        self.asked[kind] += 1
        found = said(request) if callable(said) else said
        return found if isinstance(found, str | Exception) else json.dumps(found)


def kind_of(request: Request) -> str:
    """What kind of question a request is; empty for an agent's."""
    opening = "\n".join(message.content for message in request.messages[:2])
    return next((kind for kind, sign in SIGNS.items() if f"\n{sign}" in f"\n{opening}"), "")


def story(result: Result) -> History:
    """The history in a result."""
    found = read_history(result)
    assert found is not None, result
    return found


def filled(schema: JsonValue, chance: random.Random, defs: JsonValue = None) -> JsonValue:
    """A value that fits ``schema``, drawn by ``chance``: what a model gives that can decode nothing else."""
    assert isinstance(schema, dict)
    defs = schema.get("$defs", defs)
    if "$ref" in schema:
        assert isinstance(defs, dict)
        return filled(defs[str(schema["$ref"]).rsplit("/", 1)[-1]], chance, defs)
    options = schema.get("anyOf", schema.get("oneOf"))
    if isinstance(options, list):
        return filled(chance.choice(options), chance, defs)
    if "const" in schema:
        return schema["const"]
    if isinstance(schema.get("enum"), list):
        return chance.choice(schema["enum"])  # type: ignore[arg-type]
    match schema.get("type"):
        case "object":
            properties = schema["properties"]
            assert isinstance(properties, dict)
            return {name: filled(value, chance, defs) for name, value in properties.items()}
        case "array":
            least, most = schema.get("minItems", 0), schema.get("maxItems", 3)
            assert isinstance(least, int)
            assert isinstance(most, int)
            return [filled(schema["items"], chance, defs) for _ in range(chance.randint(least, most))]
        case "string":
            return "".join(chance.choices("abc ", k=chance.randint(3, 12)))
        case "integer":
            return chance.randint(0, 100)
        case "number":
            return round(chance.random(), 2)
        case "boolean":
            return chance.random() < 0.8
    raise AssertionError(f"no value for {schema}")


def as_schemas_allow(seed: int) -> dict[str, Sequence[Said]]:
    """Every control role answers by chance, within the schema it was asked with, or in words where it was asked without."""
    chance = random.Random(seed)

    def answer(request: Request) -> JsonValue:
        return filled(request.reply_schema, chance) if request.reply_schema else "some words"

    return {kind: [answer] for kind in SIGNS}

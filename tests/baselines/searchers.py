"""Agents for the tests of teams: they search once and answer by what they were told; a meta agent assigns parts and then answers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from motet.baselines.best_of_n import BestOfN
from motet.baselines.broadcast import Broadcast
from motet.baselines.debate import Debate
from motet.baselines.naive import Naive
from motet.baselines.swarm import Swarm
from motet.fugue.measures import TeamHistory
from motet.models.model import Reply, Request, ToolCall
from motet.store.store import Store
from motet.task import Result
from motet.tools.function import FunctionTool
from motet.usage import Usage
from tests.baselines.crew import Crew
from tests.runs.desk import Answer

USAGE = Usage(prompt=10, completion=5)
PARTS = {"subtasks": ["Find the river.", "Find the town."]}
SYSTEMS_HERE: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "best-of-n": (BestOfN, {"peers": 2}),
    "broadcast": (Broadcast, {"peers": 2, "room": {"close_at": 60, "keep": 0}}),
    "debate": (Debate, {"peers": 2}),
    "naive": (Naive, {"peers": 2}),
    "swarm": (Swarm, {}),
}


async def search(query: str) -> str:
    """Search.

    :param query: Words.
    """
    return f"Of {query} it is known that {query} is long."


def calls(*made: tuple[str, Mapping[str, str]]) -> Reply:
    """A reply that calls tools."""
    return Reply(
        tool_calls=tuple(
            ToolCall(id=str(place), name=name, arguments=json.dumps(dict(arguments)))
            for place, (name, arguments) in enumerate(made, 1)
        ),
        finish="tool_calls",
        usage=USAGE,
    )


def assigns(*subtasks: str) -> Reply:
    """A reply that assigns parts, side by side."""
    return calls(
        *(("assign", {"role": f"You do part {place}.", "subtask": text}) for place, text in enumerate(subtasks, 1))
    )


def question(request: Request) -> str:
    """The first line of what an agent is to do."""
    return next(message.content for message in request.messages if message.role == "user").splitlines()[0]


def leads(request: Request) -> bool:
    """Whether a swarm's meta agent asks."""
    return any(tool.name == "assign" for tool in request.tools) or "sub-agents" in request.messages[0].content


def searches(_who: str, request: Request) -> Answer:
    """Assign two parts or search once, then answer."""
    heard = [message.content for message in request.messages if message.role == "tool"]
    if leads(request):
        return f"all: {' '.join(heard)}" if heard else assigns(*PARTS["subtasks"])
    if not heard:
        return calls(("search", {"query": question(request)}))
    return f"{question(request)} {request.digest[:6]}"


def crew_of(store: Store, name: str, **options: Any) -> Crew:
    """A crew of the team ``name`` for which everything goes well."""
    system, config = SYSTEMS_HERE[name]
    said: Mapping[str, Sequence[Any]] = {"split": [PARTS], "synthesise": ["the whole"], **options.pop("said", {})}
    given = {"say": searches, "tools": [FunctionTool(search)], **config, **options}
    return Crew(store, system, said, **given)


def team(result: Result) -> TeamHistory:
    """What the team did."""
    return TeamHistory.model_validate(result.details["team"])


def reported(request: Request) -> list[str]:
    """What the synthesiser is told of each worker."""
    return re.findall(r"^p\d+ (?:reports|failed|found no).*$", request.messages[-1].content, re.MULTILINE)

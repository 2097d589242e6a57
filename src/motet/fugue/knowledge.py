"""What a team has called so far: a call that a teammate made is answered from its record, with a word on whose it was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pydantic import JsonValue

from motet.canonical import digest
from motet.prompts import load_prompts
from motet.tools.tool import Observation, Tool


class Made(NamedTuple):
    """A call that was made: by whom, as which of its calls, and what came back."""

    peer: str
    number: int
    observation: Observation


class Knowledge:
    """The calls of one team, by tool and arguments. ``repeats`` counts those that were answered from the record."""

    def __init__(self, *, shared: bool) -> None:
        self.shared = shared
        self.repeats = 0
        self._made: dict[str, Made] = {}
        self._counts: dict[str, int] = {}

    def wrap(self, tool: Tool, *, peer: str) -> Tool:
        """``tool`` for ``peer``: reads that a teammate made are answered from the record. Writes are never shared."""
        return RecordedTool(tool, self, peer=peer) if self.shared and tool.effect == "read" else tool

    def find(self, key: str, *, peer: str) -> Made | None:
        """The call under ``key``, if a teammate of ``peer`` made it."""
        made = self._made.get(key)
        return made if made is not None and made.peer != peer else None

    def add(self, key: str, observation: Observation, *, peer: str) -> None:
        """Record a call of ``peer``; what failed is none to rely on."""
        self._counts[peer] = self._counts.get(peer, 0) + 1
        if not observation.error:
            self._made.setdefault(key, Made(peer, self._counts[peer], observation))


def call_key(tool: str, arguments: Mapping[str, JsonValue]) -> str:
    """Names a call by its tool and arguments."""
    return digest({"tool": tool, "arguments": dict(arguments)})


class RecordedTool:
    """A read tool whose calls a team shares."""

    def __init__(self, tool: Tool, knowledge: Knowledge, *, peer: str) -> None:
        self.name = tool.name
        self.description = tool.description
        self.parameters = tool.parameters
        self.effect = tool.effect
        self.delivery = tool.delivery
        self.version = tool.version
        self._tool = tool
        self._knowledge = knowledge
        self._peer = peer

    async def __call__(self, arguments: Mapping[str, JsonValue], *, key: str) -> Observation:
        """Answer from the record, or call the tool and record it."""
        call = call_key(self.name, arguments)
        made = self._knowledge.find(call, peer=self._peer)
        if made is not None:
            self._knowledge.repeats += 1
            again = load_prompts("motet.fugue", "peer")("again", peer=made.peer, step=made.number)
            return made.observation.model_copy(update={"text": f"{made.observation.text}\n{again}"})
        observation = await self._tool(arguments, key=key)
        self._knowledge.add(call, observation, peer=self._peer)
        return observation

    async def confirm(self, key: str) -> Observation | None:
        """As the tool."""
        return await self._tool.confirm(key)

"""What a team has called so far: a call that a teammate made is answered from its record, with a word on whose it was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pydantic import JsonValue

from motet.canonical import digest
from motet.prompts import load_prompts
from motet.tools.tool import Observation, Tool


class Made(NamedTuple):
    """A call that was made: by whom, and what came back."""

    peer: str
    observation: Observation


class Knowledge:
    """The calls of one team, by tool and arguments."""

    def __init__(self, *, shared: bool) -> None:
        self.shared = shared
        self._made: dict[str, Made] = {}

    def wrap(self, tool: Tool, *, peer: str) -> Tool:
        """``tool`` for ``peer``: reads that a teammate made are answered from the record. Where any tool writes nothing is, since what was read before may read differently now."""
        self.shared = self.shared and tool.effect == "read"
        return RecordedTool(tool, self, peer=peer) if self.shared else tool

    def find(self, tool: str, arguments: Mapping[str, JsonValue], *, peer: str) -> Made | None:
        """The call, if a teammate of ``peer`` made it."""
        made = self._made.get(_key(tool, arguments))
        return made if self.shared and made is not None and made.peer != peer else None

    def add(self, tool: str, arguments: Mapping[str, JsonValue], observation: Observation, *, peer: str) -> None:
        """Record a call of ``peer``, unless it is known or failed: what failed is nothing to rely on."""
        if not observation.error and not is_repeat(observation.text):
            self._made.setdefault(_key(tool, arguments), Made(peer, observation))


def again(peer: str) -> str:
    """What is said below an answer that ``peer`` was given before."""
    return load_prompts("motet.fugue", "peer")("again", peer=peer)


def is_repeat(text: str) -> bool:
    """Whether an observation's text was a teammate's before."""
    before, after = again("\n").split("\n")
    return text.endswith(after) and text[: -len(after)].rpartition("\n")[2].startswith(before)


def _key(tool: str, arguments: Mapping[str, JsonValue]) -> str:
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
        made = self._knowledge.find(self.name, arguments, peer=self._peer)
        if made is not None:
            return made.observation.model_copy(update={"text": f"{made.observation.text}\n{again(made.peer)}"})
        observation = await self._tool(arguments, key=key)
        self._knowledge.add(self.name, arguments, observation, peer=self._peer)
        return observation

    async def confirm(self, key: str) -> Observation | None:
        """As the tool."""
        return await self._tool.confirm(key)

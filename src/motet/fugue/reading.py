"""``read_notes``: the tool by which a peer asks what stands behind its teammates' notes. Source: AgentFugue, "Read"."""

from __future__ import annotations

import asyncio
from typing import Annotated

from pydantic import Field

from motet.canonical import digest
from motet.errors import ModelError
from motet.fugue.hub import Hub
from motet.fugue.note import render
from motet.settings import nearest
from motet.tools.function import FunctionTool
from motet.tools.tool import Observation

NAME = "read_notes"
_REFS = 5


def reading_tool(hub: Hub, *, peer: str, seconds: float) -> FunctionTool:
    """The tool for ``peer``. A read that takes longer than ``seconds`` is given up, and says so."""
    count = 0

    async def read_notes(
        intent: Annotated[str, Field(min_length=1, max_length=600)],
        refs: Annotated[list[str], Field(min_length=1, max_length=_REFS)],
    ) -> Observation:
        """Ask what your teammates' raw steps say to something that you want to know. Gives an answer with where each statement stands.

        Args:
            intent: What you want to know, in a sentence.
            refs: The notes to look behind, by their ids, such as p2.1.
        """
        nonlocal count
        count += 1
        known = {ref.removesuffix("r") for ref in hub.notes}
        chosen = list(dict.fromkeys(ref.strip("[] ").removesuffix("r") for ref in refs))
        wrong = [ref for ref in chosen if ref not in known]
        if wrong:
            return Observation(text=f"There is no note {wrong[0]!r:.60}{nearest(wrong[0], known)}.", error=True)
        if not hub.config.synthesis:
            notes = [note for note in hub.notes.values() if note.id.removesuffix("r") in chosen]
            return Observation(text="\n".join(render(note, disputed=hub.disputed()) for note in notes))
        scope = hub.run.child(f"read-{peer}-{count}")
        try:
            async with asyncio.timeout(seconds):
                found = await hub.read(intent, chosen, scope=scope)
        except TimeoutError:
            return Observation(text=f"The hub did not answer within {seconds:g} seconds. Go on without.", error=True)
        except ModelError as error:
            return Observation(text=f"The hub could not answer: {error}. Go on without.", error=True)
        scope.emit("fugue.read", peer=peer, intent=intent, refs=[*found.refs], cached=found.cached)
        return Observation(text=found.text, data={"refs": [*found.refs], "cached": found.cached})

    version = digest({"read": 1, "synthesis": hub.config.synthesis})[:16]
    return FunctionTool(read_notes, name=NAME, version=version, timeout=None)

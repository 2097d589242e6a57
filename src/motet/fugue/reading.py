"""``read_notes``: the tool by which a peer asks what stands behind its teammates' notes. Source: AgentFugue, "Read"."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import Annotated

from pydantic import Field

from motet.canonical import digest
from motet.errors import ModelError, ToolError
from motet.fugue.hub import Hub
from motet.fugue.note import render
from motet.settings import nearest
from motet.tools.function import FunctionTool
from motet.tools.tool import Observation

NAME = "read_notes"
_REFS = 5


def reading_tool(hub: Hub, *, peer: str, shown: Callable[[], Collection[str]], seconds: float) -> FunctionTool:
    """The tool for ``peer``, which may look behind the notes that it has been ``shown``. A read that takes longer than ``seconds`` is given up, and says so."""

    async def read_notes(
        intent: Annotated[str, Field(min_length=1, max_length=600)],
        refs: Annotated[list[str], Field(min_length=1, max_length=_REFS)],
    ) -> Observation:
        """Ask what your teammates' raw steps say to something that you want to know. Gives an answer with where each statement stands.

        Args:
            intent: What you want to know, in a sentence.
            refs: The notes to look behind, by their ids, such as p2.1.
        """
        known = {*map(_episode, shown())}
        chosen = behind(refs)
        wrong = next((ref for ref in chosen if ref not in known), None)
        if wrong is not None:
            return Observation(text=f"You were shown no note {wrong!r:.60}{nearest(wrong, known)}.", error=True)
        if not hub.config.synthesis:
            notes = [note for id_, note in hub.notes.items() if _episode(id_) in chosen and id_ in shown()]
            return Observation(text="\n".join(render(note, disputed=hub.disputed()) for note in notes))
        try:
            async with asyncio.timeout(seconds):
                found = await hub.read(intent, chosen)
        except TimeoutError:
            return Observation(text=f"The hub did not answer within {seconds:g} seconds. Go on without.", error=True)
        except (ModelError, ToolError) as error:
            return Observation(text=f"The hub could not answer: {error}. Go on without.", error=True)
        hub.run.emit("fugue.read", peer=peer, intent=intent, refs=[*found.refs], cached=found.cached)
        return Observation(text=found.text, data={"refs": [*found.refs], "cached": found.cached})

    version = digest({"read": 1, "synthesis": hub.config.synthesis})[:16]
    return FunctionTool(read_notes, name=NAME, version=version, timeout=None)


def behind(refs: Collection[str]) -> list[str]:
    """The episodes that ``refs`` speak of, as a model writes them, each once."""
    return list(dict.fromkeys(_episode(ref.strip("[] ")) for ref in refs))


def _episode(note: str) -> str:
    """The episode of the note called ``note``, which may be the one that was made by rule."""
    return note.removesuffix("r")

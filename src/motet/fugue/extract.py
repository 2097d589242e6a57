"""A note without a model: what was called, and the first words of what came back."""

from __future__ import annotations

import json

from motet.fugue.episode import Episode
from motet.fugue.note import Claim, Writing
from motet.models.model import Message
from motet.words import clipped

_WORDS = 160  # characters of what came back


def extracted(episode: Episode) -> Writing:
    """The calls of ``episode`` as what was tried, and the first words of their results, quoted, as what was established. The same steps give the same note."""
    tried: list[str] = []
    claims: list[Claim] = []
    for step in episode.steps:
        for message in step.messages:
            tried += [f"{call.name} {call.arguments}" for call in message.tool_calls]
            if message.role == "assistant" and not message.tool_calls:
                tried += _action(message)
            elif message.role != "assistant" and message.content.strip():
                words = clipped(message.content, width=_WORDS)
                claims.append(Claim(claim=f"step {step.number} gave: {words}", quote=words))
    # The latest are worth most, and a note keeps only a few.
    return Writing(established=tuple(claims[-4:]), tried=tuple(tried[-6:]))


def _action(message: Message) -> list[str]:
    """A call that was written as JSON."""
    try:
        found = json.loads(message.content)
    except ValueError:
        return []
    if not isinstance(found, dict) or "arguments" not in found:
        return []
    return [f"{found.get('tool')} {json.dumps(found['arguments'], ensure_ascii=False)}"]

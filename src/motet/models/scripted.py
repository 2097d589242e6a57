"""Scripted models: a program behind the chat interface that reads only the messages it is sent.

They show mechanics (plumbing, budgets, resumes, faults) and measure nothing. They are always called scripted, cost nothing, and
count tokens as the embedded model would.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from typing import TypeAlias

from motet.canonical import digest
from motet.errors import BadReply, InputError
from motet.models import weights
from motet.models.model import Finish, Model, ModelInfo, Observer, Price, Reply, Request, ToolCall
from motet.models.tokenizer import Tokens, open_tokens
from motet.settings import nearest
from motet.value import Value


class Turn(Value):
    """What a policy says next."""

    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()


Policy: TypeAlias = Callable[[Request], "Turn | str"]

POLICIES = ("echo", "office", "reader", "scholar", "searcher", "searcher-shy")


def open_scripted(name: str) -> Model:
    """The scripted model ``NAME`` or ``scripted:NAME``; ``NAME@F`` makes those workers' mistakes F times as often, where it makes any.

    Raises InputError for an unknown name, a factor that is none, or without the tokenizer.
    """
    chosen, at, given = name.removeprefix("scripted:").partition("@")
    if at:
        return _of_strength(name, chosen, given)
    if chosen == "echo":
        return ScriptedModel("echo", echo)
    if chosen == "reader":
        from motet.models.scripted_policies import reader

        return ScriptedModel("reader", reader.policy, version=reader.VERSION)
    if chosen == "office":
        from motet.models.scripted_policies import office

        return ScriptedModel("office", office.policy, version=office.version())
    if chosen == "scholar":
        from motet.models.scripted_policies import scholar

        return ScriptedModel("scholar", scholar.policy, version=scholar.version())
    if chosen in ("searcher", "searcher-shy"):
        return _searcher(chosen, name=chosen)
    raise InputError(f"unknown scripted model {name!r}{nearest(chosen, POLICIES)}")


def _of_strength(name: str, chosen: str, given: str) -> Model:
    try:
        factor = float(given)
    except ValueError:
        factor = math.nan
    if not 0 <= factor < math.inf:
        raise InputError(
            f"scripted model {name!r}: after @ comes how often mistakes are made, such as 0.5, and not {given!r}"
        )
    if chosen == "office":
        from motet.models.scripted_policies import office
        from motet.models.scripted_policies.office import mistakes

        policy: Policy = office.with_mistakes(mistakes.shipped().times(factor))
        return ScriptedModel(f"office@{factor:g}", policy, version=office.version())
    if chosen == "scholar":
        from motet.models.scripted_policies import scholar
        from motet.models.scripted_policies.scholar import lore

        policy = scholar.with_lore(lore.shipped().times(factor))
        return ScriptedModel(f"scholar@{factor:g}", policy, version=scholar.version())
    if chosen in ("searcher", "searcher-shy"):
        return _searcher(chosen, name=f"{chosen}@{factor:g}", factor=factor)
    known = nearest(chosen, POLICIES) if chosen not in POLICIES else "; office, scholar and searcher do"
    raise InputError(f"scripted model {name!r}: {chosen} makes no mistakes that could be more or fewer{known}")


def _searcher(chosen: str, *, name: str, factor: float = 1.0) -> Model:
    from motet.models.scripted_policies import searcher
    from motet.models.scripted_policies.searcher import lore

    chances = lore.shipped().times(factor)
    policy = searcher.with_lore(chances.shy() if chosen == "searcher-shy" else chances)
    return ScriptedModel(name, policy, version=searcher.version())


def echo(request: Request) -> str:
    """Say the last user message again."""
    return next((message.content for message in reversed(request.messages) if message.role == "user"), "")


class ScriptedModel:
    """A model that says what ``policy`` says. ``version`` changes when the policy may answer otherwise; ``seconds`` is how long each
    reply takes at least.

    Raises InputError when the embedded model's tokenizer, which counts the tokens, is not there.
    """

    def __init__(self, name: str, policy: Policy, *, version: str = "1", seconds: float = 0.0) -> None:
        self._policy = policy
        self._seconds = seconds
        self._folder = weights.locate("smollm2").parent
        self._tokens: Tokens | None = None
        self._info = ModelInfo(
            name=f"scripted:{name}",
            identity=f"scripted:{name}@{version}",
            provider="scripted",
            price=Price(prompt=0.0, completion=0.0),
            scripted=True,
        )

    @classmethod
    def of_replies(cls, replies: Sequence[Turn | str], *, name: str = "replies", seconds: float = 0.0) -> ScriptedModel:
        """A model that says ``replies`` one after the other, whatever it is asked; BadReply when none is left."""
        script = Replies(replies)
        version = digest([turn.model_dump(mode="json") for turn in script.turns])[:16]
        return cls(name, script, version=version, seconds=seconds)

    @property
    def info(self) -> ModelInfo:
        """What is known about the model; always marked as scripted."""
        return self._info

    async def reply(self, request: Request, *, observer: Observer | None = None) -> Reply:
        """Say what the policy says to ``request``, cut at ``max_tokens``."""
        start = time.monotonic()
        if self._seconds:
            await asyncio.sleep(self._seconds)
        if self._tokens is None:
            self._tokens = open_tokens(self._folder)
        said = self._policy(request)
        reply = _reply(Turn(text=said) if isinstance(said, str) else said, request, self._tokens)
        if observer and observer.wants_deltas:
            for text, reasoning in ((reply.reasoning, True), (reply.text, False)):
                if text:
                    observer.delta(text, reasoning=reasoning)
        return reply.model_copy(update={"model": self._info.name, "seconds": time.monotonic() - start})


class Replies:
    """A policy that plays a fixed list in the order of the calls. ``requests`` is what it was asked so far."""

    def __init__(self, replies: Sequence[Turn | str]) -> None:
        self.turns = [Turn(text=reply) if isinstance(reply, str) else reply for reply in replies]
        self.requests: list[Request] = []

    def __call__(self, request: Request) -> Turn:
        """The next turn of the list."""
        self.requests.append(request)
        if len(self.requests) > len(self.turns):
            raise BadReply(f"a script of {len(self.turns)} replies was asked for reply {len(self.requests)}")
        return self.turns[len(self.requests) - 1]


def _reply(turn: Turn, request: Request, tokens: Tokens) -> Reply:
    finish: Finish = "tool_calls" if turn.tool_calls else "stop"
    reply = Reply(text=turn.text, reasoning=turn.reasoning, tool_calls=turn.tool_calls, finish=finish)
    usage = tokens.usage(request.messages, reply)
    assert usage.completion is not None
    if usage.completion > request.max_tokens and not turn.tool_calls:
        text = tokens.cut(turn.text, limit=request.max_tokens)
        finish, usage = "length", usage.model_copy(update={"completion": request.max_tokens})
        return reply.model_copy(update={"text": text, "finish": finish, "usage": usage})
    return reply.model_copy(update={"usage": usage})

"""Replies as typed values: ask with a JSON schema, validate, and repair once with the validator's words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from motet.errors import BadReply
from motet.models.model import Message, Model, Observer, Reply, Request
from motet.models.schema import schema_of

T = TypeVar("T", bound=BaseModel)


class Written(BaseModel):
    """The base of what models write: what they write beyond what was asked for is left aside."""

    model_config = ConfigDict(frozen=True, extra="ignore")


_FENCE = re.compile(r"```(?:json)?[ \t]*\r?\n(.*?)```", re.DOTALL | re.IGNORECASE)
_STARTS = (
    64  # how many openings of a JSON text are tried before it counts as none: bounds the work on a wall of brackets
)
_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class Structured(Generic[T]):
    """A typed value and the replies that it took, the last of which holds it."""

    value: T
    replies: tuple[Reply, ...]


async def structured(
    model: Model,
    request: Request,
    type_: type[T],
    *,
    check: Callable[[T], str] | None = None,
    repairs: int = 1,
    observer: Observer | None = None,
) -> Structured[T]:
    """Ask ``model`` for a value of ``type_`` that ``check`` finds nothing wrong with.

    A reply that does not fit goes back as the model's own words, with what was wrong as the next user message, up to
    ``repairs`` times. Raises BadReply that names what was still wrong.
    """
    schema = schema_of(type_)
    messages = request.messages
    replies: list[Reply] = []
    while True:
        # Built anew: a copy of a Request would keep its cached digest.
        asked = Request(
            messages=messages,
            max_tokens=request.max_tokens,
            tools=request.tools,
            tool_choice=request.tool_choice,
            reply_schema=schema,
            sampling=request.sampling,
        )
        reply = await model.reply(asked, observer=observer)
        replies.append(reply)
        try:
            value = type_.model_validate(extract_json(reply.text))
            wrong = check(value) if check is not None else ""
            if not wrong:
                return Structured(value, tuple(replies))
        except ValidationError as error:
            wrong = _words(error)
        except ValueError as error:
            wrong = str(error)
        if reply.finish == "length":
            wrong += " (the reply was cut at max_tokens)"
        if len(replies) > repairs:
            break
        messages = (
            *messages,
            Message(role="assistant", content=reply.text),
            Message(
                role="user",
                content=f"That reply cannot be used: {wrong.rstrip('.')}. Answer again with only the JSON object, corrected.",
            ),
        )
    tries = f" after {len(replies)} tries" if len(replies) > 1 else ""
    raise BadReply(f"model {model.info.name} gave no valid {type_.__name__}{tries}: {' '.join(wrong.split())}")


def extract_json(text: str) -> JsonValue:
    """The JSON value in ``text``: the whole of it, else a fenced block, else the longest object or list found in it.

    Raises ValueError, and nothing else, when there is none.
    """
    for candidate in (text, *(match.group(1) for match in _FENCE.finditer(text))):
        try:
            return _loads(candidate)
        except ValueError:
            continue
    best: tuple[int, JsonValue] | None = None
    position = 0
    for _ in range(_STARTS):
        starts = [start for start in (text.find("{", position), text.find("[", position)) if start >= 0]
        if not starts:
            break
        start = min(starts)
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            position = start + 1
            continue
        if best is None or end - start > best[0]:
            best = end - start, value
        position = end
    if best is None:
        raise ValueError("it contains no JSON object" if text.strip() else "it is empty")
    return best[1]


def _loads(text: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return value


def _words(error: ValidationError) -> str:
    """The validator's words, the first few, each with its place."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    told = [f"{'.'.join(map(str, item['loc'])) or 'the value'}: {item['msg']}" for item in found[:5]]
    more = len(found) - len(told)
    return "; ".join(told) + (f"; and {more} more" if more else "")

"""The server's side of the OpenAI chat format: bodies in, answers and stream events out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from motet.errors import ContextOverflow, ModelDenied, ModelError, ModelRefusal, ModelThrottled
from motet.models.model import Message, Reply, Request, Sampling, ToolCall, ToolSpec
from motet.usage import Usage

_DEFAULT_MAX_TOKENS = 4096
_PIECE = re.compile(r"\s*\S+\s*|\s+")
_PIECES = 24  # a long text is streamed in about this many pieces


def decode(body: Mapping[str, Any]) -> Request:
    """The Request in a chat completion's body. Raises KeyError, TypeError or ValueError for one that makes no sense."""
    stop = body.get("stop") or ()
    response_format = body.get("response_format") or {}
    choice = body.get("tool_choice", "auto")
    sampling = None
    if not body.keys().isdisjoint(("temperature", "top_p", "seed", "stop")):
        sampling = Sampling(
            temperature=body.get("temperature"),
            top_p=body.get("top_p"),
            seed=body.get("seed"),
            stop=(stop,) if isinstance(stop, str) else tuple(stop),
        )
    return Request(
        messages=tuple(map(_message, body["messages"])),
        max_tokens=body.get("max_completion_tokens") or body.get("max_tokens") or _DEFAULT_MAX_TOKENS,
        tools=tuple(_tool(tool["function"]) for tool in body.get("tools") or ()),
        tool_choice=choice if isinstance(choice, str) else "required",
        reply_schema=response_format["json_schema"]["schema"] if response_format.get("type") == "json_schema" else None,
        sampling=sampling or Sampling(),
    )


def _message(message: Mapping[str, Any]) -> Message:
    content = message.get("content") or ""
    if not isinstance(content, str):
        content = "".join(part.get("text", "") for part in content)
    role = "system" if message["role"] == "developer" else message["role"]
    calls = message.get("tool_calls")
    if not calls and role != "tool":
        return Message(role=role, content=content)
    return Message(
        role=role,
        content=content,
        tool_calls=tuple(
            ToolCall(id=call["id"], name=call["function"]["name"], arguments=call["function"]["arguments"])
            for call in calls or ()
        ),
        tool_call_id=message.get("tool_call_id"),
    )


def _tool(function: Mapping[str, Any]) -> ToolSpec:
    return ToolSpec(
        name=function["name"], description=function.get("description", ""), parameters=function.get("parameters", {})
    )


def answer(reply: Reply, *, id_: str, model: str, usage: bool) -> bytes:
    """A whole chat completion as JSON bytes."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or (None if reply.tool_calls else "")}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.tool_calls:
        message["tool_calls"] = [_call(call) for call in reply.tool_calls]
    body: dict[str, Any] = {
        "id": id_,
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": _finish(reply)}],
    }
    if usage:
        body["usage"] = _usage(reply.usage)
    return _bytes(body)


def events(reply: Reply, *, id_: str, model: str, usage: bool) -> Iterator[bytes]:
    """The answer as server-sent events, ``[DONE]`` included; usage comes in a chunk of its own after the last piece."""
    yield _event(id_, model, {"role": "assistant", "content": ""})
    for name, text in (("reasoning_content", reply.reasoning), ("content", reply.text)):
        pieces = _PIECE.findall(text)
        step = max(1, len(pieces) // _PIECES)
        for start in range(0, len(pieces), step):
            yield _event(id_, model, {name: "".join(pieces[start : start + step])})
    for index, call in enumerate(reply.tool_calls):
        half = len(call.arguments) // 2
        first = {**_call(call), "index": index}
        first["function"] = {"name": call.name, "arguments": call.arguments[:half]}
        yield _event(id_, model, {"tool_calls": [first]})
        rest = {"index": index, "function": {"arguments": call.arguments[half:]}}
        yield _event(id_, model, {"tool_calls": [rest]})
    yield _event(id_, model, {}, finish=_finish(reply))
    if usage:
        chunk = {"id": id_, "object": "chat.completion.chunk", "created": 0, "model": model, "choices": []}
        yield b"data: " + _bytes({**chunk, "usage": _usage(reply.usage)}) + b"\n\n"
    yield b"data: [DONE]\n\n"


def refusal(message: str, *, type_: str, code: str | None = None) -> bytes:
    """An error's body."""
    return _bytes({"error": {"message": message, "type": type_, "param": None, "code": code}})


def refused(error: ModelError) -> tuple[int, bytes]:
    """Status and body for a model that could not answer."""
    if isinstance(error, ContextOverflow):
        return 400, refusal(str(error), type_="invalid_request_error", code="context_length_exceeded")
    if isinstance(error, ModelRefusal):
        return 400, refusal(str(error), type_="invalid_request_error", code="content_filter")
    if isinstance(error, ModelDenied):
        return 404, refusal(str(error), type_="invalid_request_error", code="model_not_found")
    if isinstance(error, ModelThrottled):
        return 429, refusal(str(error), type_="rate_limit_error")
    return 500, refusal(str(error), type_="server_error")


def _event(id_: str, model: str, delta: dict[str, Any], *, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk = {"id": id_, "object": "chat.completion.chunk", "created": 0, "model": model, "choices": [choice]}
    return b"data: " + _bytes(chunk) + b"\n\n"


def _call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _finish(reply: Reply) -> str:
    return "content_filter" if reply.finish == "filter" else reply.finish


def _usage(usage: Usage) -> dict[str, Any] | None:
    if usage.prompt is None or usage.completion is None:
        return None
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
        "prompt_tokens_details": {"cached_tokens": usage.cached or 0},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning or 0},
    }


def _bytes(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()

"""Chat completions on the wire: a Request as JSON bytes, and JSON objects as a Reply.

Facts that the rest relies on:

- A parameter that a request leaves open is not sent. ``tool_choice`` is sent only when it differs from the wire's own default.
- A whole answer and a stream go through the same ``Draft``, so that both give the same Reply.
- Servers differ. Reasoning is read from ``reasoning_content``, ``reasoning``, thinking parts, or a ``<think>`` block at the
  start of the content; tool calls without an index, with a repeated index, or without an id are told apart; usage may come
  in any chunk, and counts that cannot be true (a prompt of no tokens) are unknown.
- Tool-call arguments in the conversation that are no JSON object are sent as ``{"invalid_json": "<what was written>"}``:
  vLLM, Ollama and llama.cpp parse the history and would refuse the whole conversation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

from motet.canonical import clean_text
from motet.models.model import Finish, Message, Reply, Request, ToolCall
from motet.models.schema import strict_ready
from motet.usage import Usage

_FINISH: Final[dict[str, Finish]] = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "filter",
    "safety": "filter",
    "refusal": "filter",
}
_OPEN, _CLOSE = "<think>", "</think>"

_MOST_TOKENS = 1_000_000_000  # of one call


def encode(request: Request, *, model: str, max_tokens_field: str, json_schema: bool, stream: bool) -> bytes:
    """The JSON body of a chat completion. ``model`` is the server's own name for the model.

    With ``json_schema`` a reply schema becomes ``response_format: json_schema``, strict where the schema allows it. Without,
    the schema is written into the system message and the server is asked for any JSON object.
    """
    messages = [_message(message) for message in request.messages]
    body: dict[str, object] = {"model": model, "messages": messages, max_tokens_field: request.max_tokens}
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
            }
            for tool in request.tools
        ]
        if request.tool_choice != "auto":
            body["tool_choice"] = request.tool_choice
    sampling = request.sampling
    if sampling.temperature is not None:
        body["temperature"] = sampling.temperature
    if sampling.top_p is not None:
        body["top_p"] = sampling.top_p
    if sampling.seed is not None:
        body["seed"] = sampling.seed
    if sampling.stop:
        body["stop"] = list(sampling.stop)
    if request.reply_schema is not None:
        schema = request.reply_schema
        if json_schema:
            described = {"name": "reply", "schema": schema, "strict": strict_ready(schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": described}
        else:
            body["response_format"] = {"type": "json_object"}
            _instruct(messages, f"Answer with one JSON object that fits this JSON schema:\n{json.dumps(schema)}")
    if stream:
        body["stream"] = True
        body["stream_options"] = {"include_usage": True}
    # "replace" turns a lone surrogate into "?", as everywhere in Motet; UTF-8 has no bytes for it.
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _message(message: Message) -> dict[str, object]:
    wire: dict[str, object] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        # Some servers refuse an empty text block beside tool calls; null is what the wire format names for it.
        wire["content"] = message.content or None
        wire["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _object(call.arguments)}}
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        wire["tool_call_id"] = message.tool_call_id
    return wire


def _object(arguments: str) -> str:
    try:
        if isinstance(json.loads(arguments), dict):
            return arguments
    except (ValueError, RecursionError):
        pass
    return json.dumps({"invalid_json": arguments}, ensure_ascii=False)


def _instruct(messages: list[dict[str, object]], text: str) -> None:
    if messages[0]["role"] == "system":
        messages[0]["content"] = f"{messages[0]['content']}\n\n{text}"
    else:
        messages.insert(0, {"role": "system", "content": text})


class Draft:
    """A reply that is being put together from one whole answer or from the chunks of a stream."""

    def __init__(self) -> None:
        self.finish: str | None = None
        self.usage = Usage()
        self.refusal = ""
        self._model = ""
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}

    def feed(self, data: Mapping[str, object]) -> tuple[str, str]:
        """Take in an answer or a chunk; returns its piece of text and its piece of reasoning, as the server sent them."""
        usage = data.get("usage")
        if isinstance(usage, Mapping):
            self.usage = usage_of(usage)
        if isinstance(model := data.get("model"), str):
            self._model = model
        choices = data.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, Mapping):
            return "", ""
        if isinstance(reason := choice.get("finish_reason"), str) and reason:
            self.finish = reason
        whole = choice.get("message")
        part = whole if isinstance(whole, Mapping) else choice.get("delta")
        if not isinstance(part, Mapping):
            return "", ""
        text, reasoning = _content(part.get("content"))
        reasoning = _first_text(part, "reasoning_content", "reasoning") + reasoning
        self._text.append(text)
        self._reasoning.append(reasoning)
        self.refusal += _first_text(part, "refusal")
        calls = part.get("tool_calls")
        for item in calls if isinstance(calls, list) else ():
            if isinstance(item, Mapping):
                self._call(item, new=part is whole)
        return text, reasoning

    def reply(self, *, seconds: float) -> Reply:
        """The reply as it stands. A finish that the server did not name is ``stop``."""
        thought, text = split_thought(_joined(self._text))
        reasoning = "\n".join(piece for piece in (_joined(self._reasoning).strip(), thought) if piece)
        calls = self._tool_calls()
        finish = _FINISH.get((self.finish or "stop").lower(), "stop")
        if finish in ("stop", "tool_calls"):
            finish = "tool_calls" if calls else "stop"
        return Reply(
            text=clean_text(text),
            reasoning=clean_text(reasoning),
            tool_calls=calls,
            finish=finish,
            usage=self.usage,
            model=clean_text(self._model),
            seconds=seconds,
        )

    def _call(self, item: Mapping[object, object], *, new: bool) -> None:
        function = item.get("function")
        function = function if isinstance(function, Mapping) else {}
        id_, name = _str(item.get("id")), _str(function.get("name"))
        index = item.get("index")
        call = None if new else self._by_index.get(index) if isinstance(index, int) else self._latest(id_)
        # Some servers number every parallel call 0; a new id together with a name is a new call.
        if call is None or (id_ and call.id and id_ != call.id and name):
            call = _Call()
            self._calls.append(call)
            if isinstance(index, int):
                self._by_index[index] = call
        call.id = call.id or id_
        if name != call.name:  # a server may repeat the whole name in each chunk
            call.name += name
        arguments = function.get("arguments")
        if isinstance(arguments, Mapping):
            call.arguments.append(json.dumps(arguments, ensure_ascii=False))
        else:
            call.arguments.append(_str(arguments))

    def _latest(self, id_: str) -> _Call | None:
        """The call that a chunk without an index continues."""
        return next((call for call in self._calls if id_ and call.id == id_), self._calls[-1] if self._calls else None)

    def _tool_calls(self) -> tuple[ToolCall, ...]:
        if not self._calls:
            return ()
        calls: list[ToolCall] = []
        seen: set[str] = set()
        for position, call in enumerate(self._calls):
            id_ = clean_text(call.id)
            if not id_ or id_ in seen:
                id_ = f"call_{position}"
            seen.add(id_)
            arguments = clean_text(_joined(call.arguments))
            calls.append(ToolCall(id=id_, name=clean_text(call.name), arguments=arguments))
        return tuple(calls)


class _Call:
    __slots__ = ("arguments", "id", "name")

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []


class Thinking:
    """Tells reasoning from text while a reply streams in: a ``<think>`` block at the very start is reasoning."""

    def __init__(self) -> None:
        self._held = ""
        self._tag: str | None = _OPEN

    def feed(self, piece: str) -> Iterator[tuple[str, bool]]:
        """The parts of ``piece`` that can be placed by now, each with whether it is reasoning."""
        if self._tag is None:
            if piece:
                yield piece, False
            return
        self._held += piece
        if self._tag == _OPEN:
            start = self._held.lstrip()
            if not start.startswith(_OPEN):
                if not _OPEN.startswith(start):
                    self._tag = None
                    yield from self.end()
                return
            self._held, self._tag = start[len(_OPEN) :], _CLOSE
        before, found, after = self._held.partition(_CLOSE)
        if found:
            self._held, self._tag = "", None
            if before:
                yield before, True
            if after:
                yield after, False
            return
        keep = next((n for n in range(len(_CLOSE) - 1, 0, -1) if before.endswith(_CLOSE[:n])), 0)
        cut = len(before) - keep
        self._held = before[cut:]
        if cut:
            yield before[:cut], True

    def end(self) -> Iterator[tuple[str, bool]]:
        """What was held back because it might have been the start of a tag."""
        held, self._held = self._held, ""
        if held:
            yield held, self._tag == _CLOSE


def split_thought(text: str) -> tuple[str, str]:
    """Reasoning and answer of a text that may start with a ``<think>`` block. A block without an end is all reasoning."""
    start = text.lstrip()
    if not start.startswith(_OPEN):
        return "", text
    thought, _, answer = start[len(_OPEN) :].partition(_CLOSE)
    return thought.strip(), answer.lstrip()


def usage_of(usage: Mapping[object, object]) -> Usage:
    """Token counts as reported. Counts of a wrong type, and a prompt of no tokens, are unknown."""
    prompt = _count(usage.get("prompt_tokens"))
    if not prompt:
        return Usage()
    prompt_details = usage.get("prompt_tokens_details")
    completion_details = usage.get("completion_tokens_details")
    cached = _count(prompt_details.get("cached_tokens")) if isinstance(prompt_details, Mapping) else None
    if cached is None:
        cached = _count(usage.get("prompt_cache_hit_tokens"))
    reasoning = _count(completion_details.get("reasoning_tokens")) if isinstance(completion_details, Mapping) else None
    return Usage(prompt=prompt, cached=cached, completion=_count(usage.get("completion_tokens")), reasoning=reasoning)


def _content(value: object) -> tuple[str, str]:
    """Text and reasoning of a message's content, which is text or a list of typed parts."""
    if isinstance(value, str):
        return value, ""
    text = reasoning = ""
    for part in value if isinstance(value, list) else ():
        if isinstance(part, Mapping):
            text += _str(part.get("text"))
            thinking = part.get("thinking")
            reasoning += thinking if isinstance(thinking, str) else "".join(_content(thinking))
    return text, reasoning


def _first_text(part: Mapping[object, object], *names: str) -> str:
    return next((value for name in names if isinstance(value := part.get(name), str) and value), "")


def _str(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: object) -> int | None:
    """A count of tokens; what no request could use, as a hostile or broken server may say, is unknown."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS else None


def _joined(pieces: list[str]) -> str:
    """The pieces as one text. A pair of surrogates that a server split over two chunks becomes its character again."""
    text = "".join(pieces)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return text

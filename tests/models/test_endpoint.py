"""An endpoint turns requests into the wire format, and whatever comes back into a Reply or the right error."""

from __future__ import annotations

import asyncio
import json
import resource
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from motet.errors import (
    BadReply,
    ContextOverflow,
    ModelDenied,
    ModelError,
    ModelRefusal,
    ModelThrottled,
    ModelUnavailable,
)
from motet.models.endpoint import Endpoint
from motet.models.faults import SERVER_TEXT, Faults
from motet.models.model import Message, ModelInfo, Reply, Request, Sampling, ToolCall, ToolSpec
from motet.models.retry_after import retry_after
from motet.models.wire import Draft, Thinking, encode, split_thought, usage_of
from motet.settings import Provider
from motet.usage import Usage

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

KEY = "secret-0123456789"
ASK = Request(messages=(Message(role="user", content="Say hello"),), max_tokens=16)
INFO = ModelInfo(name="lab:m", identity="lab/m", provider="lab")
USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}


class Listener:
    """An observer that wants deltas and keeps them."""

    wants_deltas = True

    def __init__(self) -> None:
        self.heard: list[tuple[str, bool]] = []

    def delta(self, text: str, *, reasoning: bool = False) -> None:
        self.heard.append((text, reasoning))

    def failed(self, error: ModelError, *, attempt: int, wait: float) -> None:
        raise AssertionError("an endpoint does not retry")


@asynccontextmanager
async def serving(handler: Handler, *, port: int = 0) -> AsyncIterator[str]:
    """A server on loopback; yields its base URL."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, backlog=1024, reuse_address=True)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def opened(base_url: str, key: str | None = KEY, **options: Any) -> AsyncIterator[Endpoint]:
    """An endpoint that is closed afterwards."""
    endpoint = Endpoint(INFO, model="m", provider=Provider(base_url=base_url, **options), key=key)
    try:
        yield endpoint
    finally:
        await endpoint.aclose()


def ask(handler: Handler, request: Request = ASK, *, listener: Listener | None = None, **options: Any) -> Reply:
    """One request to a server with ``handler``."""

    async def main() -> Reply:
        async with serving(handler) as url, opened(url, **options) as endpoint:
            return await endpoint.reply(request, observer=listener)

    return asyncio.run(main())


def refused(handler: Handler, **options: Any) -> ModelError:
    """The error of one request to a server with ``handler``, which must not show the key."""
    with pytest.raises(ModelError) as caught:
        ask(handler, **options)
    error = caught.value
    shown: BaseException | None = error
    while shown is not None:  # no exception on the way may hold the key either: some loggers print the whole chain
        assert KEY not in str(shown) + repr(shown)
        shown = shown.__cause__ or shown.__context__
    assert "model m at 127.0.0.1" in str(error)
    return error


def always(status: int, body: object, *, headers: dict[str, str] | None = None) -> Handler:
    """A handler that answers every request alike."""

    async def handler(_request: web.Request) -> web.StreamResponse:
        text = body if isinstance(body, str) else json.dumps(body)
        return web.Response(status=status, text=text, content_type="application/json", headers=headers)

    return handler


def completion(message: dict[str, Any], finish: str | None = "stop", **rest: Any) -> dict[str, Any]:
    """A whole answer."""
    return {"model": "m-1", "choices": [{"index": 0, "message": message, "finish_reason": finish}], **rest}


def streaming(*chunks: object, done: bool = True, cut: bool = False) -> Handler:
    """A handler that streams ``chunks``; with ``cut`` it drops the connection afterwards."""

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for chunk in chunks:
            text = chunk if isinstance(chunk, str) else json.dumps(chunk)
            await response.write(f"data: {text}\n\n".encode())
        if cut:
            assert request.transport is not None
            request.transport.abort()
            return response
        if done:
            await response.write(b"data: [DONE]\n\n")
        return response

    return handler


def chunk(delta: dict[str, Any], finish: str | None = None, **rest: Any) -> dict[str, Any]:
    """One chunk of a streamed answer."""
    return {"model": "m-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **rest}


# Requests


def sent(request: Request, **options: Any) -> dict[str, Any]:
    defaults: dict[str, Any] = {"model": "m", "max_tokens_field": "max_tokens", "json_schema": True, "stream": False}
    body: dict[str, Any] = json.loads(encode(request, **(defaults | options)))
    return body


def test_parameters_that_are_absent_are_not_sent() -> None:
    """A plain request holds the model, the messages and the token limit, and nothing else."""
    assert sent(ASK) == {"model": "m", "messages": [{"role": "user", "content": "Say hello"}], "max_tokens": 16}
    assert "max_tokens" not in sent(ASK, max_tokens_field="max_completion_tokens")


def test_every_parameter_reaches_the_wire() -> None:
    """Tools, choice, sampling, stop and schema are sent under the wire's names; zero is a value, not an absence."""
    closed: dict[str, Any] = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    request = Request(
        messages=ASK.messages,
        max_tokens=5,
        tools=(ToolSpec(name="t", description="d", parameters={"type": "object"}),),
        tool_choice="required",
        reply_schema=closed,
        sampling=Sampling(temperature=0.0, top_p=0.5, seed=0, stop=("X",)),
    )
    body = sent(request, stream=True)
    assert body["tools"][0]["function"] == {"name": "t", "description": "d", "parameters": {"type": "object"}}
    assert (body["tool_choice"], body["temperature"], body["top_p"], body["seed"]) == ("required", 0.0, 0.5, 0)
    assert body["stop"] == ["X"]
    assert body["stream_options"] == {"include_usage": True}
    assert body["response_format"]["json_schema"] == {"name": "reply", "schema": closed, "strict": True}
    opened_schema = Request(messages=ASK.messages, max_tokens=5, reply_schema={"type": "object"})
    assert sent(opened_schema)["response_format"]["json_schema"]["strict"] is False


def test_a_server_without_schemas_is_told_the_schema_in_words() -> None:
    """Without schema support the schema joins the system message, and any JSON object is asked for."""
    request = Request(
        messages=(Message(role="system", content="Be brief."), *ASK.messages),
        max_tokens=5,
        reply_schema={"type": "object"},
    )
    body = sent(request, json_schema=False)
    assert body["response_format"] == {"type": "json_object"}
    assert body["messages"][0]["content"].startswith("Be brief.\n\n")
    assert '{"type": "object"}' in body["messages"][0]["content"]
    bare = sent(Request(messages=ASK.messages, max_tokens=5, reply_schema={"type": "object"}), json_schema=False)
    assert [message["role"] for message in bare["messages"]] == ["system", "user"]


def test_malformed_arguments_in_the_history_stay_readable_json() -> None:
    """A call whose arguments are no JSON object is sent as an object that quotes them; others are sent as they are."""
    calls = (ToolCall(id="1", name="t", arguments='{"a": '), ToolCall(id="2", name="t", arguments='{"a": 1}'))
    request = Request(messages=(Message(role="assistant", tool_calls=calls),), max_tokens=5)
    message = sent(request)["messages"][0]
    assert message["content"] is None
    arguments = [call["function"]["arguments"] for call in message["tool_calls"]]
    assert json.loads(arguments[0]) == {"invalid_json": '{"a": '}
    assert arguments[1] == '{"a": 1}'


@given(st.text(st.characters(codec=None)))
def test_any_text_can_be_sent(text: str) -> None:
    """No text, lone surrogates included, keeps a request from being encoded."""
    request = Request(messages=(Message(role="user", content=text),), max_tokens=5)
    assert isinstance(sent(request)["messages"][0]["content"], str)


def test_the_key_goes_out_as_a_bearer_and_nothing_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A configured key is sent; without one there is no Authorization, whatever the client finds in the environment."""
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "ambient")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer ambient\nX-Other: ambient")
    seen: list[dict[str, str]] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        seen.append({name.lower(): value for name, value in request.headers.items()})
        return web.json_response(completion({"content": "hi"}))

    ask(handler)
    ask(handler, key=None)
    assert seen[0]["authorization"] == f"Bearer {KEY}"
    assert "authorization" not in seen[1]
    assert "ambient" not in str(seen)


# Replies


def test_a_whole_answer_becomes_a_reply() -> None:
    """Text, usage with its details, model and finish are read from a whole answer."""
    usage = USAGE | {
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
    reply = ask(always(200, completion({"content": "hello"}, usage=usage)))
    assert (reply.text, reply.finish, reply.model, reply.attempts) == ("hello", "stop", "m-1", 1)
    assert reply.usage == Usage(prompt=7, cached=4, completion=3, reasoning=2)
    assert reply.seconds > 0


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": "7"}, [7]])
def test_missing_usage_is_unknown_and_never_zero(usage: object) -> None:
    """A server that reports no usage, or an impossible one, gives unknown counts."""
    assert ask(always(200, completion({"content": "hello"}, usage=usage))).usage == Usage()


def test_a_reply_streams_only_when_somebody_listens() -> None:
    """Without a listener the request does not ask for a stream; with one it does, and the pieces are heard in order."""
    bodies: list[dict[str, Any]] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        bodies.append(await request.json())
        if bodies[-1].get("stream"):
            return await streaming(
                chunk({"role": "assistant", "content": ""}),
                chunk({"content": "hel"}),
                chunk({"content": "lo"}, "stop"),
                {"choices": [], "usage": USAGE},
            )(request)
        return web.json_response(completion({"content": "hello"}, usage=USAGE))

    listener = Listener()
    assert ask(handler).text == "hello"
    reply = ask(handler, listener=listener)
    assert "stream" not in bodies[0]
    assert (reply.text, reply.usage) == ("hello", Usage(prompt=7, completion=3))
    assert listener.heard == [("hel", False), ("lo", False)]


def test_a_server_that_does_not_stream_is_understood() -> None:
    """A whole JSON answer to a streaming request is a reply, and heard as one piece."""
    listener = Listener()
    reply = ask(always(200, completion({"content": "hello"}, usage=USAGE)), listener=listener)
    assert (reply.text, reply.usage.prompt, listener.heard) == ("hello", 7, [("hello", False)])


@pytest.mark.parametrize(
    "message",
    [
        {"content": "hello", "reasoning_content": "hm"},
        {"content": "hello", "reasoning": "hm"},
        {"content": "\n<think>\nhm\n</think>\n\nhello"},
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                {"type": "text", "text": "hello"},
            ]
        },
    ],
)
def test_reasoning_is_told_from_text(message: dict[str, Any]) -> None:
    """Each way in which servers send reasoning ends in the same reply."""
    reply = ask(always(200, completion(message)))
    assert (reply.text, reply.reasoning) == ("hello", "hm")


def test_a_thought_that_never_ends_is_all_reasoning() -> None:
    """A reply cut inside its ``<think>`` block has no text, and is passed on for what it is."""
    reply = ask(always(200, completion({"content": "<think>and then"}, "length")))
    assert (reply.text, reply.reasoning, reply.finish) == ("", "and then", "length")


def test_tool_calls_are_assembled_from_their_pieces() -> None:
    """Pieces are put together by index; missing ids become ``call_0``, ``call_1``; the raw arguments are kept."""
    reply = ask(
        streaming(
            chunk({"tool_calls": [{"index": 0, "function": {"name": "a", "arguments": '{"x"'}}]}),
            chunk({"tool_calls": [{"index": 1, "function": {"name": "b", "arguments": "{}"}}]}),
            chunk({"tool_calls": [{"index": 0, "function": {"arguments": ": 1"}}]}, "tool_calls"),
        ),
        listener=Listener(),
    )
    expected = (ToolCall(id="call_0", name="a", arguments='{"x": 1'), ToolCall(id="call_1", name="b", arguments="{}"))
    assert (reply.tool_calls, reply.finish) == (expected, "tool_calls")


@pytest.mark.parametrize("index", [{"index": 0}, {}])
def test_parallel_calls_without_indexes_of_their_own_stay_apart(index: dict[str, int]) -> None:
    """Servers that number every call 0, or none, are told apart by the calls' ids."""
    draft = Draft()
    for id_ in ("p", "q"):
        draft.feed(chunk({"tool_calls": [{**index, "id": id_, "function": {"name": "t", "arguments": '{"'}}]}))
        draft.feed(chunk({"tool_calls": [{**index, "function": {"arguments": f'{id_}": 1}}'}}]}))
    calls = draft.reply(seconds=0.0).tool_calls
    assert [(call.id, call.arguments) for call in calls] == [("p", '{"p": 1}'), ("q", '{"q": 1}')]


def test_whole_tool_calls_with_stop_or_parsed_arguments_are_understood() -> None:
    """Calls decide the finish; arguments sent as an object become text; a repeated id is replaced."""
    calls = [
        {"id": "x", "type": "function", "function": {"name": "t", "arguments": {"a": 1}}},
        {"id": "x", "type": "function", "function": {"name": "t", "arguments": "oops"}},
    ]
    reply = ask(always(200, completion({"content": None, "tool_calls": calls}, "stop")))
    assert reply.finish == "tool_calls"
    assert [(call.id, call.arguments) for call in reply.tool_calls] == [("x", '{"a": 1}'), ("call_1", "oops")]


def test_replies_hold_only_text_that_can_be_stored() -> None:
    """NUL and lone surrogates never leave the endpoint; a pair split over two chunks is one character."""
    reply = ask(
        streaming(chunk({"content": "a\x00b\ud800 \ud83d"}), chunk({"content": "\ude00"}, "stop")), listener=Listener()
    )
    assert reply.text == "ab? 😀"


def pieces_of(text: str, cuts: list[int]) -> list[str]:
    marks = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [text[start:end] for start, end in pairwise(marks)]


@given(
    st.lists(st.sampled_from(["<think>", "</think>", "<", "/thi", ">", " ", "\n", "a", "é", "😀", "\x00"])).map(
        "".join
    ),
    st.text(max_size=20),
    st.lists(st.text(max_size=20), max_size=3),
    st.lists(st.integers(0, 400), max_size=12),
)
def test_any_chunking_of_a_stream_gives_the_reply_of_the_whole(
    text: str, thought: str, arguments: list[str], cuts: list[int]
) -> None:
    """Wherever a server cuts content, reasoning and arguments, the reply is that of the whole answer."""
    calls = [{"id": f"c{n}", "function": {"name": f"t{n}", "arguments": value}} for n, value in enumerate(arguments)]
    whole = Draft()
    whole.feed(completion({"content": text, "reasoning_content": thought, "tool_calls": calls}, "stop", usage=USAGE))
    cut = Draft()
    for piece in pieces_of(thought, cuts):
        cut.feed(chunk({"reasoning_content": piece}))
    for piece in pieces_of(text, cuts):
        cut.feed(chunk({"content": piece}))
    for n, value in enumerate(arguments):
        cut.feed(chunk({"tool_calls": [{"index": n, "id": f"c{n}", "function": {"name": f"t{n}", "arguments": ""}}]}))
        for piece in pieces_of(value, cuts):
            cut.feed(chunk({"tool_calls": [{"index": n, "function": {"arguments": piece}}]}))
    cut.feed(chunk({}, "stop"))
    cut.feed({"choices": [], "usage": USAGE})
    assert cut.reply(seconds=0.0) == whole.reply(seconds=0.0)


@given(
    st.lists(st.sampled_from(["<think>", "</think>", "<", "/thi", ">", " ", "\n", "a", "é"])).map("".join),
    st.lists(st.integers(0, 400), max_size=12),
)
def test_what_is_heard_is_what_is_kept(text: str, cuts: list[int]) -> None:
    """The deltas of text and of reasoning add up to the reply's, whatever the chunks, but for space at the seams."""
    thinking = Thinking()
    heard = [part for piece in pieces_of(text, cuts) for part in thinking.feed(piece)] + list(thinking.end())
    reasoning, answer = split_thought(text)
    assert "".join(piece for piece, thought in heard if thought).strip() == reasoning.strip()
    assert "".join(piece for piece, thought in heard if not thought).strip() == answer.strip()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from(
    [
        *("choices", "message", "delta", "content", "tool_calls", "function", "name", "arguments", "id", "index"),
        *(
            "usage",
            "prompt_tokens",
            "finish_reason",
            "reasoning",
            "refusal",
            "text",
            "thinking",
            "prompt_tokens_details",
        ),
    ]
)
wire_values = st.recursive(
    json_values, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4), max_leaves=20
)


@given(st.dictionaries(names, wire_values, max_size=4), wire_values)
def test_no_answer_of_a_strange_shape_breaks_the_reader(data: dict[str, object], value: object) -> None:
    """Any JSON object can be read: what has the wrong shape is left out."""
    draft = Draft()
    draft.feed(data)
    draft.feed({"choices": [{"message": value, "finish_reason": value}]})
    draft.feed({"choices": [{"delta": {"content": value, "tool_calls": [value]}}]})
    assert isinstance(draft.reply(seconds=0.0), Reply)


# Failures


@pytest.mark.parametrize(
    ("status", "body", "kind", "billed"),
    [
        (500, {"error": {"message": "boom"}}, ModelUnavailable, False),
        (503, "", ModelUnavailable, True),
        (502, {"error": {"message": "bad gateway"}}, ModelUnavailable, True),
        (429, {"error": {"message": "slow down"}}, ModelThrottled, False),
        (429, {"error": {"message": "no money", "code": "insufficient_quota"}}, ModelDenied, False),
        (401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}, ModelDenied, False),
        (403, {"error": "no"}, ModelDenied, False),
        (404, {"detail": "Not Found"}, ModelDenied, False),
        (400, {"error": {"message": "bad", "code": "context_length_exceeded"}}, ContextOverflow, False),
        (
            400,
            {"message": "This model's maximum context length is 10 tokens", "object": "error"},
            ContextOverflow,
            False,
        ),
        (
            400,
            {"error": {"code": 400, "type": "exceed_context_size_error", "message": "too big"}},
            ContextOverflow,
            False,
        ),
        (400, {"error": {"message": "prompt is too long: 10 tokens > 5 maximum"}}, ContextOverflow, False),
        (400, {"error": {"message": "filtered", "code": "content_filter"}}, ModelRefusal, False),
        (400, {"error": {"message": "Failed", "code": "tool_use_failed"}}, BadReply, True),
        (400, {"error": {"message": "unknown field"}}, ModelDenied, False),
        (422, [{"msg": "wrong"}], ModelDenied, False),
        (200, "{not json", ModelUnavailable, True),
        (200, "[" * 100_000, ModelUnavailable, True),
        (200, {"choices": []}, ModelUnavailable, True),
        (200, {"error": {"message": "upstream died", "code": 502}}, ModelUnavailable, True),
        (200, completion({"content": " "}), BadReply, True),
        (200, completion({"content": ""}, "length"), BadReply, True),
        (200, completion({"content": None, "refusal": "I will not"}), ModelRefusal, True),
        (200, completion({"content": ""}, "content_filter"), ModelRefusal, True),
    ],
)
def test_each_failure_has_its_error(status: int, body: object, kind: type[ModelError], billed: bool) -> None:
    """Status, code and wording decide the error, whether it may have cost anything, and whether to ask again."""
    error = refused(always(status, body))
    assert type(error) is kind
    assert error.billed is billed
    assert len(error.lost) == billed
    again = kind in (ModelUnavailable, ModelThrottled) or "empty reply" in str(error) or "could not read" in str(error)
    assert error.retryable is again


def test_an_empty_reply_reports_what_it_cost() -> None:
    """The usage of a reply that cannot be used is not lost."""
    error = refused(always(200, completion({"content": ""}, usage=USAGE)))
    assert error.lost == (Usage(prompt=7, completion=3),)


@pytest.mark.parametrize(
    "handler",
    [
        streaming(chunk({"content": "hel"}), done=False),
        streaming(chunk({"content": "hel"})),
        streaming(chunk({"content": "hel"}), cut=True),
        streaming(chunk({"content": "hel"}), "{not json"),
        streaming(chunk({"content": "hel"}), {"error": {"message": "engine died"}}),
    ],
)
def test_a_stream_that_breaks_off_is_no_reply(handler: Handler) -> None:
    """A stream without a finish reason, however it ended, is unavailable and may have been billed."""
    error = refused(handler, listener=Listener())
    assert isinstance(error, ModelUnavailable)
    assert error.billed


def test_a_stream_that_breaks_after_its_finish_is_a_reply_with_unknown_usage() -> None:
    """Only usage can follow the finish reason, so nothing of the answer is missing."""
    reply = ask(streaming(chunk({"content": "hello"}, "stop"), cut=True), listener=Listener())
    assert (reply.text, reply.usage) == ("hello", Usage())


def test_a_connection_that_breaks_may_have_been_billed() -> None:
    """A reset after the request was sent is unavailable and billed; a connection that was never made is not billed."""

    async def reset(request: web.Request) -> web.StreamResponse:
        await request.read()
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    error = refused(reset)
    assert (type(error), error.billed) == (ModelUnavailable, True)

    async def nobody() -> None:
        async with serving(reset) as url:
            pass
        async with opened(url) as endpoint:
            await endpoint.reply(ASK)

    with pytest.raises(ModelUnavailable, match="cannot be reached") as caught:
        asyncio.run(nobody())
    assert not caught.value.billed


def test_an_answer_that_trickles_is_timed_out_as_a_whole() -> None:
    """The time-out holds for the attempt, also when bytes keep coming; and the attempt may have been billed."""

    async def trickle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        while True:
            await response.write(b": still here\n\n")
            await asyncio.sleep(0.01)

    error = refused(trickle, listener=Listener(), timeout=0.1)
    assert (type(error), error.billed) == (ModelUnavailable, True)
    assert "within 0.1 s" in str(error)


def test_a_redirect_is_refused_and_carries_no_key() -> None:
    """The target of a redirect is never asked, and the error says what to change."""
    paths: list[str] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        paths.append(request.path)
        return web.Response(status=307, headers={"location": "/elsewhere"})

    error = refused(handler)
    assert isinstance(error, ModelDenied)
    assert "put the final address into base_url" in str(error)
    assert paths == ["/v1/chat/completions"]


def test_a_web_page_is_recognised() -> None:
    """HTML in place of JSON points at the base URL instead of being asked again."""

    async def handler(_request: web.Request) -> web.StreamResponse:
        return web.Response(text="<html>hi</html>", content_type="text/html")

    assert isinstance(refused(handler), ModelDenied)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:10 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 10.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    """Seconds, milliseconds and dates give the seconds to wait; nonsense gives none."""
    assert retry_after(headers) == seconds


@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=30))
def test_retry_after_never_raises(after: str, milliseconds: str, date: str) -> None:
    """Whatever the headers hold, the wait is none, or a finite number of seconds that is not negative."""
    seconds = retry_after({"retry-after": after, "retry-after-ms": milliseconds, "date": date})
    assert seconds is None or 0 <= seconds < float("inf")


def test_a_throttle_carries_the_servers_wish() -> None:
    """The error of a 429 holds the wait that the server asked for."""
    assert refused(always(429, {}, headers={"retry-after": "12"})).retry_after == 12.0


@given(st.text(max_size=400), st.text(max_size=400))
def test_server_words_are_short_and_never_hold_the_key(before: str, after: str) -> None:
    """Wherever a server repeats the key, the quote is one line, cut, and without it."""
    quoted = Faults(model="m", host="h", key=KEY).quote(before + KEY + after)
    assert KEY not in quoted
    assert len(quoted) <= SERVER_TEXT
    assert "\n" not in quoted


# The client


def test_a_thousand_calls_in_flight_all_come_back() -> None:
    """The connection pool holds a thousand calls at once, and each gets its own answer."""

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # both ends of the connections are in this process

    async def main() -> tuple[int, set[str]]:
        everybody = asyncio.Event()
        inside = most = 0

        async def handler(request: web.Request) -> web.StreamResponse:
            nonlocal inside, most
            inside += 1
            most = max(most, inside)
            if inside == 1000:
                everybody.set()
            body = await request.json()
            await everybody.wait()
            return web.json_response(completion({"content": body["messages"][0]["content"]}))

        async with serving(handler) as url, opened(url) as endpoint:
            asked = [Request(messages=(Message(role="user", content=str(n)),), max_tokens=1) for n in range(1000)]
            replies = await asyncio.gather(*map(endpoint.reply, asked))
        return most, {reply.text for reply in replies}

    most, answers = asyncio.run(main())
    assert most == 1000
    assert answers == {str(n) for n in range(1000)}


def test_an_endpoint_works_in_one_event_loop_after_another() -> None:
    """No client is carried from one event loop into the next."""
    endpoints: list[Endpoint] = []

    async def main(port: int) -> int:
        async with serving(always(200, completion({"content": "hello"})), port=port) as url:
            if not endpoints:
                endpoints.append(Endpoint(INFO, model="m", provider=Provider(base_url=url), key=None))
            try:
                assert (await endpoints[0].reply(ASK)).text == "hello"
            finally:
                await endpoints[0].aclose()
            return int(url.split(":")[2].removesuffix("/v1"))

    asyncio.run(main(asyncio.run(main(0))))


def test_a_cancelled_call_leaves_the_endpoint_usable() -> None:
    """Cancelling a call in flight raises cancellation and nothing else, and the next call works."""

    async def main() -> None:
        arrived = asyncio.Event()

        async def handler(_request: web.Request) -> web.StreamResponse:
            if not arrived.is_set():
                arrived.set()
                await asyncio.sleep(60)
            return web.json_response(completion({"content": "hello"}))

        async with serving(handler) as url, opened(url) as endpoint:
            task = asyncio.create_task(endpoint.reply(ASK))
            await arrived.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await endpoint.reply(ASK)).text == "hello"

    asyncio.run(main())


def test_a_listener_that_raises_ends_the_call_with_its_own_error() -> None:
    """What an observer raises reaches the caller as it is: it is no fault of the model."""

    class Broken(Listener):
        def delta(self, text: str, *, reasoning: bool = False) -> None:
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        ask(streaming(chunk({"content": "hello"}, "stop")), listener=Broken())


def test_usage_in_details_of_other_dialects_is_read() -> None:
    """A cache hit is read from the field of DeepSeek too; counts of wrong types are unknown."""
    assert usage_of({"prompt_tokens": 5, "completion_tokens": True, "prompt_cache_hit_tokens": 2}) == Usage(
        prompt=5, cached=2
    )

"""A request's names: what the journal, the store's check and a resumed run rely on."""

from __future__ import annotations

import json
from typing import Any

import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from motet.canonical import digest
from motet.models.model import Message, Request, Sampling, ToolCall, ToolSpec, estimate_tokens

_TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e9, 1e9) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=8,
)
_CALLS = st.lists(st.builds(ToolCall, id=_TEXT, name=_TEXT, arguments=_TEXT), max_size=2).map(tuple)
_MESSAGES = st.builds(
    Message,
    role=st.sampled_from(["system", "user", "assistant", "tool"]),
    content=_TEXT,
    tool_calls=_CALLS,
    tool_call_id=st.none() | _TEXT,
)
_TOOLS = st.builds(ToolSpec, name=_TEXT, description=_TEXT, parameters=st.dictionaries(_TEXT, _JSON, max_size=3))
_SAMPLINGS = st.builds(Sampling, temperature=st.none() | st.floats(0, 2), seed=st.none() | st.integers(0, 9))
_REQUESTS = st.builds(
    Request,
    messages=st.lists(_MESSAGES, min_size=1, max_size=4).map(tuple),
    max_tokens=st.integers(1, 9999),
    tools=st.lists(_TOOLS, max_size=2).map(tuple),
    tool_choice=st.sampled_from(["auto", "none", "required"]),
    reply_schema=st.none() | st.dictionaries(_TEXT, _JSON, max_size=3),
    sampling=_SAMPLINGS,
)


@given(_REQUESTS)
def test_a_requests_body_is_the_canonical_json_of_all_but_its_messages(request: Request) -> None:
    """It is put together from parts, and must be what the whole would have given."""
    assert request.body == rfc8785.dumps(request.model_dump(mode="json", exclude={"messages"}, exclude_defaults=True))


@given(_REQUESTS)
def test_a_requests_digest_follows_from_its_body_and_its_messages_digests(request: Request) -> None:
    """The store's check computes it from what the journal kept."""
    rest = json.loads(request.body)
    assert request.digest == digest({**rest, "messages": [message.digest for message in request.messages]})


@given(_REQUESTS, st.integers(1, 9999))
def test_a_changed_copy_of_a_request_has_names_of_its_own(request: Request, tokens: int) -> None:
    """Names are remembered, and a copy must not inherit them."""
    assert request.digest
    changed = request.model_copy(update={"max_tokens": tokens})
    assert (changed.digest == request.digest) == (changed.body == request.body) == (tokens == request.max_tokens)


@given(_REQUESTS, _MESSAGES)
def test_a_longer_conversation_is_estimated_to_cost_more(request: Request, message: Message) -> None:
    """Every message costs something, even an empty one."""
    longer = request.model_copy(update={"messages": (*request.messages, message)})
    assert estimate_tokens(longer) > estimate_tokens(request)

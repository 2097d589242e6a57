"""Typed replies: a schema that servers can enforce, tolerant reading, and one repair with the validator's words."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from motet.errors import BadReply
from motet.models.model import Message, ModelInfo, Observer, Reply, Request
from motet.models.schema import schema_of, strict_ready
from motet.models.structured import Structured, extract_json, structured
from motet.value import Value

ASK = Request(messages=(Message(role="user", content="Where?"),), max_tokens=50)


class Part(BaseModel):
    name: str
    weight: float = 1.0


class Plan(Value):
    """A plan."""

    title: str
    default: Literal["a", "b"] = "a"
    parts: list[Part] = Field(default_factory=list, description="the pieces")
    note: str | None = None


class Saying:
    """A model that says its ``texts`` in order, and keeps what it was asked."""

    info = ModelInfo(name="lab:m", identity="lab/m", provider="lab")

    def __init__(self, *texts: str, finish: Literal["stop", "length"] = "stop") -> None:
        self._texts = list(texts)
        self._finish: Literal["stop", "length"] = finish
        self.asked: list[Request] = []

    async def reply(self, request: Request, *, observer: Observer | None = None) -> Reply:
        self.asked.append(request)
        return Reply(text=self._texts.pop(0), finish=self._finish)


def plan(model: Saying, **options: Any) -> Structured[Plan]:
    return asyncio.run(structured(model, ASK, Plan, **options))


GOOD = '{"title": "T", "default": "b", "parts": [{"name": "n", "weight": 2}], "note": null}'


def test_a_fitting_reply_is_the_value() -> None:
    """The request carries the type's schema, and the reply comes back as a value of the type."""
    model = Saying(GOOD)
    result = plan(model)
    assert result.value == Plan(title="T", default="b", parts=[Part(name="n", weight=2)])
    assert [reply.text for reply in result.replies] == [GOOD]
    assert model.asked[0].reply_schema == schema_of(Plan)
    assert model.asked[0].digest != ASK.digest


def test_a_bad_reply_is_repaired_with_the_validators_words() -> None:
    """The repair shows the model its own words and, as the user, what was wrong with them."""
    model = Saying('{"title": 3, "default": "c"}', GOOD)
    result = plan(model)
    assert len(result.replies) == 2
    *before, said, told = model.asked[1].messages
    assert tuple(before) == ASK.messages
    assert (said.role, said.content) == ("assistant", '{"title": 3, "default": "c"}')
    assert told.role == "user"
    assert "title: Input should be a valid string" in told.content
    assert "default: Input should be 'a' or 'b'" in told.content
    assert model.asked[1].digest != model.asked[0].digest


def test_after_its_repairs_the_error_names_what_was_wrong() -> None:
    """The error names model, type, number of tries and the last fault; without repairs there is one try."""
    with pytest.raises(
        BadReply, match=r"model lab:m gave no valid Plan after 2 tries: title: Field required"
    ) as caught:
        plan(Saying("nothing", "{}"))
    assert not caught.value.retryable
    with pytest.raises(BadReply, match=r"gave no valid Plan: it contains no JSON object"):
        plan(Saying("nothing"), repairs=0)


def test_a_reply_cut_at_its_limit_says_so() -> None:
    """A JSON text that ended at max_tokens is named as such, since no repair will make it shorter."""
    with pytest.raises(BadReply, match="cut at max_tokens"):
        plan(Saying('{"title": "T', '{"title": "T', finish="length"))


def test_a_types_schema_can_be_enforced_while_decoding() -> None:
    """Objects are closed, everything is required, defaults and titles are gone; a field may be called title or default."""
    schema = schema_of(Plan)
    assert strict_ready(schema)
    assert schema["required"] == ["title", "default", "parts", "note"]
    assert schema["additionalProperties"] is False
    text = json.dumps(schema)
    assert '"the pieces"' in text
    assert '"Title"' not in text
    assert '"default": 1.0' not in text


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "array", "items": {"type": "string"}},
        {"type": "object"},
        {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False},
        {"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": False},
        {"type": "object", "properties": {"a": {"minLength": 1}}, "required": ["a"], "additionalProperties": False},
        {"type": "object", "properties": {}, "required": [], "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": [], "required": [], "additionalProperties": False},
        {"type": "object", "properties": {}, "additionalProperties": False, "anyOf": 3, "required": []},
    ],
)
def test_other_schemas_are_only_a_wish(schema: dict[str, Any]) -> None:
    """A schema that a strict decoder would refuse is not sent as strict."""
    assert not strict_ready(schema)


def test_a_free_mapping_keeps_its_schema() -> None:
    """A field with free keys stays free, which makes the schema a wish."""

    class Free(BaseModel):
        counts: dict[str, int]

    schema = schema_of(Free)
    properties = schema["properties"]
    assert isinstance(properties, dict)
    assert properties["counts"] == {"type": "object", "additionalProperties": {"type": "integer"}}
    assert not strict_ready(schema)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        (" [1, 2] ", [1, 2]),
        ('Here it is:\n```json\n{"a": 1}\n```\nDone.', {"a": 1}),
        ("```\n[1]\n```", [1]),
        ('I think [sic] that {"a": {"b": [1]}} fits, or {"c": 2}.', {"a": {"b": [1]}}),
        ('A set {x} and then {"a": 1}', {"a": 1}),
        ('```json\n{broken\n```\n{"a": 1}', {"a": 1}),
        ("7", 7),
    ],
)
def test_json_is_found_where_models_put_it(text: str, value: object) -> None:
    """The whole text, a fenced block, or the longest JSON inside other words is read."""
    assert extract_json(text) == value


@given(st.text() | st.lists(st.sampled_from('{}[]":,1a\\`\n ')).map("".join) | st.integers(1, 20_000).map("[".__mul__))
def test_reading_json_raises_value_error_and_nothing_else(text: str) -> None:
    """Any text gives a JSON value or a ValueError."""
    with suppress(ValueError):
        extract_json(text)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(
    st.dictionaries(st.text(), values, min_size=1), st.sampled_from(["{}", "```json\n{}\n```", "So: {} — that is it."])
)
def test_any_object_survives_its_wrapping(value: dict[str, Any], frame: str) -> None:
    """Whatever the object, it is read back from a fence and from between words."""
    assert extract_json(frame.replace("{}", json.dumps(value))) == value

"""Scripted models read their messages, are called scripted, and count tokens."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from motet.errors import BadReply, InputError
from motet.models import weights
from motet.models.model import Message, Request, ToolCall, ToolSpec
from motet.models.providers import Models
from motet.models.scripted import POLICIES, ScriptedModel, Turn, open_scripted
from motet.models.scripted_policies import mistakes as tables
from motet.models.scripted_policies.forms import fill
from motet.models.scripted_policies.office import mistakes
from motet.models.scripted_policies.scholar import lore
from motet.models.tokenizer import open_tokens
from motet.settings import load_settings
from motet.tools.corpus import corpus_tools
from motet.tools.tool import Tool, spec

QUESTION = "How tall is the tower of Bell Rock?"
ANSWER = "Its tower is 35 metres tall. [bell.md]"


@pytest.fixture
def tools(home: Path, tmp_path: Path) -> dict[str, Tool]:
    """Search and read over two real documents."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "bell.md").write_text(
        "# Bell Rock\n\nThe Bell Rock lighthouse was built by Robert Stevenson between 1807 and 1810. Its tower is 35 metres tall.\n"
    )
    (folder / "eddystone.md").write_text(
        "# Eddystone\n\nThe Eddystone lighthouse was first built in 1698. The present tower was designed by James Douglass.\n"
    )
    return {tool.name: tool for tool in corpus_tools(folder)}


def request(*messages: Message, max_tokens: int = 200) -> Request:
    return Request(messages=messages, max_tokens=max_tokens)


def test_echo_repeats_and_counts_as_the_embedded_model(home: Path) -> None:
    """``scripted:echo`` says the last user message; its usage is the embedded tokenizer's; it is marked as scripted and free."""
    model = open_scripted("scripted:echo")
    asked = request(Message(role="system", content="s"), Message(role="user", content="Ding dong."))
    reply = asyncio.run(model.reply(asked))
    tokens = open_tokens(weights.locate("smollm2").parent)
    assert reply.text == "Ding dong."
    assert reply.usage == tokens.usage(asked.messages, reply)
    assert model.info.scripted
    assert model.info.price is not None
    assert model.info.price.of(reply.usage) == 0


def test_a_reply_is_cut_at_max_tokens(home: Path) -> None:
    """A text longer than ``max_tokens`` is cut there and says so."""
    reply = asyncio.run(
        open_scripted("echo").reply(request(Message(role="user", content="one two three four"), max_tokens=2))
    )
    assert (reply.text, reply.finish, reply.usage.completion) == ("one two", "length", 2)


def test_a_list_of_replies_is_played_once_in_order(home: Path) -> None:
    """Fixed replies come in the order of the calls, and the call after the last fails by name."""
    call = ToolCall(id="1", name="t", arguments="{}")
    model = ScriptedModel.of_replies(["first", Turn(tool_calls=(call,))])

    async def main() -> None:
        asked = request(Message(role="user", content="x"))
        assert (await model.reply(asked)).text == "first"
        second = await model.reply(asked)
        assert (second.tool_calls, second.finish) == ((call,), "tool_calls")
        with pytest.raises(BadReply, match="2 replies was asked for reply 3"):
            await model.reply(asked)

    asyncio.run(main())
    assert model.info.identity != ScriptedModel.of_replies(["other"]).info.identity


def test_the_reader_answers_by_native_tool_calls(tools: dict[str, Tool]) -> None:
    """With tools in the request, the reader searches, reads, and answers with the fitting sentence and its document."""
    model = open_scripted("reader")

    async def main() -> str:
        messages = [Message(role="user", content=QUESTION)]
        for _ in range(6):
            reply = await model.reply(
                Request(messages=tuple(messages), max_tokens=200, tools=tuple(map(spec, tools.values())))
            )
            if not reply.tool_calls:
                return reply.text
            messages.append(reply.message)
            for call in reply.tool_calls:
                seen = await tools[call.name](json.loads(call.arguments), key="k")
                messages.append(Message(role="tool", tool_call_id=call.id, content=seen.text))
        raise AssertionError("no answer")

    assert asyncio.run(main()) == ANSWER


def action_schema(tools: Sequence[Tool]) -> dict[str, JsonValue]:
    options: list[JsonValue] = [
        {
            "type": "object",
            "properties": {"tool": {"const": tool.name}, "arguments": tool.parameters},
            "required": ["tool", "arguments"],
            "additionalProperties": False,
        }
        for tool in tools
    ]
    final: JsonValue = {
        "type": "object",
        "properties": {"thought": {"type": "string"}, "tool": {"const": "answer"}, "answer": {"type": "string"}},
        "required": ["thought", "tool", "answer"],
        "additionalProperties": False,
    }
    return {"anyOf": [*options, final]}


def test_the_reader_answers_by_json_actions(tools: dict[str, Tool]) -> None:
    """With a schema of actions instead, each reply fits the schema, worked examples are not taken for its own steps, and the answer
    is the same.
    """
    model = open_scripted("reader")
    schema = action_schema(list(tools.values()))

    async def main() -> str:
        messages = [
            Message(role="user", content="Task: Who painted the Mona Lisa?"),
            Message(role="assistant", content='{"tool": "corpus_search", "arguments": {"query": "Mona Lisa"}}'),
            Message(role="user", content=f"Task: {QUESTION}"),
        ]
        for _ in range(6):
            reply = await model.reply(Request(messages=tuple(messages), max_tokens=200, reply_schema=schema))
            action = json.loads(reply.text)
            jsonschema.validate(action, schema)
            if action["tool"] == "answer":
                return str(action["answer"])
            seen = await tools[action["tool"]](action["arguments"], key="k")
            messages.append(reply.message)
            told = f"Observation from {action['tool']}:\n{seen.text}\n\nTask: {QUESTION}"
            messages.append(Message(role="user", content=told))
        raise AssertionError("no answer")

    assert asyncio.run(main()) == ANSWER


def test_the_reader_says_when_there_is_nothing(tools: dict[str, Tool]) -> None:
    """A question that no document knows ends in a plain statement after two searches, never in a loop."""
    model = open_scripted("reader")

    async def main() -> tuple[str, int]:
        messages = [Message(role="user", content="Who discovered penicillin?")]
        for step in range(6):
            reply = await model.reply(
                Request(messages=tuple(messages), max_tokens=200, tools=tuple(map(spec, tools.values())))
            )
            if not reply.tool_calls:
                return reply.text, step
            messages.append(reply.message)
            for call in reply.tool_calls:
                seen = await tools[call.name](json.loads(call.arguments), key="k")
                messages.append(Message(role="tool", tool_call_id=call.id, content=seen.text))
        raise AssertionError("no answer")

    assert asyncio.run(main()) == ("I found nothing about this.", 2)


def test_filled_schemas_are_valid() -> None:
    """The value for a schema fits it: references, nested alternatives, enums and required rest included."""
    schema: dict[str, JsonValue] = {
        "type": "object",
        "properties": {
            "thought": {"type": "string"},
            "confidence": {"type": "number", "minimum": 0.5},
            "action": {"anyOf": [{"$ref": "#/$defs/search"}, {"$ref": "#/$defs/final"}]},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["thought", "confidence", "action", "tags"],
        "additionalProperties": False,
        "$defs": {
            "search": {
                "type": "object",
                "properties": {"name": {"enum": ["web_search", "other"]}, "query": {"type": "string"}},
                "required": ["name", "query"],
                "additionalProperties": False,
            },
            "final": {
                "type": "object",
                "properties": {"name": {"const": "final"}, "answer": {"type": "string"}},
                "required": ["name", "answer"],
                "additionalProperties": False,
            },
        },
    }
    for choice, values in (("web_search", {"query": "q"}), ("final", {"answer": "a"})):
        filled = fill(schema, choice, dict(values))
        jsonschema.validate(filled, schema)
        assert isinstance(filled, dict)
        assert filled["action"] == {"name": choice, **values}


def test_unknown_names_and_missing_tokenizers_are_input_errors(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A misspelt policy comes with the right name; without weights there is nothing to count with, and the command is given."""
    for name in POLICIES:
        assert open_scripted(name).info.name == f"scripted:{name}"
    with pytest.raises(InputError, match="did you mean 'reader'"):
        open_scripted("scripted:readr")
    monkeypatch.setenv("MOTET_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="run: motet models get smollm2"):
        open_scripted("echo")


def test_a_tool_spec_without_search_is_left_alone(home: Path) -> None:
    """Without a tool to search with, the reader answers from what it was told."""
    told = (
        "The Bell Rock tower is 35 metres tall. Cats sleep a lot all day.\n\nQuestion: How tall is the Bell Rock tower?"
    )
    tool = ToolSpec(name="python", description="", parameters={"type": "object"})
    asked = Request(messages=(Message(role="user", content=told),), max_tokens=50, tools=(tool,))
    assert asyncio.run(open_scripted("reader").reply(asked)).text == "The Bell Rock tower is 35 metres tall."


@pytest.mark.parametrize("name", ["office", "scholar"])
def test_a_factor_is_part_of_a_scripted_models_identity(home: Path, name: str) -> None:
    """Models whose workers err more or less often are others, by name and identity; equal factors are one."""
    names = [name, f"{name}@0.5", f"{name}@2", f"scripted:{name}@2.0"]
    infos = [open_scripted(given).info for given in names]
    assert [info.name for info in infos] == [
        f"scripted:{given}" for given in (name, f"{name}@0.5", f"{name}@2", f"{name}@2")
    ]
    assert len({info.identity for info in infos}) == 3
    assert Models(load_settings()).get(f"scripted:{name}@0.5").info.identity == infos[1].identity


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("office@much", "such as 0.5, and not 'much'"),
        ("office@-1", "such as 0.5, and not '-1'"),
        ("office@nan", "such as 0.5, and not 'nan'"),
        ("office@", "such as 0.5, and not ''"),
        ("echo@2", "echo makes no mistakes"),
        ("ofice@2", "did you mean 'office'"),
    ],
)
def test_a_factor_that_is_none_is_refused(name: str, words: str) -> None:
    """So is one for a model without mistakes."""
    with pytest.raises(InputError, match=words):
        open_scripted(f"scripted:{name}")


@given(st.floats(0, 5), st.sampled_from([mistakes.shipped(), lore.shipped().table]))
def test_every_rate_is_multiplied_and_stays_a_rate(factor: float, table: tables.Table) -> None:
    """A mistake that happens at a lower factor happens at a higher one too; at 0 none does."""
    for name, mistake in table.times(factor).mistakes.items():
        old = table.mistakes[name]
        assert mistake.rate == min(1.0, factor * old.rate)
        assert mistake.alone == min(1.0, factor * old.alone)
        assert mistake.remedied == min(1.0, factor * old.remedied)
        assert (mistake.remedy, mistake.only) == (old.remedy, old.only)
        for role in (*old.only, tables.ALONE):
            weaker = tables.Tendency(table.times(factor + 1), role, "a task").to(name)
            assert weaker or not tables.Tendency(table.times(factor), role, "a task").to(name)
            assert not tables.Tendency(table.times(0), role, "a task").to(name)

"""Two ways for a model to act: native tool calls, and JSON-schema actions for models without them.

A dialect renders a conversation into a Request and reads a Reply into a Turn. Everything a model can get wrong is read here into
something that can be said back to it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from pydantic import JsonValue

from motet.models.model import Message, Reply, Request, Sampling, ToolCall
from motet.models.structured import extract_json
from motet.prompts import Prompts
from motet.settings import nearest
from motet.tools.tool import Observation, Tool, spec


class Call(NamedTuple):
    """A tool call to be made, or what was wrong with it. ``id`` pairs it with its observation."""

    id: str
    tool: Tool | None
    arguments: dict[str, JsonValue]
    problem: str | None = None


class Turn(NamedTuple):
    """What a reply means: the message to keep, calls to make, an answer, or a problem to be told."""

    message: Message
    calls: tuple[Call, ...] = ()
    answer: str | None = None
    problem: str | None = None


class Dialect(Protocol):
    """How one kind of model is asked and understood."""

    def opening(self, *, question: str, context: str, instructions: str) -> list[Message]:
        """The first messages."""
        ...

    def request(
        self, messages: Sequence[Message], *, max_tokens: int, sampling: Sampling, may_call: bool, may_answer: bool
    ) -> Request:
        """Ask for the next turn."""
        ...

    def read(self, reply: Reply) -> Turn:
        """Understand a reply."""
        ...

    def observed(self, results: Sequence[tuple[Call, Observation]], *, question: str) -> list[Message]:
        """The observations as messages."""
        ...


class NativeTools:
    """Tools through the provider's own tool calls."""

    def __init__(self, tools: Sequence[Tool], prompts: Prompts) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._specs = tuple(spec(tool) for tool in tools)
        self._prompts = prompts

    def opening(self, *, question: str, context: str, instructions: str) -> list[Message]:
        """System text and the task."""
        system = self._prompts("system" if self._tools else "system_without_tools", instructions=instructions)
        return [
            Message(role="system", content=system),
            Message(role="user", content=self._prompts("question", question=question, context=context)),
        ]

    def request(
        self, messages: Sequence[Message], *, max_tokens: int, sampling: Sampling, may_call: bool, may_answer: bool
    ) -> Request:
        """The tools stay in every request, also in one that may not call them, so that a provider's prefix cache holds."""
        return Request(
            messages=tuple(messages),
            max_tokens=max_tokens,
            tools=self._specs,
            tool_choice="auto" if may_call and self._specs else "none",
            sampling=sampling,
        )

    def read(self, reply: Reply) -> Turn:
        """Calls if there are any, also ones that were written into the text or the reasoning; else the text is the answer."""
        written = reply.tool_calls
        text = reply.text
        if not written and self._tools:
            written, text = self._calls_in_text(reply)
        if not written:
            return Turn(reply.message, answer=reply.text.strip() or None)
        calls = unique_ids(written)
        message = Message(role="assistant", content=text, tool_calls=calls)
        cut = reply.finish == "length"
        return Turn(message, calls=tuple(self._call(call, cut=cut) for call in calls))

    def observed(self, results: Sequence[tuple[Call, Observation]], *, question: str) -> list[Message]:
        """One tool message for each call."""
        return [
            Message(role="tool", tool_call_id=call.id, content=observation.text or "(empty)")
            for call, observation in results
        ]

    def _call(self, call: ToolCall, *, cut: bool) -> Call:
        tool = self._tools.get(call.name)
        if tool is None:
            known = ", ".join(sorted(self._tools)) or "none"
            name = f"{call.name[:60]!r}"
            return Call(call.id, None, {}, self._prompts("unknown_tool", name=name, known=known))
        try:
            arguments = json.loads(call.arguments)
            problem = "" if isinstance(arguments, dict) else f"no JSON object but {type(arguments).__name__}"
        except ValueError as error:
            arguments, problem = {}, f"no valid JSON ({error})"
        if problem and cut:
            problem += "; the reply was cut off at the token limit"
        if problem:
            schema = json.dumps(tool.parameters)
            told = self._prompts("bad_arguments", tool=tool.name, problem=problem, schema=schema)
            return Call(call.id, tool, {}, told)
        return Call(call.id, tool, arguments)

    def _calls_in_text(self, reply: Reply) -> tuple[tuple[ToolCall, ...], str]:
        """Tool calls that a model wrote into its text or reasoning, and the text without them.

        Only whole JSON objects that name a known tool count; from reasoning only when there is no text, since models think about calls
        that they then decide against.
        """
        found = _written_calls(reply.text, self._tools)
        if found:
            text = _TAGGED.sub("", reply.text).strip()
            return found, "" if text == reply.text.strip() else text
        if not reply.text.strip():
            return _written_calls(reply.reasoning, self._tools), ""
        return (), reply.text


class JsonActions:
    """Tools through replies that must fit a JSON schema: ``{"tool", "arguments"}`` or ``{"answer"}``."""

    def __init__(self, tools: Sequence[Tool], prompts: Prompts) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._prompts = prompts

    def opening(self, *, question: str, context: str, instructions: str) -> list[Message]:
        """System text with the tools in words, and the task."""
        system = self._prompts(
            "system_actions", tools=[spec(tool) for tool in self._tools.values()], instructions=instructions
        )
        return [
            Message(role="system", content=system),
            Message(role="user", content=self._prompts("question_actions", question=question, context=context)),
        ]

    def request(
        self, messages: Sequence[Message], *, max_tokens: int, sampling: Sampling, may_call: bool, may_answer: bool
    ) -> Request:
        """Ask for one action that fits the schema."""
        options: list[JsonValue] = [_call_schema(tool) for tool in self._tools.values()] if may_call else []
        if may_answer or not options:
            options.append(_ANSWER)
        schema: dict[str, JsonValue] = {"anyOf": options} if len(options) > 1 else dict(_object(options[0]))
        return Request(messages=tuple(messages), max_tokens=max_tokens, reply_schema=schema, sampling=sampling)

    def read(self, reply: Reply) -> Turn:
        """The action in the reply, or what was wrong with it."""
        message = Message(role="assistant", content=reply.text)
        try:
            action = extract_json(reply.text)
        except ValueError as error:
            problem = "it was cut off" if reply.finish == "length" else f"no JSON object in it ({error})"
            return Turn(message, problem=self._prompts("bad_action", problem=problem))
        if not isinstance(action, dict):
            return Turn(message, problem=self._prompts("bad_action", problem="it is no JSON object"))
        answer = action.get("answer")
        if isinstance(answer, str) and answer.strip():
            return Turn(message, answer=answer.strip())
        name = action.get("tool")
        if not isinstance(name, str):
            return Turn(message, problem=self._prompts("bad_action", problem="it has neither a tool nor an answer"))
        tool = self._tools.get(name)
        if tool is None:
            problem = f"unknown tool {name[:60]!r}{nearest(name, self._tools)}"
            return Turn(message, problem=self._prompts("bad_action", problem=problem))
        arguments = action.get("arguments")
        if not isinstance(arguments, dict):
            return Turn(message, problem=self._prompts("bad_action", problem='"arguments" is no JSON object'))
        return Turn(message, calls=(Call("action", tool, arguments),))

    def observed(self, results: Sequence[tuple[Call, Observation]], *, question: str) -> list[Message]:
        """One user message: the observation, quoted as such, and the task again, since small models lose it."""
        parts = [
            self._prompts("observation", tool=call.tool.name if call.tool else "nothing", text=observation.text)
            for call, observation in results
        ]
        return [Message(role="user", content="\n\n".join([*parts, self._prompts("now_answer", question=question)]))]


_ANSWER: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"answer": {"type": "string", "minLength": 1, "maxLength": 4000}},
    "required": ["answer"],
    "additionalProperties": False,
}

_TAGGED = re.compile(r"<tool_call>\s*(\{.*?\})\s*</tool_call>", re.DOTALL)


def unique_ids(calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
    """``calls`` with ids that are present and distinct; some servers give every call the same one."""
    seen: set[str] = set()
    fixed: list[ToolCall] = []
    for index, call in enumerate(calls):
        name = call.id or f"call_{index}"
        while name in seen:
            name += f"_{index}"
        seen.add(name)
        fixed.append(call if name == call.id else call.model_copy(update={"id": name}))
    return tuple(fixed)


def _written_calls(text: str, known: Mapping[str, Tool]) -> tuple[ToolCall, ...]:
    """Tool calls written as text: in ``<tool_call>`` tags, or a text that is nothing but one call in JSON."""
    pieces = _TAGGED.findall(text)
    whole = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    if not pieces and whole.startswith("{") and whole.endswith("}"):
        pieces = [whole]
    found: list[ToolCall] = []
    for piece in pieces:
        try:
            value = json.loads(piece)
        except ValueError:
            continue
        if not isinstance(value, dict) or value.get("name") not in known:
            continue
        arguments = value.get("arguments", value.get("parameters"))
        written = arguments if isinstance(arguments, str) else json.dumps(arguments)
        found.append(ToolCall(id=f"text_{len(found)}", name=str(value["name"]), arguments=written))
    return tuple(found)


def _call_schema(tool: Tool) -> dict[str, JsonValue]:
    return {
        "type": "object",
        "properties": {"tool": {"const": tool.name}, "arguments": tool.parameters},
        "required": ["tool", "arguments"],
        "additionalProperties": False,
    }


def _object(value: JsonValue) -> dict[str, JsonValue]:
    assert isinstance(value, dict)
    return value

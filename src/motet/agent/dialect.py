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

from motet.models.model import Message, Reply, Request, Sampling, ToolCall, ToolSpec
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
    """What a reply means: the message to keep, calls to make, an answer (``cut`` off at ``max_tokens`` or not), the wish to answer (``ready``), or a
    problem to be told.
    """

    message: Message
    calls: tuple[Call, ...] = ()
    answer: str | None = None
    cut: bool = False
    ready: bool = False
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

    def told(self, text: str, *, question: str) -> str:
        """Something from outside that is put between two steps, as a user message's content."""
        ...

    def answering(
        self, observations: Sequence[Observation], *, question: str, max_tokens: int, sampling: Sampling
    ) -> Request | None:
        """Ask for the answer by itself, or ``None`` where it comes as a turn like any other."""
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
        cut = reply.finish == "length"
        if not written and self._tools:
            written, text = self._calls_in_text(reply)
        if not written:
            answer = reply.text.strip()
            if not answer:
                return Turn(reply.message, problem=self._prompts("empty_reply"))
            if self._tools and answer.startswith(_TAG):
                return Turn(
                    reply.message, problem=self._prompts("unreadable_call", known=", ".join(sorted(self._tools)))
                )
            return Turn(reply.message, answer=answer, cut=cut)
        calls = unique_ids(written)
        message = Message(role="assistant", content=text, tool_calls=calls)
        return Turn(message, calls=tuple(self._call(call, cut=cut) for call in calls))

    def observed(self, results: Sequence[tuple[Call, Observation]], *, question: str) -> list[Message]:
        """One tool message for each call."""
        return [
            Message(role="tool", tool_call_id=call.id, content=observation.text or "(empty)")
            for call, observation in results
        ]

    def told(self, text: str, *, question: str) -> str:
        """As it is."""
        return text

    def answering(
        self, observations: Sequence[Observation], *, question: str, max_tokens: int, sampling: Sampling
    ) -> Request | None:
        """Nothing special: the answer is the turn without a call."""
        return None

    def _call(self, call: ToolCall, *, cut: bool) -> Call:
        tool = self._tools.get(call.name)
        if tool is None:
            known = ", ".join(sorted(self._tools)) or "none"
            name = f"{call.name[:60]!r}"
            return Call(call.id, None, {}, self._prompts("unknown_tool", name=name, known=known))
        try:
            arguments = read_json(call.arguments)
            problem = "" if isinstance(arguments, dict) else f"no JSON object but {type(arguments).__name__}"
        except ValueError as error:
            arguments, problem = {}, f"no valid JSON ({error})"
        if problem and cut:
            problem += "; the reply was cut off at the token limit"
        if problem:
            schema = json.dumps(tool.parameters)
            told = self._prompts("bad_arguments", tool=tool.name, problem=problem, schema=schema)
            return Call(call.id, tool, {}, told)
        assert isinstance(arguments, dict)
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
    """Tools through replies that must fit a JSON schema: ``{"tool", "arguments"}``, or ``{"tool": "answer"}``.

    The answer itself is then asked for in plain text, over the observations alone: a model of 135 million parameters that cannot
    answer inside a JSON string does answer so. ``longest`` bounds the characters of a text argument, for models whose long replies are worth
    nothing.
    """

    def __init__(self, tools: Sequence[Tool], prompts: Prompts, *, longest: int | None = None) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._prompts = prompts
        self._longest = longest

    def opening(self, *, question: str, context: str, instructions: str) -> list[Message]:
        """System text with the tools in words, worked examples where there is something to search, and the task."""
        tools = [spec(tool) for tool in self._tools.values()]
        search = next((tool.name for tool in tools if _takes_query(tool)), None)
        examples = [] if search is None else self._examples(search)
        return [
            Message(role="system", content=self._prompts("system_actions", tools=tools, instructions=instructions)),
            *examples,
            Message(role="user", content=self._prompts("question_actions", question=question, context=context)),
        ]

    def request(
        self, messages: Sequence[Message], *, max_tokens: int, sampling: Sampling, may_call: bool, may_answer: bool
    ) -> Request:
        """Ask for one action that fits the schema."""
        options: list[JsonValue] = [_call_schema(tool, self._longest) for tool in self._tools.values()]
        if may_answer or not options:
            options.append(_ANSWER)
        schema: dict[str, JsonValue] = {"anyOf": options}
        return Request(messages=tuple(messages), max_tokens=max_tokens, reply_schema=schema, sampling=sampling)

    def read(self, reply: Reply) -> Turn:
        """The action in the reply, or what was wrong with it."""
        message = Message(role="assistant", content=reply.text)
        try:
            action = extract_json(reply.text)
        except ValueError as error:
            return self._wrong(message, "it was cut off" if reply.finish == "length" else f"no JSON in it ({error})")
        if not isinstance(action, dict):
            return self._wrong(message, "it is no JSON object")
        answer = action.get("answer")
        if isinstance(answer, str) and answer.strip():
            return Turn(message, answer=answer.strip())
        name = action.get("tool")
        if name == "answer":
            return Turn(message, ready=True)
        if not isinstance(name, str):
            return self._wrong(message, "it names no tool")
        tool = self._tools.get(name)
        if tool is None:
            return self._wrong(message, f"unknown tool {name[:60]!r}{nearest(name, self._tools)}")
        arguments = action.get("arguments")
        if not isinstance(arguments, dict):
            return self._wrong(message, '"arguments" is no JSON object')
        if _is_deep(arguments):
            return self._wrong(message, f'"arguments": {_DEEP}')
        return Turn(message, calls=(Call("action", tool, arguments),))

    def observed(self, results: Sequence[tuple[Call, Observation]], *, question: str) -> list[Message]:
        """One user message: the observation, quoted as such, and the task again, since small models lose it."""
        parts = [
            self._prompts("observation", tool=call.tool.name if call.tool else "nothing", text=self._cut(observation))
            for call, observation in results
        ]
        return [Message(role="user", content="\n\n".join([*parts, self._prompts("now_act", question=question)]))]

    def told(self, text: str, *, question: str) -> str:
        """The text, and the task again, as after an observation."""
        return f"{text}\n\n{self._prompts('now_act', question=question)}"

    def answering(
        self, observations: Sequence[Observation], *, question: str, max_tokens: int, sampling: Sampling
    ) -> Request | None:
        """Ask for the answer in plain text, over the last useful observations."""
        useful = [observation for observation in observations if not observation.error][-_LAST:]
        text = "\n\n".join(self._cut(observation) for observation in useful)
        asked = self._prompts("answer_from", observations=text, question=question)
        return Request(messages=(Message(role="user", content=asked),), max_tokens=max_tokens, sampling=sampling)

    def _cut(self, observation: Observation) -> str:
        text = observation.text
        return text if len(text) <= _OBSERVATION else self._prompts("cut", text=text[:_OBSERVATION])

    def _examples(self, search: str) -> list[Message]:
        """Two worked tasks: they teach a small model the form, to search with the task's own words, and to answer when it has found something."""
        messages: list[Message] = []
        for question, found in _EXAMPLES:
            action = json.dumps({"tool": search, "arguments": {"query": question}})
            observed = self._prompts("observation", tool=search, text=found)
            messages += [
                Message(role="user", content=self._prompts("question_actions", question=question, context="")),
                Message(role="assistant", content=action),
                Message(role="user", content=f"{observed}\n\n{self._prompts('now_act', question=question)}"),
                Message(role="assistant", content=json.dumps({"tool": "answer"})),
            ]
        return messages

    def _wrong(self, message: Message, problem: str) -> Turn:
        return Turn(message, problem=self._prompts("bad_action", problem=problem))


_EXAMPLES = (
    ("Who painted the Mona Lisa?", "1. Mona Lisa\n   The Mona Lisa was painted by Leonardo da Vinci."),
    ("What is the capital of France?", "1. France\n   The capital of France is Paris."),
)
_OBSERVATION = 1500  # characters of one observation; small models lose the question behind more
_LAST = 3  # observations that an answer is drawn from

_ANSWER: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"tool": {"const": "answer"}},
    "required": ["tool"],
    "additionalProperties": False,
}

_TAG = "<tool_call>"
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


def read_json(text: str) -> JsonValue:
    """The JSON value that ``text`` is. Raises ValueError, also for what Python's reader takes and JSON does not have, such as NaN."""

    def refuse(name: str) -> JsonValue:
        raise ValueError(f"{name} is no JSON value")

    try:
        value: JsonValue = json.loads(text, parse_constant=refuse)
    except RecursionError:
        raise ValueError(_DEEP) from None
    if _is_deep(value):
        raise ValueError(_DEEP)
    return value


_DEEP = "it is nested too deeply"
_LEVELS = 64  # of nested lists and objects; whoever reads a value level by level must get to its end


def _is_deep(value: JsonValue) -> bool:
    level: list[JsonValue] = [value]
    for _ in range(_LEVELS):
        level = [
            inner
            for item in level
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return False
    return True


def _written_calls(text: str, known: Mapping[str, Tool]) -> tuple[ToolCall, ...]:
    """Tool calls written as text: in ``<tool_call>`` tags, or a text that is nothing but one call in JSON."""
    pieces = _TAGGED.findall(text)
    whole = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    if not pieces and whole.startswith("{") and whole.endswith("}"):
        pieces = [whole]
    found: list[ToolCall] = []
    for piece in pieces:
        try:
            value = read_json(piece)
        except ValueError:
            continue
        if not isinstance(value, dict) or not isinstance(value.get("name"), str) or value["name"] not in known:
            continue
        arguments = value.get("arguments", value.get("parameters"))
        written = arguments if isinstance(arguments, str) else json.dumps(arguments)
        found.append(ToolCall(id=f"text_{len(found)}", name=str(value["name"]), arguments=written))
    return tuple(found)


def _call_schema(tool: Tool, longest: int | None) -> dict[str, JsonValue]:
    arguments = tool.parameters if longest is None else _bounded(tool.parameters, longest)
    return {
        "type": "object",
        "properties": {"tool": {"const": tool.name}, "arguments": arguments},
        "required": ["tool", "arguments"],
        "additionalProperties": False,
    }


def _bounded(parameters: Mapping[str, JsonValue], longest: int) -> dict[str, JsonValue]:
    """``parameters`` with every text argument at most ``longest`` characters: a small model that has begun to repeat itself would not stop."""
    properties = parameters.get("properties")
    if not isinstance(properties, dict):
        return dict(parameters)
    bounded: dict[str, JsonValue] = {}
    for name, value in properties.items():
        if isinstance(value, dict) and value.get("type") == "string" and "enum" not in value:
            known = value.get("maxLength")
            value = {**value, "maxLength": min(known, longest) if isinstance(known, int) else longest}
        bounded[name] = value
    return {**parameters, "properties": bounded}


def _takes_query(tool: ToolSpec) -> bool:
    properties = tool.parameters.get("properties")
    return isinstance(properties, dict) and "query" in properties

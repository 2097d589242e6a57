"""The Model protocol and its values: anything that answers a chat request.

Facts that the rest relies on:

- ``Request`` and ``Reply`` are frozen and named by their content. A request's digest is built from its messages' digests,
  so a long conversation is hashed once per message and not once per step.
- A tool call's arguments stay the raw text that the model wrote. Whoever runs the tool parses it, and can show the model what was wrong.
- Every layer on the way to a model (journal, ledger, gate, endpoint) is itself a Model around a Model.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from pydantic import Field, JsonValue

from motet.canonical import canonical, digest, digest_bytes
from motet.errors import ModelError
from motet.usage import Usage
from motet.value import Value

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
Finish: TypeAlias = Literal["stop", "length", "tool_calls", "filter"]


class ToolCall(Value):
    """A tool call as a model wrote it. ``arguments`` is raw text, meant to be a JSON object."""

    id: str
    name: str
    arguments: str


class Message(Value):
    """One chat message. ``tool_call_id`` is set on ``tool`` messages."""

    role: Role
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the message's canonical JSON."""
        return digest(self.model_dump(exclude_defaults=True))

    @cached_property
    def size(self) -> int:
        """Bytes of text, for estimates."""
        return len(self.content.encode("utf-8", "replace")) + sum(
            len(call.arguments) + len(call.name) for call in self.tool_calls
        )


class ToolSpec(Value):
    """A tool as a model is shown it: ``parameters`` is a JSON schema of type object."""

    name: str
    description: str
    parameters: dict[str, JsonValue]

    @cached_property
    def body(self) -> bytes:
        """Its canonical JSON, made once, since every request of an agent holds the same tools."""
        return canonical(self.model_dump())

    @cached_property
    def size(self) -> int:
        """Characters of text, for estimates."""
        return len(self.description) + len(str(self.parameters))


class Sampling(Value):
    """How to draw a reply. ``None`` means that the parameter is not sent, which is not the same as sending a default."""

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()


class Request(Value):
    """Everything that decides a reply. ``reply_schema`` asks for JSON that fits it; ``max_tokens`` is always set, so that a
    budget can reserve it.
    """

    messages: tuple[Message, ...] = Field(min_length=1)
    max_tokens: int = Field(gt=0)
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: Literal["auto", "none", "required"] = "auto"
    reply_schema: dict[str, JsonValue] | None = None
    sampling: Sampling = Sampling()

    @cached_property
    def digest(self) -> str:
        """SHA-256 that names the request, built from its messages' digests."""
        messages = canonical([message.digest for message in self.messages])
        return digest_bytes(_object({**self._parts, "messages": messages}))

    @cached_property
    def body(self) -> bytes:
        """Canonical JSON of everything but the messages."""
        return _object(self._parts)

    @cached_property
    def _parts(self) -> dict[str, bytes]:
        """Canonical JSON of each field that is set, without the messages."""
        rest = self.model_dump(exclude={"messages", "tools"}, exclude_defaults=True)
        parts = {name: canonical(value) for name, value in rest.items()}
        if self.tools:
            parts["tools"] = b"[" + b",".join(tool.body for tool in self.tools) + b"]"
        return parts


class Reply(Value):
    """One answer. ``attempts`` is how many requests it took; ``lost`` is the usage of the failed ones that may have been
    billed (unknown counts for what it is). ``seconds`` is the time of the successful attempt.
    """

    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish: Finish = "stop"
    usage: Usage = Usage()
    model: str = ""
    attempts: int = 1
    lost: tuple[Usage, ...] = ()
    seconds: float = 0.0

    @property
    def message(self) -> Message:
        """The reply as the next conversation message."""
        return Message(role="assistant", content=self.text, tool_calls=self.tool_calls)


class Price(Value):
    """US dollars per million tokens. ``cached`` defaults to the prompt price."""

    prompt: float = Field(ge=0)
    completion: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)

    def of(self, usage: Usage) -> float | None:
        """Money for ``usage`` in dollars, or ``None`` when the usage is unknown."""
        if usage.prompt is None or usage.completion is None:
            return None
        cached = min(usage.cached or 0, usage.prompt)
        cached_price = self.prompt if self.cached is None else self.cached
        return (
            (usage.prompt - cached) * self.prompt + cached * cached_price + usage.completion * self.completion
        ) / 1e6


class ModelInfo(Value):
    """What is known about a model before it is asked.

    ``identity`` names it in records: the provider's declared name or host with the model's name, or for local models the
    SHA-256 of the weights with the runtime's version; never an ephemeral port. ``context`` is its window in tokens where
    known; ``reply_limit`` the length in tokens beyond which its replies are known to be worth nothing. ``native_tools`` says whether it
    takes tool definitions; agents fall back to JSON-schema actions where it does not.
    """

    name: str
    identity: str
    provider: str
    context: int | None = None
    reply_limit: int | None = None
    native_tools: bool = True
    price: Price | None = None
    scripted: bool = False


@runtime_checkable
class Observer(Protocol):
    """Hears what happens while a reply is on its way. Both methods are called from the event loop and must be quick."""

    def delta(self, text: str, *, reasoning: bool = False) -> None:
        """Hear a piece of the reply as it streams in. Endpoints stream only when there is an observer that wants deltas."""
        ...

    def failed(self, error: ModelError, *, attempt: int, wait: float) -> None:
        """Hear that an attempt failed and that another follows after ``wait`` seconds. May raise to stop the retries (a budget does)."""
        ...

    @property
    def wants_deltas(self) -> bool:
        """Whether ``delta`` has a use."""
        ...


@runtime_checkable
class Model(Protocol):
    """Anything that answers a request.

    ``reply`` raises a ModelError (and nothing else but cancellation) when there is no usable reply.
    """

    @property
    def info(self) -> ModelInfo:
        """What is known about the model."""
        ...

    async def reply(self, request: Request, *, observer: Observer | None = None) -> Reply:
        """Answer ``request``."""
        ...


def estimate_tokens(request: Request) -> int:
    """A cautious guess of a request's prompt tokens, for budgets: one per three bytes of text, and four per message."""
    size = sum(message.size + 12 for message in request.messages) + sum(tool.size for tool in request.tools)
    size += len(str(request.reply_schema)) if request.reply_schema else 0
    return size // 3 + 1


def _object(parts: Mapping[str, bytes]) -> bytes:
    """The canonical JSON object of ``parts``, each of which is canonical JSON under an ASCII name."""
    return b"{" + b",".join(b'"%s":%s' % (name.encode(), value) for name, value in sorted(parts.items())) + b"}"

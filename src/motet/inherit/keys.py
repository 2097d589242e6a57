"""Record keys: everything that determines a node's result, as one value whose digest names the record.

Facts that the rest relies on:

- A key names a node's whole result, and has nothing to do with the digests of requests in the journal.
- A parameter that is not given is not the same as one given with its default value: ``None`` is written as ``None``.
- A node's id is no determinant, so a renamed node inherits; but whoever reads it is shown its id, so its readers do not.
- Usage and times are no determinants.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property

from pydantic import BaseModel, JsonValue

from motet.canonical import clean_text, digest, digest_bytes
from motet.inherit.roles import Given
from motet.inherit.workflow import Node
from motet.models.model import Model, ModelInfo, Sampling
from motet.system import Configured, System
from motet.task import Task
from motet.tools.tool import Tool
from motet.value import Value
from motet.words import clipped
from motet.worlds.world import World

# Goes up whenever the engine shows nodes the same facts in another way, so that no older record fits any more.
FORMAT = 2

_SHOWN = 60  # characters of each side of a difference


class Upstream(Value):
    """One input as its reader is shown it: the port, the id of the node that gave it, and the SHA-256 of the text."""

    port: str
    node: str
    text: str

    @classmethod
    def of(cls, given: Given) -> Upstream:
        """The identity of ``given``."""
        return cls(port=given.port, node=given.node, text=digest_bytes(clean_text(given.text).encode()))


class Determinants(Value):
    """All that determines a node's result. ``key`` is its SHA-256.

    ``node``: the node's own spec. ``instructions``: what its role makes of that, as it is told. ``task``: question and context. ``prompts``: version of the role
    set's prompts. ``system``: the class that works and its whole configuration, sampling and limits among it.
    ``models``: identities, with what systems adapt to. ``tools``: those that the node may use, in order. ``environment``: the world as it was when the candidate
    began. ``within``: the run beyond which nothing may be reused, where the environment is unknown. ``upstream``: what the node reads, in order. ``replica``:
    which of several equal nodes this is, where equal requests may have different replies.
    """

    format: int = FORMAT
    node: dict[str, JsonValue]
    instructions: str
    task: dict[str, JsonValue]
    prompts: str
    system: dict[str, JsonValue]
    models: tuple[dict[str, JsonValue], ...]
    tools: tuple[dict[str, JsonValue], ...]
    environment: str | None
    within: str | None
    upstream: tuple[Upstream, ...]
    replica: int | None

    @cached_property
    def key(self) -> str:
        """SHA-256 of the canonical JSON, as 64 hex digits."""
        return digest(self.model_dump(mode="json"))


def determine(
    node: Node,
    task: Task,
    *,
    system: Configured,
    instructions: str,
    prompts: str,
    models: Mapping[str, ModelInfo],
    tools: Sequence[Tool],
    environment: str | None,
    run_id: str,
    inputs: Sequence[Given],
    replica: int | None,
) -> Determinants | None:
    """The determinants of ``node``; ``None`` where ``system`` is configured with something that has no stable name, such as a function.

    ``models`` says what the names in ``system`` stand for. An unknown ``environment`` (``None``) binds the key to ``run_id``.
    """
    try:
        config = _plain(system, models=models, instructions=instructions)
    except _NamelessError:
        return None
    infos = [models[model] if isinstance(model, str) else model.info for model in dict.fromkeys(system.needs().models)]
    kind = type(system)
    return Determinants(
        node=node.spec,
        instructions=instructions,
        task={"question": task.question, "context": task.context},
        prompts=prompts,
        system={
            "class": f"{kind.__module__}:{kind.__qualname__}",
            "config": config,
        },
        models=tuple(_model(info) for info in infos),
        tools=tuple(
            {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "effect": tool.effect,
                "version": tool.version,
            }
            for tool in tools
        ),
        environment=environment,
        within=run_id if environment is None else None,
        upstream=tuple(Upstream.of(given) for given in inputs),
        replica=replica,
    )


def environment_of(world: World | None) -> str | None:
    """Names the state of ``world`` with its version; ``None`` where the state cannot be read. Without a world, the tools' versions say it all."""
    if world is None:
        return "no world"
    state = world.fingerprint()
    return None if state is None else digest({"world": world.name, "version": world.version, "state": state})


def is_greedy(system: System) -> bool:
    """Whether every reply is decided by its request: all that ``system`` says of sampling is a temperature of 0, and it says so."""
    found = _samplings(system)
    return bool(found) and all(sampling.temperature == 0 for sampling in found)


def explain(old: Determinants, new: Determinants) -> list[str]:
    """What changed from ``old`` to ``new``, a line for each determinant, by its path; empty where the keys are equal."""
    if old.key == new.key:
        return []
    before, after = old.model_dump(mode="json"), new.model_dump(mode="json")
    if before["node"] != after["node"] or before["prompts"] != after["prompts"]:
        # They follow from the node and its role's prompt, which are told already.
        before["instructions"] = after["instructions"]
    if len(before["upstream"]) != len(after["upstream"]):
        # By the nodes that are read, so that it says which one came or went.
        for told in (before, after):
            told["upstream"] = {given["node"]: given for given in told["upstream"]}
    return _differences(before, after, path="")


def _differences(before: JsonValue, after: JsonValue, *, path: str) -> list[str]:
    if digest(before) == digest(after):
        return []
    if isinstance(before, dict) and isinstance(after, dict):
        lines = []
        for name in dict.fromkeys([*before, *after]):
            place = f"{path}.{name}" if path else name
            if name not in after:
                lines.append(f"{place}: {_short(before[name])} is gone")
            elif name not in before:
                lines.append(f"{place}: {_short(after[name])} is new")
            else:
                lines += _differences(before[name], after[name], path=place)
        return lines
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [
            line
            for position, (left, right) in enumerate(zip(before, after, strict=True), 1)
            for line in _differences(left, right, path=f"{path}.{position}")
        ]
    return [f"{path}: {_short(before)} → {_short(after)}"]


def _short(value: JsonValue) -> str:
    return clipped(json.dumps(value, ensure_ascii=False, sort_keys=True), width=_SHOWN)


def _model(info: ModelInfo) -> dict[str, JsonValue]:
    return info.model_dump(include={"identity", "context", "reply_limit", "native_tools"})


def _plain(value: object, *, models: Mapping[str, ModelInfo], instructions: str) -> JsonValue:
    """``value``, a configuration, as JSON: models by their identities, tools by their versions, without the instructions, which are a determinant of their own."""

    def plain(part: object) -> JsonValue:
        if isinstance(part, str):
            if part == instructions:
                return {"is": "instructions"}
            return {"model": models[part].identity} if part in models else part
        if part is None or isinstance(part, bool | int | float):
            # The same canonical JSON either way, and the quick encoder knows no floats.
            return int(part) if isinstance(part, float) and part.is_integer() and abs(part) < 2**53 else part
        if isinstance(part, BaseModel):
            return {name: plain(getattr(part, name)) for name in type(part).model_fields}
        if isinstance(part, Mapping):
            return {str(name): plain(item) for name, item in part.items()}
        if isinstance(part, Sequence):
            return [plain(item) for item in part]
        if isinstance(part, Model):
            return {"model": part.info.identity}
        if isinstance(part, Tool):
            return {"tool": part.name, "version": part.version}
        raise _NamelessError

    return plain(value)


class _NamelessError(Exception):
    """A part of a configuration has no name that would be the same in another process."""


def _samplings(value: object) -> list[Sampling]:
    if isinstance(value, Sampling):
        return [value]
    if isinstance(value, BaseModel):
        return [found for name in type(value).model_fields for found in _samplings(getattr(value, name))]
    if isinstance(value, Mapping):
        return [found for item in value.values() for found in _samplings(item)]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [found for item in value for found in _samplings(item)]
    return []

"""The workflow: who works on a task, with which tools, and who reads whom. A typed, versioned document and a graph.

Facts that the rest relies on:

- A ``Workflow`` can hold any graph, right or wrong, so that everything wrong with it can be told at once (``validate``). What it computes, other than ``layers``
  and ``order``, is defined for wrong graphs too.
- Its ``hash`` covers what makes it act differently: the nodes' ids, roles, subtasks, prompts, tools and inputs, the last two in their order. Names,
  rationales, the order of keys and the order in which nodes are written are left out.
- Inputs carry no port names: which port an input feeds follows from its role (see ``roles``).
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field, JsonValue, ValidationError, field_validator

from motet.canonical import clean_text, digest
from motet.errors import InputError
from motet.settings import explain
from motet.value import Value
from motet.words import near, shown

ID_PATTERN = r"^[a-z][a-z0-9_]{0,47}$"

# Text as every store and wire can carry it. What is hashed, shown and stored is then the same.
Text: TypeAlias = Annotated[str, AfterValidator(clean_text)]

# In the published schema only: in Python these are rules of ``validate``, which can tell all that is wrong in one go.
_ID: dict[str, JsonValue] = {"pattern": ID_PATTERN}
_TEXT: dict[str, JsonValue] = {"pattern": r"\S"}
_IDS: dict[str, JsonValue] = {"uniqueItems": True, "items": {"type": "string", "pattern": ID_PATTERN}}


class Node(Value):
    """One agent of a workflow. ``inputs`` are the ids of the nodes whose outputs it is given, in that order.

    ``subtask`` says what it is to do in this task, ``prompt`` how it works. ``name`` and ``rationale`` are for people.
    """

    id: Text = Field(json_schema_extra=_ID)
    role: Text
    subtask: Text = Field(json_schema_extra=_TEXT)
    prompt: Text = Field(json_schema_extra=_TEXT)
    tools: tuple[Text, ...] = Field(default=(), json_schema_extra={"uniqueItems": True})
    inputs: tuple[Text, ...] = Field(default=(), json_schema_extra=_IDS)
    name: Text = ""
    rationale: Text = ""

    @property
    def spec(self) -> dict[str, JsonValue]:
        """What the node itself is: role, subtask, prompt and tools, but neither its id nor what it reads."""
        return {"role": self.role, "subtask": self.subtask, "prompt": self.prompt, "tools": list(self.tools)}

    @property
    def identity(self) -> dict[str, JsonValue]:
        """All that counts of it within its workflow: the spec, the id and the inputs."""
        return {**self.spec, "id": self.id, "inputs": list(self.inputs)}


class Workflow(Value):
    """Nodes that read each other's outputs. Nodes are kept in the order of their ids, whatever order they were written in."""

    version: Literal[1] = 1
    name: Text = ""
    rationale: Text = ""
    nodes: tuple[Node, ...]

    @field_validator("nodes")
    @classmethod
    def _by_id(cls, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        return tuple(sorted(nodes, key=lambda node: node.id))

    @cached_property
    def hash(self) -> str:
        """SHA-256 of what counts of the workflow, as 64 hex digits."""
        return digest({"version": self.version, "nodes": [node.identity for node in self.nodes]})

    @cached_property
    def by_id(self) -> Mapping[str, Node]:
        """The nodes by id, in the order of the ids; of two with one id, the first."""
        found: dict[str, Node] = {}
        for node in self.nodes:
            found.setdefault(node.id, node)
        return found

    @cached_property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """(source, target) of each input, by target and then in the order of its inputs."""
        return tuple((source, node.id) for node in self.nodes for source in node.inputs)

    @cached_property
    def readers(self) -> Mapping[str, tuple[str, ...]]:
        """For every node, the ids of those that read it, in order. Inputs that are no nodes are left out."""
        found: dict[str, dict[str, None]] = {id_: {} for id_ in self.by_id}
        for source, target in self.edges:
            if source in found:
                found[source][target] = None
        return {id_: tuple(targets) for id_, targets in found.items()}

    @property
    def ends(self) -> tuple[str, ...]:
        """The nodes that nobody reads. In a valid workflow there is one, and it gives the output."""
        return tuple(id_ for id_, readers in self.readers.items() if not readers)

    @property
    def output(self) -> str:
        """The id of the node that gives the output of a valid workflow."""
        (end,) = self.ends
        return end

    @cached_property
    def layers(self) -> tuple[tuple[str, ...], ...]:
        """Ids by depth: each layer reads earlier ones only, so that its nodes can run side by side. Raises InputError where a cycle forbids it."""
        if self.cycles:
            raise InputError(f"the workflow has no order: {cycle_in_words(self.cycles[0])}")
        depth: dict[str, int] = {}
        for id_ in self._sorted:
            depth[id_] = 1 + max((depth[source] for source in self._sources[id_]), default=-1)
        layers: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
        for id_ in self.by_id:
            layers[depth[id_]].append(id_)
        return tuple(map(tuple, layers))

    @cached_property
    def order(self) -> tuple[str, ...]:
        """Ids, each after all that it reads: the layers one after the other, each in the order of its ids. Raises InputError where there is a cycle."""
        return tuple(id_ for layer in self.layers for id_ in layer)

    @cached_property
    def cycles(self) -> tuple[tuple[str, ...], ...]:
        """Cycles that share no node, each beginning and ending with its least id: at least one for every knot in the graph, none in a valid one."""
        left = set(self.by_id) - set(self._sorted)
        found: list[tuple[str, ...]] = []
        while left:
            # Every node that is left reads another that is left, so walking up must come back to where it was.
            place: dict[str, int] = {}
            here = min(left)
            while here not in place:
                place[here] = len(place)
                here = min(source for source in self._sources[here] if source in left)
            ring = list(place)[place[here] :][::-1]
            start = ring.index(min(ring))
            found.append((*ring[start:], *ring[: start + 1]))
            left = self._peeled(left - set(ring))
        return tuple(found)

    def node(self, id_: str, /) -> Node:
        """The node with that id. Raises InputError with the nearest one."""
        try:
            return self.by_id[id_]
        except KeyError:
            raise InputError(f"the workflow has no node {shown(id_)}{near(id_, self.by_id)}") from None

    def closure(self, ids: Iterable[str]) -> frozenset[str]:
        """The nodes in ``ids`` and all downstream of them. Raises InputError for an id that is no node."""
        todo = deque(self.node(id_).id for id_ in ids)
        reached = set(todo)
        while todo:
            for reader in self.readers[todo.popleft()]:
                if reader not in reached:
                    reached.add(reader)
                    todo.append(reader)
        return frozenset(reached)

    @cached_property
    def _sources(self) -> Mapping[str, tuple[str, ...]]:
        """What each node reads, without what is no node."""
        return {
            id_: tuple(source for source in dict.fromkeys(node.inputs) if source in self.by_id)
            for id_, node in self.by_id.items()
        }

    @cached_property
    def _sorted(self) -> tuple[str, ...]:
        """Ids, each after what it reads, without those on a cycle or downstream of one."""
        waiting = {id_: len(sources) for id_, sources in self._sources.items()}
        ready = deque(id_ for id_, number in waiting.items() if not number)
        done: list[str] = []
        while ready:
            done.append(ready.popleft())
            for reader in self.readers[done[-1]]:
                if reader in waiting:
                    waiting[reader] -= 1
                    if not waiting[reader]:
                        ready.append(reader)
        return tuple(done)

    def _peeled(self, ids: set[str]) -> set[str]:
        """``ids`` without those that, among them, lie downstream of no cycle."""
        waiting = {id_: sum(source in ids for source in self._sources[id_]) for id_ in ids}
        ready = [id_ for id_, number in waiting.items() if not number]
        while ready:
            gone = ready.pop()
            del waiting[gone]
            for reader in self.readers[gone]:
                if reader in waiting:
                    waiting[reader] -= 1
                    if not waiting[reader]:
                        ready.append(reader)
        return set(waiting)


def cycle_in_words(cycle: Iterable[str]) -> str:
    """``'a' → 'b' → 'a'`` with what is wrong about it."""
    return f"{' → '.join(map(shown, cycle))} is a cycle"


def read_workflow(document: str | Mapping[str, JsonValue]) -> Workflow:
    """The workflow in ``document``: JSON or YAML text, or what was parsed from it.

    Raises InputError naming the place that is no workflow. Whether the graph is right is for ``validate`` to say.
    """
    parsed: object = _parse(document) if isinstance(document, str) else document
    if not isinstance(parsed, Mapping):
        raise InputError("the workflow is no mapping: it needs 'nodes', a list")
    try:
        return Workflow.model_validate(parsed)
    except ValidationError as error:
        raise InputError(f"the workflow cannot be read: {explain(error, Workflow)}") from None


def load_workflow(path: Path) -> Workflow:
    """The workflow in the file ``path``. Raises InputError naming the file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"workflow file {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"workflow file {path} is no UTF-8 text") from None
    try:
        return read_workflow(text)
    except InputError as error:
        raise InputError(f"workflow file {path}: {error}") from None


def json_schema() -> dict[str, JsonValue]:
    """The JSON schema of the document, as published in ``workflow.schema.json``."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Workflow.model_json_schema()}


def _parse(text: str) -> object:
    try:
        return json.loads(text)
    except RecursionError:
        raise InputError("the workflow is nested too deeply") from None
    except ValueError:
        import yaml

        try:
            return yaml.safe_load(text)
        except RecursionError:
            raise InputError("the workflow is nested too deeply") from None
        except (yaml.YAMLError, ValueError) as error:
            raise InputError(f"the workflow is neither JSON nor YAML: {' '.join(str(error).split())[:300]}") from None

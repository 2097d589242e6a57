"""Edits: one change to a workflow as a value, and what it makes of it. Applying one is pure: the workflow it is applied to stays as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from motet.errors import InputError
from motet.inherit.roles import Effects, RoleSet
from motet.inherit.validity import Problem, validate
from motet.inherit.workflow import Node, Text, Workflow
from motet.settings import nearest
from motet.value import Value
from motet.words import listed, near, shown

Kind: TypeAlias = Literal[
    "prompt", "subtask", "tools", "add_node", "remove_node", "add_edge", "remove_edge", "reorder_inputs", "insert_node"
]
KINDS: tuple[Kind, ...] = get_args(Kind)


class NodePrompt(Value):
    """A node gets another prompt."""

    kind: Literal["prompt"] = "prompt"
    node: Text
    prompt: Text


class NodeSubtask(Value):
    """A node gets another subtask."""

    kind: Literal["subtask"] = "subtask"
    node: Text
    subtask: Text


class NodeTools(Value):
    """A node gets other tools, or the same in another order."""

    kind: Literal["tools"] = "tools"
    node: Text
    tools: tuple[Text, ...]


class AddNode(Value):
    """A new node, with its inputs, is read by ``readers``, as the last of their inputs."""

    kind: Literal["add_node"] = "add_node"
    node: Node
    readers: tuple[Text, ...] = ()


class RemoveNode(Value):
    """A node goes, and with it the edges from and to it."""

    kind: Literal["remove_node"] = "remove_node"
    node: Text


class AddEdge(Value):
    """``target`` reads ``source``, as the last of its inputs."""

    kind: Literal["add_edge"] = "add_edge"
    source: Text
    target: Text


class RemoveEdge(Value):
    """``target`` reads ``source`` no more."""

    kind: Literal["remove_edge"] = "remove_edge"
    source: Text
    target: Text


class ReorderInputs(Value):
    """A node reads the same nodes in another order."""

    kind: Literal["reorder_inputs"] = "reorder_inputs"
    node: Text
    inputs: tuple[Text, ...]


class InsertNode(Value):
    """A new node reads ``source`` and is read by ``target``, which goes on reading ``source`` too. The node's own ``inputs`` are left empty."""

    kind: Literal["insert_node"] = "insert_node"
    node: Node
    source: Text
    target: Text


Edit: TypeAlias = Annotated[
    NodePrompt | NodeSubtask | NodeTools | AddNode | RemoveNode | AddEdge | RemoveEdge | ReorderInputs | InsertNode,
    Field(discriminator="kind"),
]

_EDITS: TypeAdapter[Edit] = TypeAdapter(Edit)


def read_edit(data: Mapping[str, JsonValue]) -> Edit:
    """The edit in ``data``, whose ``kind`` says which one it is. Raises InputError naming the place that is none."""
    try:
        return _EDITS.validate_python(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        kind = data.get("kind")
        if first["type"].startswith("union_tag"):
            hint = nearest(kind, KINDS) if isinstance(kind, str) else f"; known: {', '.join(KINDS)}"
            raise InputError(f"the edit has no known kind{hint}") from None
        # The first part of a place is the kind, which the reader has just written.
        where = ".".join(map(str, first["loc"][1:]))
        raise InputError(f"the edit {kind!r} cannot be read: {where}: {first['msg']}") from None


def apply(workflow: Workflow, edit: Edit) -> Workflow:
    """``workflow`` as ``edit`` leaves it. Raises InputError for an edit that does not fit, such as one of a node that is not there.

    Whether the result is valid is another question: see ``check``.
    """
    fault = _fault(workflow, edit)
    if fault:
        raise InputError(fault)
    match edit:
        case NodePrompt():
            return _changed(workflow, edit.node, prompt=edit.prompt)
        case NodeSubtask():
            return _changed(workflow, edit.node, subtask=edit.subtask)
        case NodeTools():
            return _changed(workflow, edit.node, tools=edit.tools)
        case AddNode():
            return _with(workflow, edit.node, readers=edit.readers)
        case RemoveNode():
            return drop(workflow, [edit.node])
        case AddEdge():
            return _reading(workflow, {edit.target: lambda inputs: (*inputs, edit.source)})
        case RemoveEdge():
            return _reading(workflow, {edit.target: lambda inputs: tuple(i for i in inputs if i != edit.source)})
        case ReorderInputs():
            return _changed(workflow, edit.node, inputs=edit.inputs)
        case InsertNode():
            node = edit.node.model_copy(update={"inputs": (edit.source,)})
            return _with(workflow, node, readers=[edit.target])


def check(workflow: Workflow, edit: Edit, roles: RoleSet, tools: Effects) -> list[Problem]:
    """What is wrong with a proposed edit: it does not fit the workflow, changes nothing, or leads to a workflow with problems."""
    fault = _fault(workflow, edit)
    if fault:
        return [Problem(rule="edit", message=fault)]
    after = apply(workflow, edit)
    if after.hash == workflow.hash:
        return [Problem(rule="edit", message=f"the edit {edit.kind!r} changes nothing; propose one that does")]
    return validate(after, roles, tools)


def drop(workflow: Workflow, ids: Iterable[str]) -> Workflow:
    """``workflow`` without the nodes ``ids`` and the edges from and to them; all else stays. Raises InputError for an id that is no node."""
    gone = {workflow.node(id_).id for id_ in ids}
    kept = [node for node in workflow.nodes if node.id not in gone]
    return _of(
        workflow,
        [_with_inputs(node, tuple(source for source in node.inputs if source not in gone)) for node in kept],
    )


def removable(workflow: Workflow, roles: RoleSet, tools: Effects) -> tuple[str, ...]:
    """The nodes each of which, dropped alone, leaves a valid workflow."""
    return tuple(id_ for id_ in workflow.by_id if not validate(drop(workflow, [id_]), roles, tools))


def check_drop(workflow: Workflow, ids: Iterable[str], roles: RoleSet, tools: Effects) -> list[Problem]:
    """What is wrong with dropping ``ids`` together: one that may not be dropped even alone, or what is left has problems."""
    wanted, can = tuple(dict.fromkeys(ids)), removable(workflow, roles, tools)
    refused = [id_ for id_ in wanted if id_ not in can]
    if refused:
        message = f"{listed(refused)} cannot be dropped; those that can be are: {listed(can)}"
        return [Problem(rule="edit", node=refused[0], message=message, allowed=can)]
    return validate(drop(workflow, wanted), roles, tools)


def place(edit: Edit) -> str:
    """Where an edit takes hold, and how, without the texts and tools it writes: two edits of one place are the same attempt."""
    match edit:
        case NodePrompt() | NodeSubtask() | NodeTools() | RemoveNode():
            return f"{edit.kind} {edit.node}"
        case AddNode():
            return f"{edit.kind} {edit.node.role}: {', '.join(edit.node.inputs)} > {', '.join(sorted(edit.readers))}"
        case AddEdge() | RemoveEdge():
            return f"{edit.kind} {edit.source} > {edit.target}"
        case ReorderInputs():
            return f"{edit.kind} {edit.node}: {', '.join(edit.inputs)}"
        case InsertNode():
            return f"{edit.kind} {edit.node.role}: {edit.source} > {edit.target}"


def _fault(workflow: Workflow, edit: Edit) -> str | None:
    """Why ``edit`` cannot be applied, or ``None``."""
    for id_ in _named(edit):
        if id_ not in workflow.by_id:
            return f"the edit {edit.kind!r} names {shown(id_)}, which is no node{near(id_, workflow.by_id)}"
    if isinstance(edit, AddNode | InsertNode) and edit.node.id in workflow.by_id:
        return (
            f"the new node's id {shown(edit.node.id)} is taken; choose one that is not among: {listed(workflow.by_id)}"
        )
    if isinstance(edit, AddNode) and len(set(edit.readers)) < len(edit.readers):
        return f"the new node {shown(edit.node.id)} lists a reader twice; once is enough"
    if isinstance(edit, InsertNode) and edit.node.inputs not in ((), (edit.source,)):
        return f"the inserted node {shown(edit.node.id)} reads {shown(edit.source)} and nothing else; leave its inputs empty"
    match edit:
        case AddEdge() if edit.source in workflow.node(edit.target).inputs:
            return f"{shown(edit.target)} reads {shown(edit.source)} already"
        case RemoveEdge() | InsertNode() if edit.source not in workflow.node(edit.target).inputs:
            now = workflow.node(edit.target).inputs
            return f"there is no edge from {shown(edit.source)} to {shown(edit.target)}, which reads: {listed(now)}"
        case ReorderInputs() if sorted(edit.inputs) != sorted(workflow.node(edit.node).inputs):
            now = workflow.node(edit.node).inputs
            return f"the new order of the inputs of {shown(edit.node)} must hold exactly: {listed(now)}"
        case _:
            return None


def _named(edit: Edit) -> tuple[str, ...]:
    """The nodes of the workflow that ``edit`` names."""
    match edit:
        case AddNode():
            return (*edit.node.inputs, *edit.readers)
        case AddEdge() | RemoveEdge() | InsertNode():
            return (edit.source, edit.target)
        case _:
            return (edit.node,)


def _changed(workflow: Workflow, id_: str, **update: object) -> Workflow:
    return _of(workflow, [n.model_copy(update=update) if n.id == id_ else n for n in workflow.nodes])


def _with(workflow: Workflow, node: Node, *, readers: Iterable[str]) -> Workflow:
    joined = _reading(workflow, {reader: lambda inputs: (*inputs, node.id) for reader in readers})
    return _of(workflow, [*joined.nodes, node])


def _reading(workflow: Workflow, change: Mapping[str, Callable[[tuple[str, ...]], tuple[str, ...]]]) -> Workflow:
    """``workflow`` with the inputs of some nodes changed."""
    nodes = [_with_inputs(n, change[n.id](n.inputs)) if n.id in change else n for n in workflow.nodes]
    return _of(workflow, nodes)


def _with_inputs(node: Node, inputs: tuple[str, ...]) -> Node:
    return node if inputs == node.inputs else node.model_copy(update={"inputs": inputs})


def _of(workflow: Workflow, nodes: Iterable[Node]) -> Workflow:
    """The same document with other nodes."""
    return Workflow(version=workflow.version, name=workflow.name, rationale=workflow.rationale, nodes=tuple(nodes))

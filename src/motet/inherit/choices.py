"""The menu: every edit of a workflow that can be made now, listed so that whoever improves it only has to choose a number and write the missing texts.

What is listed, in this order:

- another prompt, another subtask, for every node; other tools, for those that may hold some;
- a new node: one that begins, read by one node; one like another, with its inputs and readers; one after the output, which becomes the output;
- a node less; an edge more; an edge less;
- an input moved to the front or the back;
- a new node on an edge.

A choice is listed only if it leads to a valid workflow other than this one. Numbers are given before the choices that were tried already are taken
out, so a choice keeps its number while the workflow stays the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

from motet.errors import InputError
from motet.inherit.edits import (
    AddEdge,
    AddNode,
    Edit,
    InsertNode,
    Kind,
    NodePrompt,
    NodeSubtask,
    NodeTools,
    RemoveEdge,
    RemoveNode,
    ReorderInputs,
    check,
    place,
)
from motet.inherit.roles import Effects, RoleSet
from motet.inherit.workflow import Node, Workflow
from motet.value import Value
from motet.words import json_line


class Choice(Value):
    """One line of the menu.

    ``edit`` is the whole edit where ``fill`` is empty; else it holds stand-ins for the texts that ``fill`` names, which ``complete`` replaces. ``current`` is
    the text or list that would be replaced. ``group`` and ``label`` are how the menu shows it.
    """

    number: int
    edit: Edit
    group: str
    label: str
    fill: tuple[str, ...] = ()
    current: str = ""

    @property
    def kind(self) -> Kind:
        """The edit's kind."""
        return self.edit.kind

    @property
    def words(self) -> str:
        """The choice by itself, with what it would replace."""
        now = f"; now: {json_line(self.current)}" if self.current else ""
        write = f" (write: {', '.join(self.fill)})" if self.fill else ""
        return f"{self.number}. {self.group} {self.label}{write}{now}"

    def complete(
        self,
        *,
        prompt: str = "",
        subtask: str = "",
        tools: Sequence[str] = (),
        id: str = "",
        name: str = "",
        rationale: str = "",
    ) -> Edit:
        """The edit with what was to be filled in; what this choice does not ask for is left aside. A new node without an ``id`` gets one.

        Raises InputError naming a text that is missing. Whether the texts are right is for ``check`` to say.
        """
        edit = self.edit
        given = {"prompt": prompt, "subtask": subtask}
        for field in self.fill:
            if field in given and not given[field].strip():
                raise InputError(f"choice {self.number} needs a {field}")
        if isinstance(edit, NodePrompt):
            return NodePrompt(node=edit.node, prompt=prompt)
        if isinstance(edit, NodeSubtask):
            return NodeSubtask(node=edit.node, subtask=subtask)
        if isinstance(edit, NodeTools):
            return NodeTools(node=edit.node, tools=tuple(tools))
        if isinstance(edit, AddNode | InsertNode):
            texts = {**given, "id": id or edit.node.id, "name": name, "rationale": rationale}
            held = {"tools": tuple(tools)} if "tools" in self.fill else {}
            return edit.model_copy(update={"node": Node.model_validate({**edit.node.model_dump(), **texts, **held})})
        return edit


def enumerate_edits(
    workflow: Workflow, roles: RoleSet, tools: Effects, *, tried: Collection[tuple[str, Edit]] = ()
) -> list[Choice]:
    """Every edit of ``workflow`` that can be made, in the order of the menu, always the same for the same workflow.

    ``tried`` holds (hash of the workflow it was made on, edit); those made on this very workflow, at the same place and whatever their texts or tools, are left out.
    """
    done = {place(edit) for hash_, edit in tried if hash_ == workflow.hash}
    found: dict[str, Choice] = {}
    for choice in _candidates(workflow, roles, tools):
        where = place(choice.edit)
        if where not in found and not check(workflow, choice.edit, roles, tools):
            found[where] = choice.model_copy(update={"number": len(found) + 1})
    return [choice for where, choice in found.items() if where not in done]


def menu(choices: Sequence[Choice]) -> str:
    """The choices in a few lines: one for each group, with numbers. Current texts are left out, since the workflow's outline has them."""
    lines = []
    for (group, fill), members in groupby(choices, key=lambda choice: (choice.group, choice.fill)):
        write = f" (write {', '.join(fill)})" if fill else ""
        lines.append(f"{group}{write}: {' | '.join(f'{choice.number} {choice.label}' for choice in members)}")
    return "\n".join(lines)


def _candidates(workflow: Workflow, roles: RoleSet, tools: Effects) -> Iterator[Choice]:
    nodes = list(workflow.by_id.values())
    for node in nodes:
        text = NodePrompt(node=node.id, prompt=_other(node.prompt))
        yield _choice(text, "other prompt of", node.id, fill=("prompt",), current=node.prompt)
    for node in nodes:
        task = NodeSubtask(node=node.id, subtask=_other(node.subtask))
        yield _choice(task, "other subtask of", node.id, fill=("subtask",), current=node.subtask)
    for node in nodes:
        yield from _tools(node, roles, tools)
    yield from _additions(workflow, roles, tools)
    for node in nodes:
        yield _choice(RemoveNode(node=node.id), "remove node", node.id)
    if len(set(workflow.edges)) < roles.max_edges:
        for target in nodes:
            below = workflow.closure([target.id])
            for source in nodes:
                if roles.port(target.role, source.role) and source.id not in below and source.id not in target.inputs:
                    yield _choice(AddEdge(source=source.id, target=target.id), f"let {target.id} also read", source.id)
    for source_id, target_id in workflow.edges:
        yield _choice(RemoveEdge(source=source_id, target=target_id), f"let {target_id} no longer read", source_id)
    for node in nodes:
        yield from _orders(node)
    if len(nodes) < roles.max_nodes:
        for role in roles.roles:
            new, fill = _new(workflow, role, roles, tools), _fill(role, roles)
            for source_id, target_id in workflow.edges:
                edit = InsertNode(node=new, source=source_id, target=target_id)
                yield _choice(edit, f"insert {role} on", f"{source_id} > {target_id}", fill=fill)


def _tools(node: Node, roles: RoleSet, tools: Effects) -> Iterator[Choice]:
    """Other tools for ``node``, with the first list that may stand in for them: one tool more, or one less."""
    more = [(*node.tools, tool) for tool in roles.holdable(node.role, tools) if tool not in node.tools]
    less = [tuple(held for held in node.tools if held != tool) for tool in node.tools]
    for other in (*more, *less):
        edit = NodeTools(node=node.id, tools=other)
        yield _choice(edit, "other tools for", node.id, fill=("tools",), current=", ".join(node.tools) or "none")


def _additions(workflow: Workflow, roles: RoleSet, tools: Effects) -> Iterator[Choice]:
    if len(workflow.nodes) >= roles.max_nodes:
        return
    for role_name, role in roles.roles.items():
        new, fill, group = _new(workflow, role_name, roles, tools), _fill(role_name, roles), f"add {role_name}"
        if role.begins:
            for reader in workflow.by_id:
                yield _choice(AddNode(node=new, readers=(reader,)), group, f"read by {reader}", fill=fill)
        for like in workflow.by_id.values():
            if like.role == role_name:
                twin = AddNode(node=new.model_copy(update={"inputs": like.inputs}), readers=workflow.readers[like.id])
                yield _choice(twin, group, f"beside {like.id}", fill=fill)
        if role.output:
            for end in workflow.ends:
                last = AddNode(node=new.model_copy(update={"inputs": (end,)}))
                yield _choice(last, group, f"after {end}", fill=fill)


def _orders(node: Node) -> Iterator[Choice]:
    group = f"inputs of {node.id} in the order"
    for moved in node.inputs:
        others = tuple(source for source in node.inputs if source != moved)
        for order in ((moved, *others), (*others, moved)):
            edit = ReorderInputs(node=node.id, inputs=order)
            yield _choice(edit, group, ", ".join(order), current=", ".join(node.inputs))


def _choice(edit: Edit, group: str, label: str, *, fill: tuple[str, ...] = (), current: str = "") -> Choice:
    return Choice(number=0, edit=edit, group=group, label=label, fill=fill, current=current)


def _new(workflow: Workflow, role: str, roles: RoleSet, tools: Effects) -> Node:
    """A node of ``role`` with a free id and stand-ins for its texts, and a tool where it cannot do without."""
    number = next(n for n in range(1, len(workflow.nodes) + 2) if f"{role}_{n}"[:48] not in workflow.by_id)
    needed = [
        tool
        for tool in roles.holdable(role, tools)
        if roles.roles[role].needs_tool and (roles.roles[role].tools == "read" or tools[tool] == "write")
    ]
    return Node(id=f"{role}_{number}", role=role, subtask="?", prompt="?", tools=tuple(needed[:1]))


def _fill(role: str, roles: RoleSet) -> tuple[str, ...]:
    return ("subtask", "prompt") if roles.roles[role].tools == "none" else ("subtask", "prompt", "tools")


def _other(text: str) -> str:
    """A stand-in for a text that is not this one."""
    return "?" if text != "?" else "??"

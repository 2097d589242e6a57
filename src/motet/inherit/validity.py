"""What is wrong with a workflow: every problem with its rule, its node and what would be right, in words from which a model can repair it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from motet.errors import InputError
from motet.inherit.roles import Effects, RoleSet, number_in_words
from motet.inherit.workflow import ID_PATTERN, Node, Workflow, cycle_in_words
from motet.value import Value
from motet.words import count, listed, near, shown

Rule: TypeAlias = Literal[
    # nodes by themselves
    "id", "duplicate-id", "role", "empty-subtask", "empty-prompt", "long-text",
    # edges
    "unknown-input", "self-input", "duplicate-input", "cycle", "port", "port-count",
    # tools
    "unknown-tool", "duplicate-tool", "no-tools", "write-tool", "needs-tool", "role-tool",
    # the whole
    "node-count", "edge-count", "role-count", "several-executors", "no-executor", "no-output", "several-outputs", "unreachable",
    # proposals that cannot be applied
    "edit",
]  # fmt: skip

_ID = re.compile(ID_PATTERN)


class Problem(Value):
    """One thing that is wrong. ``node`` is empty where it concerns the whole; ``allowed`` holds what would be right, where that can be listed."""

    rule: Rule
    message: str
    node: str = ""
    allowed: tuple[str, ...] = ()


def validate(workflow: Workflow, roles: RoleSet, tools: Effects) -> list[Problem]:
    """All that is wrong with ``workflow`` under ``roles``, where ``tools`` can be had; nothing if it may run.

    The order is always the same: the nodes' own faults, edges, tools, then the whole.
    """
    checks = (_nodes, _edges, _ports, _tools, _counts, _writers, _output)
    return [problem for check in checks for problem in check(workflow, roles, tools)]


def in_words(problems: Sequence[Problem]) -> str:
    """The problems as a list, to be shown to whoever is to repair them."""
    return "\n".join(f"- {problem.message} [{problem.rule}]" for problem in problems)


def require(workflow: Workflow, roles: RoleSet, tools: Effects) -> Workflow:
    """``workflow``, if nothing is wrong with it. Raises InputError that names the first problems, each with its rule."""
    problems = validate(workflow, roles, tools)
    if problems:
        told = "; ".join(f"{problem.message} [{problem.rule}]" for problem in problems[:3])
        more = f"; and {len(problems) - 3} more" if len(problems) > 3 else ""
        raise InputError(f"the workflow is not valid: {told}{more}")
    return workflow


def _nodes(workflow: Workflow, roles: RoleSet, _tools: Effects) -> Iterator[Problem]:
    numbers = Counter(node.id for node in workflow.nodes)
    for id_, number in numbers.items():
        if not _ID.fullmatch(id_):
            better = _as_id(id_)
            message = f"{shown(id_)} is no id: a small letter first, then small letters, digits and _, at most 48 in all; such as {better}"
            yield Problem(rule="id", node=id_, message=message, allowed=(better,))
        if number > 1:
            yield Problem(
                rule="duplicate-id", node=id_, message=f"{number} nodes have the id {shown(id_)}; each needs its own"
            )
    for node in workflow.nodes:
        if node.role not in roles.roles:
            message = f"{shown(node.id)} has the role {shown(node.role)}, which is none{near(node.role, roles.roles)}"
            yield Problem(rule="role", node=node.id, message=message, allowed=tuple(roles.roles))
        for name, text in (("subtask", node.subtask), ("prompt", node.prompt)):
            if not text.strip():
                rule: Rule = "empty-subtask" if name == "subtask" else "empty-prompt"
                yield Problem(rule=rule, node=node.id, message=f"the {name} of {shown(node.id)} is empty; write one")
            elif len(text) > roles.max_text:
                message = (
                    f"the {name} of {shown(node.id)} has {len(text)} characters; at most {roles.max_text} are allowed"
                )
                yield Problem(rule="long-text", node=node.id, message=message)


def _edges(workflow: Workflow, roles: RoleSet, _tools: Effects) -> Iterator[Problem]:
    for node in workflow.nodes:
        for source, number in Counter(node.inputs).items():
            if source not in workflow.by_id:
                can = _readable(workflow, node, roles)
                message = f"{shown(node.id)} reads {shown(source)}, which is no node{near(source, can)}"
                yield Problem(rule="unknown-input", node=node.id, message=message, allowed=can)
            elif source == node.id:
                yield Problem(
                    rule="self-input", node=node.id, message=f"{shown(node.id)} reads itself; take that input away"
                )
            if number > 1:
                message = f"{shown(node.id)} lists the input {shown(source)} {number} times; once is enough"
                yield Problem(rule="duplicate-input", node=node.id, message=message)
    for cycle in workflow.cycles:
        if len(cycle) > 2:
            message = f"{cycle_in_words(cycle)}; take one of these edges away"
            yield Problem(rule="cycle", node=cycle[0], message=message)


def _ports(workflow: Workflow, roles: RoleSet, _tools: Effects) -> Iterator[Problem]:
    for node in workflow.by_id.values():
        role = roles.roles.get(node.role)
        if role is None:
            continue
        fed: Counter[str] = Counter()
        for source in dict.fromkeys(node.inputs):
            feeding = workflow.by_id.get(source)
            if feeding is None or source == node.id or feeding.role not in roles.roles:
                continue
            port = roles.port(node.role, feeding.role)
            if port is None:
                allowed = roles.sources(node.role)
                may = f"it may read: {', '.join(allowed)}" if allowed else "it may read nothing"
                message = f"{shown(node.id)} is of role {node.role} and may not read {shown(source)} of role {feeding.role}; {may}"
                yield Problem(rule="port", node=node.id, message=message, allowed=_readable(workflow, node, roles))
            else:
                fed[port] += 1
        for name, port_of in role.reads.items():
            if fed[name] < port_of.least or (port_of.most is not None and fed[name] > port_of.most):
                kinds = " or ".join(port_of.roles)
                allowed = tuple(
                    id_ for id_ in _readable(workflow, node, roles) if workflow.by_id[id_].role in port_of.roles
                )
                can = f": {listed(allowed)}" if allowed and fed[name] < port_of.least else ""
                message = f"{shown(node.id)} of role {node.role} must read {port_of.number} of role {kinds} as its {name}, and reads {fed[name]}{can}"
                yield Problem(rule="port-count", node=node.id, message=message, allowed=allowed)


def _tools(workflow: Workflow, roles: RoleSet, tools: Effects) -> Iterator[Problem]:
    for node in workflow.nodes:
        role = roles.roles.get(node.role)
        allowed = roles.holdable(node.role, tools) if role else tuple(tools)
        for tool, number in Counter(node.tools).items():
            if role and role.tools == "none":
                message = f"{shown(node.id)} is of role {node.role}, which holds no tools; take {shown(tool)} away"
                yield Problem(rule="no-tools", node=node.id, message=message)
            elif tool not in tools:
                message = f"{shown(node.id)} has the tool {shown(tool)}, which there is not{near(tool, allowed)}"
                yield Problem(rule="unknown-tool", node=node.id, message=message, allowed=allowed)
            elif role and tool not in allowed:
                who = f"only the {roles.writer} may write" if roles.writer else "nothing may be written here"
                message = f"{shown(node.id)} of role {node.role} has the tool {shown(tool)}, which writes; {who}"
                yield Problem(rule="write-tool", node=node.id, message=message, allowed=allowed)
            if number > 1:
                message = f"{shown(node.id)} lists the tool {shown(tool)} {number} times; once is enough"
                yield Problem(rule="duplicate-tool", node=node.id, message=message)
        if role and role.needs_tool:
            right = [tool for tool in allowed if role.tools == "read" or tools[tool] == "write"]
            if not set(right) & set(node.tools):
                kind = "a tool that writes" if role.tools == "write" else "a tool"
                can = f"one of: {listed(right)}" if right else "there is none, so leave this node out"
                message = f"{shown(node.id)} of role {node.role} needs {kind}; {can}"
                yield Problem(rule="needs-tool", node=node.id, message=message, allowed=tuple(right))
    for name, role in roles.roles.items():
        nodes = [node for node in workflow.nodes if node.role == name]
        if role.one_holds and nodes and not any(set(node.tools) & set(role.one_holds) for node in nodes):
            message = (
                f"no {name} holds {' or '.join(role.one_holds)}; give it to one of: {listed(node.id for node in nodes)}"
            )
            yield Problem(rule="role-tool", message=message, allowed=role.one_holds)


def _counts(workflow: Workflow, roles: RoleSet, _tools: Effects) -> Iterator[Problem]:
    nodes, edges = len(workflow.nodes), len(set(workflow.edges))
    if not roles.min_nodes <= nodes <= roles.max_nodes:
        allowed = number_in_words(roles.min_nodes, roles.max_nodes)
        yield Problem(rule="node-count", message=f"the workflow has {count(nodes, 'node')}; {allowed} are allowed")
    if edges > roles.max_edges:
        message = f"the workflow has {count(edges, 'edge')}; at most {roles.max_edges} are allowed"
        yield Problem(rule="edge-count", message=message)
    for name, role in roles.roles.items():
        number = sum(node.role == name for node in workflow.nodes)
        if role.tools != "write" and (number < role.least or (role.most is not None and number > role.most)):
            message = f"the workflow has {count(number, 'node')} of role {name}; it needs {number_in_words(role.least, role.most)}"
            yield Problem(rule="role-count", message=message)


def _writers(workflow: Workflow, roles: RoleSet, tools: Effects) -> Iterator[Problem]:
    """Exactly one node that may write where there is something to write with; more than one nowhere."""
    if roles.writer is None:
        return
    ids = [node.id for node in workflow.nodes if node.role == roles.writer]
    if len(ids) > 1:
        message = f"{listed(ids)} are of role {roles.writer}; only one node may be, because it alone may write"
        yield Problem(rule="several-executors", node=ids[1], message=message)
    writing = [tool for tool, effect in tools.items() if effect == "write"]
    if not ids and (writing or roles.roles[roles.writer].least):
        message = f"no node is of role {roles.writer}; add one at the end, because nobody else may write"
        yield Problem(rule="no-executor", message=message, allowed=tuple(writing))


def _output(workflow: Workflow, roles: RoleSet, _tools: Effects) -> Iterator[Problem]:
    # Nothing ends where nodes that share an id read each other, either; that they share it is told already.
    if workflow.cycles or not workflow.ends:
        return
    may = tuple(name for name, role in roles.roles.items() if role.output)
    outputs = [id_ for id_ in workflow.ends if workflow.by_id[id_].role in may]
    if not outputs:
        message = f"no node gives the output: nobody reads {listed(workflow.ends)}, and only a node of role {' or '.join(may)} may be last"
        yield Problem(rule="no-output", node=workflow.ends[0], message=message, allowed=may)
    elif len(outputs) > 1:
        message = f"{listed(outputs)} are read by nobody, so there would be {len(outputs)} outputs; let one of them be the last"
        yield Problem(rule="several-outputs", node=outputs[1], message=message)
    else:
        for id_ in workflow.ends:
            if id_ != outputs[0]:
                readers = _possible_readers(workflow, workflow.by_id[id_], roles)
                can = f"let one of these read it: {listed(readers)}" if readers else "take it away"
                message = f"nobody reads {shown(id_)}, so its work does not reach the output {shown(outputs[0])}; {can}"
                yield Problem(rule="unreachable", node=id_, message=message, allowed=readers)


def _readable(workflow: Workflow, node: Node, roles: RoleSet) -> tuple[str, ...]:
    """The nodes that ``node`` could read by role and without a cycle."""
    below = workflow.closure([node.id])
    return tuple(
        id_
        for id_, other in workflow.by_id.items()
        if id_ not in below and roles.port(node.role, other.role) is not None
    )


def _possible_readers(workflow: Workflow, node: Node, roles: RoleSet) -> tuple[str, ...]:
    """The nodes that could read ``node`` by role and without a cycle."""
    above, todo = {node.id}, [node]
    while todo:
        for source in todo.pop().inputs:
            if source in workflow.by_id and source not in above:
                above.add(source)
                todo.append(workflow.by_id[source])
    return tuple(
        id_
        for id_, other in workflow.by_id.items()
        if id_ not in above and roles.port(other.role, node.role) is not None
    )


def _as_id(text: str) -> str:
    """An id that is as near to ``text`` as the pattern allows."""
    plain = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    return (plain if plain[:1].isalpha() else f"node_{plain}".rstrip("_"))[:48]

"""A workflow as a picture and as text. Ids and texts come from models, so none of them is written where it could be read as markup."""

from __future__ import annotations

import re

from motet.inherit.workflow import Node, Workflow
from motet.words import clipped, json_line

_PLAIN = frozenset(" .,_-:()/!?+=")
_LABEL = 60  # characters of a subtask in a picture

# The headings under which prompts show what nodes gave, and the line that follows the last of them.
_HEADING = re.compile(r"^(?=[ \t]*(?:\[\w+(?: from \w+)?\](?: \(.*\))?[ \t]*$|Audit:))", re.MULTILINE)


def to_mermaid(workflow: Workflow) -> str:
    """A Mermaid flowchart, for Markdown pages and reports. Never raises: a wrong graph can be drawn too."""
    keys = _keys(workflow)
    lines = [f"  {mermaid_node(keys[id_], label(node))}" for id_, node in workflow.by_id.items()]
    lines += [f"  {keys[source]} --> {keys[target]}" for source, target in workflow.edges if source in keys]
    return "\n".join(["flowchart TD", *lines])


def to_dot(workflow: Workflow) -> str:
    """A Graphviz digraph. Never raises."""
    keys = _keys(workflow)
    lines = [f"  {keys[id_]} [label={_dot(label(node))}];" for id_, node in workflow.by_id.items()]
    lines += [f"  {keys[source]} -> {keys[target]};" for source, target in workflow.edges if source in keys]
    return "\n".join(["digraph workflow {", "  node [shape=box];", *lines, "}"])


def outline(workflow: Workflow) -> str:
    """The whole workflow as a prompt shows it: two or three lines for each node, each after what it reads. Never raises.

    Texts are JSON strings, so that no text can pass for another line.
    """
    ids = workflow.by_id if workflow.cycles else workflow.order
    return "\n".join(_node_outline(workflow.by_id[id_]) for id_ in ids)


def below_heading(text: str) -> str:
    """``text`` in full as it may stand below a heading of a prompt: lines that would pass for another heading are marked as quoted."""
    return _HEADING.sub("> ", text)


def label(node: Node) -> tuple[str, str, str]:
    """The three lines of a node in a picture: name or id, role with tools, subtask."""
    tools = f": {', '.join(node.tools)}" if node.tools else ""
    return (
        clipped(f"{node.id} - {node.name}" if node.name else node.id, width=_LABEL),
        clipped(f"{node.role}{tools}", width=_LABEL),
        clipped(node.subtask, width=_LABEL),
    )


def mermaid_node(key: str, lines: tuple[str, ...], *, note: str = "") -> str:
    """One node's line, with every character escaped that Mermaid, Markdown or HTML could read."""
    return f'{key}["{"<br/>".join(_mermaid(line) for line in (*lines, note) if line)}"]'


def _mermaid(text: str) -> str:
    return "".join(c if c.isalnum() or c in _PLAIN else f"#{ord(c)};" for c in text)


def _dot(lines: tuple[str, ...]) -> str:
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines if line)
    return '"' + "\\n".join(escaped) + '"'


def _node_outline(node: Node) -> str:
    head = f"{_word(node.id)}: {_word(node.role)}"
    head += f", reads {', '.join(map(_word, node.inputs))}" if node.inputs else ", reads nothing"
    head += f", tools {', '.join(map(_word, node.tools))}" if node.tools else ""
    return f"{head}\n  subtask: {json_line(node.subtask)}\n  prompt: {json_line(node.prompt)}"


def _word(name: str) -> str:
    """A name as it is where it is a plain word, else as a JSON string."""
    return (
        name if name.replace("_", "").replace(":", "").replace(".", "").replace("-", "").isalnum() else json_line(name)
    )


def _keys(workflow: Workflow) -> dict[str, str]:
    return {id_: f"n{number}" for number, id_ in enumerate(workflow.by_id)}

"""What differs between two workflows: node by node, in words and as a picture."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile
from typing import Literal, TypeAlias

from motet.inherit.render import label, mermaid_node
from motet.inherit.workflow import Node, Workflow
from motet.value import Value
from motet.words import clipped, listed, shown

Field: TypeAlias = Literal["role", "subtask", "prompt", "tools", "inputs"]
_FIELDS: tuple[Field, ...] = ("role", "subtask", "prompt", "tools", "inputs")
_SHOWN = 120  # characters of a text on each side of a change


class Change(Value):
    """A field of a node that is in both workflows, as it was and as it is."""

    node: str
    field: Field
    before: str | tuple[str, ...]
    after: str | tuple[str, ...]


class Diff(Value):
    """``removed`` and ``added`` nodes, and what has ``changed`` in the others, each in the order of ids. Names and rationales are no differences."""

    removed: tuple[Node, ...] = ()
    added: tuple[Node, ...] = ()
    changed: tuple[Change, ...] = ()

    @property
    def touched(self) -> tuple[str, ...]:
        """The nodes of the newer workflow that are new or changed themselves. What is downstream of them is affected: ``Workflow.closure``."""
        return tuple(sorted({node.id for node in self.added} | {change.node for change in self.changed}))

    def words(self) -> str:
        """One line for each difference; empty where there is none."""
        lines = [f"removed {_node_in_words(node)}" for node in self.removed]
        lines += [f"added {_node_in_words(node)}" for node in self.added]
        lines += [line for change in self.changed for line in _change_in_words(change)]
        return "\n".join(lines)


def diff(before: Workflow, after: Workflow) -> Diff:
    """What it takes to get from one workflow to the other."""
    return Diff(
        removed=tuple(node for id_, node in before.by_id.items() if id_ not in after.by_id),
        added=tuple(node for id_, node in after.by_id.items() if id_ not in before.by_id),
        changed=tuple(
            Change(node=id_, field=field, before=getattr(old, field), after=getattr(after.by_id[id_], field))
            for id_, old in before.by_id.items()
            if id_ in after.by_id
            for field in _FIELDS
            if getattr(old, field) != getattr(after.by_id[id_], field)
        ),
    )


def diff_mermaid(before: Workflow, after: Workflow) -> str:
    """Both workflows in one Mermaid flowchart: new nodes and edges thick and green, changed nodes amber, removed ones dotted and red."""
    found = diff(before, after)
    new, changed = {node.id for node in found.added}, {change.node for change in found.changed}
    ids = sorted({**before.by_id, **after.by_id})
    keys = {id_: f"n{number}" for number, id_ in enumerate(ids)}
    lines = ["flowchart TD"]
    for id_ in ids:
        node = after.by_id.get(id_) or before.by_id[id_]
        kind = "new" if id_ in new else "changed" if id_ in changed else "same" if id_ in after.by_id else "removed"
        lines.append(f"  {mermaid_node(keys[id_], label(node), note='' if kind == 'same' else kind)}:::{kind}")
    for source, target in _joined(before.edges, after.edges):
        if source in keys:
            arrow = "-->" if (source, target) in before.edges else "==>"
            arrow = arrow if (source, target) in after.edges else "-.->"
            lines.append(f"  {keys[source]} {arrow} {keys[target]}")
    return "\n".join(
        [
            *lines,
            "  classDef same fill:#f6f6f6,stroke:#888,color:#222",
            "  classDef new fill:#e3f6e5,stroke:#2a7d35,stroke-width:3px,color:#222",
            "  classDef changed fill:#fff3d6,stroke:#b27a00,stroke-width:2px,color:#222",
            "  classDef removed fill:#fbe4e4,stroke:#b03030,stroke-dasharray:4 4,color:#222",
        ]
    )


def _joined(*edges: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return sorted({edge for some in edges for edge in some})


def _node_in_words(node: Node) -> str:
    tools = f", tools {listed(node.tools)}" if node.tools else ""
    return f"{shown(node.id)} ({clipped(node.role, width=60)}{tools}, reads {listed(node.inputs, none='nothing')}): {clipped(node.subtask, width=_SHOWN)}"


def _change_in_words(change: Change) -> list[str]:
    node, old, new = shown(change.node), change.before, change.after
    if isinstance(old, str) or isinstance(new, str):
        assert isinstance(old, str)
        assert isinstance(new, str)
        was, now = _around(old, new)
        return [f"{change.field} of {node}: {was} → {now}"]
    gone, come = [item for item in old if item not in new], [item for item in new if item not in old]
    verb = "reads" if change.field == "inputs" else "has"
    lines = [f"{node} {verb} no longer {listed(gone)}"] if gone else []
    lines += [f"{node} now {verb} {listed(come)}"] if come else []
    if [item for item in old if item in new] != [item for item in new if item in old]:
        lines.append(f"{node} {verb} in another order: {listed(new)}")
    return lines or [f"{change.field} of {node}: {listed(old)} → {listed(new)}"]


def _around(old: str, new: str) -> tuple[str, str]:
    """Both texts in quotes where they differ, with what they share at both ends left out if they are long."""
    start = _shared(old, new)
    end = min(_shared(old[::-1], new[::-1]), min(len(old), len(new)) - start)

    def part(text: str) -> str:
        if len(text) <= _SHOWN:
            return f"“{clipped(text, width=_SHOWN)}”"
        first, last = max(start - 20, 0), len(text) - max(end - 20, 0)
        middle = clipped(text[first:last], width=_SHOWN)
        return f"“{'…' if first else ''}{middle}{'…' if last < len(text) else ''}”"

    return part(old), part(new)


def _shared(one: str, other: str) -> int:
    """How many characters both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))

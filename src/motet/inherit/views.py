"""What the meta-model and the judge are shown of a team's work, in two forms.

``compact`` is what Motet uses: outlines, menus that list each group of edits on one line, outputs cut to what a judge needs. ``naive`` is the obvious way, everything in full and
in every call; it is kept because the saving is measured against it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from motet.canonical import canonical
from motet.inherit.choices import Choice, menu
from motet.inherit.execution import Execution, Outcome
from motet.inherit.render import below_heading, outline
from motet.inherit.workflow import Workflow
from motet.tools.tool import Tool
from motet.words import clipped, count

_DOES = 160  # characters of what a tool says it does
_OUTPUT = 1600  # characters of a node's output


class View(Protocol):
    """A way to show things. ``asks_always``: whether Select is asked also where no node is blamed."""

    asks_always: bool

    def tools(self, tools: Sequence[Tool]) -> str:
        """The tools that nodes may hold."""
        ...

    def workflow(self, workflow: Workflow) -> str:
        """A team."""
        ...

    def outputs(self, execution: Execution) -> str:
        """What each node gave, for the judge."""
        ...

    def evidence(self, execution: Execution) -> str:
        """What the meta-model is shown of it beside the judge's words; empty for nothing."""
        ...

    def menu(self, choices: Sequence[Choice]) -> str:
        """The edits to choose from."""
        ...


class Compact:
    """Nothing twice, and nothing that the reader has no use for."""

    asks_always = False

    def tools(self, tools: Sequence[Tool]) -> str:
        """One line each: name, effect and the first words of what it does."""
        return "\n".join(f"{tool.name} ({tool.effect}s): {clipped(tool.description, width=_DOES)}" for tool in tools)

    def workflow(self, workflow: Workflow) -> str:
        """The outline."""
        return outline(workflow)

    def outputs(self, execution: Execution) -> str:
        """Each output, cut where it is long, with how many tools were used; of tools only what failed."""
        return "\n\n".join(_gave(outcome, width=_OUTPUT) for outcome in execution.outcomes.values())

    def evidence(self, execution: Execution) -> str:
        """Nothing: the judge has read it."""
        return ""

    def menu(self, choices: Sequence[Choice]) -> str:
        """One line for each group."""
        return menu(choices)


class Naive:
    """Everything in full, every time."""

    asks_always = True

    def tools(self, tools: Sequence[Tool]) -> str:
        """Whole descriptions and schemas."""
        return "\n".join(
            f"{tool.name} ({tool.effect}s): {tool.description}\n{canonical(tool.parameters).decode()}" for tool in tools
        )

    def workflow(self, workflow: Workflow) -> str:
        """The whole document."""
        return workflow.model_dump_json(indent=2)

    def outputs(self, execution: Execution) -> str:
        """Whole outputs, each with its whole trace."""
        return "\n\n".join(
            f"{_gave(outcome, width=None)}\n{_trace(outcome)}" for outcome in execution.outcomes.values()
        )

    def evidence(self, execution: Execution) -> str:
        """The same as the judge is shown."""
        return self.outputs(execution)

    def menu(self, choices: Sequence[Choice]) -> str:
        """One line for each edit, with the text that it replaces."""
        return "\n".join(choice.words for choice in choices)


def _gave(outcome: Outcome, *, width: int | None) -> str:
    failed = [use.tool for use in outcome.trace if use.error]
    facts = [count(len(outcome.trace), "tool call")] if outcome.trace else []
    facts += [f"failed: {', '.join(dict.fromkeys(failed))}"] if failed else []
    head = f"[{outcome.node}]" + (f" ({'; '.join(facts)})" if facts else "")
    if outcome.output is None:
        return f"{head}\n(no output: it {outcome.ended if outcome.failure else outcome.why})"
    text = outcome.output.strip()
    cut = width is not None and len(text) > width
    return f"{head}\n{below_heading(text[:width])}{'… (cut here)' if cut else ''}"


def _trace(outcome: Outcome) -> str:
    return "\n".join(
        f"  {use.tool}({canonical(use.arguments).decode()}) -> {'error: ' if use.error else ''}{below_heading(use.text)}"
        for use in outcome.trace
    )

"""A tool of your own: a typed Python function with a docstring.

    python examples/own_tool.py
    motet solve "How many days lie between 2026-01-01 and 2026-12-24?" --tools examples.own_tool:days_between

The schema that a model is shown comes from the signature, the descriptions from the docstring. By default the model here is a script, so
that the call it makes is known; ``--model`` takes any other.
"""

from __future__ import annotations

import argparse
from datetime import date

import motet
from motet.models.model import ToolCall
from motet.models.scripted import ScriptedModel, Turn


@motet.tool
def days_between(first: date, last: date) -> int:
    """Count the days from one date to another.

    :param first: The earlier date, as YYYY-MM-DD.
    :param last: The later date, as YYYY-MM-DD.
    """
    return (last - first).days


def scripted() -> ScriptedModel:
    """A model that says what a good model would: it calls the tool with a wrong date, reads the complaint, and does better."""

    def call(name: str, last: str) -> Turn:
        arguments = f'{{"first": "2026-01-01", "last": "{last}"}}'
        return Turn(tool_calls=(ToolCall(id=name, name="days_between", arguments=arguments),))

    return ScriptedModel.of_replies([call("a", "Christmas Eve"), call("b", "2026-12-24"), "357 days."], name="own_tool")


def main() -> None:
    """Solve one task with the tool, and print every call it got."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--model", help="a model by name, in place of the script")
    model = arguments.parse_args().model or scripted()
    result = motet.run(
        "How many days lie between 2026-01-01 and 2026-12-24?",
        model=model,
        tools=[days_between],
        watchers=[lambda event: print(event.payload["text"]) if event.kind == "tool.replied" else None],
    )
    print("answer:", result.answer)


if __name__ == "__main__":
    main()

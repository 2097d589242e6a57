"""A run that stops on its budget, and what is left of it: the best answer so far.

    python examples/budgeted_run.py

The system here writes a draft and improves it for as long as it may. It says ``run.keep`` whenever it has something worth keeping; when
the next call would pass a limit, the call is not made and the run ends with status ``budget`` and the answer kept last.
"""

from __future__ import annotations

import argparse

import motet
from motet.models import Message, Request
from motet.system import ModelRef, Needs


class Improve(motet.Configured):
    """A draft, improved without end."""

    model: ModelRef = "embedded"

    @property
    def name(self) -> str:
        """The name in tables and reports."""
        return "improve"

    def needs(self) -> Needs:
        """What is checked before a run begins."""
        return Needs(models=(self.model,))

    async def solve(self, task: motet.Task, *, run: motet.Run) -> motet.Result:
        """Write, keep, improve, keep, … The budget ends it; nothing here has to look at it."""
        model = run.model(self.model, role="writer")
        text = task.question
        while True:
            reply = await model.reply(Request(messages=(Message(role="user", content=text),), max_tokens=60))
            run.keep(reply.text)
            text = f"{task.question}\nImprove this draft, in one sentence: {reply.text}"


def main() -> None:
    """Run within three calls, and print how it ended."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--model", default="embedded")
    arguments.add_argument("--calls", type=int, default=3)
    given = arguments.parse_args()
    result = motet.run(
        "Say in one sentence what a motet is.",
        system=Improve(model=given.model),
        budget=motet.Budget(calls=given.calls),
    )
    print("status:", result.status)
    print("because:", result.error.message if result.error else None)
    print("best answer so far:", result.answer)
    print(f"{result.usage.calls} calls, {result.usage.tokens} tokens")


if __name__ == "__main__":
    main()

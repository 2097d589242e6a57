"""A System of your own: anything with a name and ``solve``. This one asks several voices the same question and takes the majority.

    python examples/own_system.py
    motet solve "Is a motet sung or danced?" --system examples.own_system:Vote -c choices=[sung,danced] -c voices=5

The fields are its configuration, in Python as on the command line. Each voice works in a scope of its own (``run.child``), so
that its calls have their own place in the journal and the ledger, and one budget over all of them still holds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter

from pydantic import Field

import motet
from motet.models import Message, Request, Sampling
from motet.system import ModelRef, Needs


class Vote(motet.Configured):
    """A choice among ``choices`` by ``voices`` independent answers, drawn with different seeds, and a majority."""

    model: ModelRef = "embedded"
    choices: tuple[str, ...] = ("yes", "no")
    voices: int = Field(default=3, gt=0)

    @property
    def name(self) -> str:
        """The name in tables and reports."""
        return "vote"

    def needs(self) -> Needs:
        """What is checked before a run begins."""
        return Needs(models=(self.model,))

    async def solve(self, task: motet.Task, *, run: motet.Run) -> motet.Result:
        """Ask all voices side by side; the answer that most of them gave wins, the earliest of equals."""
        answers = await asyncio.gather(*(self.voice(task, number, run=run) for number in range(1, self.voices + 1)))
        votes = Counter(answers)
        answer, _ = votes.most_common(1)[0]
        return motet.Result(status="completed", answer=answer, details={"votes": dict(votes)})

    async def voice(self, task: motet.Task, number: int, *, run: motet.Run) -> str:
        """One answer, held to a JSON schema."""
        scope = run.child(f"voice-{number}")
        request = Request(
            messages=(
                Message(role="system", content=f"Answer with one of: {', '.join(self.choices)}."),
                Message(role="user", content=task.question),
            ),
            max_tokens=32,
            reply_schema={
                "type": "object",
                "properties": {"answer": {"enum": list(self.choices)}},
                "required": ["answer"],
                "additionalProperties": False,
            },
            sampling=Sampling(temperature=0.7, seed=number),
        )
        reply = await scope.model(self.model, role="voice").reply(request)
        return str(json.loads(reply.text)["answer"])


def main() -> None:
    """Put one question to the vote, and print how it went."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--model", default="embedded")
    system = Vote(model=arguments.parse_args().model, choices=("sung", "danced"))
    result = motet.run("Is a motet sung or danced?", system=system)
    print("answer:", result.answer)
    print("votes:", result.details["votes"])
    print(f"{result.usage.calls} calls, {result.usage.tokens} tokens, run {result.run_id}")


if __name__ == "__main__":
    main()

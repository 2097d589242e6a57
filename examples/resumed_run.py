"""A run that is killed in the middle and goes on where it stood.

    python examples/resumed_run.py

A second process is started on a task and kills itself with SIGKILL at the end of its second step: no handler runs, nothing is
tidied up. Then this process resumes the run. Replies are committed before they are used, so the two that were paid for come back from
the journal, and the end is that of a run nobody disturbed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import motet
from motet.runs import Event

QUESTION = "For how many voices is Spem in alium written?"
TOOLS = [f"corpus:{Path(__file__).parent / 'corpus'}"]


def killed_halfway(model: str) -> None:
    """Start the run, say its id, and die after the second step."""

    def watch(event: Event) -> None:
        if event.kind == "run.started":
            print(event.payload["run"], flush=True)
        if event.kind == "agent.step" and event.payload["step"] == 2:
            os.kill(os.getpid(), signal.SIGKILL)

    motet.run(QUESTION, model=model, tools=TOOLS, watchers=[watch])


def main() -> None:
    """Run undisturbed, run and kill, resume, and compare."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument(
        "--model", default="scripted:reader", help="the default is a script: fast, and the same each time"
    )
    arguments.add_argument("--killed-halfway", action="store_true", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.killed_halfway:
        killed_halfway(given.model)
        return

    whole = motet.run(QUESTION, model=given.model, tools=TOOLS)
    print(f"undisturbed: {whole.usage.calls} calls, {whole.usage.tokens} tokens; answer: {whole.answer}")

    command = [sys.executable, __file__, "--killed-halfway", "--model", given.model]
    killed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    run_id = killed.stdout.strip()
    print(f"killed: run {run_id} ended with {signal.Signals(-killed.returncode).name}")

    result = asyncio.run(motet.resume(run_id))
    print(
        f"resumed: {result.earlier.calls} calls came back from the journal, {result.usage.calls} were made; answer: {result.answer}"
    )
    paid = result.earlier + result.usage
    print(f"paid in all: {paid.calls} calls, {paid.tokens} tokens")
    same = (result.status, result.answer, paid.calls, paid.tokens) == (
        whole.status,
        whole.answer,
        whole.usage.calls,
        whole.usage.tokens,
    )
    print("the same as undisturbed" if same else "NOT the same as undisturbed")
    sys.exit(not same)


if __name__ == "__main__":
    main()

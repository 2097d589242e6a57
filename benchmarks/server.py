"""The model server of the benchmarks: ``motet.testing.ModelServer`` in a process of its own, in front of a model that plays a tool-calling agent's part.

    python -m benchmarks.server --calls 7

The model asks for one tool call a turn until it has seen ``--calls`` results, then answers. Prints its URL first; then one line of JSON with what it served so far
for each line on standard input, and stops at the end of that input.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import sys
import threading
import time

from motet.models.model import ModelInfo, Observer, Reply, Request, ToolCall
from motet.testing import Faults, ModelServer
from motet.testing.faults import parse_faults
from motet.usage import Usage

ANSWER = "The values add up: all entries were found."


class Caller:
    """The model. It reads nothing but roles, so that the server costs as little as it can; tokens are guessed from lengths."""

    info = ModelInfo(name="caller", identity="scripted:caller@1", provider="scripted", scripted=True)

    def __init__(self, calls: int) -> None:
        self._calls = calls
        self.messages = 0
        self.characters = 0

    async def reply(self, request: Request, *, observer: Observer | None = None) -> Reply:
        """The next tool call, or the answer."""
        size = sum(len(message.content) for message in request.messages)
        self.messages += len(request.messages)
        self.characters += size
        done = sum(message.role == "tool" for message in request.messages)
        usage = Usage(prompt=size // 4, cached=0, completion=20)
        if done >= self._calls:
            return Reply(text=ANSWER, usage=usage)
        call = ToolCall(id=f"call_{done}", name="lookup", arguments=json.dumps({"key": f"entry {done}"}))
        return Reply(tool_calls=(call,), finish="tool_calls", usage=usage)


async def serve(*, calls: int, faults: Faults) -> None:
    """Serve until standard input ends."""
    model = Caller(calls)
    flight = Flight()
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()

    def report(server: ModelServer) -> None:
        for _ in sys.stdin:
            served = list(server.served)
            facts = {
                "requests": len(served),
                "completed": sum(entry.completed for entry in served),
                "faults": sum(entry.fault is not None for entry in served),
                "at_once": flight.most,
                "messages": model.messages,
                "characters": model.characters,
                "cpu": time.process_time(),
            }
            print(json.dumps(facts), flush=True)
        loop.call_soon_threadsafe(stopped.set)

    async with ModelServer(model, faults=faults, on_request=flight.begin, after_reply=flight.end) as server:
        print(server.base_url, flush=True)
        threading.Thread(target=report, args=(server,), daemon=True).start()
        await stopped.wait()


class Flight:
    """How many requests were at the server at once, at most. Right only without faults, which end requests without a reply."""

    def __init__(self) -> None:
        self.most = 0
        self._now = 0

    def begin(self, number: int) -> None:
        """A request has come."""
        self._now += 1
        self.most = max(self.most, self._now)

    def end(self, number: int) -> None:
        """A reply has gone."""
        self._now -= 1


def main() -> None:
    """Read the options and serve."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--calls", type=int, default=7, help="tool calls before the answer")
    parser.add_argument("--faults", default="", help="such as mixed=0.2")
    parser.add_argument("--seed", type=int, default=0, help="of the faults")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    options = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    faults = parse_faults(options.faults, seed=options.seed, others={"latency": options.latency})
    asyncio.run(serve(calls=options.calls, faults=faults))


if __name__ == "__main__":
    main()

"""Agent steps per second through Motet's whole path, beside the bare ``openai`` client and beside pydantic-ai.

    python -m benchmarks.agent_steps [--agents 64] [--calls 7] [--rounds 5]

Every arm does the same work (``work.py``) against the same server process on loopback: ``--agents`` agents at once, each asking for ``--calls`` tool calls one
after the other and then answering; each request carries the whole conversation so far. One request is one step. In a round each arm works once, and
the order turns from round to round; figures are medians over the rounds, shares are medians of the shares within a round.

- bare: ``AsyncOpenAI`` with its aiohttp transport, ``chat.completions.create`` in a loop. The tool is called directly; nothing is kept.
- bare, raw JSON: the same client told to send bytes and to hand back the HTTP response, past its typed objects. The least that this client can cost;
  Motet's endpoint builds on it.
- motet: ``motet.solve`` of one run with an agent in each of its scopes: ``React``, journal, ledger and budget, gate, endpoint, and the store on disk,
  synced at each commit.
- pydantic-ai: ``Agent.run`` with the same tool as a typed function, on the same client with the same transport. Nothing is kept.

CPU is the processor time of this process, all its threads, system calls included. Exits with 1 when Motet is below half of bare, or below pydantic-ai.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import httpx2
import openai
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from benchmarks.common import Server, parser, publish, table
from benchmarks.work import (
    MAX_TOKENS,
    lookup,
    open_client,
    opening,
    question,
    system_text,
    tools,
    with_bare_client,
    with_motet,
)
from motet.store.store import Store


class Measure(NamedTuple):
    """One arm in one round: seconds on the clock and of processor time for all ``requests``; the counts are the server's."""

    seconds: float
    cpu: float
    requests: int
    messages: int
    characters: int
    server_cpu: float


async def with_raw_json(base_url: str, *, agents: int) -> None:
    """The client as a carrier of bytes."""
    described = tools()

    async def work(client: openai.AsyncOpenAI, number: int) -> None:
        messages = opening(number)
        while True:
            body = {"model": "caller", "messages": messages, "tools": described, "max_tokens": MAX_TOKENS}
            content = json.dumps(body).encode()
            response = await client.post("/chat/completions", cast_to=httpx2.Response, content=content)
            message = json.loads(response.content)["choices"][0]["message"]
            if not message.get("tool_calls"):
                assert message["content"]
                return
            messages.append(message)
            for call in message["tool_calls"]:
                text = await lookup(**json.loads(call["function"]["arguments"]))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})

    async with open_client(base_url) as client:
        await asyncio.gather(*(work(client, number) for number in range(agents)))


async def with_pydantic_ai(base_url: str, *, agents: int) -> None:
    """One pydantic-ai agent, run once for each question."""
    async with open_client(base_url) as client:
        model = OpenAIChatModel("caller", provider=OpenAIProvider(openai_client=client))
        agent = Agent(model, instructions=system_text(), tools=[lookup], model_settings={"max_tokens": MAX_TOKENS})
        results = await asyncio.gather(*(agent.run(question(number)) for number in range(agents)))
        assert all(result.output for result in results)


def measure(server: Server, arm: Callable[[], Awaitable[object]]) -> Measure:
    """Run ``arm`` once in an event loop of its own."""

    async def timed() -> tuple[float, float]:
        start, used = time.perf_counter(), time.process_time()
        await arm()
        return time.perf_counter() - start, time.process_time() - used

    before = server.stats()
    seconds, cpu = asyncio.run(timed())
    after = server.stats()
    return Measure(
        seconds,
        cpu,
        requests=after.completed - before.completed,
        messages=after.messages - before.messages,
        characters=after.characters - before.characters,
        server_cpu=after.cpu - before.cpu,
    )


def compare(*, agents: int, calls: int, rounds: int) -> dict[str, list[Measure]]:
    """All arms in turn, ``rounds`` times after one round that does not count."""
    found: defaultdict[str, list[Measure]] = defaultdict(list)
    with (
        tempfile.TemporaryDirectory() as folder,
        Server(calls=calls) as server,
        Store.open(f"sqlite:///{Path(folder) / 'runs.db'}") as store,
    ):
        arms: list[tuple[str, Callable[[], Awaitable[object]]]] = [
            ("bare", partial(with_bare_client, server.base_url, agents=agents)),
            ("bare, raw JSON", partial(with_raw_json, server.base_url, agents=agents)),
            ("motet", partial(with_motet, server.base_url, agents=agents, store=store)),
            ("pydantic-ai", partial(with_pydantic_ai, server.base_url, agents=agents)),
        ]
        for number in range(rounds + 1):
            turn = number % len(arms)
            for name, arm in arms[turn:] + arms[:turn]:
                measured = measure(server, arm)
                if number:
                    found[name].append(measured)
    for name, of_arm in found.items():
        assert all(one.requests == agents * (calls + 1) for one in of_arm), f"{name} made other requests"
        assert all(one.messages == found["bare"][0].messages for one in of_arm), f"{name} sent other messages"
    return {name: found[name] for name, _ in arms}


def share(found: Mapping[str, Sequence[Measure]], arm: str, other: str) -> float:
    """``arm``'s speed as a share of ``other``'s in the same round, median over the rounds."""
    pairs = zip(found[arm], found[other], strict=True)
    return statistics.median(theirs.seconds / mine.seconds for mine, theirs in pairs)


def main() -> int:
    """Measure, print, and judge."""
    options = parser(__doc__)
    options.add_argument("--agents", type=int, default=64)
    options.add_argument("--calls", type=int, default=7)
    options.add_argument("--rounds", type=int, default=5)
    asked = options.parse_args()
    found = compare(agents=asked.agents, calls=asked.calls, rounds=asked.rounds)
    facts = {
        arm: {
            "requests_per_second": statistics.median(one.requests / one.seconds for one in rounds),
            "share_of_bare": share(found, arm, "bare"),
            "cpu_ms_per_step": statistics.median(one.cpu / one.requests for one in rounds) * 1e3,
            "server_cpu_ms_per_step": statistics.median(one.server_cpu / one.requests for one in rounds) * 1e3,
            "characters_per_request": rounds[0].characters / rounds[0].requests,
        }
        for arm, rounds in found.items()
    }
    of_bare, of_pydantic_ai = share(found, "motet", "bare"), share(found, "motet", "pydantic-ai")
    ok = of_bare >= 0.5 and of_pydantic_ai >= 1
    columns = ["arm", "requests/s", "of bare", "CPU ms/step", "server's CPU ms/step", "characters/request"]
    text = (
        f"{asked.agents} agents at once, {asked.calls} tool calls and an answer each; median of {asked.rounds} interleaved rounds\n\n"
        f"{table(columns, [[arm, *values.values()] for arm, values in facts.items()])}\n\n"
        f"motet: {of_bare:.2f} of bare (wanted: 0.5), {of_pydantic_ai:.2f} of pydantic-ai (wanted: 1): {'PASS' if ok else 'FAIL'}"
    )
    extra = {"motet_of_bare": of_bare, "motet_of_pydantic_ai": of_pydantic_ai, "pass": ok}
    publish("agent_steps", as_json=asked.json, facts={"arms": facts, **extra}, text=text)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())

"""The work that the benchmarks of agents give to every arm: many agents at once, each looking up entries one by one and then answering.

Each request carries the whole conversation so far. All arms send the same messages and tools; each opens its own connections and closes them again.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import openai

import motet
from motet.agent.react import React
from motet.prompts import load_prompts
from motet.runs.run import Run
from motet.settings import Provider, Settings
from motet.store.store import Store

MAX_TOKENS = 1024
ENTRY = (
    "The register was kept by hand until it was copied out in full; the copy agrees with it but for a few names. " * 3
)


async def lookup(key: str) -> str:
    """Look up an entry of the register.

    :param key: The entry's key.
    """
    return f"{key}: {ENTRY}"


def question(number: int) -> str:
    """What agent ``number`` is asked."""
    return f"Agent {number}: look up every entry in turn, then say what the values add up to."


def system_text() -> str:
    """The first message of every conversation."""
    return load_prompts("motet.agent", "react")("system", instructions="")


def opening(number: int) -> list[dict[str, Any]]:
    """The first messages of agent ``number``."""
    return [{"role": "system", "content": system_text()}, {"role": "user", "content": question(number)}]


def tools() -> list[dict[str, Any]]:
    """``lookup`` as the wire format describes it."""
    made = motet.tool(lookup)
    function = {"name": made.name, "description": made.description, "parameters": made.parameters}
    return [{"type": "function", "function": function}]


class Team(motet.Configured):
    """A system of many agents side by side, each in a scope of its own."""

    agents: int
    agent: React

    @property
    def name(self) -> str:
        """``team``."""
        return "team"

    async def solve(self, task: motet.Task, *, run: Run) -> motet.Result:
        """Let all agents work; answer with the number of those that did."""
        work = (
            self.agent.solve(motet.Task(question=question(number)), run=run.child(f"agent-{number}"))
            for number in range(self.agents)
        )
        results = await asyncio.gather(*work)
        return motet.Result(status="completed", answer=str(sum(bool(result.answer) for result in results)))


async def with_motet(base_url: str, *, agents: int, store: Store, attempts: int = 6) -> motet.Result:
    """One run with all agents; raises when one of them gave no answer."""
    provider = Provider(base_url=base_url, max_parallel=max(agents, 64), attempts=attempts)
    agent = React(model="bench:caller", tools=(motet.tool(lookup),), max_steps=100, max_tokens=MAX_TOKENS)
    result = await motet.solve(
        "All entries",
        system=Team(agents=agents, agent=agent),
        store=store,
        settings=Settings(providers={"bench": provider}),
    )
    if result.answer != str(agents):
        raise SystemExit(f"of {agents} agents {result.answer or 'none'} answered: {result.error}")
    return result


async def with_bare_client(base_url: str, *, agents: int) -> None:
    """The ``openai`` client alone, as its documentation shows it, in a loop that knows its one tool."""
    described: Any = tools()

    async def work(client: openai.AsyncOpenAI, number: int) -> None:
        messages: list[Any] = [*opening(number)]
        while True:
            completion = await client.chat.completions.create(
                model="caller", messages=messages, tools=described, max_tokens=MAX_TOKENS
            )
            message = completion.choices[0].message
            if not message.tool_calls:
                assert message.content
                return
            messages.append(message.model_dump(include={"role", "content", "tool_calls"}))
            for call in message.tool_calls:
                assert call.type == "function"
                text = await lookup(**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": text})

    async with open_client(base_url) as client:
        await asyncio.gather(*(work(client, number) for number in range(agents)))


def open_client(base_url: str) -> openai.AsyncOpenAI:
    """The client with its aiohttp transport, without retries, and patient with a thousand connections at once."""
    http = openai.DefaultAioHttpClient()
    return openai.AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0, http_client=http, timeout=600.0)

"""A team of ``scripted:scholar`` at work on invented questions, asked as the engine and the agents ask, without a run around it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache

from motet.agent.dialect import JsonActions, NativeTools
from motet.bench.hotpotqa.answer import split_answer
from motet.bench.hotpotqa.data import Question
from motet.bench.hotpotqa.index import FewParagraphs
from motet.bench.hotpotqa.world import HotpotWorld, show
from motet.bench.scoring.text import NONE, answer_agreement, fact_agreement, joint_agreement
from motet.inherit import Given, Node, Workflow, named_roles
from motet.models.model import Reply, Request, Sampling
from motet.models.scripted import Turn
from motet.prompts import load_prompts
from motet.tools.tool import Observation, Tool

ROLES = named_roles("hotpotqa")
Policy = Callable[[Request], Turn]
_STEPS = 8


def member(id_: str, role: str, *inputs: str, prompt: str = "Work with care.", subtask: str = "Do your part.") -> Node:
    """A node of the team; researchers search."""
    tools = ("search",) if role == "researcher" else ()
    return Node(id=id_, role=role, subtask=subtask, prompt=prompt, tools=tools, inputs=inputs)


def team(*nodes: Node) -> Workflow:
    """The nodes as a workflow."""
    return Workflow(nodes=nodes)


FIRST = team(member("plan", "planner"), member("look", "researcher", "plan"), member("say", "synthesizer", "look"))
CHECKED = team(
    member("plan", "planner"),
    member("look", "researcher", "plan"),
    member("check", "verifier", "look"),
    member("say", "synthesizer", "look", "check"),
)


def told(workflow: Workflow, remedies: Mapping[str, str]) -> Workflow:
    """``workflow`` with words added to the prompts of its nodes, by role."""
    nodes = [
        node.model_copy(update={"prompt": f"{node.prompt} {remedies.get(node.role, '')}".strip()})
        for node in workflow.nodes
    ]
    return Workflow(nodes=tuple(nodes))


def outputs(policy: Policy, workflow: Workflow, item: Question, *, native: bool = True) -> dict[str, str]:
    """What each node gives on ``item``."""
    given: dict[str, str] = {}
    for id_ in workflow.order:
        node = workflow.by_id[id_]
        inputs = [
            Given(ROLES.port(node.role, workflow.by_id[source].role) or "input", source, given[source])
            for source in node.inputs
        ]
        asked = ROLES.request(node, question=task_text(item), inputs=inputs)
        given[id_] = agent(
            policy, asked, item, instructions=ROLES.instructions(node), searches=bool(node.tools), native=native
        )
    return given


def alone(policy: Policy, item: Question, *, native: bool = True) -> str:
    """What an agent by itself answers."""
    return agent(policy, task_text(item), item, instructions="", searches=True, native=native)


def joint_f1(text: str, item: Question) -> float:
    """The joint F1 of an answer with its supporting facts."""
    given = split_answer(text)
    answer = answer_agreement(given.answer, item.answer) if given.answer else NONE
    facts = fact_agreement(given.facts, item.facts) if given.facts is not None else NONE
    return joint_agreement(answer, facts).f1


def mean(values: Sequence[float]) -> float:
    """Their mean."""
    return sum(values) / len(values)


def task_text(item: Question) -> str:
    """The task as the benchmark words it."""
    return load_prompts("motet.bench", "hotpotqa")("joint", question=item.question, given=False)


def agent(policy: Policy, question: str, item: Question, *, instructions: str, searches: bool, native: bool) -> str:
    """One agent's answer, through the dialect that it would have."""
    tools = search_tools() if searches else ()
    prompts = load_prompts("motet.agent", "react")
    dialect = NativeTools(tools, prompts) if native or not tools else JsonActions(tools, prompts)
    messages = dialect.opening(question=question, context="", instructions=instructions)
    seen: list[Observation] = []
    for step in range(_STEPS):
        options = {"max_tokens": 900, "sampling": Sampling()}
        request = dialect.request(messages, may_call=step < _STEPS - 1, may_answer=bool(seen) or not tools, **options)  # type: ignore[arg-type]
        turn = dialect.read(_reply(policy(request)))
        messages.append(turn.message)
        if turn.answer is not None:
            return turn.answer
        if turn.ready:
            final = dialect.answering(seen, question=question, max_tokens=900, sampling=Sampling())
            assert final is not None
            return policy(final).text
        assert not turn.problem, turn.problem
        found = [(call, search(item, str(call.arguments["query"]))) for call in turn.calls]
        seen += [observation for _, observation in found]
        messages += dialect.observed(found, question=question)
    raise AssertionError(f"no answer in {_STEPS} steps: {json.dumps([m.content[:200] for m in messages])}")


@cache
def search_tools() -> tuple[Tool, ...]:
    """The benchmark's search tool, for its name and words."""
    return HotpotWorld(FewParagraphs(()), results=5).tools()


@lru_cache(maxsize=2000)
def search(item: Question, query: str) -> Observation:
    """What the benchmark's search tool shows."""
    return show(FewParagraphs(item.paragraphs).search(query, limit=5), query)


def _reply(turn: Turn) -> Reply:
    return Reply(text=turn.text, tool_calls=turn.tool_calls)

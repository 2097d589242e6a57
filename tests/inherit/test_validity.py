"""Every fault of a workflow is found and named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from motet.errors import InputError
from motet.inherit import Effects, Node, Workflow, in_words, named_roles, require, validate
from tests.inherit.graphs import GENERAL, READS, ROOMY, TOOLS, node, office, workflows

FEW = settings(max_examples=20, deadline=None)
Nodes = list[dict[str, Any]]


def one(nodes: Nodes, role: str) -> dict[str, Any]:
    """The first node of ``role``."""
    return next(item for item in nodes if item["role"] == role)


def cycle(nodes: Nodes) -> str:
    """A second worker that reads what reads it."""
    nodes += [node("x1", "worker", "x2").model_dump(), node("x2", "worker", "x1").model_dump()]
    one(nodes, "integrator")["inputs"] += ("x2",)
    return "x1"


def put(role: str, field: str, value: object) -> Callable[[Nodes], str]:
    """Seeds ``value`` into a field of the first node of ``role``; a function is given the old value."""

    def seed(nodes: Nodes) -> str:
        made = one(nodes, role)
        made[field] = value(made[field]) if callable(value) else value
        return str(made["id"])

    return seed


def dead_end(nodes: Nodes) -> str:
    """A worker that nobody reads."""
    nodes.append(node("zz").model_dump())
    return "zz"


def same_id(nodes: Nodes) -> str:
    """A worker twice."""
    nodes.append({**one(nodes, "worker")})
    return str(nodes[-1]["id"])


def without_integrator(nodes: Nodes) -> str:
    """Nobody who puts things together."""
    nodes.remove(one(nodes, "integrator"))
    return ""


def self_input(nodes: Nodes) -> str:
    """A worker that reads itself."""
    made = one(nodes, "worker")
    made["inputs"] += (made["id"],)
    return str(made["id"])


def second_executor(nodes: Nodes) -> str:
    """Another executor of the same plan."""
    made = {**one(nodes, "executor"), "id": "zz"}
    nodes.append(made)
    return "zz"


def without_executor(nodes: Nodes) -> str:
    """No node that writes."""
    nodes.remove(one(nodes, "executor"))
    return ""


def reads_executor(nodes: Nodes) -> str:
    """A worker of which nothing is known but that it reads the executor."""
    nodes.append(node("zz", "worker", one(nodes, "executor")["id"]).model_dump())
    return "zz"


def dangling_output(nodes: Nodes) -> str:
    """A second integrator that nobody reads: another output."""
    nodes.append(node("zz", "integrator", one(nodes, "worker")["id"]).model_dump())
    return "zz"


SEEDS: list[tuple[str, Callable[[Nodes], str]]] = [
    ("id", put("worker", "id", "Find it")),
    ("id", put("worker", "id", "x" * 49)),
    ("id", put("worker", "id", "x\n")),
    ("duplicate-id", same_id),
    ("role", put("worker", "role", "worcer")),
    ("empty-subtask", put("worker", "subtask", " \n")),
    ("empty-prompt", put("executor", "prompt", "")),
    ("long-text", put("worker", "prompt", "x" * 6001)),
    ("unknown-input", put("integrator", "inputs", lambda old: (*old, "nobody"))),
    ("self-input", self_input),
    ("duplicate-input", put("integrator", "inputs", lambda old: (*old, old[0]))),
    ("cycle", cycle),
    ("port", reads_executor),
    ("port-count", put("executor", "inputs", ())),
    ("port-count", put("integrator", "inputs", ())),
    ("unknown-tool", put("worker", "tools", ("serch",))),
    ("duplicate-tool", put("worker", "tools", ("search", "search"))),
    ("no-tools", put("integrator", "tools", ("search",))),
    ("write-tool", put("worker", "tools", ("search", "send"))),
    ("needs-tool", put("executor", "tools", ("search",))),
    ("several-executors", second_executor),
    ("no-executor", without_executor),
    ("several-outputs", dangling_output),
    ("unreachable", dead_end),
    ("role-count", without_integrator),
]


@FEW
@given(workflows())
def test_what_is_right_has_no_problems(workflow: Workflow) -> None:
    """Workflows made to follow the rules pass all of them."""
    assert validate(workflow, ROOMY, TOOLS) == []
    assert require(workflow, ROOMY, TOOLS) is workflow


@pytest.mark.parametrize(("rule", "seed"), SEEDS, ids=[f"{n}-{rule}" for n, (rule, _) in enumerate(SEEDS)])
@settings(max_examples=8, deadline=None)
@given(workflow=workflows(st.just("text")))
def test_a_seeded_fault_is_found(rule: str, seed: Callable[[Nodes], str], workflow: Workflow) -> None:
    """Whatever the workflow, a fault put into it is told with its rule and its node, and refuses the whole."""
    nodes = [made.model_dump() for made in workflow.nodes]
    where = seed(nodes)
    broken = Workflow.model_validate({"nodes": nodes})
    problems = validate(broken, ROOMY, TOOLS)
    assert (rule, where) in {(problem.rule, problem.node) for problem in problems}, in_words(problems)
    with pytest.raises(InputError, match="not valid"):
        require(broken, ROOMY, TOOLS)


def told(*nodes: Node, tools: Effects = TOOLS, roles: str = "general") -> str:
    """All that is said about a workflow."""
    return in_words(validate(Workflow(nodes=nodes), named_roles(roles), tools))


def test_words_say_what_would_be_right() -> None:
    """A message names the node, the nearest right name, or what is allowed, so that it can be repaired without guessing."""
    base = office().nodes
    assert "'mail' has the tool 'serch', which there is not; did you mean 'search'?" in told(
        *(n.model_copy(update={"tools": ("serch",)}) if n.id == "mail" else n for n in base)
    )
    assert "which is no node; did you mean 'dates'?" in told(
        *(n.model_copy(update={"inputs": ("mail", "date", "doubt")}) if n.id == "plan" else n for n in base)
    )
    assert "such as find_it " in told(node("Find it!"), *base)
    assert "'dates' → 'mail' → 'dates' is a cycle" in told(
        node("mail", "worker", "dates"), node("dates", "worker", "mail"), *base[2:]
    )
    assert "does not reach the output 'act'; let one of these read it: 'dates', 'doubt', 'plan' [" in told(
        *base, node("aside", "critic", "mail")
    )
    assert told(*base) == ""


ODD_NODES = st.builds(
    Node,
    id=st.sampled_from(("a", "b", "c")) | st.text(max_size=3),
    role=st.sampled_from(("worker", "executor", "boss", "integrator")),
    subtask=st.text(max_size=3),
    prompt=st.text(max_size=3),
    tools=st.lists(st.sampled_from([*READS, "send", "?"]), max_size=2).map(tuple),
    inputs=st.lists(st.sampled_from(("a", "b", "c", "")), max_size=3).map(tuple),
)


@pytest.mark.parametrize("roles", ["general", "workbench", "hotpotqa"])
def test_limits_hold(roles: str) -> None:
    """Too many nodes or edges, or too few nodes, are told with the limits."""
    limits = named_roles(roles)
    crowd = [node(f"n{n}", "worker", *(f"n{m}" for m in range(n))) for n in range(limits.max_nodes + 1)]
    assert f"{limits.min_nodes} to {limits.max_nodes} are allowed" in told(*crowd, roles=roles)
    assert f"at most {limits.max_edges} are allowed" in told(*crowd, roles=roles)
    assert "the workflow has 1 node;" in told(node("a"), roles=roles)
    assert "the workflow has 0 nodes;" in told(roles=roles)


def test_an_executor_only_where_there_is_something_to_write() -> None:
    """Without tools that write, the integrator gives the output and an executor is refused; with them, one is needed."""
    reads: Effects = {"search": "read"}
    answer = (node("look"), node("answer", "integrator", "look"))
    assert told(*answer, tools=reads) == ""
    assert "[no-executor]" in told(*answer)
    assert "leave this node out" in told(*answer, node("act", "executor", "answer", tools=("search",)), tools=reads)


def test_workbench_takes_one_plan_and_hotpotqa_a_search() -> None:
    """The executor of WorkBench reads exactly one plan; HotpotQA needs a researcher who can search, and ends in its one synthesizer."""
    team = (node("look"), node("plan", "integrator", "look"), node("check", "verifier", "plan"))
    assert told(*team, node("act", "executor", "check", tools=("send",)), roles="workbench") == ""
    assert "must read exactly 1 of role integrator or verifier as its plan, and reads 2" in told(
        *team, node("act", "executor", "plan", "check", tools=("send",)), roles="workbench"
    )
    tools: Effects = {"search": "read"}
    asked = (node("how", "planner"), node("look", "researcher", "how"), node("say", "synthesizer", "look"))
    assert "give it to one of: 'look' [role-tool]" in told(*asked, tools=tools, roles="hotpotqa")
    searching = asked[1].model_copy(update={"tools": ("search",)})
    assert told(asked[0], searching, asked[2], tools=tools, roles="hotpotqa") == ""
    second = node("say_too", "synthesizer", "look")
    assert "needs exactly 1 [role-count]" in told(asked[0], searching, asked[2], second, tools=tools, roles="hotpotqa")


@FEW
@given(st.lists(ODD_NODES, max_size=5))
@example([node("twin"), node("twin", "worker", "twin")])
def test_no_graph_makes_the_validator_raise(nodes: list[Node]) -> None:
    """Any document at all is either valid or told what is wrong, on printable lines, the same each time."""
    workflow = Workflow(nodes=tuple(nodes))
    problems = validate(workflow, GENERAL, TOOLS)
    assert problems == validate(workflow, GENERAL, TOOLS)
    assert all(problem.message.isprintable() for problem in problems)
    if not problems:
        assert workflow.layers
        assert workflow.output


def test_a_crowd_of_faults_is_told_in_words_of_bounded_length() -> None:
    """Hundreds of nodes that nobody reads, or that read nobody there is, are each told in a message that a prompt can hold."""
    crowd = [node(f"w{n}") for n in range(300)]
    lost = [node(f"w{n}", "worker", "nobody") for n in range(60)]
    ends = (node("p", "integrator", "w0"), node("act", "executor", "p", tools=("send",)))
    for nodes in ((*crowd, *ends), (*lost, *ends)):
        problems = validate(Workflow(nodes=nodes), GENERAL, TOOLS)
        assert len(problems) >= len(nodes) - 3
        assert max(len(problem.message) for problem in problems) < 600

"""Workflows for tests: small ones by hand, and strategies for valid ones and for edits of any kind."""

from __future__ import annotations

from hypothesis import strategies as st

from motet.canonical import clean_text
from motet.inherit import Choice, Edit, Effects, Node, Workflow, named_roles
from motet.inherit.edits import (
    AddEdge,
    AddNode,
    InsertNode,
    NodePrompt,
    NodeSubtask,
    NodeTools,
    RemoveEdge,
    RemoveNode,
    ReorderInputs,
)

TOOLS: Effects = {"search": "read", "look_up": "read", "send": "write", "delete": "write"}
READS = ("search", "look_up")
GENERAL = named_roles("general")
# The general roles with room for a longer walk of edits.
ROOMY = GENERAL.model_copy(update={"max_nodes": 14, "max_edges": 40})
NAMES = ("ann", "bo", "cy", "dee", "eve", "fay", "gus", "hal", "ida")

# Anything that can stand in a Python string, lone surrogates and control characters too.
ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=20)
TEXT = ANY_TEXT.filter(lambda text: bool(clean_text(text).strip()))


def node(id_: str, role: str = "worker", *inputs: str, tools: tuple[str, ...] = ()) -> Node:
    """A node that needs no thought."""
    return Node(id=id_, role=role, subtask=f"Do {id_}.", prompt=f"Be {id_}.", tools=tools, inputs=inputs)


def office() -> Workflow:
    """Two workers, a critic of one of them, an integrator, the executor."""
    return Workflow(
        nodes=(
            node("mail", tools=("search",)),
            node("dates", tools=("look_up",)),
            node("doubt", "critic", "mail"),
            node("plan", "integrator", "mail", "dates", "doubt"),
            node("act", "executor", "plan", tools=("send",)),
        )
    )


@st.composite
def workflows(draw: st.DrawFn, text: st.SearchStrategy[str] = TEXT) -> Workflow:
    """A valid workflow of the general roles: workers and critics in any shape, an integrator, perhaps a verifier, the executor."""
    names = list(draw(st.permutations(NAMES)))
    nodes: list[Node] = []

    def add(role: str, inputs: list[str], tools: list[str]) -> str:
        # Inputs in any order: their order is part of what a workflow is.
        ordered = tuple(draw(st.permutations(inputs)))
        made = Node(
            id=names.pop(), role=role, subtask=draw(text), prompt=draw(text), tools=tuple(tools), inputs=ordered
        )
        nodes.append(made)
        return made.id

    some_reads = st.lists(st.sampled_from(READS), unique=True)
    thinkers: list[str] = []
    for number in range(draw(st.integers(1, 5))):
        role = draw(st.sampled_from(("worker", "critic"))) if number else "worker"
        inputs = (
            draw(st.lists(st.sampled_from(thinkers), unique=True, max_size=2, min_size=int(role == "critic")))
            if number
            else []
        )
        thinkers.append(add(role, inputs, draw(some_reads) if role == "worker" else []))
    unread = [id_ for id_ in thinkers if not any(id_ in made.inputs for made in nodes)]
    more = draw(st.lists(st.sampled_from(thinkers), unique=True, max_size=2))
    last = add("integrator", list(dict.fromkeys([*unread, *more])), [])
    plans = [last]
    if draw(st.booleans()):
        evidence = draw(st.lists(st.sampled_from(thinkers), unique=True, max_size=2))
        checked = add("verifier", [last, *evidence], draw(some_reads))
        plans = [checked, *([last] if draw(st.booleans()) else [])]
    extra = draw(st.lists(st.sampled_from(("search", "delete")), unique=True))
    add("executor", plans, ["send", *extra])
    return Workflow(name=draw(ANY_TEXT), rationale=draw(ANY_TEXT), nodes=tuple(nodes))


@st.composite
def completed(draw: st.DrawFn, choices: list[Choice]) -> Edit:
    """One of ``choices``, with the texts that it asks for."""
    choice = draw(st.sampled_from(choices))
    writes = (
        [tool for tool in choice.current.split(", ") if TOOLS.get(tool) == "write"] if choice.kind == "tools" else []
    )
    lists = st.lists(st.sampled_from(READS), unique=True).map(lambda some: [*some, *writes])
    tools = draw(lists.filter(lambda some: (", ".join(some) or "none") != choice.current))
    different = TEXT.filter(lambda text: clean_text(text) != choice.current)
    return choice.complete(prompt=draw(different), subtask=draw(different), tools=tools)


@st.composite
def any_edits(draw: st.DrawFn, workflow: Workflow) -> Edit:
    """An edit of any kind that names mostly nodes of ``workflow``, whether or not it makes sense."""
    ids = st.sampled_from([*workflow.by_id, "nobody"])
    many = st.lists(ids, max_size=3).map(tuple)
    fresh = Node(
        id=draw(st.sampled_from(("fresh", *workflow.by_id))), role="worker", subtask="s", prompt="p", inputs=draw(many)
    )
    edits: st.SearchStrategy[Edit] = st.one_of(
        st.builds(NodePrompt, node=ids, prompt=ANY_TEXT),
        st.builds(NodeSubtask, node=ids, subtask=ANY_TEXT),
        st.builds(NodeTools, node=ids, tools=st.lists(st.sampled_from([*TOOLS, "hammer"]), max_size=3).map(tuple)),
        st.builds(AddNode, node=st.just(fresh), readers=many),
        st.builds(RemoveNode, node=ids),
        st.builds(AddEdge, source=ids, target=ids),
        st.builds(RemoveEdge, source=ids, target=ids),
        st.builds(ReorderInputs, node=ids, inputs=many),
        st.builds(InsertNode, node=st.just(fresh), source=ids, target=ids),
    )
    return draw(edits)

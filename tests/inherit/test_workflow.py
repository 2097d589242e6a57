"""The workflow as a document and as a graph."""

from __future__ import annotations

import json
import random
from importlib.resources import files
from itertools import pairwise

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from motet.canonical import clean_text
from motet.errors import InputError
from motet.inherit import Node, Workflow, json_schema, outline, read_workflow, to_dot, to_mermaid
from tests.inherit.graphs import ANY_TEXT, node, office, workflows

FEW = settings(max_examples=30, deadline=None)


def shuffled(value: JsonValue, dice: random.Random, *, inside: str = "") -> JsonValue:
    """``value`` with its keys, and the list of nodes, in another order."""
    if isinstance(value, dict):
        keys = dice.sample(sorted(value), len(value))
        return {key: shuffled(value[key], dice, inside=key) for key in keys}
    if isinstance(value, list):
        items = [shuffled(item, dice) for item in value]
        return dice.sample(items, len(items)) if inside == "nodes" else items
    return value


def document(workflow: Workflow) -> dict[str, JsonValue]:
    """``workflow`` as JSON would hold it."""
    return workflow.model_dump(mode="python", exclude_defaults=True)


def test_the_published_schema_is_that_of_the_code() -> None:
    """The committed schema file equals ``json_schema()``; to renew it, write that as JSON with an indent of 2."""
    published = files("motet.inherit").joinpath("workflow.schema.json").read_text(encoding="utf-8")
    assert published == json.dumps(json_schema(), indent=2) + "\n"
    jsonschema.Draft202012Validator.check_schema(json_schema())


@FEW
@given(workflows(st.sampled_from(("one", "two"))))
def test_a_valid_workflow_fits_the_schema_and_survives_json(workflow: Workflow) -> None:
    """The JSON of any valid workflow fits the published schema and reads back as the same value."""
    written = workflow.model_dump_json()
    jsonschema.validate(json.loads(written), json_schema())
    assert read_workflow(written) == workflow


@FEW
@given(workflows(), st.randoms(use_true_random=False))
def test_order_of_keys_and_nodes_does_not_matter(workflow: Workflow, dice: random.Random) -> None:
    """The same document with keys and nodes in any order has the same hash, layers and order of execution."""
    other = Workflow.model_validate(shuffled(document(workflow), dice))
    assert (other.hash, other.layers, other.order) == (workflow.hash, workflow.layers, workflow.order)


@FEW
@given(workflows(), st.data())
def test_the_hash_is_of_the_identity(workflow: Workflow, data: st.DataObject) -> None:
    """Names and rationales are left out of the hash; any one change of id, role, texts, tools, inputs or their order changes it."""
    renamed = [n.model_copy(update={"name": data.draw(ANY_TEXT), "rationale": "why"}) for n in workflow.nodes]
    assert Workflow(name="x", rationale="y", nodes=tuple(renamed)).hash == workflow.hash
    old = data.draw(st.sampled_from(workflow.nodes))
    field = data.draw(st.sampled_from(("id", "role", "subtask", "prompt", "tools", "inputs")))
    value = getattr(old, field)
    if isinstance(value, str):
        changed: object = data.draw(ANY_TEXT.filter(lambda text: clean_text(text) != value))
    else:
        changed = data.draw(st.sampled_from([(*value, "more"), *([value[::-1], value[1:]] if len(value) > 1 else [])]))
    new = Node.model_validate({**old.model_dump(), field: changed})
    assert Workflow(nodes=tuple(new if n is old else n for n in workflow.nodes)).hash != workflow.hash


def test_the_hash_is_the_same_for_ever() -> None:
    """A stored record finds its workflow again: this one has had this hash since the first version."""
    assert office().hash == "a69b8bf9ec2096c86847c801351dd891e46fd7a085fec2510f6dd4d1de1ec749"


@FEW
@given(workflows())
def test_order_and_layers_follow_the_edges(workflow: Workflow) -> None:
    """Every node stands after all that it reads, in the first layer where it can, and exactly once."""
    assert sorted(workflow.order) == list(workflow.by_id)
    layer = {id_: number for number, ids in enumerate(workflow.layers) for id_ in ids}
    for made in workflow.nodes:
        assert layer[made.id] == max((layer[source] + 1 for source in made.inputs), default=0)


@FEW
@given(workflows(), st.data())
def test_closure_is_all_that_reads(workflow: Workflow, data: st.DataObject) -> None:
    """A node is in the closure exactly if a path of edges leads to it from one of the given nodes."""
    given_ids = data.draw(st.sets(st.sampled_from(sorted(workflow.by_id))))
    reached = set(given_ids)
    for id_ in workflow.order:
        if reached & set(workflow.node(id_).inputs):
            reached.add(id_)
    assert workflow.closure(given_ids) == reached


def test_a_wide_and_a_deep_graph_have_an_order() -> None:
    """500 nodes side by side and 500 in a row are ordered without recursion."""
    wide = Workflow(
        nodes=(*(node(f"w{n}") for n in range(500)), node("end", "integrator", *(f"w{n}" for n in range(500))))
    )
    deep = Workflow(nodes=tuple(node(f"d{n:03}", "worker", *([f"d{n - 1:03}"] if n else [])) for n in range(500)))
    assert [len(layer) for layer in wide.layers] == [500, 1]
    assert len(deep.layers) == 500
    assert len(deep.closure(["d100"])) == 400


def test_a_cycle_has_no_order_and_is_named() -> None:
    """A cyclic graph is never run as if it had an order: asking for one names the cycle."""
    ring = Workflow(
        nodes=(node("a", "worker", "c"), node("b", "worker", "a"), node("c", "worker", "b"), node("d", "worker", "a"))
    )
    assert ring.cycles == (("a", "b", "c", "a"),)
    with pytest.raises(InputError, match="'a' → 'b' → 'c' → 'a' is a cycle"):
        _ = ring.layers


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20))
@FEW
def test_cycles_are_cycles_and_none_is_missed(edges: list[tuple[int, int]]) -> None:
    """In any graph, each cycle that is told follows edges, no two share a node, and without them there is an order."""
    graph = Workflow(nodes=tuple(node(f"n{n}", "worker", *(f"n{s}" for s, t in edges if t == n)) for n in range(8)))
    seen: list[str] = []
    for cycle in graph.cycles:
        assert cycle[0] == cycle[-1] == min(cycle)
        assert all(pair in graph.edges for pair in pairwise(cycle))
        seen += cycle[1:]
    assert len(seen) == len(set(seen))
    broken = Workflow(
        nodes=tuple(
            n.model_copy(update={"inputs": tuple(i for i in n.inputs if not {i, n.id} & set(seen))})
            for n in graph.nodes
        )
    )
    assert not broken.cycles


HOSTILE = (
    st.sampled_from(
        ('"]; click n0 "javascript:alert(1)"', "a\n  b: worker", "</script>", 'x"];', "end", "\\", "`md`", "#quot;")
    )
    | ANY_TEXT
)


@FEW
@given(st.lists(st.tuples(HOSTILE, HOSTILE, HOSTILE), max_size=4))
def test_no_text_breaks_a_picture(texts: list[tuple[str, str, str]]) -> None:
    """Whatever ids, roles and texts are, rendering never raises, is valid UTF-8, and has exactly the lines that its nodes and edges need."""
    made = [Node(id=i, role=r, subtask=s, prompt=s, name=r, tools=(r,), inputs=(i, texts[0][0])) for i, r, s in texts]
    workflow = Workflow(nodes=tuple(made))
    edges = sum(source in workflow.by_id for source, _ in workflow.edges)
    mermaid, dot, text = to_mermaid(workflow), to_dot(workflow), outline(workflow)
    for picture in (mermaid, dot, text):
        picture.encode()
        assert all(character.isprintable() or character == "\n" for character in picture)
    assert len(mermaid.splitlines()) == 1 + len(workflow.by_id) + edges
    assert len(dot.splitlines()) == 3 + len(workflow.by_id) + edges
    assert len(text.splitlines()) == 3 * len(workflow.by_id)
    for line in mermaid.splitlines()[1:]:
        inside = line.partition('["')[2].removesuffix('"]').replace("<br/>", "")
        assert not set(inside) & set('"<>&`[]{}|\\')
    for line in dot.splitlines()[2 : 2 + len(workflow.by_id)]:
        inside = line.partition('label="')[2].removesuffix('"];').replace("\\\\", "")
        assert '"' not in inside.replace('\\"', "")
        assert not inside.endswith("\\")


@FEW
@given(workflows())
def test_the_outline_holds_everything_that_counts(workflow: Workflow) -> None:
    """Nodes come after what they read, each with its whole subtask and prompt."""
    lines = outline(workflow).splitlines()
    assert [line.partition(":")[0] for line in lines[::3]] == list(workflow.order)
    shown = [json.loads(line.partition(": ")[2]) for line in lines[1::3]]
    assert shown == [workflow.node(id_).subtask for id_ in workflow.order]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "needs 'nodes'"),
        ("{", "neither JSON nor YAML"),
        ("[1]", "needs 'nodes'"),
        ("[" * 100_000, "nested too deeply"),
        ("nodes: [{id: a, rolle: worker}]", "did you mean 'role'"),
        ('{"version": 2, "nodes": []}', "version"),
        ("nodes: [{id: a, role: worker, subtask: s, prompt: 7}]", "nodes.0.prompt"),
        ("nodes: 3", "nodes"),
        ("nodes: !!python/object:os.system x", "neither JSON nor YAML"),
    ],
)
def test_what_is_no_workflow_is_refused_with_its_place(text: str, says: str) -> None:
    """A file that is no workflow document is bad input that names the place, and the right key where one is near."""
    with pytest.raises(InputError, match=says):
        read_workflow(text)


def test_yaml_is_read_too() -> None:
    """A workflow can be written by hand in YAML."""
    read = read_workflow("nodes: [{id: a, role: worker, subtask: Look., prompt: Be quick.}]")
    assert read.node("a").prompt == "Be quick."
    with pytest.raises(InputError, match="no node 'b'; known: a"):
        read.node("b")

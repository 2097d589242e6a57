"""Edits: pure, complete, and told exactly."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.errors import InputError
from motet.inherit import (
    KINDS,
    Edit,
    Effects,
    Workflow,
    apply,
    check,
    check_drop,
    diff,
    diff_mermaid,
    drop,
    enumerate_edits,
    menu,
    named_roles,
    place,
    read_edit,
    read_workflow,
    removable,
    validate,
)
from motet.inherit.choices import Choice
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
from tests.inherit.graphs import GENERAL, ROOMY, TOOLS, any_edits, completed, node, office, workflows

FEW = settings(max_examples=15, deadline=None)


@FEW
@given(workflows(), st.data())
def test_every_choice_on_the_menu_is_valid_and_changes_something(workflow: Workflow, data: st.DataObject) -> None:
    """Each choice, completed with any texts, has no problem, gives a valid workflow with another hash, and no two are the same."""
    choices = enumerate_edits(workflow, ROOMY, TOOLS)
    edits = [data.draw(completed([choice])) for choice in choices]
    assert len({place(edit) for edit in edits}) == len(edits)
    for edit in edits:
        assert check(workflow, edit, ROOMY, TOOLS) == []
        after = apply(workflow, edit)
        assert after.hash != workflow.hash
        assert validate(after, ROOMY, TOOLS) == []


@FEW
@given(workflows(), st.data())
def test_any_walk_over_the_menu_stays_valid(workflow: Workflow, data: st.DataObject) -> None:
    """After any sequence of edits from the menu the workflow is valid, and there is still something to choose."""
    for _ in range(4):
        edit = data.draw(completed(enumerate_edits(workflow, ROOMY, TOOLS)))
        workflow = apply(workflow, edit)
        assert validate(workflow, ROOMY, TOOLS) == []
        assert read_workflow(workflow.model_dump(mode="python")) == workflow


@FEW
@given(workflows())
def test_the_menu_is_the_same_for_the_same_workflow(workflow: Workflow) -> None:
    """Choices and their numbers depend on the workflow alone; the compact menu names each number once."""
    again = Workflow(name="other", nodes=workflow.nodes[::-1])
    choices = enumerate_edits(workflow, ROOMY, TOOLS)
    assert enumerate_edits(again, ROOMY, TOOLS) == choices
    assert [choice.number for choice in choices] == list(range(1, len(choices) + 1))
    lines = [part.split(" ")[0] for line in menu(choices).splitlines() for part in line.partition(": ")[2].split(" | ")]
    assert sorted(map(int, lines)) == [choice.number for choice in choices]


@FEW
@given(workflows(), st.data())
def test_what_was_tried_is_hidden_and_the_rest_keeps_its_number(workflow: Workflow, data: st.DataObject) -> None:
    """An edit tried on this very workflow is off the menu, whatever its texts were; on another workflow it counts for nothing."""
    choices = enumerate_edits(workflow, ROOMY, TOOLS)
    edit = data.draw(completed(choices))
    left = enumerate_edits(
        workflow, ROOMY, TOOLS, tried=[(workflow.hash, edit), ("another", data.draw(completed(choices)))]
    )
    assert left == [choice for choice in choices if place(choice.edit) != place(edit)]
    assert len(left) == len(choices) - 1


@settings(max_examples=60, deadline=None)
@given(workflows(), st.data())
def test_applying_is_pure_and_refuses_what_does_not_fit(workflow: Workflow, data: st.DataObject) -> None:
    """Any edit at all leaves the workflow as it was; it is refused with its reason exactly if it does not fit."""
    edit = data.draw(any_edits(workflow))
    before = workflow.model_dump_json()
    problems = check(workflow, edit, ROOMY, TOOLS)
    (rule, message), *_ = [*((problem.rule, problem.message) for problem in problems), ("", "")]
    if rule == "edit" and "changes nothing" not in message:
        with pytest.raises(InputError) as refused:
            apply(workflow, edit)
        assert str(refused.value) == message
    else:
        after = apply(workflow, edit)
        assert (after.hash == workflow.hash) == ("changes nothing" in message)
        assert rule == "edit" or problems == validate(after, ROOMY, TOOLS)
    assert workflow.model_dump_json() == before


@settings(max_examples=60, deadline=None)
@given(workflows(), st.data())
def test_the_difference_names_exactly_what_the_edit_changed(workflow: Workflow, data: st.DataObject) -> None:
    """The nodes that differ are those that the edit takes hold of, in the fields that it changes; all else is equal."""
    edit = data.draw(completed(enumerate_edits(workflow, ROOMY, TOOLS)))
    after = apply(workflow, edit)
    found = diff(workflow, after)
    added, removed = {n.id for n in found.added}, {n.id for n in found.removed}
    changed = {(change.node, change.field) for change in found.changed}
    expected: tuple[set[str], set[str], set[tuple[str, str]]]
    match edit:
        case NodePrompt() | NodeSubtask() | NodeTools():
            expected = set(), set(), {(edit.node, edit.kind)}
        case ReorderInputs():
            expected = set(), set(), {(edit.node, "inputs")}
        case AddEdge() | RemoveEdge():
            expected = set(), set(), {(edit.target, "inputs")}
        case AddNode():
            expected = {edit.node.id}, set(), {(reader, "inputs") for reader in edit.readers}
        case InsertNode():
            expected = {edit.node.id}, set(), {(edit.target, "inputs")}
            assert edit.source in after.node(edit.target).inputs
        case RemoveNode():
            expected = set(), {edit.node}, {(reader, "inputs") for reader in workflow.readers[edit.node]}
    assert (added, removed, changed) == expected
    assert set(found.touched) == added | {id_ for id_, _ in changed}
    for id_ in set(after.by_id) - set(found.touched):
        assert after.node(id_) == workflow.node(id_)
    assert found.words()
    assert found.words().replace("\n", "").isprintable()


@FEW
@given(workflows(), workflows())
def test_two_workflows_differ_exactly_if_their_hashes_do(one: Workflow, other: Workflow) -> None:
    """No difference means the same hash; a picture of any two is drawn with every node of both once."""
    found = diff(one, other)
    assert (not found.words()) == (one.hash == other.hash)
    assert not diff(one, one).words()
    picture = diff_mermaid(one, other).splitlines()
    marks = [line.rpartition(":::")[2] for line in picture if ":::" in line]
    assert len(marks) == len({**one.by_id, **other.by_id})
    assert marks.count("new") == len(found.added)
    assert marks.count("removed") == len(found.removed)
    assert marks.count("changed") == len({change.node for change in found.changed})


@FEW
@given(workflows(), st.data())
def test_dropping_leaves_all_else_as_it_was(workflow: Workflow, data: st.DataObject) -> None:
    """Each removable node dropped alone leaves a valid workflow; kept nodes lose the dropped inputs and nothing else; the rest is refused."""
    can = removable(workflow, ROOMY, TOOLS)
    for id_ in workflow.by_id:
        left = drop(workflow, [id_])
        assert (id_ in can) == (validate(left, ROOMY, TOOLS) == [])
        assert bool(check_drop(workflow, [id_], ROOMY, TOOLS)) == (id_ not in can)
        for kept in left.nodes:
            old = workflow.node(kept.id)
            assert kept.spec == old.spec
            assert kept.inputs == tuple(source for source in old.inputs if source != id_)
    chosen = data.draw(st.lists(st.sampled_from(can), unique=True)) if can else []
    together = validate(drop(workflow, chosen), ROOMY, TOOLS)
    assert check_drop(workflow, chosen, ROOMY, TOOLS) == together


def test_nodes_that_may_go_alone_may_not_all_go_together() -> None:
    """Dropping is judged jointly too: of two workers either may go, both may not."""
    pair = Workflow(
        nodes=(
            node("a"),
            node("b"),
            node("plan", "integrator", "a", "b"),
            node("act", "executor", "plan", tools=("send",)),
        )
    )
    assert removable(pair, GENERAL, TOOLS) == ("a", "b")
    assert [problem.rule for problem in check_drop(pair, ["a", "b"], GENERAL, TOOLS)] == ["port-count"]
    (refused,) = check_drop(pair, ["plan", "ghost"], GENERAL, TOOLS)
    assert "'plan', 'ghost' cannot be dropped; those that can be are: 'a', 'b'" in refused.message


def test_every_kind_is_on_a_menu() -> None:
    """The menu of a small team has all nine kinds, each in the order of the kinds, and is several times shorter than one line for each with its text."""
    choices = enumerate_edits(office(), GENERAL, TOOLS)
    kinds = [choice.kind for choice in choices]
    assert tuple(dict.fromkeys(kinds)) == KINDS
    long = [choice.model_copy(update={"current": choice.current and "x" * 400}) for choice in choices]
    assert len(menu(long)) * 3 < len("\n".join(choice.words for choice in long))


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (NodePrompt(node="mial", prompt="x"), "names 'mial', which is no node; did you mean 'mail'?"),
        (NodePrompt(node="mail", prompt="Be mail."), "changes nothing"),
        (AddEdge(source="mail", target="plan"), "'plan' reads 'mail' already"),
        (RemoveEdge(source="dates", target="doubt"), "no edge from 'dates' to 'doubt', which reads: 'mail'"),
        (ReorderInputs(node="plan", inputs=("mail", "dates")), "must hold exactly: 'mail', 'dates', 'doubt'"),
        (AddNode(node=node("mail"), readers=("plan",)), "'mail' is taken"),
        (AddNode(node=node("new"), readers=("plan", "plan")), "lists a reader twice"),
        (InsertNode(node=node("new", "worker", "dates"), source="mail", target="plan"), "leave its inputs empty"),
        (InsertNode(node=node("new"), source="dates", target="doubt"), "no edge from 'dates' to 'doubt'"),
        (AddEdge(source="plan", target="doubt"), "'doubt' → 'plan' → 'doubt' is a cycle"),
        (RemoveNode(node="act"), "no node is of role executor"),
        (NodeTools(node="mail", tools=("send",)), "only the executor may write"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_refused_edit_says_why(edit: Edit, says: str) -> None:
    """What does not fit, changes nothing or breaks the graph is told in words that name the node and what there is."""
    problems = check(office(), edit, GENERAL, TOOLS)
    assert any(says in problem.message for problem in problems), problems


def test_edits_are_read_from_json() -> None:
    """An edit is a value of a tagged union; an unknown kind or field is bad input that names the right one."""
    edit = InsertNode(node=node("new"), source="mail", target="plan")
    assert read_edit(edit.model_dump(mode="json")) == edit
    with pytest.raises(InputError, match="did you mean 'add_node'"):
        read_edit({"kind": "add_nod"})
    with pytest.raises(InputError, match="known: prompt"):
        read_edit({"node": "a"})
    with pytest.raises(InputError, match="'prompt' cannot be read: prompt: Field required"):
        read_edit({"kind": "prompt", "node": "a"})


def test_a_choice_asks_for_its_texts() -> None:
    """A missing text is named; ids, names and reasons of a new node are taken where they are given."""
    choices: dict[str, Choice] = {choice.kind: choice for choice in enumerate_edits(office(), GENERAL, TOOLS)}
    with pytest.raises(InputError, match="needs a prompt"):
        choices["prompt"].complete(prompt=" ")
    with pytest.raises(InputError, match="needs a subtask"):
        choices["add_node"].complete(prompt="p")
    made = choices["insert_node"].complete(subtask="s", prompt="p", id="fact_check", rationale="It was wrong.")
    assert isinstance(made, InsertNode)
    assert (made.node.id, made.node.rationale) == ("fact_check", "It was wrong.")
    assert choices["remove_node"].complete() == choices["remove_node"].edit


def test_a_diff_in_words() -> None:
    """Long texts are shown where they differ; edges and tools are told as what came and went."""
    before = office()
    long = "Look at every message of the week, one after the other. " * 5
    one = apply(before, NodePrompt(node="mail", prompt=long + "Then stop."))
    two = apply(one, NodePrompt(node="mail", prompt=long + "Then tell."))
    assert diff(one, two).words() == "prompt of 'mail': “…ter the other. Then stop.” → “…ter the other. Then tell.”"
    three = apply(before, AddNode(node=node("extra", tools=("search",)), readers=("plan",)))
    assert (
        diff(before, three).words()
        == "added 'extra' (worker, tools 'search', reads nothing): Do extra.\n'plan' now reads 'extra'"
    )
    four = apply(before, ReorderInputs(node="plan", inputs=("dates", "mail", "doubt")))
    assert diff(before, four).words() == "'plan' reads in another order: 'dates', 'mail', 'doubt'"
    assert "==>" in diff_mermaid(before, three)
    assert "-.->" in diff_mermaid(three, before)


@pytest.mark.parametrize("roles", ["workbench", "hotpotqa"])
def test_the_shipped_role_sets_leave_room_for_edits(roles: str) -> None:
    """The smallest team of each set can get more nodes, and every choice of its menu is valid there."""
    tools: Effects = {"search": "read", "send": "write"} if roles == "workbench" else {"search": "read"}
    workflow = (
        Workflow(
            nodes=(
                node("look", tools=("search",)),
                node("plan", "integrator", "look"),
                node("act", "executor", "plan", tools=("send",)),
            )
        )
        if roles == "workbench"
        else Workflow(nodes=(node("look", "researcher", tools=("search",)), node("say", "synthesizer", "look")))
    )
    limits = named_roles(roles)
    choices = enumerate_edits(workflow, limits, tools)
    assert {"prompt", "subtask", "add_node", "insert_node"} <= {choice.kind for choice in choices}


def test_the_documents_example_prints_what_it_says() -> None:
    """The example of the page on workflows runs and prints the text below it."""
    page = (Path(__file__).parents[2] / "docs" / "inherit-workflow.md").read_text(encoding="utf-8")
    code, shown = (page.partition(f"```{language}\n")[2].partition("```")[0] for language in ("python", "text"))
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(code, "inherit-workflow.md", "exec"), {})
    assert said.getvalue() == shown

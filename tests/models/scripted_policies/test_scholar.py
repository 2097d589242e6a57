"""``scripted:scholar``: right without mistakes whatever the names, mistaken by chance alone, mended by remedies, readers and verifiers, and seen through by its trade."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.agent.react import React
from motet.bench.hotpotqa.data import Paragraph, Question
from motet.bench.hotpotqa.index import FewParagraphs
from motet.bench.hotpotqa.invented import invented_questions
from motet.bench.hotpotqa.world import HotpotWorld
from motet.inherit import Workflow, effects, validate
from motet.inherit.audit import audit
from motet.inherit.engine import execute, react_worker
from motet.inherit.execution import Execution
from motet.models.model import Message, Request, ToolSpec
from motet.models.scripted import open_scripted
from motet.models.scripted_policies import scholar
from motet.models.scripted_policies.scholar import policy, with_lore
from motet.models.scripted_policies.scholar.lore import Lore, shipped
from motet.models.scripted_policies.scholar.trade import faults, hints, is_idle
from motet.runs.run import Run
from motet.store.store import Store
from motet.task import Result, Task
from tests.models.scripted_policies.scholars import (
    CHECKED,
    FIRST,
    ROLES,
    alone,
    joint_f1,
    mean,
    member,
    outputs,
    task_text,
    team,
    told,
)
from tests.runs.desk import done, go, new_run, work_once

FAULTLESS = with_lore(shipped().without_mistakes())
NO_PLAN = team(member("look", "researcher"), member("say", "synthesizer", "look"))
TWO = team(member("look", "researcher"), member("more", "researcher", "look"), member("say", "synthesizer", "more"))
BESIDE = team(member("look", "researcher"), member("more", "researcher"), member("say", "synthesizer", "look", "more"))
few = settings(max_examples=5)


def questions(count: int, seed: int = 0) -> list[Question]:
    """Invented questions."""
    return list(invented_questions(count, seed).items.values())


def only(kind: str, rate: float = 1.0) -> Lore:
    """The committed lore with one mistake alone, made at ``rate`` unless its remedy is told."""
    lore = shipped().without_mistakes()
    mistake = lore.mistakes[kind].model_copy(update={"rate": rate, "alone": rate})
    return lore.model_copy(update={"mistakes": {**lore.mistakes, kind: mistake}})


def remedies() -> dict[str, str]:
    """All remedies by the role that needs them."""
    found: dict[str, str] = {}
    for mistake in shipped().mistakes.values():
        for role in mistake.only:
            found[role] = f"{found.get(role, '')} {mistake.remedy.capitalize()}."
    return found


def seen(workflow: Workflow, given_: Mapping[str, str], item: Question) -> list[tuple[str, str]]:
    """Node and kind of each fault that the trade sees."""
    work = {id_: (workflow.by_id[id_].role, text) for id_, text in given_.items()}
    return [(fault.node, fault.kind) for fault in faults(task_text(item), work)]


def score(workflow: Workflow, items: list[Question], lore: Lore | None = None) -> float:
    """The mean joint F1 of a team."""
    asked = with_lore(lore) if lore else policy
    return mean([joint_f1(outputs(asked, workflow, item)["say"], item) for item in items])


# Reading


@few
@given(seed=st.integers(1, 2**40))
def test_without_mistakes_any_names_are_read_right(seed: int) -> None:
    """Whatever the seed of the questions, a team, a checked team and an agent alone answer and cite all of them right, in both ways of acting."""
    for item in questions(8, seed):
        assert joint_f1(outputs(FAULTLESS, FIRST, item)["say"], item) == 1
        assert joint_f1(outputs(FAULTLESS, CHECKED, item)["say"], item) == 1
        assert joint_f1(outputs(FAULTLESS, NO_PLAN, item, native=False)["say"], item) == 1
        assert joint_f1(alone(FAULTLESS, item), item) == 1
        assert joint_f1(alone(FAULTLESS, item, native=False), item) == 1


def test_other_wordings_are_read() -> None:
    """Names and sentences that the generator cannot make are understood by the same words."""
    pages = {
        "Kestrel & Daughters": ["Kestrel & Daughters sells rope.", "The firm was set up by Mei Okonjo-Barr in 1911."],
        "Mei Okonjo-Barr": [
            "Mei Okonjo-Barr was a sailor.",
            "She went to sea early; she was born on 3 May 1880 in Port Ilse.",
        ],
        "Mei Okonjo": ["Mei Okonjo was a dancer.", "She was born in Ulm."],
    }
    rows = tuple((title, tuple(sentences)) for title, sentences in pages.items())
    item = Question(
        id="own",
        question="In what city was the woman who founded Kestrel & Daughters born?",
        answer="Port Ilse",
        facts=(("Kestrel & Daughters", 1), ("Mei Okonjo-Barr", 1)),
        paragraphs=tuple(Paragraph(*row) for row in rows),
        kind="bridge",
        level="",
    )
    assert joint_f1(outputs(FAULTLESS, FIRST, item)["say"], item) == 1


@given(text=st.text(max_size=300), system=st.sampled_from(["", *shipped().roles.values()]))
def test_no_message_is_too_odd(text: str, system: str) -> None:
    """Whatever it is sent, it says something or searches."""
    tool = ToolSpec(name="search", description="", parameters={"type": "object"})
    messages = (Message(role="system", content=system), Message(role="user", content=f"Question: {text}"))
    for tools in ((), (tool,)):
        turn = policy(Request(messages=messages, max_tokens=100, tools=tools))
        assert turn.text or turn.tool_calls
    assert isinstance(faults(text, {"a": ("researcher", text), "b": ("synthesizer", text), "c": ("alien", text)}), list)
    assert isinstance(is_idle(text), bool)


# Mistakes


def test_mistakes_depend_on_question_kind_and_role_alone() -> None:
    """Another name for a node and other words in its prompt change nothing that it says; another seed does."""
    items = questions(30)
    renamed = team(
        member("p", "planner"), member("l", "researcher", "p"), member("s", "synthesizer", "l", prompt="Be brisk.")
    )
    before = [outputs(policy, FIRST, item)["say"] for item in items]
    assert before == [outputs(policy, renamed, item)["s"] for item in items]
    other = with_lore(shipped().model_copy(update={"seed": 77}))
    assert before != [outputs(other, FIRST, item)["say"] for item in items]


@pytest.mark.parametrize("kind", sorted(shipped().mistakes))
def test_each_mistake_hurts_is_seen_and_ends_with_its_remedy(kind: str) -> None:
    """A team that always makes it scores less; the trade names it at a node of its role; with the remedy in that role's prompt all is right."""
    items, lore = questions(40), only(kind)
    [role] = lore.mistakes[kind].only
    # Whoever overlooks needs something to overlook.
    lore = (
        lore
        if role != "verifier"
        else lore.model_copy(update={"mistakes": {**lore.mistakes, "namesake": only("namesake").mistakes["namesake"]}})
    )
    workflow = CHECKED if role == "verifier" else NO_PLAN if kind == "stops" else FIRST
    asked = with_lore(lore)
    hurt = 0
    for item in items:
        given_ = outputs(asked, workflow, item)
        found = seen(workflow, given_, item)
        if joint_f1(given_["say"], item) < 1:
            hurt += 1
            assert kind in [name for _, name in found]
        assert all(workflow.by_id[node].role == role for node, name in found if name == kind and kind != "stops")
    assert hurt > 10
    mended = told(workflow, {role: lore.mistakes[kind].remedy})
    assert score(mended, items, lore) == 1


def test_a_reader_of_the_evidence_finds_the_second_page() -> None:
    """A second researcher that reads the first goes on where it stopped; one beside it stops as well."""
    items, lore = questions(40), only("stops")
    assert score(NO_PLAN, items, lore) < 0.2
    assert score(BESIDE, items, lore) == score(NO_PLAN, items, lore)
    assert score(TWO, items, lore) == 1


@pytest.mark.parametrize("kind", ["namesake", "bridge", "too_few", "too_many"])
def test_a_verifier_mends_what_it_can_see(kind: str) -> None:
    """What follows from the evidence is put right by a verifier that the synthesizer reads."""
    items, lore = questions(40), only(kind)
    assert score(FIRST, items, lore) < 0.9
    assert score(CHECKED, items, lore) == 1


def test_a_whole_plan_leads_on() -> None:
    """With a plan of two steps nobody stops; with one of a single step everybody does."""
    items = questions(40)
    assert score(FIRST, items, only("stops")) == 1
    assert score(FIRST, items, only("one_step")) < 0.2


def test_what_is_right_is_not_blamed() -> None:
    """Without mistakes the trade sees no fault; with the committed ones it sees one wherever the score is not full."""
    for item in questions(60, 9):
        assert seen(CHECKED, outputs(FAULTLESS, CHECKED, item), item) == []
        given_ = outputs(policy, FIRST, item)
        found = seen(FIRST, given_, item)
        if joint_f1(given_["say"], item) < 1:
            assert found
        else:
            assert "say" not in [node for node, _ in found]


def test_the_committed_rates_leave_room_on_both_sides() -> None:
    """A plain first team and an agent alone are right about half the time, a checked one more often, and one with all remedies nearly always."""
    items = questions(100)
    plain, checked = score(FIRST, items), score(CHECKED, items)
    assert 0.4 < plain < 0.56
    assert 0.4 < mean([joint_f1(alone(policy, item), item) for item in items]) < 0.53
    assert plain + 0.05 < checked < 0.75
    assert score(told(FIRST, remedies()), items) > 0.75


def test_remedies_are_nobodys_usual_words() -> None:
    """No remedy stands in a role's instructions, and none in another, so that each has to be written by somebody."""
    words = [mistake.remedy for mistake in shipped().mistakes.values()]
    texts = " ".join(role.prompt for role in ROLES.roles.values()).lower()
    assert not [remedy for remedy in words if remedy in texts]
    assert not [(one, two) for one in words for two in words if one != two and one in two]


# Its trade


def test_hints_say_what_a_question_needs() -> None:
    """The names that it begins with, and that researchers search."""
    item = next(item for item in questions(50) if item.kind == "comparison")
    found = hints(task_text(item), ["search", "read"])
    assert (found.compares, found.pages, found.tools) == (True, 2, ("search",))
    assert all(any(name in title for title, _ in item.facts) for name in found.names)
    assert {*found.roles, *found.helpful} == set(ROLES.roles)


def test_an_empty_hand_is_idle() -> None:
    """A researcher without a tool gives nothing that anybody could use."""
    item = questions(1)[0]
    without = team(member("look", "researcher").model_copy(update={"tools": ()}), member("say", "synthesizer", "look"))
    given_ = outputs(policy, without, item)
    assert is_idle(given_["look"])
    assert not is_idle(outputs(policy, NO_PLAN, item)["look"])


# In a real run


def test_it_works_in_a_real_run(store: Store, home: object) -> None:
    """Through the engine the team says what it says here, in the form that the audit asks for, with every citation retrieved."""
    item = questions(1, 4)[0]
    world = HotpotWorld(FewParagraphs(item.paragraphs), results=5)
    assert validate(CHECKED, ROLES, effects(world.tools())) == []
    into: list[Execution] = []

    async def solve(task: Task, run: Run) -> Result:
        worker = react_worker(React(model=open_scripted("scripted:scholar")))
        into.append(await execute(CHECKED, task, run=run.child("candidate", world=world), worker=worker, roles=ROLES))
        return done("x")

    async def main() -> None:
        task = Task(question=task_text(item))
        await work_once(store, await new_run(store, task), solve, task=task)

    go(main())
    ended = into[0]
    expected = outputs(policy, CHECKED, item)
    assert {id_: outcome.output for id_, outcome in ended.outcomes.items()} == expected
    found = audit(ended, roles=ROLES)
    assert found.valid
    assert not [problem for problem in found.problems if "never retrieved" in problem]
    assert json.loads(expected["say"].rpartition(": ")[2])


def test_its_version_follows_its_file() -> None:
    """Other rates, words or seeds are another model."""
    assert shipped().version in scholar.version()
    assert only("stops").version != shipped().version
    assert open_scripted("scripted:scholar").info.identity == f"scripted:scholar@{scholar.version()}"

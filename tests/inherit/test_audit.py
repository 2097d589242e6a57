"""The audit: what each auditor says of right, wrong and hopeless outputs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from motet.bench.hotpotqa.data import Paragraph
from motet.bench.hotpotqa.world import show
from motet.canonical import clean_text
from motet.errors import InputError
from motet.inherit import RoleSet, Workflow, named_roles
from motet.inherit.audit import Audit, audit
from motet.inherit.execution import Execution, Outcome
from motet.runs.run import ToolUse
from motet.task import Failure
from motet.worlds.world import Write
from tests.inherit.graphs import GENERAL, node
from tests.worlds.workbench.office import call, small_office

QA = named_roles("hotpotqa")
OFFICE = named_roles("workbench")
PARAGRAPHS = [
    Paragraph("Velk Observatory", ("It stands on Mount Velk.", " It was founded by Ada Brenn in 1887.")),
    Paragraph("Brenn, Or the Sky [film]", ("A film about comets.",)),
    Paragraph("Ada Brenn", ("Ada Brenn was an astronomer born in Norvania.", "She mapped the sky.")),
]
RIGHT = 'Answer: Norvania\nSupporting facts: [["Velk Observatory", 1], ["Ada Brenn", 0]]'


def execution(
    workflow: Workflow,
    outputs: Mapping[str, str],
    traces: Mapping[str, Sequence[ToolUse]] | None = None,
    failed: str = "",
) -> Execution:
    """``workflow`` as it ended: what its nodes gave and which tools they called; ``failed`` gave nothing, and what comes after it was skipped."""
    outcomes = {}
    for id_ in workflow.order:
        base = Outcome(node=id_, status="completed", how="ran", why="", trace=tuple((traces or {}).get(id_, ())))
        status: dict[str, Any] = {"output": outputs.get(id_, "done")}
        if id_ == failed:
            failure = Failure(boundary="model", kind="BadReply", message="it said nothing")
            status = {"status": "failed", "failure": failure}
        elif failed and id_ in workflow.closure([failed]):
            status = {"status": "skipped"}
        outcomes[id_] = base.model_copy(update=status)
    return Execution(workflow=workflow, environment=None, affected=(), replicas={}, outcomes=outcomes)


def search(*paragraphs: Paragraph) -> ToolUse:
    """A search that found ``paragraphs``, with the text that the benchmark's own tool gives."""
    return ToolUse(tool="search", arguments={"query": "q"}, text=show(list(paragraphs), "q").text)


def readers(output: str, *paragraphs: Paragraph) -> Execution:
    """A researcher that found ``paragraphs`` and a synthesizer that gave ``output``."""
    team = Workflow(nodes=(node("look", "researcher", tools=("search",)), node("say", "synthesizer", "look")))
    return execution(team, {"say": output}, {"look": [search(*paragraphs)]})


def thinkers(output: str, **options: Any) -> Execution:
    """A worker and an integrator that gave ``output``."""
    return execution(Workflow(nodes=(node("a"), node("b", "integrator", "a"))), {"b": output}, **options)


# Any task


def test_an_output_that_came_about_as_it_should_is_valid() -> None:
    """Nothing is wrong with it, and the tools that bear it are named with their node."""
    look = ToolUse(tool="look_up", arguments={}, text="Monday")
    found = audit(thinkers("It is on Monday.", traces={"a": [look, look]}), roles=GENERAL)
    assert found == Audit(valid=True, backed=("a: look_up ×2",))


@pytest.mark.parametrize(
    ("output", "says"),
    [("  ", "no output"), ("The calls are (", "cut off"), ("```json\n{", "cut off"), ("First,", "cut off")],
    ids=["empty", "bracket", "fence", "comma"],
)
def test_an_output_that_is_none_or_goes_on_is_not_valid(output: str, says: str) -> None:
    """An empty output and one that visibly breaks off are faults."""
    found = audit(thinkers(output), roles=GENERAL)
    assert not found.valid
    assert says in found.problems[0]


def test_failures_are_told() -> None:
    """A node that failed is named with what happened and makes the output invalid; a tool's error alone is only told."""
    found = audit(thinkers("", failed="a"), roles=GENERAL)
    assert not found.valid
    assert found.problems[:2] == ("a failed: it said nothing", "there is no output")
    broken = ToolUse(tool="look_up", arguments={}, text="no such day", error=True)
    found = audit(thinkers("Monday", traces={"a": [broken]}), roles=GENERAL)
    assert found.valid
    assert found.problems == ("a: look_up failed: no such day",)


@pytest.mark.parametrize("roles", [GENERAL, QA, OFFICE], ids=lambda roles: roles.name)
@given(text=st.text(max_size=400), given_by=st.text(max_size=200))
def test_no_text_is_too_odd(roles: RoleSet, text: str, given_by: str) -> None:
    """Whatever a model or a tool said, the audit ends with few short lines of one line each."""
    use = ToolUse(tool="search", arguments={}, text=clean_text(given_by))
    many = [use.model_copy(update={"error": True})] * 40
    write = Write(tool="calendar.delete_event", arguments={"event_id": clean_text(text)})
    output = clean_text(f"{text}\nSupporting facts: {text}")
    found = audit(thinkers(output, traces={"a": [use], "b": many}), roles=roles, writes=[write] * 40)
    for lines in (found.problems, found.backed):
        assert len(lines) <= 12
        assert all(len(line) <= 200 and line.isprintable() for line in lines)


# Answers with citations


@pytest.mark.parametrize(
    "output",
    [RIGHT, RIGHT.replace("Answer:", "**Answer:**"), f"So:\nAnswer: no\n\n{RIGHT}\n"],
    ids=["plain", "bold", "second thoughts"],
)
def test_citations_of_what_was_retrieved_are_backed(output: str) -> None:
    """Each is shown with its sentence and the node that found it."""
    found = audit(readers(output, *PARAGRAPHS), roles=QA)
    assert found.valid
    assert found.problems == ()
    assert found.backed == (
        '["Velk Observatory", 1] was retrieved by look: It was founded by Ada Brenn in 1887.',
        '["Ada Brenn", 0] was retrieved by look: Ada Brenn was an astronomer born in Norvania.',
    )


def test_titles_with_brackets_and_numbers_are_read() -> None:
    """What looks like a citation or a rank inside a title or a sentence is part of it."""
    odd = Paragraph("2. Bundesliga [1]", ("[0] is a number.", "1. FC Velk won it."))
    output = f"Answer: FC Velk\nSupporting facts: {json.dumps([['2. Bundesliga [1]', 1]])}"
    found = audit(readers(output, PARAGRAPHS[0], odd), roles=QA)
    assert found.valid
    assert found.problems == ()
    assert found.backed == ('["2. Bundesliga [1]", 1] was retrieved by look: 1. FC Velk won it.',)


@pytest.mark.parametrize(
    ("fact", "says"),
    [
        (["Ada Brenn", 2], '["Ada Brenn", 2] does not exist: the paragraph has the sentences 0 to 1'),
        (["Ada Brenn", -1], "does not exist"),
        (["Mount Velk", 0], '["Mount Velk", 0] was never retrieved'),
        (["ada brenn", 0], "never retrieved; the title is 'Ada Brenn'"),
    ],
    ids=["number", "negative", "title", "case"],
)
def test_citations_that_nobody_saw_are_named(fact: JsonValue, says: str) -> None:
    """A paragraph that no search returned and a sentence that does not exist are told, each by itself; the form stays valid."""
    output = f"Answer: Norvania\nSupporting facts: {json.dumps([['Ada Brenn', 0], fact])}"
    found = audit(readers(output, *PARAGRAPHS), roles=QA)
    assert found.valid
    assert len(found.problems) == len(found.backed) == 1
    assert says in found.problems[0]


def test_what_a_failed_search_said_is_no_evidence() -> None:
    """Text of a call that failed retrieves nothing."""
    team = readers(RIGHT, *PARAGRAPHS)
    broken = search(*PARAGRAPHS).model_copy(update={"error": True})
    trace = {"trace": (broken,)}
    failed = {**team.outcomes, "look": team.outcomes["look"].model_copy(update=trace)}
    found = audit(team.model_copy(update={"outcomes": failed}), roles=QA)
    assert found.backed == ()
    assert sum("never retrieved" in problem for problem in found.problems) == 2


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ("Norvania", "no line `Answer"),
        ("Answer: Norvania", "no line `Supporting facts"),
        ('Answer:\nSupporting facts: [["Ada Brenn", 0]]', "answer is empty"),
        ("Answer: Norvania\nSupporting facts: []", "no sentence is cited"),
        ("Answer: Norvania\nSupporting facts: Ada Brenn, 0", "no list"),
        ('Answer: Norvania\nSupporting facts: [["Ada Brenn", 0]', "no list"),
        ('Answer: Norvania\nSupporting facts: [["Ada Brenn", "0"]]', "is no citation"),
        ('Answer: Norvania\nSupporting facts: [["Ada Brenn", true]]', "is no citation"),
        ('Answer: Norvania\nSupporting facts: ["Ada Brenn"]', "is no citation"),
        ("Answer: x\nSupporting facts: " + "[" * 10_000, "no list"),
    ],
    ids=["bare", "no facts", "no answer", "none cited", "words", "open", "text", "bool", "flat", "deep"],
)
def test_another_form_is_not_valid(output: str, says: str) -> None:
    """An answer without its two lines, or with facts of another form, says what is wrong with it."""
    found = audit(readers(output, *PARAGRAPHS), roles=QA)
    assert not found.valid
    assert any(says in problem for problem in found.problems)


def test_an_answer_in_no_cited_sentence_is_doubted() -> None:
    """A name that no cited sentence holds is told; yes and no can stand nowhere."""
    wrong = audit(readers(RIGHT.replace("Norvania", "Ostland"), *PARAGRAPHS), roles=QA)
    assert wrong.valid
    assert wrong.problems == ("the answer 'Ostland' stands in no cited sentence",)
    assert audit(readers(RIGHT.replace("Norvania", "yes"), *PARAGRAPHS), roles=QA).problems == ()


# Plans of calls


EVENT: dict[str, JsonValue] = {"event_id": "00000002"}
MAIL: dict[str, JsonValue] = {"recipient": "bo.cruz@atlas.com", "subject": "Off", "body": "It is off."}
PLAN = '1. calendar.delete_event(event_id="00000002")\n2. email_send_email: recipient bo.cruz@atlas.com, subject Off, body It is off.'
DONE = (("calendar.delete_event", EVENT), ("email.send_email", MAIL))


def office_team(plan: str, made: Sequence[tuple[str, dict[str, JsonValue]]]) -> Audit:
    """The audit of a team that looked events up, planned, and made calls in a small office."""
    world = small_office()
    looked = call(world, "calendar.search_events", query="budget review")
    found = call(world, "company_directory.find_email_address", name="bo")
    reads = [
        ToolUse(tool="calendar_search_events", arguments={}, text=looked.text),
        ToolUse(tool="company_directory_find_email_address", arguments={}, text=found.text),
    ]
    uses = []
    for name, arguments in made:
        said = call(world, name, **arguments)
        uses.append(ToolUse(tool=name.replace(".", "_"), arguments=arguments, text=said.text, error=said.error))
    tools = ("calendar_delete_event", "email_send_email", "email_reply_email")
    team = Workflow(
        nodes=(
            node("look", tools=("calendar_search_events", "company_directory_find_email_address")),
            node("plan", "integrator", "look"),
            node("act", "executor", "plan", tools=tools),
        )
    )
    ended = execution(team, {"plan": plan}, {"look": reads, "act": uses})
    return audit(ended, roles=OFFICE, writes=world.writes)


def test_a_plan_that_was_carried_out_is_valid_and_backed() -> None:
    """Each id and address that was written is shown with the tool that returned it."""
    assert office_team(PLAN, DONE) == Audit(
        valid=True,
        backed=(
            "calendar.delete_event event_id=00000002: in what calendar_search_events returned to look",
            "email.send_email recipient=bo.cruz@atlas.com: in what company_directory_find_email_address returned to look",
        ),
    )


def test_calls_and_plan_are_compared() -> None:
    """A planned call that was not made and a call that was not planned are told; so is one made once and planned twice."""
    assert office_team(PLAN, DONE[:1]).problems == ("planned and not made: email_send_email",)
    assert office_team(PLAN.splitlines()[0], DONE).problems == ("made and not planned: email_send_email",)
    assert office_team(f"{PLAN}\n3. email_send_email(…)", DONE).problems == ("planned and not made: email_send_email",)
    assert office_team("Nothing to do.", ()) == Audit(valid=True)
    assert len(office_team("Nothing to do.", DONE).problems) == 2
    assert "no numbered calls" in office_team("Someone should delete it.", ()).problems[0]
    assert "names no tool" in office_team("1. crm_hug(customer)", ()).problems[0]


def test_a_call_that_failed_makes_the_output_invalid_unless_it_was_made_again() -> None:
    """A call that ended in an error, or that the tool says changed nothing, is a fault; one corrected afterwards is none."""
    failing: tuple[str, dict[str, JsonValue]] = ("calendar.delete_event", {"event_id": ["00000002"]})
    assert office_team(PLAN, (failing, *DONE)).valid
    left = office_team(PLAN, (failing, DONE[1]))
    assert not left.valid
    assert "calendar_delete_event failed and was not made again" in left.problems[0]
    missed = office_team(PLAN, (("calendar.delete_event", {"event_id": "00000009"}), DONE[1]))
    assert not missed.valid
    assert "changed nothing: Event not found." in missed.problems[0]


def test_values_that_no_tool_returned_are_doubted() -> None:
    """An id that stands in no tool's result is told, also where it is part of one that does."""
    for wrong in ("00000001", "0000000"):
        found = office_team(PLAN, (("calendar.delete_event", {"event_id": wrong}), DONE[1]))
        assert f"calendar.delete_event event_id={wrong}: no tool returned it" in found.problems


# A user's own


def own(name: str) -> RoleSet:
    """The general roles with an auditor of the user's."""
    return GENERAL.model_copy(update={"audit": name})


def test_a_users_auditor_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is found as ``module:function``, what it says is cut to what a judge can be sent, and anything but an Audit is refused."""
    text = (
        "from motet.inherit.audit import Audit\n"
        "def strict(execution, *, roles, writes=()):\n"
        "    return Audit(valid='yes' in execution.output, problems=['x' * 999] * 99)\n"
        "def lazy(execution, *, roles, writes=()):\n"
        "    return True\n"
    )
    (tmp_path / "own_auditors_for_test.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    found = audit(thinkers("yes"), roles=own("own_auditors_for_test:strict"))
    assert found.valid
    assert len(found.problems) == 12
    assert max(map(len, found.problems)) == 200
    assert not audit(thinkers("no"), roles=own("own_auditors_for_test:strict")).valid
    with pytest.raises(InputError, match="gave bool, not an Audit"):
        audit(thinkers("yes"), roles=own("own_auditors_for_test:lazy"))
    with pytest.raises(InputError, match="no module"):
        audit(thinkers("yes"), roles=own("nowhere_at_all:strict"))


def test_each_role_set_has_its_auditor(tmp_path: Path) -> None:
    """The shipped sets name theirs, a user's has the general one unless it says otherwise, and an unknown name is refused."""
    assert (GENERAL.audit, QA.audit, OFFICE.audit) == ("general", "hotpotqa", "workbench")
    path = tmp_path / "mine.yaml"
    words = "name: mine\nversion: 1\ndoes: x\nmax_nodes: 3\nmax_edges: 3\nroles: {w: {does: x, prompt: x, output: true}}\nask: x\n"
    path.write_text(words, encoding="utf-8")
    assert named_roles(str(path)).audit == "general"
    path.write_text(f"{words}audit: workbensh\n", encoding="utf-8")
    with pytest.raises(InputError, match="no auditor 'workbensh'; did you mean 'workbench'"):
        named_roles(str(path))

"""The scripted meta-model and judge: valid teams, useful edits, a judge that is mostly right, all from the messages alone."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping

import pytest

from motet.inherit.asking import prompts
from motet.inherit.choices import enumerate_edits
from motet.inherit.edits import KINDS, check
from motet.inherit.meta import Design
from motet.inherit.roles import effects, named_roles
from motet.inherit.system import Inherit
from motet.inherit.validity import in_words, validate
from motet.inherit.views import Compact
from motet.inherit.workflow import Workflow
from motet.models.model import Message, Request
from motet.models.scripted_policies import control
from motet.models.scripted_policies.control.odds import shipped
from motet.models.scripted_policies.control.office import OfficeCraft
from motet.models.scripted_policies.control.scholar import ScholarCraft
from motet.models.scripted_policies.office import trade
from motet.models.scripted_policies.office.mistakes import shipped as mistakes
from motet.store.store import Store
from motet.tools.function import FunctionTool
from tests.models.scripted_policies.control import QUESTIONS, ROLES, search
from tests.models.scripted_policies.crew import asked
from tests.worlds.workbench.office import small_office

TOOLS = small_office().tools()
EFFECTS = effects(TOOLS)
VIEW = Compact()
NAMES = [f"{letter}{rest}" for letter in "bdfghklmnprst" for rest in ("ana", "elo", "ira", "omi", "ude", "aro")]


def _questions() -> list[str]:
    return [asked(f"can you reassign all of {name}'s backlog tasks to ann?") for name in NAMES]


def _put(
    question: str, stage: str, *, seen: Mapping[str, str] | None = None, repairs: tuple[str, str] | None = None
) -> Request:
    """The meta-model's request, as it is put: ``repairs`` holds its first reply and what was wrong with it."""
    words = prompts("meta")
    told = words(stage, **{"evidence": "", "history": "", "removable": "", "menu": "", **(seen or {})})
    system = words("system", roles=ROLES.outline(), tools=VIEW.tools(TOOLS))
    messages = [
        Message(role="system", content=system),
        Message(role="user", content=f"{words('task', question=question, context='')}\n\n{told}"),
    ]
    if repairs is not None:
        wrong = f"That reply cannot be used: {repairs[1]}. Answer again with only the JSON object, corrected."
        messages += [Message(role="assistant", content=repairs[0]), Message(role="user", content=wrong)]
    return Request(messages=tuple(messages), max_tokens=3000)


def _said(request: Request) -> str:
    turn = control.answer(request, OfficeCraft())
    assert turn is not None
    return turn.text


def _team(said: str) -> Workflow:
    return Design.model_validate_json(said).workflow


def test_designs_are_mostly_valid_and_always_once_they_are_repaired() -> None:
    """About as many first replies as the committed odds say break a rule of the graph; told so, none does."""
    invalid = 0
    for question in _questions():
        said = _said(_put(question, "design"))
        wrong = in_words(validate(_team(said), ROLES, EFFECTS))
        if wrong:
            invalid += 1
            again = _team(_said(_put(question, "design", repairs=(said, wrong))))
            assert not validate(again, ROLES, EFFECTS)
    share = invalid / len(NAMES)
    assert 0 < share < 3 * shipped().design.invalid


@pytest.mark.parametrize("name", ["general", "hotpotqa"])
def test_scholars_design_valid_teams_in_any_role_set_once_they_are_repaired(name: str) -> None:
    """Roles of the scholars' own set, and those of another set that do the same work."""
    roles, tools = named_roles(name), [FunctionTool(_look, name="search", version="1")]
    words = prompts("meta")
    system = words("system", roles=roles.outline(), tools=VIEW.tools(tools))
    for who in NAMES:
        task = words("task", question=f"In which year was the director of {who} born?", context="")
        messages = [
            Message(role="system", content=system),
            Message(role="user", content=f"{task}\n\n{words('design')}"),
        ]
        for _ in range(2):
            turn = control.answer(Request(messages=tuple(messages), max_tokens=3000), ScholarCraft())
            assert turn is not None
            wrong = in_words(validate(_team(turn.text), roles, effects(tools)))
            told = f"That reply cannot be used: {wrong}. Answer again with only the JSON object, corrected."
            messages += [Message(role="assistant", content=turn.text), Message(role="user", content=told)]
            if not wrong:
                break
        assert not wrong, who


def _look(query: str) -> str:
    """Look something up."""
    return query


def test_a_design_of_another_team_differs_and_says_what_was_learnt() -> None:
    """It is another graph than the best so far, and the blamed role has the remedy in its prompt."""
    remedy = mistakes().mistakes["first_only"].remedy
    for question in _questions()[:20]:
        first = _team(_said(_put(question, "design")))
        if validate(first, ROLES, EFFECTS):
            continue
        critique = f"Nobody did what was asked.\nto blame: 'plan': it has 1 call; to do: {remedy}"
        request = _put(question, "redesign", seen={"workflow": VIEW.workflow(first), "critique": critique})
        other = _team(_said(request))
        assert other.hash != first.hash
        told = [node.prompt.lower() for node in other.nodes if node.role == "integrator"]
        assert all(remedy in prompt for prompt in told)


def test_edits_can_be_made_and_over_many_tasks_are_of_every_kind() -> None:
    """Each reply but the committed share of slips is a valid edit of the team that was shown; useful ones hold the whole old text and the remedy."""
    remedy = mistakes().mistakes["cut_off"].remedy
    kinds: Counter[str] = Counter()
    slips = mended = 0
    for question in _questions():
        team = _team(_said(_put(question, "design")))
        if validate(team, ROLES, EFFECTS):
            continue
        worker = next(node for node in team.nodes if node.role == "worker")
        choices = {choice.number: choice for choice in enumerate_edits(team, ROLES, EFFECTS)}
        for critique in (
            f"to blame: '{worker.id}': it was cut; to do: {remedy}",
            "I see nothing wrong with the output.",
        ):
            seen = {"workflow": VIEW.workflow(team), "critique": critique, "menu": VIEW.menu(list(choices.values()))}
            said = json.loads(_said(_put(question, "edit", seen=seen)))
            if said["choice"] not in choices:
                slips += 1
                again = _put(
                    question, "edit", repairs=(json.dumps(said), f"there is no choice {said['choice']}"), seen=seen
                )
                said = json.loads(_said(again))
                if said["choice"] not in choices:
                    continue
            choice = choices[said.pop("choice")]
            edit = choice.complete(**said)
            assert not check(team, edit, ROLES, EFFECTS)
            kinds[edit.kind] += 1
            if remedy in said.get("prompt", "").lower() and choice.kind == "prompt":
                assert said["prompt"].startswith(worker.prompt)
                mended += 1
    assert set(kinds) == set(KINDS)
    assert mended > len(NAMES) / 4
    assert 0 < slips < 2 * len(NAMES) * 3 * shipped().edit.invalid


def test_the_same_request_gets_the_same_reply() -> None:
    """No state and no chance beyond the messages."""
    request = _put(QUESTIONS[0], "design")
    assert {_said(request) for _ in range(3)} == {_said(request)}


def _judged(question: str, outputs: dict[str, str], audit: str) -> dict[str, object]:
    team = _team(_said(_put(question, "design")))
    words = prompts("judge")
    shown = "\n\n".join(f"[{id_}]\n{text}" for id_, text in outputs.items())
    case = words("case", question=question, context="", workflow=VIEW.workflow(team), outputs=shown, audit=audit)
    request = Request(
        messages=(Message(role="system", content=words("system")), Message(role="user", content=case)), max_tokens=3000
    )
    found: dict[str, object] = json.loads(_said(request))
    return found


def test_an_invalid_output_is_worth_little() -> None:
    """Whatever else is seen in the work."""
    for question in _questions()[:20]:
        assert _judged(question, {}, "the output is invalid\n- problem: there is no output")["quality_score"] <= 20  # type: ignore[operator]


@pytest.mark.parametrize("view", ["compact", "naive"])
def test_whole_evolutions_end_with_a_result_in_either_view(store: Store, view: str) -> None:
    """Every round gives a candidate or is spent; every candidate has a verdict that names its own nodes and nobody else."""
    for question in QUESTIONS[:3]:
        found = search(store, Inherit, question, control=view)
        assert found.result.status == "completed"
        assert len(found.story.rounds) == 5
        for item in found.story.tried:
            assert item.verdict is not None
            assert item.workflow is not None
            named = {*item.verdict.keep, *(blame.node for blame in item.verdict.fix)}
            assert named <= item.workflow.by_id.keys()


def test_whoever_is_blamed_for_a_fault_has_it_and_marks_follow_faults(store: Store) -> None:
    """Over many candidates the mean mark of those without a visible fault is far above that of the others, and most blame is fair."""
    clean: list[int] = []
    faulty: list[int] = []
    fair = unfair = 0
    for question in QUESTIONS:
        for item in search(store, Inherit, question).story.tried:
            assert item.workflow is not None
            assert item.verdict is not None
            outputs = {id_: (item.workflow.by_id[id_].role, row.output or "") for id_, row in item.nodes.items()}
            faults = trade.faults(question, outputs)
            (faulty if faults else clean).append(item.verdict.quality_score)
            at_fault = {fault.node for fault in faults}
            idle = {id_ for id_, (_, text) in outputs.items() if OfficeCraft().idle(text)}
            for blame in item.verdict.fix:
                fair, unfair = (fair + 1, unfair) if blame.node in at_fault | idle else (fair, unfair + 1)
    assert clean
    assert faulty
    assert sum(clean) / len(clean) > sum(faulty) / len(faulty) + 15
    assert fair > unfair


def test_both_views_of_the_control_plane_get_the_same_replies(store: Store) -> None:
    """Where nothing was cut, an evolution goes the same way whichever form its requests have."""
    for question in QUESTIONS[:4]:
        compact, naive = (search(store, Inherit, question, control=view).story.rounds for view in ("compact", "naive"))
        assert [(item.change, item.verdict) for item in compact] == [(item.change, item.verdict) for item in naive]

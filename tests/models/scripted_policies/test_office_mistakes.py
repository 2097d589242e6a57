"""The office's mistakes: drawn from a committed table, the same in every round, seen by those who know the trade, and ended by their remedies."""

from __future__ import annotations

from dataclasses import replace

import pytest

from motet.bench.workbench import WorkBench
from motet.inherit import Node, Workflow
from motet.models.scripted import Policy
from motet.models.scripted_policies.mistakes import ALONE, Table, Tendency
from motet.models.scripted_policies.office import trade, with_mistakes
from motet.models.scripted_policies.office.mistakes import faultless, shipped
from motet.store.store import Store
from motet.task import Task
from motet.worlds.workbench.tables import State, table_of
from motet.worlds.workbench.world import WorkBenchWorld
from tests.models.scripted_policies.crew import ROLES, alone, asked, crew, work, writes_of
from tests.models.scripted_policies.test_office import NEVER, TASKS
from tests.worlds.workbench.office import needs_files, small_state

# For each mistake a task that it spoils. Bo has eight events here, two of them on the first of December.
SPOILS = {
    "cut_off": "cancel",
    "no_ids": "cancel",
    "window": "forward",
    "guessed_address": "forward",
    "dropped_condition": "a meeting",
    "day_off": "plot",
    "other_choice": "plot",
    "reworded": "reply",
    "other_end": "rename",
    "first_only": "cancel",
    "one_too_many": "attendees",
    "last_skipped": "cancel",
    "not_done": "plot",
}


def busy_office() -> WorkBenchWorld:
    """The small office of the world's tests, with eight events for Bo."""
    state: State = small_state("2026")
    days = ["21", "22", "23", "24", "27", "28"]
    rows = [
        [f"{number:08d}", "Sync up", "bo.cruz@atlas.com", f"2023-11-{day} 10:00:00", "60"]
        for number, day in enumerate(days)
    ]
    rows += [
        ["00000006", "Breakfast", "bo.cruz@atlas.com", "2023-12-01 09:00:00", "30"],
        ["00000007", "Supper", "bo.cruz@atlas.com", "2023-12-01 17:00:00", "30"],
    ]
    calendar = table_of(["event_id", "event_name", "participant_email", "event_start", "duration"], rows)
    return WorkBenchWorld(start=replace(state, calendar=calendar))


def always(*kinds: str) -> Table:
    """A table in which these mistakes always happen and no others."""
    table = faultless()
    sure = {kind: table.mistakes[kind].model_copy(update={"rate": 1.0, "alone": 1.0}) for kind in kinds}
    return table.model_copy(update={"mistakes": {**table.mistakes, **sure}})


def outcome(store: Store, workflow: Workflow, question: str, policy: Policy) -> tuple[object, list[trade.Fault]]:
    """What was written in the busy office, and the faults that are seen."""
    world = busy_office()
    execution = work(store, workflow, question, world, policy)
    outputs = {id_: (workflow.by_id[id_].role, one.output or "") for id_, one in execution.outcomes.items()}
    return writes_of(world), trade.faults(question, outputs)


def test_every_mistake_of_a_crew_has_a_task_that_it_spoils() -> None:
    """The cases below leave no kind of mistake out, but those of the two roles that look at others' work."""
    assert set(SPOILS) | {"overlooked", "unseen"} == set(shipped().mistakes)


@pytest.mark.parametrize("kind", sorted(SPOILS))
def test_a_mistake_spoils_the_work_is_seen_and_is_mended(kind: str, store: Store, home: object) -> None:
    """Each mistake leads to other writes than the right ones; it is seen in the outputs, at a node of a role that makes it; its remedy in that role's prompt
    gives the right writes again, and not in another role's.
    """
    query, day, _ = TASKS[SPOILS[kind]]
    question = asked(query, day=day)
    policy = with_mistakes(always(kind))
    right, none = outcome(store, crew(question), question, NEVER)
    wrong, seen = outcome(store, crew(question), question, policy)
    assert none == []
    assert wrong != right
    assert {fault.kind for fault in seen} == {kind}
    roles = {crew(question).by_id[fault.node].role for fault in seen}
    (role,) = shipped().mistakes[kind].only
    assert roles == {role}
    assert "prompt" in seen[0].edits
    for told in (role, "worker" if role != "worker" else "executor"):
        prompts = {told: f"Work with care, and {seen[0].remedy}."}
        mended, left = outcome(store, crew(question, prompts=prompts), question, policy)
        assert (mended == right) == (told == role)
        assert (left == []) == (told == role)


@pytest.mark.parametrize("kind", sorted(set(SPOILS) - {"no_ids"}))
def test_one_agent_makes_the_same_mistakes(kind: str, store: Store, home: object) -> None:
    """An agent that does everything by itself makes each mistake too, at a rate of its own."""
    query, day, _ = TASKS[SPOILS[kind]]
    worlds = busy_office(), busy_office()
    for world, policy in zip(worlds, (NEVER, with_mistakes(always(kind))), strict=True):
        alone(store, asked(query, day=day), world, policy)
    assert writes_of(worlds[0]) != writes_of(worlds[1])


def test_a_verifier_mends_a_plan_unless_it_overlooks(store: Store, home: object) -> None:
    """A verifier gives the plan corrected; one that overlooks passes it on, is seen to, and is mended by its remedy."""
    query, day, _ = TASKS["cancel"]
    question = asked(query, day=day)
    verified = crew(question, last="verifier")
    right, _ = outcome(store, crew(question), question, NEVER)
    mended, seen = outcome(store, verified, question, with_mistakes(always("first_only")))
    assert mended == right
    assert [fault.kind for fault in seen] == ["first_only"]
    assert "insert_verifier" in seen[0].edits
    blind = with_mistakes(always("first_only", "overlooked"))
    wrong, seen = outcome(store, verified, question, blind)
    assert wrong != right
    assert {fault.node: fault.kind for fault in seen} == {"check": "overlooked", "plan": "first_only"}
    told = crew(question, last="verifier", prompts={"verifier": shipped().mistakes["overlooked"].remedy})
    assert outcome(store, told, question, blind)[0] == right


def test_a_critic_tells_the_remedy_unless_it_sees_nothing(store: Store, home: object) -> None:
    """A worker that reads a critic of a worker's report looks again and does better; with a critic that sees nothing it makes the same mistake."""
    query, day, _ = TASKS["cancel"]
    question = asked(query, day=day)
    plain = crew(question)
    worker = plain.by_id["calendar"]
    critic = Node(id="doubt", role="critic", subtask="Check it.", prompt="Be strict.", inputs=("calendar",))
    again = worker.model_copy(update={"id": "again", "inputs": ("doubt",)})
    plan = plain.by_id["plan"].model_copy(update={"inputs": ("again",)})
    criticised = Workflow(nodes=(worker, critic, again, plan, plain.by_id["act"]))
    right, _ = outcome(store, plain, question, NEVER)
    assert outcome(store, criticised, question, with_mistakes(always("cut_off")))[0] == right
    assert outcome(store, criticised, question, with_mistakes(always("cut_off", "unseen")))[0] != right


def test_a_critic_reminds_of_the_condition(store: Store, home: object) -> None:
    """A critic of the reports alone reminds whoever writes the plan that the task has a condition."""
    query, day, expected = TASKS["a meeting"]
    question = asked(query, day=day)
    plain = crew(question)
    workers = [node.id for node in plain.nodes if node.role == "worker"]
    critic = Node(id="doubt", role="critic", subtask="Check it.", prompt="Be strict.", inputs=tuple(workers))
    plan = plain.by_id["plan"].model_copy(update={"inputs": (*workers, "doubt")})
    criticised = Workflow(nodes=(*(node for node in plain.nodes if node.id != "plan"), critic, plan))
    policy = with_mistakes(always("dropped_condition"))
    assert outcome(store, plain, question, policy)[0] != expected
    assert outcome(store, criticised, question, policy)[0] == expected


def test_whether_a_mistake_happens_hangs_on_kind_task_and_role_alone() -> None:
    """Draws are the same however often they are made and whatever else is told; they differ between tasks; a remedy never makes a mistake more likely."""
    table = shipped()
    for kind, mistake in table.mistakes.items():
        for role in (*mistake.only, ALONE):
            drawn = [Tendency(table, role, f"task {number}").to(kind) for number in range(2000)]
            other = [Tendency(table, role, f"task {number}", "be quick, be kind").to(kind) for number in range(2000)]
            told = [Tendency(table, role, f"task {number}", f"- {mistake.remedy}.").to(kind) for number in range(2000)]
            rate = mistake.alone if role == ALONE else mistake.rate
            assert drawn == other
            assert abs(sum(drawn) / 2000 - rate) < 0.04
            assert all(before or not after for before, after in zip(drawn, told, strict=True))
            assert sum(told) / 2000 <= mistake.remedied + 0.03


def test_remedies_are_no_words_of_the_roles() -> None:
    """No remedy stands in a role's words or the agent's, nor within another remedy: a team as it comes is not mended."""
    remedies = {kind: mistake.remedy for kind, mistake in shipped().mistakes.items()}
    for kind, remedy in remedies.items():
        assert not any(remedy in other for name, other in remedies.items() if name != kind)
        for role in ROLES.roles:
            node = Node(id="me", role=role, subtask="-", prompt="-")
            assert remedy not in ROLES.instructions(node).lower()


def _one_of_each(bench: WorkBench, number: int) -> list[Task]:
    return [task for task in bench.tasks() if task.id.endswith(str(number))]


def _score(bench: WorkBench, task: Task, world: WorkBenchWorld) -> float:
    scores = world.score({"actions": list(bench.question(task.id).actions), "error": False})
    return scores[0].value


@needs_files
@pytest.mark.parametrize("number", [1, 6])
def test_without_mistakes_most_of_the_benchmark_is_solved(number: int, store: Store, home: object) -> None:
    """Of a task of each of the 13 templates, a crew and one agent each solve at least 85 % (upstream deletes customers that it asks to be moved, which we do not)."""
    bench = WorkBench(subset="paper130")
    tasks = _one_of_each(bench, number)
    assert len(tasks) == 13
    crews, agents = 0.0, 0.0
    for task in tasks:
        world = WorkBenchWorld(dialect="2026")
        work(store, crew(task.question), task.question, world, NEVER)
        crews += _score(bench, task, world)
        world = WorkBenchWorld(dialect="2026")
        alone(store, task.question, world, NEVER)
        agents += _score(bench, task, world)
    assert crews >= 0.85 * 13
    assert agents >= 0.85 * 13


@needs_files
def test_the_committed_mistakes_leave_something_to_mend(store: Store, home: object) -> None:
    """On a task of each template a crew with the committed mistakes is right less often than one whose prompts hold every remedy."""
    bench = WorkBench(subset="paper130")
    remedies = " ".join(mistake.remedy for mistake in shipped().mistakes.values())
    prompts = dict.fromkeys(ROLES.roles, remedies)
    plain, told = 0.0, 0.0
    for task in _one_of_each(bench, 4):
        for mended in (False, True):
            world = WorkBenchWorld(dialect="2026")
            workflow = crew(task.question, prompts=prompts if mended else None)
            work(store, workflow, task.question, world, with_mistakes(shipped()))
            score = _score(bench, task, world)
            plain, told = (plain, told + score) if mended else (plain + score, told)
    assert 0 < plain < told

"""The engine: everything is done once, in any order of events, and only what may be reused is."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from motet.errors import BudgetExceeded, InputError, ModelRefusal
from motet.inherit import Node, Workflow, apply, check, diff, enumerate_edits
from motet.inherit.engine import Worker, react_worker
from motet.inherit.execution import Execution
from motet.inherit.records import Records
from motet.models.model import Reply, Request, Sampling, ToolCall
from motet.runs.budget import Budget
from motet.runs.run import Run
from motet.store.final import canonical_export
from motet.store.queries import totals
from motet.store.schema import blobs, records
from motet.store.store import Store
from motet.system import System
from motet.task import Result, Task
from motet.tools.function import FunctionTool
from motet.tools.tool import Observation
from motet.worlds.world import LiveWorld
from tests.inherit.graphs import GENERAL, READS, TOOLS, completed, node, workflows
from tests.inherit.team import Team, changed, ran, speaker, thinkers, told
from tests.runs.desk import Does, done, go, new_run, rows, work_once

FLOW = thinkers()
EVERYBODY = {"mail", "dates", "doubt", "plan"}


class Shelf:
    """A world of one number, which ``search`` and ``look_up`` read, ``send`` raises and ``delete`` clears."""

    name = "shelf"
    version = "1"
    forkable = True

    def __init__(self, number: int = 0) -> None:
        self.number = number
        self.failing = False

    def tools(self) -> tuple[FunctionTool, ...]:
        """Four of them."""

        def search() -> Observation:
            """Read."""
            return Observation(text=f"number {self.number}", error=self.failing)

        def send() -> str:
            """Raise it."""
            self.number += 1
            return "sent"

        def delete() -> str:
            """Clear it."""
            self.number = 0
            return "cleared"

        reads = [FunctionTool(search, name=name, version="1") for name in READS]
        writes = [FunctionTool(tool, effect="write", delivery="local", version="1") for tool in (send, delete)]
        return (*reads, *writes)

    def fingerprint(self) -> str:
        """The number."""
        return str(self.number)

    def fork(self) -> Shelf:
        """Another shelf."""
        return Shelf(self.number)

    def score(self, expected: Any) -> tuple[()]:
        """Nobody asks."""
        return ()


def uses_tools(id_: str, request: Request) -> str | Reply:
    """Calls its first tool once, then answers with all that it was told."""
    if request.tools and request.messages[-1].role != "tool":
        call = ToolCall(id="c", name=request.tools[0].name, arguments="{}")
        return Reply(tool_calls=(call,), finish="tool_calls")
    return told(id_, request)


def office() -> Workflow:
    """A worker that searches, a worker without tools, an integrator, and the executor."""
    return Workflow(
        nodes=(
            node("mail", tools=("search",)),
            node("dates"),
            node("plan", "integrator", "mail", "dates"),
            node("act", "executor", "plan", tools=("send",)),
        )
    )


# Paying once


def test_what_was_done_once_costs_nothing_the_second_time(store: Store) -> None:
    """Another run of the same task has the same outputs, asks no model, and shows the cost as inherited."""
    team = Team(store, "second")
    first = team.execute(FLOW)
    assert (set(team.asked), ran(first)) == (EVERYBODY, EVERYBODY)
    assert (team.result.usage.tokens, team.result.inherited.tokens) == (60, 0)
    second = team.execute(FLOW)
    assert (team.asked, ran(second)) == ([], set())
    assert second.output == first.output
    assert (team.result.usage.tokens, team.result.inherited.tokens) == (0, 60)
    assert {row.key: (row.origin, row.totals.tokens) for row in totals(store, team.run_id, by="role")} == {
        "worker": ("inherited", 30),
        "critic": ("inherited", 15),
        "integrator": ("inherited", 15),
    }
    assert {name for name, _ in team.events("inherit.reused")} == EVERYBODY
    assert [outcome.run_id for outcome in second.outcomes.values()] == [o.run_id for o in first.outcomes.values()]


@pytest.mark.parametrize("edited", sorted(EVERYBODY))
def test_an_edit_runs_what_is_downstream_of_it_and_nothing_else(store: Store, edited: str) -> None:
    """With the last candidate or with the store alone, and each node says what changed."""
    team = Team(store, f"edit {edited}")
    first = team.execute(FLOW)
    team.model.requests.clear()
    after = changed(FLOW, edited, prompt=f"Be {edited}. Be quick.")
    below = after.closure([edited])
    second = team.execute(after, parent=first)
    assert set(team.asked) == ran(second) == set(second.affected) == below
    assert second.outcomes[edited].changed == (f'node.prompt: "Be {edited}." → "Be {edited}. Be quick."',)
    assert all("upstream" in second.outcomes[id_].changed[0] for id_ in below - {edited})
    assert team.events("inherit.surprise") == []
    third = team.execute(changed(FLOW, edited, prompt=f"Be {edited}. Be slow."))
    assert set(team.asked) == ran(third) == below


def test_a_change_that_comes_to_nothing_stops_there(store: Store) -> None:
    """Where an edited node gives the same as before, what is downstream of it is reused, though it was in the affected region."""
    team = Team(store, "stops", lambda id_, _request: f"{id_} as ever")
    first = team.execute(FLOW)
    team.model.requests.clear()
    second = team.execute(changed(FLOW, "mail", prompt="Be mail. Be quick."), parent=first)
    assert set(second.affected) == {"mail", "doubt", "plan"}
    assert team.asked == ["mail"]
    assert ran(second) == {"mail"}


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(workflows(text=st.just("?")), st.data())
def test_any_edit_of_any_workflow_holds_no_surprise(store: Store, workflow: Workflow, data: st.DataObject) -> None:
    """The outputs are those of doing everything, every key outside the affected region is that of the last candidate, and what was equal is not done again."""

    def say(_id: str, request: Request) -> str:
        return f"told {request.digest[:10]}"

    edit = data.draw(completed(enumerate_edits(workflow, GENERAL, TOOLS)))
    after = apply(workflow, edit) if not check(workflow, edit, GENERAL, TOOLS) else workflow
    name = f"any {workflow.hash} {after.hash}"
    team = Team(store, name, say)
    first = team.execute(workflow, world=Shelf())
    second = team.execute(after, parent=first, world=Shelf())
    assert team.events("inherit.surprise") == []
    assert not ran(second) - set(second.affected)
    alone = Team(store, f"alone {name}", say).execute(after, world=Shelf())
    outputs = [{id_: o.output for id_, o in each.outcomes.items()} for each in (second, alone)]
    assert outputs[0] == outputs[1]


def test_equal_nodes_cost_one_call_where_their_replies_are_equal(store: Store) -> None:
    """At temperature 0 twins are joined; above it, or where none is given, each is asked, and each is inherited as itself."""
    twins = [node(id_).model_copy(update={"prompt": "Be twin.", "subtask": "Do it."}) for id_ in ("ann", "bo")]
    flow = Workflow(nodes=(*twins, node("plan", "integrator", "ann", "bo")))
    for temperature, calls in ((0, 1), (0.7, 2), (None, 2)):
        team = Team(store, f"twins {temperature}", sampling=Sampling(temperature=temperature))
        first = team.execute(flow)
        assert team.asked.count("twin") == calls
        assert (first.outcomes["ann"].key == first.outcomes["bo"].key) == (calls == 1)
        team.execute(flow)
        assert team.asked == []
        # The twin that is left keeps its number, so it is outside of what the edit reached.
        alone = Workflow(nodes=(twins[1], node("plan", "integrator", "bo")))
        third = team.execute(alone, parent=first)
        assert ran(third) == {"plan"}
        assert team.events("inherit.surprise") == []


def test_a_refreshed_node_is_done_live_and_counts_from_then_on(store: Store) -> None:
    """Its result takes the place of the record; what is downstream runs only if the result is another."""
    number = iter(range(100))
    team = Team(store, "refresh", lambda id_, request: f"mail {next(number)}" if id_ == "mail" else told(id_, request))
    first = team.execute(FLOW)
    team.model.requests.clear()
    second = team.execute(FLOW, parent=first, refresh=["mail"])
    assert team.asked == ["mail", "doubt", "plan"]
    assert second.outcomes["mail"].why == "a fresh result was asked for"
    assert team.execute(FLOW).output == second.output
    assert team.asked == []
    with pytest.raises(InputError, match="did you mean 'mail'"):
        team.execute(FLOW, refresh=["mial"])


def test_a_key_that_differs_where_nothing_was_edited_is_told_and_the_node_runs(store: Store) -> None:
    """Another model between two candidates is such a case, and the event names it."""
    first = Team(store, "surprise").execute(FLOW)
    team = Team(store, "surprise", name="other")
    second = team.execute(FLOW, parent=first)
    assert ran(second) == EVERYBODY
    surprises = dict(team.events("inherit.surprise"))
    assert set(surprises) == EVERYBODY
    assert 'models.1.identity: "says" → "other"' in surprises["mail"]["changed"]


# What is never reused


def test_a_failing_node_leaves_its_siblings_alone(store: Store) -> None:
    """It is told as failed, what reads it is skipped with the reason, and nothing of the failure is handed on or stored."""
    faults = [ModelRefusal("the model declined")]

    def say(id_: str, request: Request) -> str | Exception:
        return faults[0] if id_ == "mail" and faults else told(id_, request)

    team = Team(store, "failing", say)
    first = team.execute(FLOW)
    assert {id_: outcome.status for id_, outcome in first.outcomes.items()} == {
        "dates": "completed",
        "mail": "failed",
        "doubt": "skipped",
        "plan": "skipped",
    }
    assert [outcome.node for outcome in first.errors] == ["mail"]
    assert first.output is None
    assert first.outcomes["doubt"].why == "it reads 'mail', which failed: the model declined"
    assert set(team.asked) == {"mail", "dates"}
    faults.clear()
    second = team.execute(FLOW, parent=first)
    assert set(team.asked) == ran(second) == {"mail", "doubt", "plan"}
    assert second.outcomes["mail"].why == "its last result cannot be used again: it failed: the model declined"


@pytest.mark.parametrize("said", ["", "  \n"])
def test_an_empty_answer_is_a_failure(store: Store, said: str) -> None:
    """It is no answer, whoever would read it."""
    team = Team(store, f"empty {said!r}", lambda id_, request: said if id_ == "mail" else told(id_, request))
    assert team.execute(FLOW).outcomes["mail"].status == "failed"


def test_a_result_after_a_failed_tool_is_used_but_never_again(store: Store) -> None:
    """The cause may be fixed by then; the node runs again, and from then on it is inherited."""
    team, shelf = Team(store, "tool", uses_tools), Shelf()
    flow = Workflow(nodes=(node("mail", tools=("search",)), node("plan", "integrator", "mail")))
    shelf.failing = True
    first = team.execute(flow, world=shelf)
    assert first.outcomes["mail"].status == "completed"
    assert [(use.tool, use.text, use.error) for use in first.outcomes["mail"].trace] == [("search", "number 0", True)]
    shelf.failing = False
    second = team.execute(flow, world=shelf, parent=first)
    assert "mail" in ran(second)
    third = team.execute(flow, world=shelf)
    assert ran(third) == set()
    assert [(use.text, use.error) for use in third.outcomes["mail"].trace] == [("number 0", False)]


def test_the_executor_always_works_and_alone_may_write(store: Store) -> None:
    """All others are inherited, and a world that it changed is another world."""
    team, shelf = Team(store, "executor", uses_tools), Shelf()
    first = team.execute(office(), world=shelf)
    assert shelf.number == 1
    assert not first.outcomes["act"].read_only
    team.model.requests.clear()
    second = team.execute(office(), world=Shelf(), parent=first)
    assert ran(second) == {"act"}
    assert set(team.asked) == {"act"}
    third = team.execute(office(), world=shelf, parent=first)
    assert ran(third) == {"mail", "dates", "plan", "act"}
    assert third.outcomes["dates"].changed == (
        f"environment: {_quoted(first.environment)} → {_quoted(third.environment)}",
    )


def _quoted(text: str | None) -> str:
    whole = f'"{text}"'
    return whole if len(whole) <= 60 else f"{whole[:59]}…"


def test_a_node_has_its_own_tools_and_no_others(store: Store) -> None:
    """In their order, whatever the world offers."""
    team = Team(store, "own tools")
    flow = Workflow(
        nodes=(node("mail", tools=("look_up", "search")), node("dates"), node("plan", "integrator", "mail", "dates"))
    )
    team.execute(flow, world=Shelf())
    shown = {speaker(request): [tool.name for tool in request.tools] for request in team.model.requests}
    assert shown == {"mail": ["look_up", "search"], "dates": [], "plan": []}


def test_a_tool_that_there_is_not_is_bad_input(store: Store) -> None:
    """Even where the workflow was not validated: the error names it and the nearest one."""
    flow = Workflow(nodes=(node("mail", tools=("serch",)), node("plan", "integrator", "mail")))
    with pytest.raises(InputError, match="'serch', which there is not; did you mean 'search'"):
        Team(store, "no tool").execute(flow, world=Shelf())


def test_what_cannot_be_known_is_inherited_within_the_run_only(store: Store) -> None:
    """In a live world another run does the work again."""
    team, world = Team(store, "live"), LiveWorld(Shelf().tools())
    team.execute(FLOW, world=world)
    assert ran(team.execute(FLOW, world=world)) == EVERYBODY


def test_a_system_that_does_not_say_how_it_is_configured_is_never_inherited(store: Store) -> None:
    """A node may be any system; without a configuration there is no key."""

    async def shout(task: Task, run: Run) -> Result:
        return done("LOUD")

    team = Team(store, "any system")

    def worker(node_: Node, instructions: str) -> System:
        return Does(shout) if node_.id == "mail" else react_worker(team.config)(node_, instructions)

    team.execute(FLOW, worker=worker)
    second = team.execute(FLOW, worker=worker)
    assert ran(second) == {"mail"}
    assert second.outcomes["mail"].output == "LOUD"


@pytest.mark.parametrize("damage", ["garbage", "gone"])
def test_a_damaged_record_is_told_and_runs_again(store: Store, damage: str) -> None:
    """The run says what is wrong with it, and mends it."""
    team = Team(store, f"damaged {damage}")
    first = team.execute(FLOW)
    team.model.requests.clear()

    def spoil(connection: sa.Connection) -> None:
        row = sa.select(records.c.body).where(
            records.c.namespace == team.records.namespace, records.c.key == first.outcomes["mail"].key
        )
        name = connection.execute(row).scalar_one()
        spoilt = blobs.c.hash == name
        connection.execute(
            blobs.delete().where(spoilt) if damage == "gone" else blobs.update().where(spoilt).values(data=b"x")
        )

    store.write_now(then=spoil)
    second = team.execute(FLOW)
    assert team.asked == ["mail"]
    assert second.output == first.output
    assert second.outcomes["mail"].why.startswith("its record cannot be used: blob")
    assert [name for name, _ in team.events("inherit.damaged")] == ["mail"]
    assert ran(team.execute(FLOW)) == set()


# Budgets


def test_a_nodes_budget_is_its_own(store: Store) -> None:
    """A node that has used it up fails by itself."""

    def busy(id_: str, request: Request) -> str | Reply:
        if id_ == "mail":
            call = ToolCall(id="c", name="search", arguments="{}")
            return Reply(tool_calls=(call,), finish="tool_calls")
        return told(id_, request)

    team = Team(store, "node budget", busy)
    flow = Workflow(nodes=(node("mail", tools=("search",)), node("dates"), node("plan", "integrator", "mail", "dates")))
    found = team.execute(flow, world=Shelf(), budget=Budget(calls=2))
    assert {id_: outcome.status for id_, outcome in found.outcomes.items()} == {
        "dates": "completed",
        "mail": "failed",
        "plan": "skipped",
    }
    failure = found.outcomes["mail"].failure
    assert failure is not None
    assert failure.kind == "BudgetExceeded"


def test_the_runs_budget_ends_the_run(store: Store) -> None:
    """What the run may spend is no node's failure."""
    team = Team(store, "run budget")
    into: list[Execution] = []

    async def main() -> Result:
        run_id = await new_run(store)
        async with asyncio.timeout(60):
            return await work_once(store, run_id, team.work(FLOW, into), budget=Budget(calls=2))

    assert go(main()).status == "budget"
    assert into == []


# Going on


@pytest.mark.parametrize("stop", range(1, 7))
@pytest.mark.parametrize("again", [False, True], ids=["new", "edited"])
def test_an_execution_broken_off_at_any_call_goes_on_where_it_was(store: Store, stop: int, again: bool) -> None:
    """It ends as an uninterrupted one: the same outcomes and the same final state, and no call is paid twice, whatever the store holds by then."""
    sitting: list[asyncio.Task[Result]] = []

    def policy(id_: str, request: Request) -> Any:
        if sitting and len(team.model.requests) == stop:
            return _break_off(sitting.pop())
        return uses_tools(id_, request)

    flow = changed(office(), "dates", prompt="Be dates. Be quick.") if again else office()
    finals, executions, counts = [], [], []
    for interrupt in (False, True):
        team = Team(store, f"broken {stop} {again} {interrupt}", policy)
        parent = team.execute(office(), world=Shelf()) if again else None
        team.model.requests.clear()

        async def main(
            team: Team = team, parent: Execution | None = parent, interrupt: bool = interrupt
        ) -> tuple[str, Execution]:
            into: list[Execution] = []
            run_id = await new_run(store)
            if interrupt:
                work = team.work(flow, into, world=Shelf(), parent=parent)
                sitting.append(asyncio.create_task(work_once(store, run_id, work)))
                with contextlib.suppress(asyncio.CancelledError):
                    await sitting[0]
                sitting.clear()
            if not into:
                await work_once(store, run_id, team.work(flow, into, world=Shelf(), parent=parent))
            return run_id, into[-1]

        run_id, execution = go(main())
        counts.append(len(team.model.requests))
        paid = [row.digest for row in rows(store, run_id) if row.kind == "model" and row.state == "done"]
        assert len(paid) == len(set(paid))
        if counts[0] >= stop:
            finals.append(canonical_export(store, run_id))
            executions.append(execution)
    if finals:
        assert counts[0] < counts[1] <= counts[0] + 2, "at most the calls in flight are lost"
        assert finals[0] == _same_parent(finals[1], executions[1], executions[0])
        outcomes = [[_bare(outcome.model_dump()) for outcome in each.outcomes.values()] for each in executions]
        assert outcomes[0] == outcomes[1]


async def _break_off(sitting: asyncio.Task[Result]) -> str:
    """Stop the whole sitting, as Ctrl-C does, while this call is in flight."""
    sitting.cancel()
    await asyncio.Event().wait()
    return ""


def _bare(outcome: dict[str, Any]) -> dict[str, Any]:
    """Without who computed it, and what a broken call may have cost."""
    return {name: value for name, value in outcome.items() if name not in ("run_id", "usage")}


def _same_parent(final: Any, ours: Execution, theirs: Execution) -> Any:
    """``final`` with the runs that computed what it inherits named as in the other."""
    text = json.dumps(final)
    for id_, outcome in ours.outcomes.items():
        if outcome.how == "reused":
            text = text.replace(outcome.run_id, theirs.outcomes[id_].run_id)
    return json.loads(text)


def test_what_was_decided_stays_decided(store: Store) -> None:
    """A node that ran is replayed on resume, though the store has its record by then: nothing of its own is called inherited."""
    sitting: list[asyncio.Task[Result]] = []

    def say(id_: str, request: Request) -> Any:
        return _break_off(sitting.pop()) if id_ == "plan" and sitting else told(id_, request)

    team = Team(store, "decided", say)
    into: list[Execution] = []

    async def main() -> Result:
        run_id = await new_run(store)
        sitting.append(asyncio.create_task(work_once(store, run_id, team.work(FLOW, into))))
        with contextlib.suppress(asyncio.CancelledError):
            await sitting[0]
        return await work_once(store, run_id, team.work(FLOW, into))

    result = go(main())
    assert ran(into[0]) == EVERYBODY
    assert (result.usage.calls, result.inherited.calls) == (1, 0)
    assert team.asked.count("plan") == 2


# Side by side


def test_nodes_that_do_not_read_each_other_work_at_the_same_time(store: Store) -> None:
    """Each of two waits for the other to have begun."""
    begun = {"mail": asyncio.Event(), "dates": asyncio.Event()}

    async def meet(id_: str, request: Request) -> str:
        begun[id_].set()
        await begun["dates" if id_ == "mail" else "mail"].wait()
        return told(id_, request)

    def say(id_: str, request: Request) -> Any:
        return meet(id_, request) if id_ in begun else told(id_, request)

    assert Team(store, "meet", say).execute(FLOW).output is not None


def test_a_bug_in_a_node_ends_the_execution(store: Store) -> None:
    """It is no failure of the node's, and the others are not waited for."""

    async def never(_id: str, _request: Request) -> str:
        await asyncio.Event().wait()
        return ""

    async def bug(_task: Task, _run: Run) -> Result:
        raise ZeroDivisionError

    team = Team(store, "bug", never)

    def worker(node_: Node, instructions: str) -> System:
        return Does(bug) if node_.id == "mail" else react_worker(team.config)(node_, instructions)

    with pytest.raises(ZeroDivisionError):
        team.execute(FLOW, worker=worker)


def test_edits_touch_what_the_engine_takes_for_edited(store: Store) -> None:
    """The affected region is the closure of what differs."""
    team = Team(store, "closure")
    first = team.execute(FLOW)
    kept = (n for n in FLOW.nodes if n.id not in ("doubt", "plan"))
    after = Workflow(nodes=(*kept, node("plan", "integrator", "dates", "mail")))
    second = team.execute(after, parent=first)
    assert set(second.affected) == after.closure(diff(FLOW, after).touched) == {"plan"}


# Foreign nodes and other processes


def _with_mail(work: Callable[[Task, Run], Awaitable[Any]], team: Team) -> Worker:
    """``mail`` does ``work``, and the others are agents."""

    def worker(node_: Node, instructions: str) -> System:
        return Does(work) if node_.id == "mail" else react_worker(team.config)(node_, instructions)

    return worker


def test_a_node_whose_parts_fail_side_by_side_fails_as_one_of_them(store: Store) -> None:
    """A task group's exception is no bug where all in it are failures of models; a bug among them is one."""
    faults: list[Exception] = [ModelRefusal("the model declined")]

    async def both(_task: Task, _run: Run) -> Result:
        raise ExceptionGroup("two", [ModelRefusal("declined"), ExceptionGroup("more", [*faults])])

    team = Team(store, "parts")
    found = team.execute(FLOW, worker=_with_mail(both, team))
    assert found.outcomes["mail"].ended.startswith("failed: ")
    assert found.outcomes["dates"].status == "completed"
    faults[:] = [ZeroDivisionError()]
    with pytest.raises(ZeroDivisionError):
        team.execute(FLOW, worker=_with_mail(both, team))


def test_a_node_that_lets_a_cancellation_out_is_a_bug_and_not_the_end(store: Store) -> None:
    """Nobody had asked for it: it is told with the node's scope, and nothing hangs."""

    async def lost(_task: Task, _run: Run) -> Result:
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        future.cancel()
        return await future

    team = Team(store, "lost")
    with pytest.raises(RuntimeError, match="candidate/mail, system does let a cancellation out"):
        team.execute(FLOW, worker=_with_mail(lost, team))


@pytest.mark.parametrize("given", [None, "text"])
def test_a_node_that_gives_no_result_is_told_so(store: Store, given: str | None) -> None:
    """With its scope, its system and what it gave."""

    async def nothing(_task: Task, _run: Run) -> Any:
        return given

    team = Team(store, f"nothing {given}")
    with pytest.raises(
        TypeError, match=f"mail, system does: solve must return a Result, and gave {type(given).__name__}"
    ):
        team.execute(FLOW, worker=_with_mail(nothing, team))


def test_a_bug_outweighs_what_ends_the_run(store: Store) -> None:
    """A bug in what a node does when it is stopped is raised, though it comes second: a budget would hide it."""

    async def bug(_task: Task, _run: Run) -> Result:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ZeroDivisionError from None
        return done("never")

    team = Team(store, "both", lambda _id, _request: BudgetExceeded("used up", limit="calls"))
    with pytest.raises(ZeroDivisionError):
        team.execute(FLOW, worker=_with_mail(bug, team))


def test_outputs_of_megabytes_are_inherited_whole(store: Store) -> None:
    """They are read, recorded and reused as any others, and events stay small."""
    team = Team(
        store, "large", lambda id_, request: f"{id_} {'é☃ ' * 1_000_000}" if id_ == "mail" else told(id_, request)
    )
    first = team.execute(FLOW)
    assert len(first.outcomes["mail"].output or "") > 2_000_000
    second = team.execute(FLOW)
    assert ran(second) == set()
    assert second.outcomes["mail"].output == first.outcomes["mail"].output
    assert all(len(json.dumps(payload)) < 10_000 for _, payload in team.events("inherit.reused"))


def test_two_processes_may_work_on_one_key_at_once(store: Store) -> None:
    """Each does the work that it began, neither spoils the other's record, and whoever comes later inherits."""
    met: dict[str, list[str]] = {}

    def say(id_: str, request: Request) -> str:
        met.setdefault(id_, []).append(id_)
        return told(id_, request)

    with Store.open(store.url.render_as_string()) as other:
        teams = [Team(opened, "shared", say) for opened in (store, other)]

        async def both() -> list[Execution]:
            into: list[list[Execution]] = [[], []]
            runs = [await new_run(team.store) for team in teams]
            work = [
                work_once(team.store, run, team.work(FLOW, found))
                for team, run, found in zip(teams, runs, into, strict=True)
            ]
            await asyncio.gather(*work)
            return [found[0] for found in into]

        executions = go(both())
    assert executions[0].output == executions[1].output
    assert ran(teams[0].execute(FLOW)) == set()


def test_what_was_recorded_is_there_when_the_execution_ends(store: Store) -> None:
    """Records ride on other commits, and the last of them is waited for."""
    team = Team(store, "ends")
    execution: list[Execution] = []
    found: list[bool] = []

    async def solve(task: Task, run: Run) -> Result:
        result = await team.work(FLOW, execution)(task, run)
        with Store.open(store.url.render_as_string()) as other:
            records_ = Records(other, team.records.namespace)
            keys = [outcome.key for outcome in execution[0].outcomes.values()]
            found.extend([(await records_.get(key or "")).record is not None for key in keys])
        return result

    async def main() -> None:
        await work_once(store, await new_run(store), solve)

    go(main())
    assert found == [True] * len(FLOW.nodes)

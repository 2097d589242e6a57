"""A run's scope: what a system asks through it, and what comes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from motet.errors import InputError, LeaseLost, MotetError, StoreError, ToolError
from motet.models.model import Model
from motet.runs.budget import Budget, Charge
from motet.runs.events import Event
from motet.runs.run import Run
from motet.store.store import Store
from motet.task import Result, Source, Task
from motet.tools.tool import Delivery, Effect, Observation, Tool
from motet.worlds import LiveWorld, Shared
from tests.runs.desk import TASK, Does, Says, Work, ask, done, echo, go, interrupted, new_run, rows, sit, work_once


class Gives:
    """A tool that gives, or raises, what it is made with."""

    description = "gives"
    parameters: dict[str, JsonValue] = {"type": "object", "properties": {}}  # noqa: RUF012 - a Tool's parameters are plain data
    version = "1"

    def __init__(
        self, *given: object, name: str = "gives", effect: Effect = "read", delivery: Delivery = "plain"
    ) -> None:
        self.name = name
        self.effect: Effect = effect
        self.delivery: Delivery = delivery
        self.given = list(given)
        self.keys: list[str] = []
        self.asked: list[str] = []

    async def __call__(self, arguments: Mapping[str, JsonValue], *, key: str) -> Observation:
        """The next of what is given."""
        self.keys.append(key)
        given = self.given.pop(0)
        if isinstance(given, BaseException):
            raise given
        return given  # type: ignore[return-value]

    async def confirm(self, key: str) -> Observation | None:
        """It happened if it was called."""
        self.asked.append(key)
        return Observation(text="confirmed") if key in self.keys else None


def one(work: Work, store: Store, **options: Any) -> Result:
    """One sitting on a new run."""

    async def main() -> Result:
        return await work_once(store, await new_run(store), work, **options)

    return go(main())


# Scopes


def test_a_scope_s_name_is_its_path_and_is_taken_once(store: Store) -> None:
    """A second child of one name would be answered with the first one's journal: a bug of the system, said at once."""

    async def work(_task: Task, run: Run) -> Result:
        inner = run.child("peer-1").child("round:2")
        assert inner.scope == "task/peer-1/round:2"
        with pytest.raises(AssertionError, match="scope 'task/peer-1' is already open"):
            run.child("peer-1")
        for wrong in ("", "a/b", "a b", "ü", "x" * 201, "a\n"):
            with pytest.raises(AssertionError, match="a scope's name"):
                run.child(wrong)
        return done("x")

    assert one(work, store).status == "completed"


def test_a_scope_that_may_only_read_neither_offers_nor_makes_writes(store: Store) -> None:
    """Nor does any below it, whoever asks; the refusal is an observation that says why."""
    write, read = (
        Gives(Observation(text="written"), name="w", effect="write"),
        Gives(Observation(text="read"), name="r"),
    )

    async def work(_task: Task, run: Run) -> Result:
        inner = run.child("jail", read_only=True).child("deeper")
        assert [tool.name for tool in inner.tools([write, read])] == ["r"]
        refused = await inner.tool(write, {})
        assert refused.error
        assert "w was not called: it writes" in refused.text
        assert (await inner.tool(read, {})).text == "read"
        assert (await run.tool(write, {})).text == "written"
        return done("x")

    assert one(work, store).status == "completed"
    assert len(write.keys) == 1


def test_a_child_may_have_a_best_answer_of_its_own(store: Store) -> None:
    """Peers that each answer do not overwrite their parent's best; a plain child speaks for its parent."""

    async def work(_task: Task, run: Run) -> Result:
        run.child("helper").keep("helped", sources=[Source(ref="s")])
        peer = run.child("peer").separate_answers()
        peer.keep("peer's own")
        assert (run.best.answer, peer.best.answer) == ("helped", "peer's own")
        return Result(status="completed")

    result = one(work, store)
    assert (result.answer, result.sources) == ("helped", (Source(ref="s"),))


def test_a_scope_knows_what_it_was_charged(store: Store) -> None:
    """With a budget, over all sittings and with all below it."""
    seen: list[Charge] = []

    async def work(_task: Task, run: Run) -> Result:
        scope = run.child("peer", budget=Budget(tokens=10_000))
        await scope.child("inner").model(Says(echo), role="r").reply(ask("one"))
        seen.append(scope.spent())
        if len(seen) == 1:
            raise asyncio.CancelledError
        return done("x")

    async def main() -> None:
        run_id = await new_run(store)
        await interrupted(store, run_id, work)
        await work_once(store, run_id, work)

    go(main())
    assert seen == [Charge(tokens=15, calls=1)] * 2


def test_models_and_tools_by_unknown_name_are_bad_input(store: Store) -> None:
    """As anywhere."""

    async def work(_task: Task, run: Run) -> Result:
        with pytest.raises(InputError, match="unknown model 'nobody'"):
            run.model("nobody", role="r")
        with pytest.raises(InputError, match="unknown tool 'nothing'"):
            run.tools(["nothing"])
        assert isinstance(run.model(Says(echo), role="r"), Model)
        return done("x")

    assert one(work, store).status == "completed"


# Tools


@pytest.mark.parametrize(
    ("given_back", "text"),
    [
        (ToolError("the file is gone"), "the file is gone"),
        (KeyError("k"), "gives failed: KeyError: 'k'"),
        (ValueError("a\ud800\x00b"), "gives failed: ValueError: a?b"),
        (RuntimeError("x" * 9999), "gives failed: RuntimeError: xxx"),
        ("text", "gives failed: it gave a str, not an Observation"),
        (None, "gives failed: it gave a NoneType, not an Observation"),
    ],
)
def test_whatever_a_tool_does_wrong_is_an_observation(store: Store, given_back: object, text: str) -> None:
    """Marked as an error, kept in the journal, and replayed like any other."""
    seen: list[Observation] = []

    async def work(_task: Task, run: Run) -> Result:
        seen.append(await run.tool(Gives(given_back), {}))
        if len(seen) == 1:
            raise asyncio.CancelledError
        return done("x")

    async def main() -> None:
        run_id = await new_run(store)
        await interrupted(store, run_id, work)
        await work_once(store, run_id, work)

    go(main())
    assert seen[0] == seen[1]
    assert seen[0].error
    assert seen[0].text.startswith(text)
    assert len(seen[0].text) <= 2000


@pytest.mark.parametrize("error", [InputError("wrong"), StoreError("disk full"), LeaseLost("taken over")])
def test_the_run_s_own_rules_pass_through_a_tool(store: Store, error: MotetError) -> None:
    """A tool that works with runs itself cannot hide that its own is over."""

    async def work(_task: Task, run: Run) -> Result:
        with pytest.raises(type(error)):
            await run.tool(Gives(error), {})
        return done("x")

    assert one(work, store).status == "completed"


def test_a_call_s_key_is_the_same_in_every_sitting_and_another_for_every_call(store: Store) -> None:
    """So that a service recognises a write that was sent before, and never takes one for another."""
    tools: list[Gives] = []

    async def work(_task: Task, run: Run) -> Result:
        tool = Gives(Observation(text="1"), asyncio.CancelledError(), effect="write", delivery="keyed")
        if tools:
            tool.given = [Observation(text="2"), Observation(text="3")]
        tools.append(tool)
        await run.tool(tool, {"text": "same"})
        await run.tool(tool, {"text": "same"})
        await run.child("other").tool(tool, {"text": "same"})
        return done("x")

    async def main() -> None:
        run_id = await new_run(store)
        await interrupted(store, run_id, work)
        await work_once(store, run_id, work)

    go(main())
    first, second = tools
    assert len(set(first.keys)) == 2
    assert second.keys[0] == first.keys[1]  # sent again under the key it had
    assert len({*first.keys, *second.keys}) == 3


@pytest.mark.parametrize("happened", [True, False])
def test_a_confirmable_write_in_doubt_is_asked_after(store: Store, happened: bool) -> None:
    """If it happened its answer is taken as the tool tells it now; if not, it is sent again."""
    first = Gives(asyncio.CancelledError(), effect="write", delivery="confirmable")
    second = Gives(Observation(text="sent again"), effect="write", delivery="confirmable")

    def post(tool: Gives) -> Work:
        async def work(_task: Task, run: Run) -> Result:
            return done((await run.tool(tool, {})).text)

        return work

    async def main() -> Result:
        run_id = await new_run(store)
        await interrupted(store, run_id, post(first))
        if happened:
            second.keys += first.keys
        result = await work_once(store, run_id, post(second))
        assert [(row.kind, row.state, row.superseded) for row in rows(store, run_id)] == [("write", "done", False)]
        return result

    assert go(main()).answer == ("confirmed" if happened else "sent again")
    assert second.asked == first.keys


def test_a_write_is_in_the_journal_before_it_is_sent_and_done_after(store: Store) -> None:
    """At the moment in which the tool is called, its row says ``sent``."""
    states: list[list[str]] = []

    class Looks(Gives):
        async def __call__(self, arguments: Mapping[str, JsonValue], *, key: str) -> Observation:
            states.append([row.state for row in rows(store, run_ids[0])])
            return Observation(text="ok")

    run_ids: list[str] = []

    async def work(_task: Task, run: Run) -> Result:
        run_ids.append(run.id)
        await run.tool(Looks(effect="write"), {})
        states.append([row.state for row in rows(store, run.id)])
        return done("x")

    one(work, store)
    assert states == [["sent"], ["done"]]


def test_tools_are_told_as_they_are_called_and_as_they_reply(store: Store) -> None:
    """To watchers at once, with what was asked and the start of what came back."""
    heard: list[Event] = []

    async def work(_task: Task, run: Run) -> Result:
        await run.tool(Gives(Observation(text="y" * 1000)), {"a": 1})
        return done("x")

    one(work, store, watchers=[heard.append])
    called, replied = (event for event in heard if event.kind.startswith("tool."))
    assert called.payload == {"tool": "gives", "arguments": {"a": 1}}
    assert (replied.payload["characters"], replied.payload["text"]) == (1000, "y" * 300)


# Replaying in general

steps = st.lists(
    st.tuples(st.sampled_from(["model", "tool", "write", "input", "child"]), st.integers(0, 3)), min_size=1, max_size=12
)


@given(steps, st.integers(0, 12), st.integers(0, 12))
@settings(max_examples=40, deadline=None)
def test_a_run_broken_off_anywhere_ends_as_if_it_had_not_been(
    store: Store, plan: list[tuple[str, int]], first: int, second: int
) -> None:
    """Whatever a system asks, in whatever scopes, and wherever it was broken off, twice: it hears the same, and everybody is asked once."""
    asked: list[str] = []

    class Says1(Says):
        def __init__(self) -> None:
            super().__init__(lambda request: note(f"model {request.messages[-1].content}"))

    class Answers(Gives):
        async def __call__(self, arguments: Mapping[str, JsonValue], *, key: str) -> Observation:
            return Observation(text=note(f"{self.name} {arguments['n']}"))

    def note(text: str) -> str:
        asked.append(text)
        return f"{text} was heard {len(asked)}th"

    def work_until(stop: int | None) -> Work:
        async def work(_task: Task, run: Run) -> Result:
            scope, heard = run, []
            for number, (kind, n) in enumerate(plan):
                if number == stop:
                    raise asyncio.CancelledError
                if kind == "model":
                    heard.append((await scope.model(Says1(), role="r").reply(ask(f"{n}"))).text)
                elif kind == "child":
                    scope = scope.child(f"c{number}")
                elif kind == "input":
                    heard.append(str(await scope.input("i", lambda n=n: note(f"input {n}"))))  # type: ignore[misc]
                else:
                    tool = Answers(name=kind, effect="write" if kind == "write" else "read")
                    heard.append((await scope.tool(tool, {"n": n})).text)
            return done("; ".join(heard))

        return work

    async def main() -> Result:
        run_id = await new_run(store)
        for stop in (first, second):
            if stop < len(plan):
                await interrupted(store, run_id, work_until(stop))
        return await work_once(store, run_id, work_until(None))

    result = go(main())
    expected = [f"{kind} {n}" for kind, n in plan if kind != "child"]
    assert asked == expected
    assert result.answer == "; ".join(f"{text} was heard {place}th" for place, text in enumerate(expected, start=1))


def test_tools_of_a_run_satisfy_the_protocol() -> None:
    """What these tests use is what systems use."""
    assert isinstance(Gives(), Tool)


def test_a_scope_apart_has_only_what_its_world_and_its_system_bring(store: Store) -> None:
    """Tools given with the task reach every scope below, but not one whose world holds all that it needs."""
    seen: dict[str, list[str]] = {}

    async def work(_task: Task, run: Run) -> Result:
        below = run.child("below", tools=[Gives(name="added")])
        seen["below"] = [tool.name for tool in below.tools([Gives(name="own")])]
        apart = run.child("apart", world=Shared(None, run.tools(())), tools=[Gives(name="added")], apart=True)
        seen["apart"] = [tool.name for tool in apart.child("deeper").tools([Gives(name="own")])]
        return done("ok")

    async def main() -> None:
        async with sit(store, await new_run(store)) as sitting:
            await sitting.finish(await sitting.execute(Does(work), TASK, tools=[Gives(name="given")]))

    go(main())
    assert seen == {"below": ["given", "added", "own"], "apart": ["given", "added", "own"]}


def test_what_is_offered_belongs_to_its_task(store: Store) -> None:
    """Scopes below share the task's offers, also those that answer separately; one with a task of its own does not."""
    seen: list[list[str]] = []

    async def work(_task: Task, run: Run) -> Result:
        world = LiveWorld([])
        run.offer("0", done("first"), world)
        run.child("peer").separate_answers().offer("1", done("second"))
        part = run.child("part").separate_task()
        part.offer("0", done("of the part"))
        seen.append([offer.label for offer in run.offers])
        seen.append([str(offer.result.answer) for offer in part.offers])
        assert run.offers[0].world is world
        with pytest.raises(AssertionError, match="offered already"):
            run.offer("0", done("again"))
        return done("ok")

    async def main() -> None:
        async with sit(store, await new_run(store, TASK, Task(question="And then?", id="next"))) as sitting:
            for task in (TASK, Task(question="And then?", id="next")):
                await sitting.execute(Does(work), task)
            await sitting.finish(done("ok"))

    go(main())
    assert seen == [["0", "1"], ["of the part"]] * 2


def test_a_run_keeps_records_in_the_namespace_it_was_given(store: Store) -> None:
    """By default the one that all share."""
    seen: list[str] = []

    async def work(_task: Task, run: Run) -> Result:
        seen.append(run.child("deep").namespace)
        return done("ok")

    one(work, store)
    one(work, store, namespace="bench/b/react/1")
    assert seen == ["solve", "bench/b/react/1"]

"""The office as a world: copies are apart, fingerprints tell states apart, writes rebuild a state, nothing that a model writes breaks it."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from motet.errors import InputError
from motet.worlds import World, Write, restore, stage
from motet.worlds.workbench import WorkBenchWorld
from motet.worlds.workbench.catalogue import catalogue
from motet.worlds.workbench.tables import State, Table
from tests.worlds.workbench.office import call, calls, small_office, tool_of

Calls = list[tuple[str, dict[str, JsonValue]]]
dialects = st.sampled_from(["2024", "2026"])


def shown(world: WorkBenchWorld) -> list[tuple[object, ...]]:
    """The whole state, by value."""
    return [(table.columns, table.labels, table.rows) for table in world.state.written.values()]


def do(world: WorkBenchWorld, made: Calls) -> None:
    """Make ``made`` calls."""
    for name, arguments in made:
        tool_of(world, name).call(arguments)


def test_it_is_a_world() -> None:
    """The protocol holds, and both kinds of state have what a scorer reads."""
    assert isinstance(small_office(), World)
    with pytest.raises(InputError, match="no dialect '2025'"):
        WorkBenchWorld(dialect="2025")  # type: ignore[arg-type]


@settings(max_examples=60, deadline=None)
@given(before=st.lists(calls(sane=True), max_size=4), ours=st.lists(calls(sane=True), max_size=4), dialect=dialects)
def test_copies_are_apart(before: Calls, ours: Calls, dialect: str) -> None:
    """What is written in a copy never shows in the original, nor the other way; at the start they are equal."""
    world = small_office(dialect)  # type: ignore[arg-type]
    do(world, before)
    kept, print_before, writes = shown(world), world.fingerprint(), list(world.writes)
    copied = world.fork()
    assert copied.fingerprint() == print_before
    do(copied, ours)
    assert (shown(world), world.fingerprint(), world.writes) == (kept, print_before, writes)
    theirs = shown(copied)
    do(world, [("email.send_email", {"recipient": "a@b.c", "subject": "s", "body": "b"})])
    assert shown(copied) == theirs


@settings(max_examples=60, deadline=None)
@given(made=st.lists(calls(), max_size=6), dialect=dialects)
def test_the_fingerprint_changes_if_and_only_if_the_state_does(made: Calls, dialect: str) -> None:
    """Step by step, for any call at all; and a write reports the fingerprint that it led to."""
    world = small_office(dialect)  # type: ignore[arg-type]
    for name, arguments in made:
        before, print_before = shown(world), world.fingerprint()
        observation = tool_of(world, name).call(arguments)
        assert (shown(world) == before) == (world.fingerprint() == print_before)
        if catalogue()[name].effect == "read" or observation.error:
            assert shown(world) == before
            assert observation.data is None
        else:
            assert observation.data == {"fingerprint": world.fingerprint()}


@settings(max_examples=60, deadline=None)
@given(made=st.lists(calls(), max_size=6), dialect=dialects)
def test_doing_the_logged_writes_again_rebuilds_the_state(made: Calls, dialect: str) -> None:
    """From the pristine office, by the names on the wire, as a resumed run does."""
    world = small_office(dialect)  # type: ignore[arg-type]
    do(world, made)
    again = small_office(dialect)  # type: ignore[arg-type]
    wire = {name: entry.wire for name, entry in catalogue().items()}
    asyncio.run(restore(again, [Write(tool=wire[write.tool], arguments=write.arguments) for write in world.writes]))
    assert again.fingerprint() == world.fingerprint()
    assert again.writes == world.writes


@settings(max_examples=60, deadline=None)
@given(made=calls(), dialect=dialects)
@example(
    made=("calendar.update_event", {"event_id": "00000000", "field": "duration", "new_value": 10**5000}), dialect="2024"
)
@example(made=("calendar.search_events", {"query": 10**5000}), dialect="2026")
def test_nothing_that_json_can_hold_raises(made: tuple[str, dict[str, JsonValue]], dialect: str) -> None:
    """Whatever the arguments, the answer is an observation with a text."""
    world = small_office(dialect)  # type: ignore[arg-type]
    observation = asyncio.run(tool_of(world, made[0])(made[1], key="k"))
    assert isinstance(observation.text, str)
    assert len(observation.text) <= 500 or not observation.error


def test_every_table_and_the_version_are_in_the_fingerprint() -> None:
    """A change of any table, of a label, of a column's name or of the dialect shows."""
    prints = {small_office().fingerprint(), small_office("2026").fingerprint()}
    for name in ("calendar", "email", "projects", "crm", "analytics"):
        world = small_office()
        table: Table = getattr(world.state, name)
        for changed in (
            Table(table.columns, table.labels, table.rows[::-1]),
            Table(table.columns, table.labels[::-1], table.rows),
            Table((*table.columns[:-1], "x"), table.labels, table.rows),
        ):
            setattr(world.state, name, changed)
            prints.add(world.fingerprint())
    world = small_office()
    world.state.directory = ("x@y.z",)
    prints.add(world.fingerprint())
    assert len(prints) == 2 + 5 * 3 + 1


def test_a_staged_office_plans_what_it_writes_and_reads_it_back() -> None:
    """The original stays pristine until the plan is done there."""
    world = small_office()
    staged = stage(world)
    tools = {tool.name: tool for tool in staged.tools()}

    async def work() -> str:
        await tools["calendar_delete_event"]({"event_id": "00000002"}, key="1")
        return (await tools["calendar_search_events"]({"query": "review"}, key="2")).text

    assert asyncio.run(work()) == "No events found."
    assert call(world, "calendar.search_events", query="review").text != "No events found."
    assert world.writes == []
    asyncio.run(restore(world, staged.plan))
    assert world.fingerprint() == staged.fingerprint()


@pytest.mark.parametrize(
    "expected",
    [None, 7, "calendar", [], {}, {"actions": "x"}, {"actions": [7]}, {"actions": None, "error": False}],
)
def test_an_expectation_that_makes_no_sense_scores_0(expected: JsonValue) -> None:
    """In everything, side effects included."""
    scores = small_office().score(expected)
    assert [(score.scorer, score.value) for score in scores] == [
        ("correct", 0.0),
        ("no_side_effects", 0.0),
        ("exact_match", 0.0),
    ]


def test_a_world_is_judged_by_the_writes_done_in_it() -> None:
    """Doing what is right scores 1; doing something else is a side effect; doing nothing is neither."""
    right: JsonValue = {"actions": ['calendar.delete_event.func(event_id="00000002")']}
    world = small_office()
    assert [score.value for score in world.score(right)] == [0.0, 1.0, 0.0]
    call(world, "calendar.search_events", query="review")
    call(world, "calendar.delete_event", event_id="00000002")
    scores = world.score(right)
    assert [score.value for score in scores] == [1.0, 1.0, 1.0]
    assert scores[0].details == {"writes": 1, "same_state": True}
    failed: JsonValue = {"actions": ['calendar.delete_event.func(event_id="00000002")'], "error": True}
    assert [score.value for score in world.score(failed)] == [0.0, 1.0, 1.0]
    call(world, "email.delete_email", email_id="00000001")
    assert [score.value for score in world.score(right)] == [0.0, 0.0, 0.0]


@settings(max_examples=60, deadline=None)
@given(made=st.lists(calls(sane=True), max_size=5))
def test_the_calls_run_again_lead_to_the_state_that_was_left(made: Calls) -> None:
    """For texts under a tool's own names, the benchmark's way of judging and the live state agree."""
    world = small_office()
    do(world, made)
    assert world.score({"actions": []})[0].details["same_state"] is True


def test_the_state_of_a_start_is_not_written_to() -> None:
    """A world begins with a copy of what it is given."""
    start: State = small_office().state
    world = WorkBenchWorld(start=start)
    call(world, "email.delete_email", email_id="00000001")
    assert len(start.email) == 3

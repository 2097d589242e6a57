"""Failures that users of teams like these reported, and the test of each.

malformed tool-call JSON coerced to ``{}`` and run: tests/agent/test_dialect.py::test_malformed_arguments_are_told_and_never_run
truncated JSON retried for ever: tests/agent/test_dialect.py::test_arguments_that_were_cut_off_say_so
truncated JSON retried for ever: tests/agent/test_react.py::test_a_model_that_repeats_what_cannot_be_used_is_asked_for_its_answer
a tool call inside the reasoning text lost: tests/agent/test_dialect.py::test_calls_that_were_written_into_text_or_reasoning_are_calls
an identical call repeated after an empty or error result: tests/fugue/test_failures.py::test_an_identical_call_is_not_repeated_for_ever_after_an_empty_or_failed_result
one oversize tool result larger than the helper's window: tests/fugue/test_failures.py::test_a_page_larger_than_the_hubs_window_is_noted_and_read
a failed compaction that fails the run: tests/fugue/test_writing.py::test_a_hub_that_is_down_is_asked_ever_less_often_and_the_peer_goes_on_by_rule
a slow model call between reading and writing shared memory losing a peer's write: tests/fugue/test_failures.py::test_notes_that_are_written_at_the_same_time_are_all_kept
one peer's exception cancelling its siblings: tests/fugue/test_isolation.py::test_a_peer_whose_model_fails_for_good_is_reported_and_the_team_goes_on
cancellation leaking tasks, or skipping persistence: tests/fugue/test_isolation.py::test_ctrl_c_leaves_the_run_to_be_resumed_and_nothing_at_work
usage zero when streaming: tests/models/test_endpoint.py::test_a_stream_that_breaks_after_its_finish_is_a_reply_with_unknown_usage
usage zero when streaming: tests/models/test_endpoint.py::test_missing_usage_is_unknown_and_never_zero
a torn last line eating the next record: tests/store/test_writer.py::test_a_killed_writer_loses_nothing_that_was_acknowledged
splitting on U+2028: tests/store/test_export.py::test_every_row_is_one_line_to_every_reader
splitting on U+2028: tests/fugue/test_episode.py::test_no_text_within_a_step_passes_for_the_heading_of_another
resume treating error rows as done: tests/fugue/test_failures.py::test_a_call_that_failed_is_asked_again_on_resume
resume charging the crashed step twice: tests/fugue/test_kill.py::test_a_team_killed_at_any_boundary_goes_on_as_if_it_had_not_been
"database is locked" with parallel writers: tests/store/test_writer.py::test_several_processes_with_many_threads_lose_nothing
a scope filter missing on one read path: tests/fugue/test_isolation.py::test_every_row_of_the_journal_says_whose_it_is
a scope filter missing on one read path: tests/fugue/test_visibility.py::test_private_peers_and_their_notes_know_nothing_of_teammates
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from motet.errors import ModelUnavailable
from motet.models.model import Request, estimate_tokens
from motet.store.store import Store
from motet.tools.function import FunctionTool
from tests.fugue.crew import Crew, call, noted, opener, page_of, reader, story
from tests.runs.desk import Answer

ROOT = Path(__file__).resolve().parents[2]


def test_each_failure_has_a_test_that_is_there() -> None:
    """The list above names no test that has gone."""
    assert __doc__ is not None
    named = re.findall(r"(tests/\S+\.py)::(\w+)$", __doc__, re.MULTILINE)
    assert len(named) == __doc__.count("::")
    for file, test in named:
        assert f"def {test}(" in (ROOT / file).read_text(), f"{file}::{test}"


@pytest.mark.parametrize("result", ["", "failed"])
def test_an_identical_call_is_not_repeated_for_ever_after_an_empty_or_failed_result(store: Store, result: str) -> None:
    """An empty answer is an answer; a failure is tried once more; after that the call is answered from the record, and only an answer is asked for."""
    made: list[str] = []

    def look(page: str) -> str:
        """Look at a page.

        Args:
            page: Its name.
        """
        made.append(page)
        if result:
            raise ValueError("no such page")
        return ""

    def speak(name: str, request: Request) -> Answer:
        return "nothing there" if request.tool_choice == "none" else call("look", page="same")

    crew = Crew(store, speak, peers=1, tools=[FunctionTool(look, name="look", version="1")], max_steps=20)
    told = story(crew.solve()).peers[0]
    assert len(made) == (2 if result else 1)
    assert told.steps <= 4


@pytest.mark.parametrize("words", [1000])
def test_a_page_larger_than_the_hubs_window_is_noted_and_read(store: Store, words: int) -> None:
    """No request to the hub model is larger than its window, and a read still sees all of the page."""

    def speak(name: str, request: Request) -> Any:
        text = "\n".join(message.content for message in request.messages)
        if "[p1.1]" in text and "They say so" not in text:
            return call("read_notes", intent="the last word", refs=["p1.1"])
        if page_of(name, request) == 2 and "[p1.1]" not in text:
            return after_the_note(name, request)
        return reader(3)(name, request)

    async def after_the_note(name: str, request: Request) -> Any:
        """Goes on only once there is a note: how quickly it is written must not matter."""
        assert crew.team is not None
        assert crew.team.hub is not None
        await crew.team.hub.settle(seconds=60)
        return reader(3)(name, request)

    crew = Crew(
        store,
        speak,
        peers=1,
        tools=[opener(words=words)],
        hub_window=2500,
        room={"hard": 100_000, "close_at": 300, "keep": 100},
    )
    assert crew.solve().answer == "forty-two"
    assert crew.asked["write"] >= 1
    assert crew.asked["read"] >= 2
    for request in [*crew.seen("write"), *crew.seen("read")]:
        assert estimate_tokens(request) + request.max_tokens <= 2500 * 1.1
    shown = "".join(request.messages[-1].content for request in crew.seen("read"))
    assert all(f"p1.1-word{number}" in shown for number in (0, words // 2, words - 1))


def test_notes_that_are_written_at_the_same_time_are_all_kept(store: Store) -> None:
    """Writes that all begin before any ends lose nothing of each other."""
    begun = 0
    all_begun = asyncio.Event()

    async def write(request: Request) -> Answer:
        nonlocal begun
        begun += 1
        if begun == 4:
            all_begun.set()
        await all_begun.wait()
        return noted(request)

    crew = Crew(store, reader(10), write=write, peers=4)
    told = story(crew.solve())
    assert all(peer.notes == peer.closes > 0 for peer in told.peers)
    noted_ids = [(row["peer"], row["episode"]) for row in crew.told("fugue.noted")]
    assert len(noted_ids) == len(set(noted_ids)) == sum(peer.closes for peer in told.peers)


def test_a_call_that_failed_is_asked_again_on_resume(store: Store) -> None:
    """A peer that ended with a failure before the break is no finished peer after it."""
    broken = [True]

    async def speak(name: str, request: Request) -> Answer:
        if broken and name == "p2" and page_of(name, request) == 2:
            return ModelUnavailable("gone")
        said: Any = reader(6)(name, request)
        return said  # type: ignore[no-any-return]

    crew = Crew(store, speak)
    crew.break_off(9)
    assert crew.told("fugue.answered")[0]["status"] == "failed"
    broken.clear()
    told = story(crew.resume())
    assert [peer.status for peer in told.peers] == ["answered", "answered"]

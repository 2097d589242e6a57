"""The scorer: what counts as equal in each dialect, and that no text a model can write breaks it or wins by it."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from motet.worlds.workbench.actions import read_action, write_action
from motet.worlds.workbench.scoring import Verdict, judge
from tests.worlds.workbench.office import calls, small_state

DELETE = 'calendar.delete_event.func(event_id="00000002")'
SEND_A = 'email.send_email.func(recipient="a@b.c", subject="One", body="x")'
SEND_B = 'email.send_email.func(recipient="d@e.f", subject="Two", body="y")'
TASK = (
    'project_management.create_task.func(task_name="T", assigned_to_email="bo.cruz@atlas.com", list_name="Backlog", '
    'due_date="2023-12-01", board="Design")'
)
RIGHT = Verdict(correct=True, unwanted_side_effects=False, exact_match=True)
HARM = Verdict(correct=False, unwanted_side_effects=True, exact_match=False)
IDLE = Verdict(correct=False, unwanted_side_effects=False, exact_match=False)


def verdict(
    predicted: list[str], right: list[str], *, dialect: str = "2024", error: bool = False, plot_end_date: bool = False
) -> Verdict:
    """The verdict in the small office."""
    state = small_state(dialect)  # type: ignore[arg-type]
    return judge(state, predicted, right, error=error, plot_end_date=plot_end_date).verdict


@pytest.mark.parametrize("dialect", ["2024", "2026"])
def test_the_right_calls_are_right_and_reading_beside_them_does_not_matter(dialect: str) -> None:
    """With searches before, between and after."""
    look = 'calendar.search_events.func(query="budget")'
    assert verdict([look, DELETE, look, TASK], [DELETE, TASK], dialect=dialect) == RIGHT


@pytest.mark.parametrize("dialect", ["2024", "2026"])
def test_nothing_expected_is_right_only_if_nothing_changed_and_no_error_ended_the_run(dialect: str) -> None:
    """An error makes it wrong without making it harmful."""
    assert verdict([], [], dialect=dialect) == RIGHT
    assert verdict([], [], dialect=dialect, error=True)[:2] == (False, False)
    assert verdict([DELETE], [], dialect=dialect) == HARM
    assert verdict([DELETE], [DELETE], dialect=dialect, error=True) == Verdict(False, False, True)


def test_text_is_compared_in_lower_case_but_for_status_list_and_board() -> None:
    """Names may be shouted; a status may not."""
    loud = 'calendar.update_event.func(event_id="00000002", field="event_name", new_value="NEW NAME")'
    assert verdict([loud], [loud.replace("NEW NAME", "new name")]) == RIGHT
    lead = 'customer_relationship_manager.add_customer.func(customer_name="A", assigned_to_email="b@c", status="won")'
    assert verdict([lead], [lead.replace("won", "Won")]) == Verdict(False, True, True)


def test_order_and_labels_of_rows_count_in_2024_and_not_in_2026() -> None:
    """Deleting before creating, or after, leaves the same rows with other labels."""
    delete = 'project_management.delete_task.func(task_id="00000000")'
    assert (
        verdict([delete, TASK.replace("bo.cruz", "ann.lee")], [TASK.replace("bo.cruz", "ann.lee"), delete])[0] is False
    )
    cut = 'calendar.update_event.func(event_id="00000002", field="event_id", new_value="{}")'
    swap = [cut.format("9"), 'calendar.update_event.func(event_id="00000001", field="event_id", new_value="00000002")']
    assert verdict(swap, swap, dialect="2026") == RIGHT
    new = 'calendar.create_event.func(event_name="{}", participant_email="a@b.c", event_start="s", duration="1")'
    gone = 'calendar.delete_event.func(event_id="{}")'
    one = [new.format("x"), new.format("y"), gone.format("00000003")]
    other = [new.format("z"), new.format("y"), gone.format("00000003")]
    assert verdict(one, other)[0] is verdict(one, other, dialect="2026")[0] is True


@pytest.mark.parametrize("dialect", ["2024", "2026"])
def test_sends_in_another_order_differ_by_their_ids(dialect: str) -> None:
    """They are numbered as they are sent."""
    assert verdict([SEND_B, SEND_A], [SEND_A, SEND_B], dialect=dialect) == Verdict(False, True, True)


def test_rows_in_another_order_are_equal_in_2026_only() -> None:
    """An overwritten last e-mail against one that was deleted and one that was sent."""
    plots = [
        f'analytics.create_plot.func(time_min="a", time_max="b", value_to_plot="total_visits", plot_type="{kind}")'
        for kind in ("bar", "line")
    ]
    assert verdict(plots, plots[::-1], dialect="2024") == Verdict(False, True, True)
    assert verdict(plots, plots[::-1], dialect="2026") == RIGHT


def test_a_call_that_cannot_be_run_is_skipped_in_2024_and_wrong_in_2026() -> None:
    """Unknown tools, unknown arguments, malformed text, patterns that are none."""
    for bad in (
        "calendar.search_events.func(query=",
        "calendar.shred.func()",
        'calendar.delete_event.func(event_id="00000001", why="x")',
        'calendar.search_events.func(query="(")',
        "__import__('os').system('true')",
        "",
    ):
        assert verdict([bad, DELETE], [DELETE])[0] is True
        assert verdict([bad, DELETE], [DELETE], dialect="2026")[0] is False


def test_the_2026_reader_takes_names_without_func_and_values_as_text() -> None:
    """Positional values are ignored there; in 2024 the suffix is needed and a number is no text."""
    bare = 'calendar.delete_event(event_id="00000002")'
    assert verdict([bare], [DELETE], dialect="2026") == Verdict(True, False, False)
    assert verdict([bare], [DELETE]) == IDLE
    number = DELETE.replace('"00000002"', "2")
    assert verdict([number], [DELETE]) == IDLE
    assert verdict(['calendar.delete_event.func("00000002")'], [DELETE])[0] is True
    assert verdict(['calendar.delete_event.func("00000002")'], [DELETE], dialect="2026")[0] is False


def test_plots_do_not_harm_in_2026_and_may_end_today_under_the_later_rule() -> None:
    """In 2024 a wrong plot is a side effect."""
    plot = 'analytics.create_plot.func(time_min="2023-11-01", time_max="2023-11-{}", value_to_plot="total_visits", plot_type="bar")'
    yesterday, today = plot.format("29"), plot.format("30")
    assert verdict([today], [yesterday]) == HARM
    assert verdict([today], [yesterday], dialect="2026") == IDLE
    assert verdict([today], [yesterday], dialect="2026", plot_end_date=True) == Verdict(True, False, False)


def test_a_line_end_in_a_value_is_read_as_one() -> None:
    """Real ones and written ones come to the same."""
    real = SEND_A.replace("x", "one\ntwo")
    written = SEND_A.replace("x", "one\\ntwo")
    assert verdict([real], [written]) == RIGHT
    assert read_action(real).named["body"] == "one\ntwo"


@settings(max_examples=100, deadline=None)
@given(value=st.text())
@example('say "hi"')
@example('back\\"slash')
@example("ends with \\")
@example("C:\\new\\x\\u\\N{")
@example("two\r\nlines")
def test_any_text_survives_being_written_down(value: str) -> None:
    """The call can be read, and where nothing in it looks like an escape, NUL or half a character, it holds the same value."""
    action = write_action("calendar.search_events", {"query": value, "time_min": None})
    named = read_action(action).named
    assert named.keys() == {"query"}
    if "\\" not in value:
        assert named["query"] == value.replace("\x00", "").encode("utf-8", "replace").decode()


@settings(max_examples=100, deadline=None)
@given(
    made=st.lists(calls(), max_size=4), junk=st.lists(st.text(), max_size=3), dialect=st.sampled_from(["2024", "2026"])
)
def test_garbage_never_raises_and_never_scores(
    made: list[tuple[str, dict[str, JsonValue]]], junk: list[str], dialect: str
) -> None:
    """Whatever was called, a task that asks for something else than nothing is not solved by it."""
    predicted = [write_action(name, arguments) for name, arguments in made] + junk
    wanted = [SEND_A, TASK, DELETE]
    assert verdict(predicted, wanted, dialect=dialect).correct is False


@settings(max_examples=100, deadline=None)
@given(text=st.text(alphabet="abc.()\"=,\\'{}[]0#\n\t ", max_size=60))
@example("(" * 400)
@example("-" * 5000 + "1")
@example("a." * 3000 + "b()")
@example("calendar.delete_event.func(**{'event_id': '00000002'})")
@example('calendar.delete_event.func(event_id="0000000" "2", event_id="00000001")')
@example('calendar.delete_event.func(event_id=open("/etc/passwd").read())')
def test_text_that_is_no_call_leaves_no_trace(text: str) -> None:
    """It is neither run nor fatal."""
    assert verdict([text], [DELETE]) == IDLE
    assert verdict([text], [DELETE], dialect="2026") == IDLE

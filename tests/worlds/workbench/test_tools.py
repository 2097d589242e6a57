"""What the 27 tools answer, message by message, and what they leave behind."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from motet.worlds.workbench.catalogue import catalogue
from motet.worlds.workbench.tables import Timestamp
from tests.worlds.workbench.office import call, small_office, tool_of

BAD_VALUE = (
    "Value to plot must be one of 'total_visits', 'session_duration_seconds', 'user_engaged', 'direct', 'referral', "
    "'search engine', 'social media'"
)
BAD_ASSIGNEE = "Assignee email not valid. Please choose from the list of team members."
BAD_LIST = "List not valid. Please choose from: 'Backlog', 'In Progress', 'In Review', 'Completed'."
BAD_BOARD = "Board not valid. Please choose from: 'Back end', 'Front end', 'Design'."
FIRST_EVENT = (
    "{'event_id': '00000002', 'event_name': 'Budget review', 'participant_email': 'ann.lee@atlas.com', "
    "'event_start': '2023-11-20 09:00:00', 'duration': '30'}"
)
CRM = "customer_relationship_manager"
ANSWERS: list[tuple[str, dict[str, JsonValue], str]] = [
    ("calendar.get_event_information_by_id", {}, "Event ID not provided."),
    ("calendar.get_event_information_by_id", {"event_id": "00000002"}, "Field not provided."),
    ("calendar.get_event_information_by_id", {"event_id": "00000002", "field": "duration"}, "{'duration': '30'}"),
    ("calendar.get_event_information_by_id", {"event_id": "00000002", "field": "x"}, "Field not found."),
    ("calendar.get_event_information_by_id", {"event_id": "2", "field": "x"}, "Event not found."),
    ("calendar.search_events", {"query": "REVIEW"}, f"[{FIRST_EVENT}]"),
    ("calendar.search_events", {"query": "ann", "time_max": "2023-11-20 09:00:00"}, f"[{FIRST_EVENT}]"),
    ("calendar.search_events", {"query": "ann", "time_min": "2023-11-20 09:00:01"}, "No events found."),
    ("calendar.create_event", {}, "Event name not provided."),
    ("calendar.create_event", {"event_name": "n"}, "Participant email not provided."),
    ("calendar.create_event", {"event_name": "n", "participant_email": "P"}, "Event start not provided."),
    (
        "calendar.create_event",
        {"event_name": "n", "participant_email": "P", "event_start": "s"},
        "Event duration not provided.",
    ),
    (
        "calendar.create_event",
        {"event_name": "n", "participant_email": "P", "event_start": "s", "duration": "1"},
        "00000003",
    ),
    ("calendar.delete_event", {}, "Event ID not provided."),
    ("calendar.delete_event", {"event_id": "00000001"}, "Event deleted successfully."),
    ("calendar.delete_event", {"event_id": "1"}, "Event not found."),
    ("calendar.update_event", {"event_id": "00000001"}, "Event ID, field, or new value not provided."),
    (
        "calendar.update_event",
        {"event_id": "00000001", "field": "duration", "new_value": "5"},
        "Event updated successfully.",
    ),
    ("calendar.update_event", {"event_id": "1", "field": "duration", "new_value": "5"}, "Event not found."),
    ("email.get_email_information_by_id", {}, "Email ID not provided."),
    ("email.get_email_information_by_id", {"email_id": "00000002"}, "Field not provided."),
    ("email.get_email_information_by_id", {"email_id": "00000002", "field": "body"}, "{'body': 'Soup?'}"),
    ("email.get_email_information_by_id", {"email_id": "00000002", "field": "sender"}, "Field not found."),
    ("email.get_email_information_by_id", {"email_id": "2", "field": "sender"}, "Email not found."),
    ("email.search_emails", {"query": "budget nobody"}, "No emails found."),
    ("email.search_emails", {"query": "budget", "date_max": "2023-10-31"}, "No emails found."),
    ("email.send_email", {"recipient": "a@b.c"}, "Recipient, subject, or body not provided."),
    ("email.send_email", {"recipient": "ab.c", "subject": "s", "body": "b"}, "Invalid recipient email address."),
    ("email.send_email", {"recipient": "a@bc", "subject": "s", "body": "b"}, "Invalid recipient email address."),
    ("email.send_email", {"recipient": "a@b.c", "subject": "s", "body": "b"}, "Email sent successfully."),
    ("email.delete_email", {}, "Email ID not provided."),
    ("email.delete_email", {"email_id": "00000001"}, "Email deleted successfully."),
    ("email.delete_email", {"email_id": "1"}, "Email not found."),
    ("email.forward_email", {"email_id": "00000001"}, "Email ID or recipient not provided."),
    ("email.forward_email", {"email_id": "1", "recipient": "x"}, "Email not found."),
    ("email.forward_email", {"email_id": "00000001", "recipient": "x"}, "Invalid recipient email address."),
    ("email.forward_email", {"email_id": "00000001", "recipient": "x@y.z"}, "Email forwarded successfully."),
    ("email.reply_email", {"email_id": "00000001"}, "Email ID or body not provided."),
    ("email.reply_email", {"email_id": "1", "body": "b"}, "Email not found."),
    ("email.reply_email", {"email_id": "00000001", "body": "b"}, "Email replied successfully."),
    ("analytics.get_visitor_information_by_id", {}, "Visitor ID not provided."),
    ("analytics.get_visitor_information_by_id", {"visitor_id": "7"}, "Visitor not found."),
    (
        "analytics.get_visitor_information_by_id",
        {"visitor_id": "0008"},
        "[{'date_of_visit': '2023-11-01', 'visitor_id': '0008', 'page_views': '1', 'session_duration_seconds': '5', "
        "'traffic_source': 'referral', 'user_engaged': False}]",
    ),
    ("analytics.create_plot", {}, "Start date not provided."),
    ("analytics.create_plot", {"time_min": "a"}, "End date not provided."),
    ("analytics.create_plot", {"time_min": "a", "time_max": "b"}, BAD_VALUE),
    (
        "analytics.create_plot",
        {"time_min": "a", "time_max": "b", "value_to_plot": "visits_direct", "plot_type": "pie"},
        "Plot type must be one of 'bar', 'line', 'scatter', or 'histogram'",
    ),
    (
        "analytics.create_plot",
        {"time_min": "a", "time_max": "b", "value_to_plot": "visits_direct", "plot_type": "bar"},
        "plots/a_b_visits_direct_bar.png",
    ),
    ("analytics.total_visits_count", {}, "{'2023-11-01': 1, '2023-11-02': 2}"),
    ("analytics.total_visits_count", {"time_max": "2023-11-01"}, "{'2023-11-01': 1}"),
    ("analytics.engaged_users_count", {}, "{'2023-11-01': 0, '2023-11-02': 1}"),
    ("analytics.traffic_source_count", {"traffic_source": "direct"}, "{'2023-11-01': 0, '2023-11-02': 1}"),
    ("analytics.traffic_source_count", {"time_min": "2023-11-02"}, "{'2023-11-02': 2}"),
    ("analytics.get_average_session_duration", {}, "{'2023-11-01': 5.0, '2023-11-02': 7.5}"),
    ("project_management.get_task_information_by_id", {}, "Task ID not provided."),
    ("project_management.get_task_information_by_id", {"task_id": "00000001"}, "Field not provided."),
    ("project_management.get_task_information_by_id", {"task_id": "1", "field": "board"}, "Task not found."),
    ("project_management.get_task_information_by_id", {"task_id": "00000001", "field": "x"}, "Field not found."),
    (
        "project_management.get_task_information_by_id",
        {"task_id": "00000001", "field": "board"},
        "{'board': 'Back end'}",
    ),
    ("project_management.search_tasks", {}, "No search parameters provided."),
    ("project_management.search_tasks", {"task_name": "o", "board": "front"}, "[]"),
    ("project_management.create_task", {"task_name": "t"}, "Missing task details."),
    ("project_management.delete_task", {}, "Task ID not provided."),
    ("project_management.delete_task", {"task_id": "1"}, "Task not found."),
    ("project_management.delete_task", {"task_id": "00000001"}, "Task deleted successfully."),
    ("project_management.update_task", {"task_id": "1"}, "Task ID, field, or new value not provided."),
    ("project_management.update_task", {"task_id": "1", "field": "board", "new_value": "x"}, BAD_BOARD),
    ("project_management.update_task", {"task_id": "1", "field": "list_name", "new_value": "x"}, BAD_LIST),
    ("project_management.update_task", {"task_id": "1", "field": "assigned_to_email", "new_value": "x"}, BAD_ASSIGNEE),
    ("project_management.update_task", {"task_id": "1", "field": "x", "new_value": "x"}, "Task not found."),
    ("project_management.update_task", {"task_id": "00000001", "field": "x", "new_value": "x"}, "Field not valid."),
    (
        "project_management.update_task",
        {"task_id": "00000001", "field": "task_id", "new_value": "9"},
        "Task updated successfully.",
    ),
    (f"{CRM}.search_customers", {}, "No search parameters provided. Please provide at least one parameter."),
    (f"{CRM}.search_customers", {"customer_name": "nobody"}, "[]"),
    (f"{CRM}.update_customer", {"customer_id": "1"}, "Customer ID, field, or new value not provided."),
    (
        f"{CRM}.update_customer",
        {"customer_id": "1", "field": "status", "new_value": "won"},
        "Status not valid. Please choose from: 'Qualified', 'Won', 'Lost', 'Lead', 'Proposal'",
    ),
    (
        f"{CRM}.update_customer",
        {"customer_id": "1", "field": "product_interest", "new_value": "x"},
        "Product interest not valid. Please choose from: 'Software', 'Hardware', 'Services', 'Consulting', 'Training'",
    ),
    (f"{CRM}.update_customer", {"customer_id": "1", "field": "x", "new_value": "x"}, "Customer not found."),
    (
        f"{CRM}.update_customer",
        {"customer_id": "00000001", "field": "status", "new_value": "Won"},
        "Customer updated successfully.",
    ),
    (
        f"{CRM}.add_customer",
        {"customer_name": "x"},
        "Please provide all required fields: customer_name, assigned_to_email, status.",
    ),
    (f"{CRM}.add_customer", {"customer_name": "x", "assigned_to_email": "Y", "status": "odd"}, "00000002"),
    (f"{CRM}.delete_customer", {}, "Customer ID not provided."),
    (f"{CRM}.delete_customer", {"customer_id": "1"}, "Customer not found."),
    (f"{CRM}.delete_customer", {"customer_id": "00000001"}, "Customer deleted successfully."),
    ("company_directory.find_email_address", {}, "Name not provided."),
    ("company_directory.find_email_address", {"name": "Ann"}, "array(['ann.lee@atlas.com'], dtype=object)"),
    ("company_directory.find_email_address", {"name": "Ann Lee"}, "array([], dtype=object)"),
]


@pytest.mark.parametrize(("name", "arguments", "answer"), ANSWERS)
def test_a_tool_answers_in_the_words_of_the_benchmark(name: str, arguments: dict[str, JsonValue], answer: str) -> None:
    """Each message and each form of a result, in the 2024 dialect; none of them counts as a failure of the tool."""
    observation = call(small_office(), name, **arguments)
    assert (observation.text, observation.error) == (answer, False)


@pytest.mark.parametrize("name", [name for name, entry in catalogue().items() if entry.effect == "read"])
def test_the_2026_dialect_answers_in_json(name: str) -> None:
    """Records, lists and counts are JSON; an empty cell is null."""
    arguments: dict[str, JsonValue] = {
        key: value
        for key, value in {
            "event_id": "00000001", "email_id": "00000001", "task_id": "00000001", "field": "body", "visitor_id": "0007", "name": "ann",
            "customer_name": "Kit", "task_name": "Fix",
        }.items()
        if key in catalogue()[name].parameters
    }  # fmt: skip
    text = call(small_office("2026"), name, **arguments).text
    assert "'" not in text
    if name == "customer_relationship_manager.search_customers":
        assert '"customer_phone": null' in text


def test_there_are_27_tools_of_which_14_write_locally() -> None:
    """As in the benchmark's code (its paper counts 26); names are fit for the wire and unique."""
    tools = small_office().tools()
    assert len({tool.name for tool in tools}) == 27
    writing = [tool for tool in tools if tool.effect == "write"]
    assert len(writing) == 14
    assert {tool.delivery for tool in writing} == {"local"}
    assert all(set(tool.name) <= set("abcdefghijklmnopqrstuvwxyz_") and len(tool.name) <= 64 for tool in tools)


def test_searches_show_five_rows_in_the_tables_order_and_newest_mail_first() -> None:
    """Calendar and customers are cut in file order, e-mails are ordered, tasks are all shown."""
    world = small_office()
    for number in range(5):
        call(
            world,
            "calendar.create_event",
            event_name=f"budget {number}",
            participant_email="a@b.c",
            event_start="s",
            duration="1",
        )
    found = call(world, "calendar.search_events", query="budget").text
    assert [found.index(name) for name in ("Budget review", "budget talk", "budget 0", "budget 2")] == sorted(
        found.index(name) for name in ("Budget review", "budget talk", "budget 0", "budget 2")
    )
    assert found.count("event_id") == 5
    mails = call(world, "email.search_emails", query="atlas").text
    assert mails.index("2023-11-29") < mails.index("2023-11-20") < mails.index("2023-11-01")
    assert call(world, "project_management.search_tasks", assigned_to_email="atlas").text.count("task_id") == 2


def test_an_added_event_carries_the_label_0_and_an_added_task_counts_labels_anew() -> None:
    """Labels are part of the state that is judged."""
    world = small_office()
    call(world, "calendar.create_event", event_name="n", participant_email="A@B.c", event_start="s", duration="1")
    assert world.state.calendar.labels == (0, 1, 2, 0)
    assert world.state.calendar.rows[-1] == ("00000003", "n", "a@b.c", "s", "1")
    call(world, "project_management.delete_task", task_id="00000001")
    assert list(world.state.projects.labels) == [1]
    call(
        world,
        "project_management.create_task",
        task_name="t",
        assigned_to_email="Bo.Cruz@atlas.com",
        list_name="Backlog",
        due_date="d",
        board="Design",
    )
    assert list(world.state.projects.labels) == [0, 1]
    assert world.state.projects.rows[-1] == ("00000001", "t", "bo.cruz@atlas.com", "Backlog", "d", "Design")


def test_an_unknown_field_of_an_event_becomes_a_column() -> None:
    """The field is not checked, and the other events have nothing in it."""
    world = small_office()
    call(world, "calendar.update_event", event_id="00000000", field="colour", new_value="Red")
    assert world.state.calendar.columns[-1] == "colour"
    assert world.state.calendar.column("colour") == [None, "Red", None]


def test_a_mail_sent_after_a_deletion_overwrites_the_row_at_its_label() -> None:
    """It is written at the label that equals the number of e-mails."""
    world = small_office()
    call(world, "email.delete_email", email_id="00000001")
    call(world, "email.send_email", recipient="X@y.z", subject="S", body="B")
    assert world.state.email.labels == (1, 2)
    assert world.state.email.rows[1] == ("3", "outbox", "x@y.z", "S", Timestamp("2023-11-30 00:00:00"), "B")


def test_ids_of_sent_mail_are_bare_numbers_in_2024_and_filled_in_2026() -> None:
    """One more than the greatest id."""
    for dialect, sent in (("2024", "3"), ("2026", "00000003")):
        world = small_office(dialect)  # type: ignore[arg-type]
        call(world, "email.reply_email", email_id="00000001", body="b")
        assert world.state.email.rows[-1][:4] == (sent, "outbox", "ann.lee@atlas.com", "Budget")


def test_finding_sent_and_received_mail_together_fails_in_2024_only() -> None:
    """A moment cannot be ordered among texts; the recorded runs that tried ended there. Nothing is changed by the attempt."""
    for dialect, fails in (("2024", True), ("2026", False)):
        world = small_office(dialect)  # type: ignore[arg-type]
        call(world, "email.forward_email", email_id="00000001", recipient="x@y.z")
        before = world.fingerprint()
        observation = call(world, "email.search_emails", query="budget")
        assert observation.error is fails
        assert ("not supported between instances of" in observation.text) is fails
        assert world.fingerprint() == before
        assert not call(world, "email.search_emails", query="fw:").error


def test_unknown_arguments_are_dropped_in_2024_and_refused_in_2026() -> None:
    """Null counts as not given in both."""
    arguments: dict[str, JsonValue] = {"event_id": "00000001", "reason": "none"}
    assert call(small_office("2024"), "calendar.delete_event", **arguments).text == "Event deleted successfully."
    world = small_office("2026")
    refused = call(world, "calendar.delete_event", **arguments)
    assert refused.error
    assert "'reason'" in refused.text
    assert world.writes == []
    assert call(world, "calendar.delete_event", event_id=None).text == "Event ID not provided."


def test_numbers_are_kept_as_they_are_in_2024_and_become_text_in_2026() -> None:
    """Some agents write a duration as a number."""
    for dialect, kept in (("2024", 30), ("2026", "30")):
        world = small_office(dialect)  # type: ignore[arg-type]
        tool = tool_of(world, "calendar.create_event")
        tool.call({"event_name": "n", "participant_email": "p", "event_start": "s", "duration": 30})
        assert world.state.calendar.rows[-1][-1] == kept


def test_a_bad_pattern_or_date_is_an_observation() -> None:
    """The agent is told what was wrong."""
    world = small_office()
    for arguments in ({"query": "("}, {"query": "b", "time_min": "tomorrow"}, {"query": ["b"]}, {"query": "(a+)\\1"}):
        observation = tool_of(world, "calendar.search_events").call(arguments)  # type: ignore[arg-type]
        assert observation.error
        assert observation.text.startswith("calendar_search_events was not done: ")

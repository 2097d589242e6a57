"""A small invented office for tests that need no benchmark files, and the real one where its files are at hand."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from pydantic import JsonValue

from motet.settings import data_dir
from motet.tools.tool import Observation
from motet.worlds.workbench import WorkBenchTool, WorkBenchWorld
from motet.worlds.workbench.catalogue import catalogue
from motet.worlds.workbench.tables import Dialect, State, Table, table_of

_FOLDER = data_dir()
needs_files = pytest.mark.skipif(
    _FOLDER is None or not (_FOLDER / "workbench" / "processed").is_dir(),
    reason="WorkBench's files are not in $MOTET_DATA_DIR/workbench",
)


def small_state(dialect: Dialect = "2024") -> State:
    """A few rows in every table, in an order that is not that of the ids."""
    return State(
        calendar=table_of(
            ["event_id", "event_name", "participant_email", "event_start", "duration"],
            [
                ["00000002", "Budget review", "ann.lee@atlas.com", "2023-11-20 09:00:00", "30"],
                ["00000000", "Sync up", "bo.cruz@atlas.com", "2023-11-21 10:00:00", "60"],
                ["00000001", "budget talk", "bo.cruz@atlas.com", "2023-12-01 11:00:00", "90"],
            ],
        ),
        email=table_of(
            ["email_id", "inbox/outbox", "sender/recipient", "subject", "sent_datetime", "body"],
            [
                ["00000001", "inbox", "ann.lee@atlas.com", "Budget", "2023-11-01 08:00:00", "Sam,\\n\\nThe budget is late."],
                ["00000002", "inbox", "bo.cruz@atlas.com", "Lunch", "2023-11-20 12:00:00", "Soup?"],
                ["00000000", "inbox", "ann.lee@atlas.com", "Budget again", "2023-11-29 09:00:00", "It is done."],
            ],
        ),
        plots=Table(("file_path",)),
        projects=table_of(
            ["task_id", "task_name", "assigned_to_email", "list_name", "due_date", "board"],
            [
                ["00000001", "Fix login", "ann.lee@atlas.com", "Backlog", "2023-12-01", "Back end"],
                ["00000000", "Draw logo", "bo.cruz@atlas.com", "In Review", "2023-12-05", "Design"],
            ],
        ),
        crm=table_of(
            [
                "customer_id", "assigned_to_email", "customer_name", "customer_email", "customer_phone", "last_contact_date",
                "product_interest", "status", "follow_up_by", "notes",
            ],
            [
                ["00000001", "ann.lee@atlas.com", "Kit Gray", "kit@gray", None, "2023-11-01", "Software", "Lead", "2023-12-01", None],
                ["00000000", "bo.cruz@atlas.com", "Max Ode", "max@ode", "555", "2023-11-20", "Training", "Won", "2023-12-24", "Called."],
            ],
        ),
        analytics=table_of(
            ["date_of_visit", "visitor_id", "page_views", "session_duration_seconds", "traffic_source", "user_engaged"],
            [
                ["2023-11-02", "0007", "3", "10", "direct", True],
                ["2023-11-01", "0008", "1", "5", "referral", False],
                ["2023-11-02", "0007", "2", "5", "referral", False],
            ],
        ),
        directory=("ann.lee@atlas.com", "bo.cruz@atlas.com"),
        dialect=dialect,
    )  # fmt: skip


def small_office(dialect: Dialect = "2024") -> WorkBenchWorld:
    """The invented office as a world."""
    return WorkBenchWorld(start=small_state(dialect))


def tool_of(world: WorkBenchWorld, name: str) -> WorkBenchTool:
    """The tool that the benchmark calls ``name``."""
    (found,) = [tool for tool in world.tools() if isinstance(tool, WorkBenchTool) and tool.upstream_name == name]
    return found


def call(world: WorkBenchWorld, name: str, /, **arguments: JsonValue) -> Observation:
    """Call the tool that the benchmark calls ``name``."""
    return tool_of(world, name).call(arguments)


# Values that often hit something in the small office, and anything else that JSON can hold.
_KNOWN = [
    "00000000", "00000001", "00000002", "0007", "ann.lee@atlas.com", "zed@atlas.com", "Budget", "status", "board", "list_name", "event_name",
    "participant_email", "colour", "task_id", "Won", "Design", "In Progress", "2023-11-30", "2023-11-01 09:00:00", "total_visits", "bar", "(", "a|b", "",
]  # fmt: skip
json_values: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(_KNOWN),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@st.composite
def calls(draw: st.DrawFn, *, sane: bool = False) -> tuple[str, dict[str, JsonValue]]:
    """Any tool with arguments: any JSON under its own or other names, or, if ``sane``, known texts under its own names."""
    entry = draw(st.sampled_from(sorted(catalogue().values(), key=lambda entry: entry.name)))
    own = st.sampled_from(sorted(entry.parameters))
    if sane:
        return entry.name, draw(st.dictionaries(own, st.sampled_from(_KNOWN)))
    return entry.name, draw(st.dictionaries(own | st.text(max_size=5), json_values, max_size=6))

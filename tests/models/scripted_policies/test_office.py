"""The scripted office reads tasks by intent and slots, plays every role from its messages, and does invented tasks in an invented office."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from motet.agent.dialect import NativeTools
from motet.inherit import Node, Workflow
from motet.inherit.roles import Given
from motet.models.model import Message, Request, ToolCall
from motet.models.scripted_policies.office import trade, with_mistakes
from motet.models.scripted_policies.office.mistakes import faultless
from motet.models.scripted_policies.office.policy import LOST, policy
from motet.models.scripted_policies.office.records import read_sections
from motet.models.scripted_policies.office.seat import Seat
from motet.models.scripted_policies.office.wording import understand
from motet.prompts import load_prompts
from motet.store.store import Store
from motet.tools.tool import Tool
from tests.models.scripted_policies.crew import ROLES, TOOLS, alone, asked, crew, work, writes_of
from tests.worlds.workbench.office import small_office

NEVER = with_mistakes(faultless())
MONDAY, LATER = "Monday, 2023-11-20", "Thursday, 2023-11-30"

# Tasks that WorkBench does not have, with what they lead to in the small office of the world's own tests.
TASKS = {
    "cancel": (
        "bo is leaving the company. Can you cancel all future meetings with them?",
        MONDAY,
        [
            ("calendar.delete_event", {"event_id": "00000000"}),
            ("calendar.delete_event", {"event_id": "00000001"}),
        ],
    ),
    "rename": (
        "Rename the last event on December 1 to Soup and Bread",
        MONDAY,
        [
            (
                "calendar.update_event",
                {"event_id": "00000001", "field": "event_name", "new_value": "Soup and Bread"},
            )
        ],
    ),
    "reply": (
        "I need to get back to ann's latest email about 'Budget' with 'Well done, it's good. Can you send the reply for me?",
        LATER,
        [("email.reply_email", {"email_id": "00000000", "body": "Well done, it's good."})],
    ),
    "forward": (
        "ann needs all the emails from bo last week about 'Lunch'. Can you forward them?",
        LATER,
        [("email.forward_email", {"email_id": "00000002", "recipient": "ann.lee@atlas.com"})],
    ),
    "forward nothing": (
        "Forward all the emails from ann last week about 'Lunch' to bo",
        LATER,
        [],
    ),
    "attendees": (
        "Send an email to attendees of the first event on November 21. Title it with the event name and tell them 'Bring a pen.'",
        MONDAY,
        [("email.send_email", {"recipient": "bo.cruz@atlas.com", "subject": "Sync up", "body": "Bring a pen."})],
    ),
    "no emails": (
        "If ann hasn't sent me any emails in the past 5 days, schedule a 45 minute meeting with them for Tuesday at 4:15 called 'Tea with ann'",
        MONDAY,
        [
            (
                "calendar.create_event",
                {
                    "event_name": "Tea with ann",
                    "event_start": "2023-11-21 16:15:00",
                    "duration": "45",
                    "participant_email": "ann.lee@atlas.com",
                },
            )
        ],
    ),
    "an email": (
        "I can't remember the last time I heard from ann. Can you check if they've sent me any emails in the past 2 days? "
        "If not, schedule an hour meeting with them for Friday at 12 called 'Tea with ann'",
        LATER,
        [],
    ),
    "no meetings": (
        "Did I already schedule a meeting with ann in the next 6 days? If not, send them an email titled 'Hello?' saying 'It's long - can you write?'",
        "Tuesday, 2023-11-21",
        [
            (
                "email.send_email",
                {"subject": "Hello?", "body": "It's long - can you write?", "recipient": "ann.lee@atlas.com"},
            )
        ],
    ),
    "a meeting": (
        "If I don't have any meetings scheduled with bo in the next 1 days, send them an email titled 'Hello?' saying 'Shall we meet?'",
        MONDAY,
        [],
    ),
    "reassign": (
        "can you reassign all of ann's backlog tasks to bo?",
        MONDAY,
        [
            (
                "project_management.update_task",
                {"task_id": "00000001", "field": "assigned_to_email", "new_value": "bo.cruz@atlas.com"},
            )
        ],
    ),
    "move": (
        "Move any of bo's tasks that are in review to in progress",
        MONDAY,
        [
            (
                "project_management.update_task",
                {"task_id": "00000000", "field": "list_name", "new_value": "In Progress"},
            )
        ],
    ),
    "delete customers": (
        "We no longer need to keep all of Bo's customers that are in the won stage and interested in training. Can you delete them from the crm?",
        MONDAY,
        [("customer_relationship_manager.delete_customer", {"customer_id": "00000000"})],
    ),
    "move customers": (
        "I need to move all of Ann's customers that are in the lead stage and interested in software to qualified. Can you make that change in the crm?",
        MONDAY,
        [
            (
                "customer_relationship_manager.update_customer",
                {"customer_id": "00000001", "field": "status", "new_value": "Qualified"},
            )
        ],
    ),
    "plot": (
        "Can you make a bar chart of engaged users on November 2?",
        MONDAY,
        [
            (
                "analytics.create_plot",
                {
                    "time_min": "2023-11-02",
                    "time_max": "2023-11-02",
                    "value_to_plot": "user_engaged",
                    "plot_type": "bar",
                },
            )
        ],
    ),
    "grown": (
        "If average session duration is more than 40% higher than November 1, make a line plot of it since then",
        "Friday, 2023-11-03",
        [
            (
                "analytics.create_plot",
                {
                    "time_min": "2023-11-01",
                    "time_max": "2023-11-02",
                    "value_to_plot": "session_duration_seconds",
                    "plot_type": "line",
                },
            )
        ],
    ),
    "not grown": (
        "Is total visits more than 5% lower than November 1? If so, please plot it as a line chart",
        "Friday, 2023-11-03",
        [],
    ),
    "beyond": (
        "If total visits was less than 2 at any time since November 1 make a backlog task called 'Improve it' for bo on the design board with a deadline of next Wednesday",
        "Friday, 2023-11-03",
        [
            (
                "project_management.create_task",
                {
                    "task_name": "Improve it",
                    "list_name": "Backlog",
                    "due_date": "2023-11-08",
                    "board": "Design",
                    "assigned_to_email": "bo.cruz@atlas.com",
                },
            )
        ],
    ),
    "not beyond": (
        "Was total visits more than 2 at any time since November 1? If so, make a backlog task called 'Improve it' on the front-end board and assign it to for ann with next Friday as the deadline",
        "Friday, 2023-11-03",
        [],
    ),
}


def seat_of(role: str, *, prompt: str, tools: Sequence[Tool] = (), inputs: Sequence[Given] = ()) -> Seat:
    """A node's first request, as the agent's loop makes it."""
    node = Node(id="me", role=role, subtask="Do it.", prompt=prompt)
    dialect = NativeTools(tools, load_prompts("motet.agent", "react"))
    messages = dialect.opening(
        question=ROLES.request(node, question=asked(TASKS["cancel"][0]), inputs=inputs),
        context="",
        instructions=ROLES.instructions(node),
    )
    return Seat(Request(messages=tuple(messages), max_tokens=100))


@pytest.mark.parametrize("role", sorted(ROLES.roles))
@pytest.mark.parametrize("other", sorted(ROLES.roles))
def test_a_role_is_known_by_its_words(role: str, other: str) -> None:
    """Each role of the role set is recognised, whatever its own prompt says, even the words of another role."""
    words = ROLES.instructions(Node(id="me", role=other, subtask="-", prompt="-"))
    assert seat_of(role, prompt=words).role == role


def test_a_seat_reads_what_it_is_given() -> None:
    """Question, subtask, inputs and their authors' roles come out of the messages as they were put in."""
    inputs = [
        Given("findings", "mail", "What I found:\nemail: e-mails with bo: 0 found"),
        Given("findings", "doubt", "Check of the work: I see no fault."),
        Given("plan", "plan", '1. calendar_delete_event(event_id="00000001")'),
    ]
    seat = seat_of("verifier", prompt="-", inputs=inputs)
    assert seat.question == asked(TASKS["cancel"][0]).strip()
    assert seat.subtask.startswith("Do it.")
    assert [(given.port, given.node, given.text) for given in seat.inputs] == [tuple(given) for given in inputs]
    assert [given.role for given in seat.inputs] == ["worker", "critic", "integrator"]


def test_strange_instructions_are_taken_by_tools_and_inputs() -> None:
    """With instructions that name no role, an agent that may write does everything, one that may read looks up, one with a plan checks it."""
    tools = small_office().tools()
    readers = [tool for tool in tools if tool.effect == "read"]

    def role(tools: Sequence[Tool], text: str) -> str:
        messages = NativeTools(tools, load_prompts("motet.agent", "react")).opening(
            question=text, context="", instructions="Be yourself."
        )
        request = NativeTools(tools, load_prompts("motet.agent", "react")).request(
            messages, max_tokens=9, sampling=Request.model_fields["sampling"].default, may_call=True, may_answer=True
        )
        return Seat(request).role

    question = asked("Cancel all future meetings with bo")
    planned = f'Task: {question}\n\nYour part: go\n\n[plan from a]\n1. calendar_delete_event(event_id="00000001")'
    found = f"Task: {question}\n\nYour part: go\n\n[findings from a]\nWhat I found:"
    assert role(tools, question) == "react"
    assert role(readers, question) == "worker"
    assert role(tools, planned) == "executor"
    assert role((), planned) == "verifier"
    assert role((), found) == "integrator"


@pytest.mark.parametrize("name", sorted(TASKS))
@pytest.mark.parametrize("dialect", ["2024", "2026"])
def test_one_agent_does_invented_tasks(name: str, dialect: str, store: Store, home: object) -> None:
    """Without mistakes an agent with all tools makes exactly the right writes, with people, days, texts and limits that no benchmark has."""
    query, day, expected = TASKS[name]
    world = small_office("2024" if dialect == "2024" else "2026")
    result = alone(store, asked(query, day=day), world, NEVER)
    assert result.status == "completed"
    assert writes_of(world) == expected


@pytest.mark.parametrize("name", sorted(TASKS))
def test_a_crew_does_invented_tasks(name: str, store: Store, home: object) -> None:
    """Without mistakes workers, integrator and executor make the same writes, and nobody sees a fault in what they wrote."""
    query, day, expected = TASKS[name]
    question = asked(query, day=day)
    world = small_office("2026")
    workflow = crew(question)
    execution = work(store, workflow, question, world, NEVER)
    outputs = {id_: (workflow.by_id[id_].role, outcome.output or "") for id_, outcome in execution.outcomes.items()}
    assert writes_of(world) == expected
    assert trade.faults(question, outputs) == []


def test_json_actions_do_as_well(store: Store, home: object) -> None:
    """Where tools are called by JSON replies, one call in each, the same writes are made."""
    query, day, expected = TASKS["cancel"]
    world = small_office("2026")
    alone(store, asked(query, day=day), world, NEVER, actions="json")
    assert writes_of(world) == expected


def test_a_worker_of_another_domain_finds_nothing(store: Store, home: object) -> None:
    """A worker looks up what its tools' domain holds; where a domain is missing the plan says what is lacking, and the fault names the domain."""
    query, day, _ = TASKS["forward"]
    question = asked(query, day=day)
    workflow = crew(question, without=["company_directory"])
    world = small_office("2026")
    execution = work(store, workflow, question, world, NEVER)
    outputs = {id_: (workflow.by_id[id_].role, outcome.output or "") for id_, outcome in execution.outcomes.items()}
    assert "Not in the findings: the address of ann." in outputs["plan"][1]
    (fault,) = trade.faults(question, outputs)
    assert (fault.kind, fault.domain, fault.edits) == ("missing_domain", "company_directory", ("add_worker", "tools"))
    assert writes_of(world) != TASKS["forward"][2]


@pytest.mark.parametrize(
    ("subtask", "domains"),
    [
        ("Find bo's e-mails about Lunch.", {"email"}),
        ("Ask the directory for ann.", {"company_directory"}),
        ("Look up the people that the task names and their addresses.", {"company_directory"}),
        ("Look up the events, tasks, customers, e-mails or figures that the task names.", {"email"}),
        ("Look up what the task needs.", {"email", "company_directory"}),
    ],
    ids=["e-mails", "directory", "people", "records", "anything"],
)
def test_a_subtask_decides_among_the_tools(subtask: str, domains: set[str], store: Store, home: object) -> None:
    """A worker with tools of several domains looks up what its subtask names, and all that the task needs where it names none."""
    query, day, _ = TASKS["forward"]
    question = asked(query, day=day)
    plain = crew(question, without=["company_directory"])
    tools = ("email_search_emails", "company_directory_find_email_address")
    worker = plain.by_id["email"].model_copy(update={"subtask": subtask, "tools": tools})
    workflow = Workflow(nodes=tuple(worker if node.id == "email" else node for node in plain.nodes))
    execution = work(store, workflow, question, small_office("2026"), NEVER)
    report = execution.outcomes["email"].output or ""
    assert {section.find.domain for section in read_sections(report)} == domains


def test_domains_and_tools_follow_from_the_task() -> None:
    """A task's domains are those in which something must be looked up; its tools are their readers and the one that writes."""
    question = asked(TASKS["no emails"][0])
    assert trade.domains(question) == ["email", "company_directory"]
    assert trade.tools_for(question, TOOLS) == [
        "calendar_create_event",
        "email_search_emails",
        "company_directory_find_email_address",
    ]


@pytest.mark.parametrize(
    "text", ["What is love?", "Today's date is Monday, 2023-11-20. Sing a song about raj."], ids=["no day", "no intent"]
)
def test_what_is_no_office_task_is_said_to_be_none(text: str) -> None:
    """A task that is not understood gets a plain sentence, no call and no fault."""
    turn = policy(Request(messages=(Message(role="user", content=text),), max_tokens=50))
    assert (turn.text, turn.tool_calls) == (LOST, ())
    assert understand(text) is None
    assert trade.domains(text) == []
    assert trade.faults(text, {"a": ("worker", "What I found:")}) == []


def test_an_answer_of_a_tool_that_failed_is_survived() -> None:
    """An observation that is no list, whatever it is, counts as nothing found."""
    tools = small_office("2026").tools()
    dialect = NativeTools(tools, load_prompts("motet.agent", "react"))
    question = asked("Cancel all future meetings with bo")
    opening = dialect.opening(question=question, context="", instructions="")
    sampling = Request.model_fields["sampling"].default

    def ask(messages: list[Message]) -> Request:
        return dialect.request(messages, max_tokens=99, sampling=sampling, may_call=True, may_answer=True)

    first = NEVER(ask(opening))
    assert not isinstance(first, str)
    (call,) = first.tool_calls
    assert json.loads(call.arguments)["query"] == "bo"
    for text in ("(empty)", "[{", "{}", "calendar_search_events was not done: timeout", "[1, 2]"):
        said = NEVER(
            ask(
                [
                    *opening,
                    Message(role="assistant", tool_calls=(ToolCall(id="x", name=call.name, arguments=call.arguments),)),
                    Message(role="tool", tool_call_id="x", content=text),
                ]
            )
        )
        assert not isinstance(said, str)
        assert said.tool_calls == ()
        assert said.text == "Nothing was to be done."

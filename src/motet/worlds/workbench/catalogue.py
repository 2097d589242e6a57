"""The tools of WorkBench by name: what runs, and what an agent is shown.

The benchmark names a tool ``calendar.search_events``. Model providers allow no dot, so on the wire it is ``calendar_search_events``.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.resources
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import yaml
from pydantic import JsonValue

from motet.tools.tool import Effect
from motet.worlds.workbench import analytics, calendar, crm, directory, email, project_management
from motet.worlds.workbench.render import Output
from motet.worlds.workbench.tables import Dialect

_FUNCTIONS: Final[Mapping[str, tuple[Callable[..., Output], ...]]] = {
    "calendar": (
        calendar.get_event_information_by_id,
        calendar.search_events,
        calendar.create_event,
        calendar.delete_event,
        calendar.update_event,
    ),
    "email": (
        email.get_email_information_by_id,
        email.search_emails,
        email.send_email,
        email.delete_email,
        email.forward_email,
        email.reply_email,
    ),
    "analytics": (
        analytics.get_visitor_information_by_id,
        analytics.create_plot,
        analytics.total_visits_count,
        analytics.engaged_users_count,
        analytics.traffic_source_count,
        analytics.get_average_session_duration,
    ),
    "project_management": (
        project_management.get_task_information_by_id,
        project_management.search_tasks,
        project_management.create_task,
        project_management.delete_task,
        project_management.update_task,
    ),
    "customer_relationship_manager": (
        crm.search_customers,
        crm.update_customer,
        crm.add_customer,
        crm.delete_customer,
    ),
    "company_directory": (directory.find_email_address,),
}


class Entry(NamedTuple):
    """One tool. ``name`` is the benchmark's, ``wire`` what a model calls."""

    name: str
    wire: str
    function: Callable[..., Output]
    effect: Effect
    description: str
    parameters: Mapping[str, str]

    def schema(self, dialect: Dialect) -> dict[str, JsonValue]:
        """The JSON schema of the arguments: optional texts. The 2024 dialect drops arguments that it does not know, so its schema is open."""
        schema: dict[str, JsonValue] = {
            "type": "object",
            "properties": {
                name: {"type": "string", "description": description} for name, description in self.parameters.items()
            },
        }
        return schema if dialect == "2024" else {**schema, "additionalProperties": False}


@functools.cache
def catalogue() -> Mapping[str, Entry]:
    """All tools, by the benchmark's names."""
    shown: dict[str, Any] = yaml.safe_load(_files()["tools.yaml"])
    entries = {}
    for domain, functions in _FUNCTIONS.items():
        for function in functions:
            name = f"{domain}.{function.__name__}"
            entries[name] = Entry(name, name.replace(".", "_"), function, **shown[name])
    assert entries.keys() == shown.keys()
    return entries


@functools.cache
def tools_version() -> str:
    """A hash of this package's sources: whatever changes what the tools do changes it, nobody has to think of it."""
    body = hashlib.sha256()
    for name, source in sorted(_files().items()):
        body.update(f"{name} {len(source)}\n".encode() + source)
    return body.hexdigest()[:16]


@functools.cache
def _files() -> dict[str, bytes]:
    folder = importlib.resources.files(__package__)
    return {item.name: item.read_bytes() for item in folder.iterdir() if item.name.endswith((".py", ".yaml"))}

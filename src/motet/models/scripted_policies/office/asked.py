"""What an office task asks for, as values: what must be known, under which condition, and which calls follow."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal, TypeAlias

Arguments: TypeAlias = tuple[tuple[str, str], ...]

CALENDAR, EMAIL, ANALYTICS = "calendar", "email", "analytics"
PROJECTS, CUSTOMERS, DIRECTORY = "project_management", "customer_relationship_manager", "company_directory"
DOMAINS = (CALENDAR, EMAIL, ANALYTICS, PROJECTS, CUSTOMERS, DIRECTORY)


@dataclass(frozen=True)
class Find:
    """Something to look up in one domain.

    ``person`` is a first name, ``words`` a subject; ``start`` and ``end`` are days, both included. ``counted`` says that they were counted from today. ``where`` holds columns
    with their exact values. ``one`` says that the first or last row is all that is needed, ``any`` that one row, whichever, is.
    """

    domain: str
    person: str = ""
    words: str = ""
    start: date | None = None
    end: date | None = None
    counted: bool = False
    where: Arguments = ()
    metric: str = ""
    one: Literal["", "first", "last", "any"] = ""


@dataclass(frozen=True)
class Condition:
    """What must hold before anything is done: nothing found, a metric that grew or fell, or one that went beyond a limit on some day."""

    kind: Literal["none found", "growth", "beyond"]
    find: Find
    up: bool = True
    limit: float = 0.0


@dataclass(frozen=True)
class Ask:
    """A task: ``tool`` is called once, or once for each row of ``target``, with arguments that the task gives (``fixed``), that come from the row (``from_row``:
    argument and column), or that are somebody's address (``address``: argument and first name).
    """

    today: date
    tool: str
    fixed: Arguments = ()
    target: Find | None = None
    from_row: Arguments = ()
    address: tuple[str, str] | None = None
    condition: Condition | None = None

    @property
    def finds(self) -> tuple[Find, ...]:
        """All that must be looked up, without repeats."""
        found = [self.condition.find] if self.condition else []
        found += [self.target] if self.target else []
        found += [Find(DIRECTORY, person=self.address[1])] if self.address else []
        if not found and self.tool == "analytics_create_plot":
            fixed = dict(self.fixed)
            days = (date.fromisoformat(fixed["time_min"]), date.fromisoformat(fixed["time_max"]))
            found = [Find(ANALYTICS, metric=fixed["value_to_plot"], start=days[0], end=days[1])]
        return tuple(dict.fromkeys(found))

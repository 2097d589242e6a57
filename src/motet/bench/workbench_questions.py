"""WorkBench's questions: 690 in six domains, ten near-copies from each of 69 templates, with the calls that solve them."""

from __future__ import annotations

import ast
import csv
import functools
import io
from pathlib import Path
from typing import Final, NamedTuple

from motet.errors import InputError
from motet.worlds.workbench.data import read_file

DOMAINS: Final = (
    "analytics",
    "calendar",
    "customer_relationship_manager",
    "email",
    "multi_domain",
    "project_management",
)
PER_TEMPLATE: Final = 10

# The 13 templates of the Inherit-MAS paper's 130 tasks, by the first row of each.
PAPER130: Final = {
    "analytics": (10, 60),
    "calendar": (10, 80),
    "customer_relationship_manager": (60,),
    "email": (30, 40),
    "multi_domain": (30, 40, 60, 110),
    "project_management": (30, 40),
}


class Question(NamedTuple):
    """One question. ``actions`` are the calls that solve it; none means that nothing is to be changed."""

    domain: str
    row: int
    query: str
    actions: tuple[str, ...]

    @property
    def id(self) -> str:
        """``domain#row``, the row with four digits."""
        return f"{self.domain}#{self.row:04d}"

    @property
    def cluster(self) -> str:
        """The template it was made from."""
        return f"{self.domain}:{self.row // PER_TEMPLATE:02d}"

    @property
    def in_paper130(self) -> bool:
        """Whether it is one of the Inherit-MAS paper's."""
        return self.row // PER_TEMPLATE * PER_TEMPLATE in PAPER130[self.domain]


@functools.lru_cache(maxsize=4)
def read_questions(folder: Path) -> tuple[Question, ...]:
    """All questions, domain by domain. Raises InputError where a file is missing or not the published one."""
    return tuple(question for domain in DOMAINS for question in _read(folder, domain))


def _read(folder: Path, domain: str) -> list[Question]:
    name = f"processed/queries_and_answers/{domain}_queries_and_answers.csv"
    rows = csv.DictReader(io.StringIO(read_file(folder, name), newline=""))
    return [
        Question(domain, index, row["query"], tuple(actions_of(row["answer"], where=f"{name}, row {index}")))
        for index, row in enumerate(rows)
    ]


def actions_of(text: str, *, where: str) -> list[str]:
    """A list of calls as the benchmark's files write it: a Python list of texts. Raises InputError that says where."""
    try:
        actions = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        actions = None
    if not isinstance(actions, list) or not all(isinstance(action, str) for action in actions):
        raise InputError(f"{where}: expected a list of calls as texts, got {text[:60]!r}")
    return actions

"""The office's table of mistakes, as it is committed."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import yaml

from motet.models.scripted_policies.mistakes import Table


@cache
def shipped() -> Table:
    """The committed table."""
    return Table.model_validate(yaml.safe_load(files(__package__).joinpath("office.yaml").read_text(encoding="utf-8")))


def faultless() -> Table:
    """The committed table with every rate 0."""
    return shipped().times(0)

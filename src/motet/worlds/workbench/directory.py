"""The company's directory: the addresses of its people."""

from __future__ import annotations

from motet.worlds.workbench.patterns import searcher
from motet.worlds.workbench.render import Addresses, Output
from motet.worlds.workbench.tables import State
from motet.worlds.workbench.values import Given, lower


def find_email_address(state: State, /, name: Given = "") -> Output:
    """All addresses that hold ``name``."""
    if not name:
        return "Name not provided."
    holds = searcher(lower(name), ignore_case=False)
    return Addresses(tuple(address for address in state.directory if holds(address)))

"""A tool by name, of which each agent gets its own."""

from __future__ import annotations

from motet.tools.function import FunctionTool
from tests.fugue.crew import opener


def tool() -> FunctionTool:
    """A new one."""
    return opener()

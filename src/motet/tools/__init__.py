"""Tools: what agents can call. Made from typed Python functions, from a folder of documents, or by hand."""

from __future__ import annotations

from motet.tools.function import FunctionTool, Key, tool
from motet.tools.load import load_tools
from motet.tools.tool import Delivery, Effect, Observation, Tool, spec

__all__ = ["Delivery", "Effect", "FunctionTool", "Key", "Observation", "Tool", "load_tools", "spec", "tool"]

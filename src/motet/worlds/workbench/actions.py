"""Calls as the benchmark writes them down, ``domain.tool.func(name="value", …)``, and how it runs them again.

The text is read as a syntax tree and never evaluated: values must be literals. (The benchmark's 2024 scorer evaluates the text, so it would also run an expression.)
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from pydantic import JsonValue

from motet.canonical import clean_text
from motet.worlds.workbench.catalogue import catalogue
from motet.worlds.workbench.quiet import quietly
from motet.worlds.workbench.tables import State

# Whatever can be wrong with a call that a model wrote, down to a text too deep for Python's parser.
_WRONG: Final = (Exception, MemoryError)


class Call(NamedTuple):
    """A call that was read. Values are as written: text as a rule."""

    tool: str
    positional: tuple[Any, ...]
    named: dict[str, Any]


def write_action(tool: str, arguments: Mapping[str, JsonValue]) -> str:
    """A call as text.

    The benchmark writes ``name="value"`` with the value as it is. So do we, but for what that form cannot carry: quotes, carriage returns and unusual escapes are escaped
    (the benchmark's scorer would skip the call as malformed), and an argument that was null is left out (it would become the text "None").
    """
    given = (f'{name}="{_quoted(value)}"' for name, value in arguments.items() if value is not None)
    return f"{tool}.func({', '.join(given)})"


def read_action(action: str) -> Call:
    """Read a call. Raises SyntaxError or ValueError (and what Python's parser raises on hopeless text)."""
    tree = quietly(lambda: ast.parse(action.replace("\n", "\\n").strip(), mode="eval")).body
    if not isinstance(tree, ast.Call):
        raise ValueError("not a call")
    named = {}
    for keyword in tree.keywords:
        if keyword.arg is None or keyword.arg in named:
            raise ValueError("arguments must be named once each")
        named[keyword.arg] = ast.literal_eval(keyword.value)
    return Call(_dotted(tree.func), tuple(ast.literal_eval(value) for value in tree.args), named)


def run_lenient(state: State, actions: Iterable[str]) -> None:
    """Run ``actions`` as the 2024 scorer does: one that raises is skipped. One that only reads leaves nothing behind, and is not run."""
    for action in actions:
        try:
            call = read_action(action)
            if not call.tool.endswith(".func"):
                raise ValueError("not the function of a tool")
            entry = catalogue()[call.tool.removesuffix(".func")]
            if entry.effect == "write":
                entry.function(state, *call.positional, **call.named)
        except _WRONG:
            continue


def run_strict(state: State, actions: Iterable[str], *, adjust: Callable[[str, dict[str, str]], None]) -> bool:
    """Run ``actions`` as the 2026 scorer does. Returns whether all of them could be run.

    Only named constants count, as text. ``adjust`` may change the arguments of a call.
    """
    sound = True
    for action in actions:
        try:
            call = read_action(action)
            if any(isinstance(value, list | tuple | dict | set) for value in call.named.values()):
                raise ValueError("only constants may be given")
            tool = call.tool.removesuffix(".func")
            named = {name: str(value) for name, value in call.named.items()}
            adjust(tool, named)
            catalogue()[tool].function(state, **named)
        except _WRONG:
            sound = False
    return sound


def tool_of(action: str) -> str:
    """The tool that a call names, however malformed the rest is."""
    return action.partition("(")[0].strip().removesuffix(".func")


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    if isinstance(node, ast.Name):
        return node.id
    raise ValueError("not a tool's name")


_AWKWARD = re.compile(r"""\\(?:[xuUN0-7]|$)|\\.|["\r]""", re.DOTALL)


def _quoted(value: JsonValue) -> str:
    def mend(found: re.Match[str]) -> str:
        piece = found[0]
        if piece in ('"', "\\"):
            return f"\\{piece}"
        if piece == "\r":
            return "\\r"
        return f"\\{piece}" if piece[1] in "xuUN01234567" else piece

    return _AWKWARD.sub(mend, clean_text(str(value)))

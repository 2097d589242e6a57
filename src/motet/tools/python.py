"""The ``python`` tool: an agent's code, run in the sandbox, and what it printed."""

from __future__ import annotations

import platform
from collections.abc import Mapping

from pydantic import JsonValue

from motet.canonical import clean_text, digest
from motet.errors import InputError, ToolError
from motet.tools.sandbox.inside.program import MAIN
from motet.tools.sandbox.layout import layout
from motet.tools.sandbox.run import run_python
from motet.tools.sandbox.value import VERSION, Execution, Limits
from motet.tools.tool import Delivery, Effect, Observation, Tool

_LIMITS = Limits(output=20_000)
_ERROR_LINES = 20  # of stderr; a traceback says the most in its last lines
_ERROR_CHARACTERS = 4_000


class PythonTool:
    """Runs code in a fresh sandboxed process for each call. It can touch nothing outside, so its effect is ``read``."""

    name = "python"
    effect: Effect = "read"
    delivery: Delivery = "plain"

    def __init__(self, *, allow_weak: bool, limits: Limits) -> None:
        self._allow_weak = allow_weak
        self._limits = limits
        # Limits decide whether code ends, so they are part of what the tool is.
        self.version = f"{VERSION}+python-{platform.python_version()}+{digest(limits.model_dump())[:8]}"
        self.description = (
            f"Run Python {'.'.join(platform.python_version_tuple()[:2])} code and return what it prints. Each call is a "
            "fresh process: variables, imports and files of earlier calls are gone. Print the results you need. Only the "
            "standard library is there; no network, no files but those the code writes itself. "
            f"Limits: {limits.wall_seconds:g} seconds, {limits.memory >> 20} MiB of memory."
        )
        self.parameters: dict[str, JsonValue] = {
            "type": "object",
            "properties": {"code": {"type": "string", "description": "A complete Python program."}},
            "required": ["code"],
            "additionalProperties": False,
        }

    async def __call__(self, arguments: Mapping[str, JsonValue], *, key: str) -> Observation:
        """Run ``arguments["code"]``. Raises ToolError when there is no sandbox to run it in."""
        code = arguments.get("code")
        if not isinstance(code, str):
            raise ToolError("python takes one argument, code: a string with a complete Python program")
        try:
            execution = await run_python(code, limits=self._limits, allow_weak=self._allow_weak)
        except InputError as error:
            raise ToolError(str(error)) from None
        return observe(execution, limits=self._limits)

    async def confirm(self, key: str) -> Observation | None:
        """Never asked: a read leaves nothing to confirm."""
        return None


def python_tool(*, allow_weak: bool = False, limits: Limits = _LIMITS) -> Tool:
    """The ``python`` tool. Whether there is a sandbox shows at the first call; ask ``sandbox.require`` to know before."""
    return PythonTool(allow_weak=allow_weak, limits=limits)


def observe(execution: Execution, *, limits: Limits) -> Observation:
    """``execution`` as the agent reads it: stdout, then on failure the end of stderr and why it was stopped."""
    parts = [execution.stdout.rstrip()]
    if not execution.ok:
        parts.append(_last_words(execution))
        parts.append(_reason(execution, limits))
    text = "\n".join(part for part in parts if part)
    return Observation(
        text=clean_text(text) or "(The program printed nothing. Print the results you need.)",
        error=not execution.ok,
        data={"level": execution.level, "exit_code": execution.exit_code, "signal": execution.signal},
    )


def _last_words(execution: Execution) -> str:
    """The end of stderr without this machine's paths."""
    text = execution.stderr.strip()
    for folder in (execution.folder, layout().stdlib):
        text = text.replace(f'"{folder}/', '"')
    text = text.replace(f"{execution.folder}/{MAIN}", MAIN)
    lines = text.splitlines()
    if len(lines) > _ERROR_LINES:
        lines = [f"[… {len(lines) - _ERROR_LINES} lines left out …]", *lines[-_ERROR_LINES:]]
    return "\n".join(lines)[-_ERROR_CHARACTERS:]


def _reason(execution: Execution, limits: Limits) -> str:
    if execution.timed_out:
        return f"[stopped: it ran longer than {min(limits.wall_seconds, limits.cpu_seconds):g} seconds]"
    if execution.out_of_memory:
        return f"[it needed more than {limits.memory >> 20} MiB of memory]"
    if execution.signal:
        return f"[ended by {execution.signal}]"
    return "" if execution.stderr.strip() else f"[exit code {execution.exit_code}]"

"""The python tool as an agent meets it."""

from __future__ import annotations

import asyncio
import os
import sys

import pytest

from motet.errors import ToolError
from motet.tools.python import python_tool
from motet.tools.sandbox import Limits
from motet.tools.tool import Observation, Tool, spec


def call(code: object, *, limits: Limits | None = None) -> Observation:
    tool = python_tool(allow_weak=True, limits=limits) if limits else python_tool(allow_weak=True)
    return asyncio.run(tool({"code": code}, key="k"))  # type: ignore[dict-item]


def test_it_is_a_tool_that_only_reads() -> None:
    """It has the protocol's shape; nothing it does needs to be confirmed."""
    tool = python_tool()
    assert isinstance(tool, Tool)
    assert (tool.name, tool.effect) == ("python", "read")
    assert asyncio.run(tool.confirm("k")) is None
    assert spec(tool).parameters["required"] == ["code"]


def test_its_version_names_what_decides_the_answer() -> None:
    """The version holds Python's version, is stable, and differs where the limits do."""
    assert ".".join(map(str, sys.version_info[:3])) in python_tool().version
    assert python_tool().version == python_tool().version
    assert python_tool(limits=Limits(wall_seconds=1)).version != python_tool().version


def test_the_model_is_told_the_limits() -> None:
    """The description gives time and memory as they are set."""
    description = python_tool(limits=Limits(wall_seconds=7, memory=300 << 20)).description
    assert "7 seconds" in description
    assert "300 MiB" in description


def test_printed_text_is_the_observation() -> None:
    """On success the agent reads stdout and nothing else."""
    observation = call("import sys\nprint('a')\nprint('noise', file=sys.stderr)\nprint('b')")
    assert (observation.text, observation.error) == ("a\nb", False)


def test_silence_is_said() -> None:
    """Code that prints nothing, a common slip, tells the agent to print."""
    assert "Print the results" in call("6 * 7").text


def test_an_error_shows_the_useful_part_without_paths() -> None:
    """What was printed, the failing line and the exception are there; no path of this machine is."""
    observation = call("import json\nprint('so far')\njson.loads('{')")
    assert observation.error
    assert observation.text.startswith("so far\nTraceback (most recent call last):")
    assert 'File "main.py", line 3, in <module>' in observation.text
    assert 'File "json/decoder.py"' in observation.text
    assert "json.decoder.JSONDecodeError: Expecting property name" in observation.text
    assert os.path.dirname(os.__file__) not in observation.text
    assert "/tmp" not in observation.text


def test_a_long_error_keeps_its_end() -> None:
    """Of endless stderr the last lines remain, as they name the exception."""
    observation = call(
        "import sys\nfor n in range(500): print('line', n, file=sys.stderr)\nraise ValueError('at the end')"
    )
    assert observation.text.endswith("ValueError: at the end")
    assert "lines left out" in observation.text
    assert len(observation.text) < 1000


@pytest.mark.parametrize(
    ("code", "limits", "said"),
    [
        ("print('x')\nwhile True: pass", Limits(wall_seconds=0.5), "x\n[stopped: it ran longer than 0.5 seconds]"),
        ("raise SystemExit(4)", Limits(), "[exit code 4]"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)", Limits(), "[ended by SIGTERM]"),
    ],
)
def test_an_abnormal_end_is_explained(code: str, limits: Limits, said: str) -> None:
    """A time-out, a silent exit code and a signal each give one line the agent can act on."""
    observation = call(code, limits=limits)
    assert (observation.text, observation.error) == (said, True)


def test_an_exhausted_memory_is_explained() -> None:
    """Running out of memory names the limit beside the traceback."""
    observation = call("x = bytearray(1 << 40)", limits=Limits(memory=256 << 20))
    assert observation.error
    assert "MemoryError" in observation.text
    assert observation.text.endswith("[it needed more than 256 MiB of memory]")


def test_text_that_no_store_can_hold_is_cleaned() -> None:
    """Bytes that are no UTF-8, NULs and surrogates in the output do not break whoever stores the observation."""
    observation = call("import sys\nsys.stdout.buffer.write(b'a\\xff\\x00b\\xed\\xa0\\x80')")
    observation.text.encode("utf-8")
    assert "\0" not in observation.text


@pytest.mark.parametrize("code", [None, 5, ["print(1)"]])
def test_a_wrong_argument_is_a_tool_error(code: object) -> None:
    """Anything but text is refused in words that say what is right."""
    with pytest.raises(ToolError, match="one argument, code"):
        call(code)

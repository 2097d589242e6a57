"""Prompts: strict about what they need, and versioned by their words."""

from __future__ import annotations

import pytest
from jinja2 import UndefinedError

from motet.prompts import Prompts, load_prompts
from motet.tools.function import FunctionTool
from motet.tools.tool import spec

TEXT = "version: 3\nhello: |\n  Hello {{ name }}.\n  {% if more %}\n\n  {{ more }}\n  {% endif %}\n"


def test_a_missing_value_is_an_error_and_never_a_gap() -> None:
    """Also one that is only asked whether it is there."""
    prompts = Prompts(TEXT)
    assert prompts("hello", name="you", more="") == "Hello you."
    assert prompts("hello", name="you", more="More.") == "Hello you.\n\nMore."
    for values in ({}, {"name": "x"}, {"more": ""}):
        with pytest.raises(UndefinedError):
            prompts("hello", **values)


def test_what_is_filled_in_is_text_and_no_template() -> None:
    """A task or an observation that looks like a template, or like HTML, stays what it is."""
    assert Prompts(TEXT)("hello", name="{{ more }} <b>&", more="") == "Hello {{ more }} <b>&."


def test_the_version_changes_with_the_words() -> None:
    """And with the file's own number; not with the order of its templates or a comment."""
    version = Prompts(TEXT).version
    assert version.startswith("3-")
    assert Prompts(TEXT + "# a comment\n").version == version
    assert Prompts(TEXT.replace("Hello", "Hallo")).version != version
    assert Prompts(TEXT.replace("3", "4")).version != version


def test_the_agent_s_prompts_render_with_what_the_agent_gives_them() -> None:
    """Every template of the file, with and without what is optional."""

    def look(topic: str, depth: int = 1) -> str:
        """Look.

        :param topic: At what.
        """
        return topic

    prompts = load_prompts("motet.agent", "react")
    tools = [spec(FunctionTool(look))]
    for extra in ("", "more"):
        assert prompts("question", question="q?", context=extra) == (
            "q?" + (f"\n\nGiven with the task:\n{extra}" if extra else "")
        )
        for name in ("system", "system_without_tools"):
            assert ("more" in prompts(name, instructions=extra)) == bool(extra)
        told = prompts("system_actions", tools=tools, instructions=extra)
        assert "look: Look." in told
        assert "topic: At what." in told
        assert "depth (optional)" in told
    assert prompts.version.startswith("2-")

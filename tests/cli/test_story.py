"""Events in words."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import motet
from motet.cli import story

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(
    [
        "run",
        "status",
        "error",
        "role",
        "prompt",
        "completion",
        "seconds",
        "attempts",
        "replayed",
        "tool",
        "arguments",
        "text",
        "characters",
        "step",
        "calls",
        "answer",
        "problem",
        "question",
        "system",
        "wait",
        "attempt",
        "message",
    ]
)


@given(st.sampled_from(sorted(story._TELL)), st.dictionaries(KEYS, JSON, max_size=10))
def test_any_payload_can_be_told(kind: str, payload: dict[str, object]) -> None:
    """An event of a known kind with any payload at all is told in one line; nothing raises."""
    line = story.sentence(kind, payload)
    assert line
    assert len(line.splitlines()) == 1


def test_every_kind_of_event_has_words() -> None:
    """Each kind of event that the package emits has a sentence of its own."""
    source = Path(motet.__file__).parent
    emitted = set()
    for path in (*source.glob("runs/*.py"), *source.glob("agent/*.py")):
        emitted |= set(re.findall(r'emit\(\s*"([a-z]+\.[a-z]+)"', path.read_text(encoding="utf-8")))
    assert emitted
    assert emitted - set(story._TELL) == set()


def test_unknown_usage_is_called_unknown() -> None:
    """A reply without usage is told as unknown, and never as zero."""
    payload = {"role": "agent", "prompt": None, "completion": None, "seconds": 1.0, "attempts": 1, "replayed": False}
    assert story.sentence("model.replied", payload) == "agent: unknown tokens in 1.0 s"


def test_an_unknown_kind_is_shown_by_its_parts() -> None:
    """An event that the command does not know is shown with what it carries."""
    assert story.sentence("hub.wrote", {"note": 3}) == "hub.wrote note=3"

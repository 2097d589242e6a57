"""Events in words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
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
        "round",
        "origin",
        "dropped",
        "edits",
        "change",
        "nodes",
        "why",
        "changed",
        "key",
        "tokens",
        "output",
        "damage",
        "valid",
        "problems",
        "writes",
        "quality",
        "coverage",
        "grounding",
        "critique",
        "blamed",
        "trying",
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
    parts = ("runs", "agent", "inherit", "fugue", "baselines")
    for path in (path for part in parts for path in source.glob(f"{part}/*.py")):
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


NOTE = {"peer": "p1", "episode": 2, "steps": [3, 5], "claims": 1, "candidate": "Ada"}
ROUND = {"round": 2, "origin": "edit", "dropped": ["doubt"], "edits": ["prompt"], "change": "one\ntwo", "nodes": []}


@pytest.mark.parametrize(
    ("kind", "payload", "said"),
    [
        ("inherit.round", ROUND, "round 2, edit drop + prompt: one (and 1 more)"),
        (
            "inherit.round",
            {**ROUND, "origin": "initial", "dropped": [], "edits": [], "change": "", "nodes": [{"id": "find"}, {"id": "tell"}]},
            "round 2, initial: a team of find, tell",
        ),
        (
            "inherit.ran",
            {"key": "4f", "why": "what determines it changed", "changed": ["node.prompt: 1 → 2", "upstream: x"]},
            "runs: what determines it changed: node.prompt, upstream",
        ),
        ("inherit.reused", {"key": "4f", "why": "the last candidate has it", "changed": []}, "reused: the last candidate has it"),
        (
            "inherit.judged",
            {"quality": 1, "coverage": 2, "grounding": 3, "critique": "Thin.", "blamed": ["find"]},
            "the judge: quality 1, coverage 2, grounding 3; to blame: find; it says: Thin.",
        ),
        ("inherit.chosen", {"round": 0, "quality": None, "writes": 2}, "chose the team of round 0 (no mark, 2 writes to carry out)"),
        ("inherit.unrefreshed", {"nodes": ["lok"]}, "no team had a node 'lok', so there was nothing of it to refresh"),
        ("inherit.withheld", {"writes": 1}, "its plan of 1 write is not carried out, since the team broke off"),
        ("inherit.spent", {"round": 3, "trying": "edit", "why": "no"}, "round 3 gave no team (edit): no"),
        ("fugue.noted", {**NOTE, "status": "ok", "refused": 0}, "note p1.2 on its steps 3 to 5: 1 claim; it may be Ada"),
        (
            "fugue.noted",
            {**NOTE, "status": "degraded", "refused": 2},
            "note p1.2 on its steps 3 to 5: 1 claim, 2 refused, extracted by rule; it may be Ada",
        ),
        ("fugue.heard", {"peer": "p1", "notes": ["p2.1"], "titles": []}, "is shown p2.1"),
        ("fugue.read", {"peer": "p1", "refs": ["p2.1"], "intent": "who?", "cached": True}, "p1 asks behind p2.1: who? (asked before)"),
        ("fugue.answered", {"peer": "p1", "status": "failed", "answer": None, "failure": "no"}, "p1 failed: no"),
        ("team.reported", {"peer": "p1", "status": "answered", "answer": "Ada", "failure": ""}, "p1 answered: Ada"),
        ("fugue.chosen", {"rule": "table", "peer": None, "why": "3 rows"}, "the rule table takes what follows: 3 rows"),
    ],
    ids=range(16),
)  # fmt: skip
def test_what_teams_do_is_told_in_plain_words(kind: str, payload: dict[str, object], said: str) -> None:
    """What happens to teams and their nodes is a sentence without keys and hashes."""
    assert story.sentence(kind, payload) == said

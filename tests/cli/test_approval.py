"""A plan as it is shown: one call after another, whatever models wrote into it."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from motet.cli.approval import plan_lines
from motet.worlds import Write

JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda below: st.lists(below, max_size=3))
PLANS = st.lists(
    st.builds(Write, tool=st.from_regex(r"[a-z_]{1,20}", fullmatch=True), arguments=st.dictionaries(st.text(), JSON)),
    max_size=5,
)


@given(PLANS)
def test_nothing_in_a_plan_passes_for_another_call(plan: list[Write]) -> None:
    """Each call and each argument is one line, calls are numbered and stand apart from arguments, and no control character is left."""
    head, *lines = plan_lines(plan)
    assert f"{len(plan)} call" in head
    assert len(lines) == sum(1 + len(write.arguments) for write in plan)
    assert not any(re.search("[\x00-\x1f\x7f-\x9f\u2028-\u202e]", line) for line in lines)
    calls = [line for line in lines if not line.startswith(" " * 7)]
    assert calls == [f"{number:>3}. {write.tool}" for number, write in enumerate(plan, 1)]


def test_values_are_shown_in_full_up_to_a_bound() -> None:
    """What is left out of a very long one is counted."""
    short, long = "x" * 3_000, "y" * 5_000
    _, _, first, second = plan_lines([Write(tool="send", arguments={"short": short, "long": long})])
    assert first == f'       short: "{short}"'
    assert second == f'       long: "{"y" * 3_999}… and 1,002 characters more'

"""Canonical JSON and the names it gives."""

from __future__ import annotations

import hashlib
import json

import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from motet.canonical import Json, canonical, clean_text, digest

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None, exclude_categories=())),  # lone surrogates too
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def test_the_example_of_the_rfc() -> None:
    """The sample of RFC 8785, section 3.2.2, gives the bytes of section 3.2.4."""
    value: Json = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": '€$\u000f\nA\'B"\\\\"/',
        "literals": [None, True, False],
    }
    assert canonical(value) == (
        b'{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        b'"string":"\xe2\x82\xac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


@given(VALUES)
def test_every_value_has_a_stable_name(value: Json) -> None:
    """Whatever Python can hold as JSON, NaN and huge integers included, has canonical bytes that are JSON and name it."""
    written = canonical(value)
    json.loads(written)
    assert canonical(value) == written
    assert digest(value) == hashlib.sha256(written).hexdigest()


@given(st.dictionaries(st.text(max_size=5), st.integers(-9, 9), max_size=6))
def test_order_does_not_matter(value: dict[str, int]) -> None:
    """Two mappings with the same entries have the same name, in whatever order they were made."""
    assert digest(value) == digest(dict(reversed(value.items())))


@given(st.integers(2**53, 2**70))
def test_integers_that_floats_cannot_hold_keep_apart(value: int) -> None:
    """Neighbouring huge integers have different names, though as floats they may be equal."""
    assert digest(value) != digest(value + 1)


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_clean_text_can_be_stored_anywhere(text: str) -> None:
    """Cleaned text encodes as UTF-8, holds no NUL, and is left alone when cleaned again."""
    cleaned = clean_text(text)
    assert b"\0" not in cleaned.encode()
    assert clean_text(cleaned) == cleaned


@given(VALUES)
def test_the_fast_way_gives_the_bytes_of_the_reference(value: Json) -> None:
    """Values that Python's own encoder may write come out as rfc8785 writes them."""
    try:
        expected = rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError):
        return  # what RFC 8785 has no form for is Motet's own affair
    assert canonical(value) == expected

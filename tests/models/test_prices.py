"""Prices come from the user first, then from the table, and are never guessed."""

from __future__ import annotations

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.errors import InputError
from motet.models.model import Price
from motet.models.prices import parse_price, price_of


def test_a_known_model_has_its_price_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table is read from the installed package, by provider or by address."""

    def refuse(*_: object) -> None:
        raise AssertionError("no network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    price = price_of("openai", "gpt-4o-mini")
    assert price == Price(prompt=0.15, completion=0.6, cached=0.075)
    assert price_of("https://api.openai.com/v1", "gpt-4o-mini") == price


@pytest.mark.parametrize(
    ("provider", "model"),
    [("openai", "no-such-model"), ("lab", "gpt-4o-mini"), ("https://llm.example.org/v1", "gpt-4o-mini")],
)
def test_an_unknown_model_or_place_has_no_price(provider: str, model: str) -> None:
    """A famous name at an unknown address has no price: somebody else serves it."""
    assert price_of(provider, model) is None


def test_the_users_price_goes_first() -> None:
    """A price under ``provider:model`` or the model's name is taken before the table's."""
    mine, other = Price(prompt=1, completion=2), Price(prompt=3, completion=4)
    assert price_of("openai", "gpt-4o-mini", prices={"openai:gpt-4o-mini": mine, "gpt-4o-mini": other}) == mine
    assert price_of("lab", "big", prices={"big": other}) == other


def test_prices_that_depend_on_length_count_as_for_short_prompts() -> None:
    """A tiered entry gives its base price."""
    price = price_of("google", "gemini-2.5-pro")
    assert price is not None
    assert (price.prompt, price.completion) == (1.25, 10.0)


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_a_stated_price_is_read(prompt: float, completion: float) -> None:
    """``IN,OUT`` gives both prices."""
    assert parse_price(f"{prompt}, {completion}") == Price(prompt=prompt, completion=completion)


@pytest.mark.parametrize("text", ["", "1", "1,2,3", "a,b", "1,", "-1,2", "nan,1", "1,inf"])
def test_a_price_that_is_none_is_refused(text: str) -> None:
    """Anything but two amounts is bad input, and the error shows the form."""
    with pytest.raises(InputError, match=r"IN,OUT in dollars per million tokens"):
        parse_price(text)

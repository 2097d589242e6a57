"""Frozen values."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from motet.models.model import Message, Request


def test_a_changed_copy_has_a_digest_of_its_own() -> None:
    """A digest is cached; a copy with another field must not carry the old one along."""
    message = Message(role="user", content="one")
    request = Request(messages=(message,), max_tokens=5)
    assert message.model_copy(update={"content": "two"}).digest == Message(role="user", content="two").digest
    assert len(message.digest) == len(request.digest) == 64
    changed = request.model_copy(update={"max_tokens": 6})
    assert changed.digest == Request(messages=(message,), max_tokens=6).digest != request.digest


def test_an_unknown_field_is_an_error() -> None:
    """A misspelt key never passes as if it were not there."""
    with pytest.raises(ValidationError):
        Message(role="user", contents="x")  # type: ignore[call-arg]

"""Canonical JSON (RFC 8785) and SHA-256: how Motet names anything by its content."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import rfc8785

# A read-only view of JSON, so that tuples and frozen mappings pass without a copy.
Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"

_SAFE_INTEGER = 2**53 - 1
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode


def canonical(value: Json) -> bytes:
    """Return the canonical JSON bytes of ``value``.

    RFC 8785 has no integers beyond 2^53 and no NaN; models do emit them, so they become tagged strings
    (``{"$int": "…"}``) and still get a stable name. Lone surrogates become ``?``.
    """
    try:
        # The same bytes, from an encoder in C: Motet names several values at each step of an agent.
        return _encode(value).encode() if _is_plain(value) else rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError):
        return rfc8785.dumps(_plain(value))


def digest(value: Json) -> str:
    """SHA-256 of the canonical JSON of ``value``, as 64 hex digits."""
    return digest_bytes(canonical(value))


def digest_bytes(data: bytes) -> str:
    """SHA-256 of ``data``, as 64 hex digits."""
    return hashlib.sha256(data).hexdigest()


def clean_text(text: str) -> str:
    """``text`` as every store and wire can carry it: no lone surrogates and no NUL."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "")


def _is_plain(value: Json) -> bool:
    """Whether Python's own encoder writes ``value`` as RFC 8785 asks: no floats, no big integers, no keys whose order depends on UTF-16."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is dict:
        return all(type(key) is str and key.isascii() for key in value) and all(map(_is_plain, value.values()))  # type: ignore[union-attr]
    if kind is list or kind is tuple:
        return all(map(_is_plain, value))  # type: ignore[arg-type]
    return kind is int and abs(value) <= _SAFE_INTEGER  # type: ignore[arg-type]


def _plain(value: Json) -> Json:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= _SAFE_INTEGER else {"$int": str(value)}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": str(value)}
    if isinstance(value, Mapping):
        return {str(_plain(key)): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value]

"""Chance without state: the same parts draw the same number, in every run, process and order."""

from __future__ import annotations

import hashlib
import json


def chance(*parts: str | int) -> float:
    """A number in [0, 1) that SHA-256 makes of ``parts``."""
    body = json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(body).digest()[:8], "big") / 2**64

"""One store for all tests of a module."""

from __future__ import annotations

from tests.runs.conftest import store

__all__ = ["store"]

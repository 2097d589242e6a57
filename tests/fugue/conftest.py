"""One store for all tests of a module."""

from __future__ import annotations

from tests.runs.conftest import store
from tests.store.conftest import new_url, postgres_url, store_url

__all__ = ["new_url", "postgres_url", "store", "store_url"]

"""Fixtures shared by all tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """Motet is asyncio only."""
    return "asyncio"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty MOTET_HOME of the test's own, with no store URL and no key from outside."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("MOTET_HOME", str(folder))
    for name in ("MOTET_STORE", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    yield folder

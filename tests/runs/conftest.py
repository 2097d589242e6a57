"""One store for all tests of a module: runs in one store know nothing of each other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.store.store import Store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store on SQLite."""
    folder: Path = tmp_path_factory.mktemp("store")
    with Store.open(f"sqlite:///{folder / 'runs.db'}") as opened:
        yield opened

"""Stores for the tests: each test that takes ``store_url`` runs on SQLite and on PostgreSQL."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from motet.store.store import Store
from tests.store import postgres


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A PostgreSQL server of this session's own."""
    with postgres.server() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Makes URLs of databases that are not there yet, or are empty."""

    def make() -> str:
        name = f"t{uuid.uuid4().hex}"
        if request.param == "sqlite":
            return f"sqlite:///{tmp_path / name}.db"
        return postgres.new_database(request.getfixturevalue("postgres_url"), name)

    return make


@pytest.fixture
def store_url(new_url: Callable[[], str]) -> str:
    """The URL of an empty database."""
    return new_url()


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    """An empty store."""
    with Store.open(store_url) as opened:
        yield opened


@pytest.fixture
def sqlite_store(tmp_path: Path) -> Iterator[Store]:
    """An empty store on SQLite, in ``tmp_path / "runs.db"``."""
    with Store.open(f"sqlite:///{tmp_path / 'runs.db'}") as opened:
        yield opened

"""Fixtures for tests of whole commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.command import HAS_WEIGHTS, NO_WEIGHTS, Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A place to run commands in."""
    folder = tmp_path / "desk"
    folder.mkdir()
    return Desk(folder)


@pytest.fixture
def scripted(desk: Desk) -> Desk:
    """A place to run commands in, where scripted models work."""
    if not HAS_WEIGHTS:
        pytest.skip(NO_WEIGHTS)
    return desk

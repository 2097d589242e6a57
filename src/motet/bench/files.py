"""Where a benchmark's file is: named by the user, or in the data directory."""

from __future__ import annotations

from pathlib import Path

from motet.errors import InputError
from motet.settings import data_dir


def locate(what: str, path: Path | None, *, folder: str, name: str, how: str) -> Path:
    """The file ``path``, or the file ``name`` in the folder ``path``; without one, that in the data directory's ``folder``.

    Raises InputError that says which of ``what`` is missing, where it was looked for, and ``how`` to get it.
    """
    if path is None:
        place = data_dir()
        if place is None:
            raise InputError(f"{what} needs {name}, and MOTET_DATA_DIR is not set; {how}")
        path = place / folder
        file = path / name
    else:
        file = path / name if path.is_dir() else path
    if not file.is_file():
        raise InputError(f"{what}'s file is not at {file}; {how}")
    return file


def read_bytes(what: str, file: Path) -> bytes:
    """The content of ``file``. Raises InputError."""
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"{file} cannot be read as {what}'s file: {error}") from None


def read_text(what: str, file: Path, data: bytes) -> str:
    """``data`` as UTF-8, a byte order mark left out. Raises InputError that names ``file``."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is no UTF-8 text, so no file of {what}: {error}") from None

"""A user's own code by name: ``module:name``, with modules of the working directory importable as under ``python -m``."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Callable, Iterator

from motet.errors import InputError
from motet.settings import nearest


def load_object(path: str) -> Callable[..., object]:
    """What ``module:name`` stands for, with modules of the working directory importable. Raises InputError."""
    module_name, _, attribute = path.partition(":")
    try:
        with working_directory():
            found: object = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if module_name != missing and not module_name.startswith(f"{missing}."):
            raise InputError(
                f"{path} cannot be loaded: it needs the module {missing!r}, which is not installed"
            ) from None
        raise InputError(f"{path} cannot be loaded: there is no module {missing!r} here") from None
    except Exception as error:
        raise InputError(
            f"{path} cannot be loaded: importing {module_name!r} failed: {type(error).__name__}: {error}"
        ) from error
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            public = [name for name in dir(found) if not name.startswith("_")]
            raise InputError(f"{path} cannot be loaded: {module_name} has no {part!r}{nearest(part, public)}") from None
    if not callable(found):
        raise InputError(f"{path} is no class")
    return found


@contextlib.contextmanager
def working_directory() -> Iterator[None]:
    """The working directory first on the import path, as under ``python -m``, and off it again."""
    here = os.getcwd()
    known = here in sys.path or "" in sys.path
    if not known:
        sys.path.insert(0, here)
        importlib.invalidate_caches()
    try:
        yield
    finally:
        if not known:
            with contextlib.suppress(ValueError):
                sys.path.remove(here)

"""Which of the machine's files the interpreter needs in order to run: nothing else is shown inside."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

_LIBRARIES = ("/usr/lib", "/usr/lib64", "/usr/lib32", "/lib", "/lib64", "/lib32")
_DATA = ("/usr/share/zoneinfo", "/etc/ld.so.cache")
_STORES = ("/nix/store", "/gnu/store")  # where an interpreter's libraries lie beside it


class Layout(NamedTuple):
    """``binds`` are shown read-only at their own paths; ``links`` map a path to its target; ``masks`` appear empty."""

    python: str
    stdlib: str
    binds: tuple[str, ...]
    links: dict[str, str]
    masks: tuple[str, ...]


@cache
def layout() -> Layout:
    """The files of this process's interpreter, of the installation beneath a virtual environment.

    Only its program and its library folder are bound, at their real paths: they may lie in a user's home. Installed
    packages are masked, so that the same code runs alike everywhere.
    """
    python = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
    stdlib = os.path.realpath(os.path.dirname(os.__file__))
    links = {path: os.readlink(path) for path in _LIBRARIES if os.path.islink(path)}
    wanted = [path for path in _LIBRARIES if os.path.isdir(path) and path not in links]
    wanted += [path for path in _STORES if python.startswith(f"{path}/")]
    wanted += [path for path in _DATA if os.path.exists(path)]
    wanted += [os.path.dirname(stdlib), os.path.dirname(os.path.realpath(os.path.join(stdlib, "lib-dynload"))), python]
    binds: list[str] = []
    for path in sorted(set(map(os.path.realpath, wanted)), key=len):
        if not any(Path(path).is_relative_to(shown) for shown in binds):
            binds.append(path)
    packages = [
        f"{stdlib}/site-packages",
        f"{stdlib}/dist-packages",
        f"{os.path.dirname(stdlib)}/python3/dist-packages",  # Debian
    ]
    masks = [path for path in packages if os.path.isdir(path) and not os.path.islink(path)]
    return Layout(python=python, stdlib=stdlib, binds=tuple(binds), links=links, masks=tuple(masks))

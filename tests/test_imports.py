"""What importing does, and who may import whom."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import motet

ROOT = Path(__file__).parent.parent
PACKAGE = Path(motet.__file__).parent
# Alembic runs these two itself, with names that only it provides.
MIGRATIONS = PACKAGE / "store" / "migrations"
HEAVY = {
    "openai",
    "aiohttp",
    "torch",
    "sqlalchemy",
    "alembic",
    "numpy",
    "xllamacpp",
    "tokenizers",
    "bm25s",
    "trafilatura",
}

_LOADED = """
import json, sys
{code}
print(json.dumps(sorted({{name.partition(".")[0] for name in sys.modules}})))
"""

_QUIET = """
import importlib, json, os, sys, threading
before = dict(os.environ)
for name in sys.argv[1:]:
    importlib.import_module(name)
print(json.dumps({
    "threads": [thread.name for thread in threading.enumerate()],
    "environment": sorted(set(os.environ.items()) ^ set(before.items())),
    "files": os.listdir(),
    "sockets": [link for link in map(os.readlink, open_files()) if link.startswith("socket:")],
}))
"""

# What others wrote is loaded once, before the forks, so that each of them only has Motet's own modules to load.
_FIRST = """
import importlib, os, sys, traceback
import alembic.command, anyio, jsonschema, openai, pydantic, rfc8785, rich, sqlalchemy, typer, yaml
failed = []
for name in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        try:
            importlib.import_module(name)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        failed.append(name)
print(failed)
"""


def modules() -> list[str]:
    """Every module of the package by its dotted name."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if not path.is_relative_to(MIGRATIONS):
            parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
            found.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return found


def python(code: str, *arguments: str, folder: Path) -> str:
    """What a fresh interpreter prints for ``code``, run in ``folder`` with warnings as errors."""
    environment = {**os.environ, "MOTET_HOME": str(folder / "home")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "code",
    [
        "import motet",
        "import motet; motet.InputError, motet.Task, motet.System, motet.tool",
        "import motet.cli",
        "import sys, motet.cli; sys.argv = ['motet', '--help']\ntry: motet.cli.main()\nexcept SystemExit: pass",
    ],
)
def test_the_front_doors_load_nothing_heavy(code: str, tmp_path: Path) -> None:
    """``import motet``, its plain values, and ``motet --help`` load no client, database, model runtime or number cruncher."""
    loaded = set(json.loads(python(_LOADED.format(code=code), folder=tmp_path).splitlines()[-1]))
    assert not loaded & HEAVY


def test_importing_anything_has_no_side_effect(tmp_path: Path) -> None:
    """After every module was imported there is no new thread, file, socket or environment variable."""
    listing = "def open_files():\n    return [f'/proc/self/fd/{n}' for n in range(3, 64) if os.path.islink(f'/proc/self/fd/{n}')]\n"
    if not Path("/proc/self/fd").is_dir():
        listing = "def open_files():\n    return []\n"
    seen = json.loads(python(f"import os\n{listing}{_QUIET}", *modules(), folder=tmp_path))
    assert seen == {"threads": ["MainThread"], "environment": [], "files": [], "sockets": []}


def test_any_module_can_be_the_first_one_imported(tmp_path: Path) -> None:
    """No module depends on another having been imported before it: each imports alone, in a process of its own."""
    assert python(_FIRST, *modules(), folder=tmp_path).strip() == "[]"


def test_the_floors_hold() -> None:
    """No module imports one of a floor above it, every module has a floor, and none imports torch."""
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr

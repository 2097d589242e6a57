"""Systems by name: one lazy table, and the way to a user's own ``module:Class``."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import PydanticSerializationError

from motet.errors import InputError
from motet.settings import explain, nearest
from motet.system import System

SYSTEMS = {
    "react": "motet.agent.react:React",
    "noop": "motet.baselines.noop:Noop",
}


def build(name: str, config: Mapping[str, object]) -> System:
    """The system called ``name``, or of the class ``module:Class``, with ``config``.

    Raises InputError for an unknown name, a class that is no System, and for wrong or unknown keys, naming the nearest right one.
    """
    kind = _find(name)
    try:
        system = kind(**config)
    except ValidationError as error:
        model = kind if isinstance(kind, type) and issubclass(kind, BaseModel) else BaseModel
        raise InputError(f"system {name}: {explain(error, model)}") from None
    except TypeError as error:
        raise InputError(f"system {name}: {error}") from None
    if not isinstance(system, System):
        raise InputError(f"{name} is no System: it needs a name and an async solve(task, *, run)")
    return system


def fields(name: str) -> tuple[str, ...]:
    """The configuration keys of the system called ``name``. Raises InputError for an unknown one."""
    kind = _find(name)
    return tuple(kind.model_fields) if isinstance(kind, type) and issubclass(kind, BaseModel) else ()


def describe(system: System) -> dict[str, JsonValue]:
    """How to build ``system`` again: ``name`` and ``config``; ``config`` is ``None`` when it holds objects that only Python can give."""
    kind = type(system)
    path = f"{kind.__module__}:{kind.__qualname__}"
    name = next((known for known, target in SYSTEMS.items() if target == path), path)
    config: JsonValue = None
    if isinstance(system, BaseModel) and kind.__module__ != "__main__" and "<locals>" not in path:
        try:
            config = system.model_dump(mode="json", exclude_defaults=True)
        except PydanticSerializationError:
            config = None
    return {"name": name, "config": config}


def _find(name: str) -> Callable[..., object]:
    if name in SYSTEMS:
        return load_object(SYSTEMS[name])
    module, colon, attribute = name.partition(":")
    if not colon:
        raise InputError(f"unknown system {name!r}{nearest(name, SYSTEMS)}; your own: --system module:Class")
    if not all(part.isidentifier() for part in (*module.split("."), *attribute.split("."))):
        raise InputError(f"unknown system {name!r}: write your own as module:Class, such as my_team.systems:Trio")
    return load_object(name)


def load_object(path: str) -> Callable[..., object]:
    """What ``module:name`` stands for, with modules of the working directory importable. Raises InputError."""
    module_name, _, attribute = path.partition(":")
    here = str(Path.cwd())
    added = here not in sys.path
    if added:
        # A user's own module is found where the command is run, as with ``python -m``.
        sys.path.insert(0, here)
    try:
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
    finally:
        if added:
            sys.path.remove(here)
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            public = [name for name in dir(found) if not name.startswith("_")]
            raise InputError(f"{path} cannot be loaded: {module_name} has no {part!r}{nearest(part, public)}") from None
    if not callable(found):
        raise InputError(f"{path} is no class")
    return found

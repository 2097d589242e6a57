"""Systems by name: one lazy table, and the way to a user's own ``module:Class``."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import PydanticSerializationError

from motet.errors import InputError
from motet.load import load_object
from motet.settings import explain, nearest
from motet.system import System

SYSTEMS = {
    "react": "motet.agent.react:React",
    "noop": "motet.baselines.noop:Noop",
    "inherit": "motet.inherit.system:Inherit",
    "fugue": "motet.fugue.system:Fugue",
    "inherit-initial": "motet.baselines.inherit_initial:InheritInitial",
    "evoagent": "motet.baselines.evoagent:EvoAgent",
    "evomas": "motet.baselines.evomas:EvoMAS",
    "tacomas": "motet.baselines.tacomas:TacoMAS",
    "best-of-n": "motet.baselines.best_of_n:BestOfN",
    "broadcast": "motet.baselines.broadcast:Broadcast",
    "debate": "motet.baselines.debate:Debate",
    "naive": "motet.baselines.naive:Naive",
    "swarm": "motet.baselines.swarm:Swarm",
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
            config = system.model_dump(mode="json")
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

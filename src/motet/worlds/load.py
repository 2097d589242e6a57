"""Worlds by name: a user's own ``module:Class``."""

from __future__ import annotations

from motet.errors import InputError
from motet.load import load_object
from motet.worlds.world import World


def open_world(world: str | World | None) -> World | None:
    """The world itself, or a new one from ``module:Class`` (or a function that makes one). Raises InputError."""
    if world is None or not isinstance(world, str):
        return world
    if ":" not in world:
        raise InputError(f"world {world!r} is not module:Class, such as my_worlds:Office")
    try:
        made = load_object(world)()
    except InputError:
        raise
    except Exception as error:
        told = " ".join(str(error).split())[:300]
        raise InputError(f"world {world} cannot be made: {type(error).__name__}: {told}") from error
    if not isinstance(made, World):
        raise InputError(f"{world} is no World; see motet.worlds.world for what one needs")
    return made

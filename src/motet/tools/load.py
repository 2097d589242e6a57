"""Tools by name: ``corpus:FOLDER``, ``python``, ``web`` (``web:search``, ``web:visit``), ``module:function``.

``module:name`` may be a function with type annotations, a Tool, a list of Tools, a class of Tool without arguments, or a
function that takes nothing and is annotated to return a Tool or several. Modules in the working directory can be imported,
as ``python -m`` does.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any, get_args, get_type_hints

from motet.errors import InputError
from motet.load import working_directory
from motet.settings import Settings, load_settings, nearest
from motet.tools.function import NAME, FunctionTool
from motet.tools.tool import Tool

_FORMS = ("corpus:FOLDER", "python", "web", "module:function")


def load_tools(
    specs: Sequence[str | Tool], *, allow_weak_sandbox: bool = False, settings: Settings | None = None
) -> tuple[Tool, ...]:
    """The tools that ``specs`` name, in their order; made anew at each call, so that agents share none.

    ``settings`` configure the web tools; without them the settings file is read.

    Raises InputError for an unknown name, a module or folder that is not there, and for two tools of one name.
    """
    if isinstance(specs, str):
        specs = [specs]
    tools: list[Tool] = []
    origins: dict[str, str] = {}
    for wanted in specs:
        origin = wanted if isinstance(wanted, str) else repr(wanted)
        for loaded in _load(wanted, allow_weak_sandbox=allow_weak_sandbox, settings=settings):
            if not NAME.fullmatch(loaded.name):
                raise InputError(
                    f"tool {origin!r}: its name {loaded.name!r} is not valid; use 1 to 64 of a-z, A-Z, 0-9, _ and -"
                )
            if loaded.name in origins:
                raise InputError(
                    f"two tools are called {loaded.name!r}: from {origins[loaded.name]!r} and {origin!r}; "
                    "give one of them another name"
                )
            origins[loaded.name] = origin
            tools.append(loaded)
    return tuple(tools)


def _load(wanted: str | Tool, *, allow_weak_sandbox: bool, settings: Settings | None) -> Sequence[Tool]:
    if not isinstance(wanted, str):
        return _as_tools(wanted, origin=repr(wanted))
    kind, colon, rest = wanted.strip().partition(":")
    if kind == "corpus":
        if not rest:
            raise InputError("tool 'corpus' needs a folder: corpus:FOLDER")
        from motet.tools.corpus import corpus_tools

        return corpus_tools(rest)
    if kind == "python" and not colon:
        from motet.tools.python import python_tool

        return [python_tool(allow_weak=allow_weak_sandbox)]
    if kind == "web" and (rest or not colon):
        from motet.tools.web.tools import web_tools

        return web_tools((settings or load_settings()).web, part=rest)
    if colon and kind and rest:
        return _as_tools(_import(kind, rest, origin=wanted), origin=wanted)
    close = nearest(kind, ("corpus", "python", "web"))
    hint = close if close.startswith("; did you mean") else ""
    raise InputError(f"unknown tool {wanted!r}{hint}; known: {', '.join(_FORMS)}")


def _import(module_name: str, path: str, *, origin: str) -> object:
    """The object at ``path`` in the module, with the working directory importable meanwhile."""
    if "/" in module_name or module_name.endswith(".py"):
        dotted = module_name.removesuffix(".py").strip("./").replace("/", ".")
        raise InputError(f"tool {origin!r}: name the module, not its file: {dotted}:{path}")
    if not all(part.isidentifier() for part in module_name.split(".")):
        raise InputError(f"tool {origin!r}: {module_name!r} is not a module's name; known: {', '.join(_FORMS)}")
    with working_directory():
        try:
            found: object = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name and (module_name == error.name or module_name.startswith(f"{error.name}.")):
                raise InputError(
                    f"tool {origin!r}: there is no module {error.name!r} here or among the installed ones"
                ) from None
            raise InputError(
                f"tool {origin!r}: module {module_name!r} needs {error.name!r}, which is missing"
            ) from error
        except InputError:
            raise
        except Exception as error:
            raise InputError(
                f"tool {origin!r}: importing {module_name!r} failed: {type(error).__name__}: {error}"
            ) from error
    for name in path.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            public = [known for known in dir(found) if not known.startswith("_")]
            raise InputError(f"tool {origin!r}: {module_name!r} has no {name!r}{nearest(name, public)}") from None
    return found


def _as_tools(found: object, *, origin: str) -> Sequence[Tool]:
    if isinstance(found, Tool) and not inspect.isclass(found):
        return [found]
    if isinstance(found, list | tuple) and found:
        return [tool for item in found for tool in _as_tools(item, origin=origin)]
    if inspect.isclass(found) and _is_tool_class(found):
        return _as_tools(_made(found, origin=origin), origin=origin)
    if inspect.isroutine(found):
        if _makes_tools(found):
            return _as_tools(_made(found, origin=origin), origin=origin)
        return [FunctionTool(found)]
    raise InputError(
        f"tool {origin!r} is {type(found).__name__}, not a tool; name a function with type annotations, or a Tool"
    )


def _made(factory: Callable[[], object], *, origin: str) -> object:
    try:
        made = factory()
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"tool {origin!r}: making it failed: {type(error).__name__}: {error}") from error
    if inspect.isroutine(made) or inspect.isclass(made):
        raise InputError(f"tool {origin!r} was to make a Tool and made {type(made).__name__}")
    return made


def _makes_tools(function: Callable[..., object]) -> bool:
    """Whether ``function`` is annotated to return a Tool, or several."""
    try:
        returned: Any = get_type_hints(function).get("return")
    except (NameError, TypeError, AttributeError):
        return False
    return any(_is_tool_class(kind) for kind in (returned, *get_args(returned)))


def _is_tool_class(kind: object) -> bool:
    if not inspect.isclass(kind):
        return False
    return kind is Tool or issubclass(kind, FunctionTool) or _has_tool_methods(kind)


def _has_tool_methods(kind: type) -> bool:
    """Whether a class has the methods and the data of a Tool, as attributes or annotations."""
    named = set(dir(kind)).union(*(getattr(base, "__annotations__", {}) for base in kind.__mro__))
    return {"name", "description", "parameters", "effect", "delivery", "version", "confirm", "__call__"} <= named

"""Where things live, and the machine-wide settings file.

Places, each from the environment or the user's data folder:

- ``MOTET_HOME``: the store, tensors and converted models.
- ``MOTET_STORE``: a database URL for the store (default: SQLite in ``MOTET_HOME``).
- ``MOTET_DATA_DIR``: benchmark files.

Settings come from ``motet.toml`` in the working directory, else ``config.toml`` in ``MOTET_HOME``:

    [providers.lab]
    base_url = "https://llm.example.org/v1"
    key_env = "LAB_KEY"             # the variable that holds the key; the key itself is never written down
    max_parallel = 8

    [prices."lab:big"]
    prompt = 0.5                    # dollars per million tokens
    completion = 1.5

    [web]                           # the `web` tools
    provider = "brave"              # or "tavily", "searxng" (with base_url), "local" (with folder)
    key_env = "BRAVE_API_KEY"
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import UnionType
from typing import Literal, Union, get_args, get_origin

from pydantic import BaseModel, Field, ValidationError

from motet.errors import InputError
from motet.models.model import Price
from motet.value import Value


class Provider(Value):
    """An OpenAI-compatible endpoint. A key is bound to this one ``base_url`` and sent nowhere else.

    ``timeout`` is in seconds for one attempt; ``retry_for`` bounds the seconds spent on retries of one call.
    """

    base_url: str
    key_env: str | None = None
    key_file: Path | None = None
    native_tools: bool = True
    json_schema: bool = True
    context: int | None = None
    max_parallel: int = Field(default=64, gt=0)
    timeout: float = Field(default=600.0, gt=0)
    attempts: int = Field(default=6, gt=0)
    retry_for: float = Field(default=300.0, gt=0)
    max_tokens_field: str = "max_tokens"


class Web(Value):
    """The ``web`` tools: which service answers ``search``, and which hosts ``visit`` may reach although they are not public.

    ``base_url`` is for ``searxng``, or for another address of a service; its key is sent nowhere else. ``folder`` holds the
    saved pages of ``local``. ``allow`` lists hosts, each as ``host`` or ``host:port``.
    """

    provider: Literal["brave", "tavily", "searxng", "local"] | None = None
    key_env: str | None = None
    key_file: Path | None = None
    base_url: str | None = None
    folder: Path | None = None
    allow: tuple[str, ...] = ()


class Settings(Value):
    """The settings file as a value. ``source`` is where it was read from."""

    providers: dict[str, Provider] = Field(default_factory=dict)
    prices: dict[str, Price] = Field(default_factory=dict)
    web: Web = Web()
    source: Path | None = None


def home() -> Path:
    """``MOTET_HOME``, or the user's data folder. Not created here. Raises InputError for a user without a home folder."""
    try:
        configured = os.environ.get("MOTET_HOME")
        if configured:
            return Path(configured).expanduser()
        from platformdirs import user_data_path

        return user_data_path("motet", appauthor=False)
    except RuntimeError:
        raise InputError(
            "this user has no home folder: set MOTET_HOME to a folder for the store and the models"
        ) from None


def store_url() -> str:
    """The store's database URL."""
    return os.environ.get("MOTET_STORE") or f"sqlite:///{home() / 'motet.db'}"


def data_dir() -> Path | None:
    """``MOTET_DATA_DIR`` if set."""
    configured = os.environ.get("MOTET_DATA_DIR")
    return Path(configured).expanduser() if configured else None


def load_settings(path: Path | None = None) -> Settings:
    """Read ``path``, or the first settings file that exists; defaults when there is none.

    Raises InputError naming the file, the key, and the nearest right key.
    """
    candidates = [path] if path else [Path("motet.toml"), home() / "config.toml"]
    found = next((candidate for candidate in candidates if candidate.is_file()), None)
    if found is None:
        if path:
            raise InputError(f"settings file {path} is not there")
        return Settings()
    try:
        data = tomllib.loads(found.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"settings file {found} cannot be read: {error}") from None
    if "source" in data:
        raise InputError(f"settings file {found}: unknown key 'source'; known: prices, providers")
    try:
        return Settings.model_validate({**data, "source": found.resolve()})
    except ValidationError as error:
        raise InputError(f"settings file {found}: {explain(error, Settings)}") from None


def explain(error: ValidationError, model: type[BaseModel]) -> str:
    """One line for a failed validation: where, what, and for an unknown key the nearest right one."""
    errors = error.errors(include_url=False)
    # A misspelt key is often a missing one too, and the misspelling says more.
    first = next((item for item in errors if item["type"] == "extra_forbidden"), errors[0])
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        name = str(first["loc"][-1])
        return f"unknown key {where!r}{nearest(name, _names_at(model, first['loc']) or _field_names(model))}"
    return f"{where}: {first['msg']}" if where else str(first["msg"])


def nearest(name: str, known: Iterable[str]) -> str:
    """``; did you mean 'x'?`` for the closest of ``known``, else the whole list."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known: {', '.join(names)}" if names else ""


def _names_at(model: type[BaseModel], place: Sequence[int | str]) -> set[str]:
    """The keys that are right where the last of ``place`` stands; none where that cannot be told."""
    here: list[object] = [model]
    for part in place[:-1]:
        here = [inner for item in here for inner in _inside(item, part)]
    return {
        name for item in here if isinstance(item, type) and issubclass(item, BaseModel) for name in item.model_fields
    }


def _inside(item: object, part: int | str) -> list[object]:
    """What may stand at ``part`` in ``item``, a model or the annotation of a collection or union."""
    if isinstance(item, type) and issubclass(item, BaseModel):
        field = item.model_fields.get(str(part))
        found = [] if field is None else [field.annotation]
    else:
        found = list(get_args(item))
    # A union takes no part of the place for itself.
    return [
        inner for kind in found for inner in (get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,))
    ]


def _field_names(model: type[BaseModel]) -> set[str]:
    """Field names of ``model`` and of the values nested in it."""
    names: set[str] = set()
    todo: list[object] = [model]
    seen: set[object] = set()
    while todo:
        item = todo.pop()
        if item in seen:
            continue
        seen.add(item)
        if isinstance(item, type) and issubclass(item, BaseModel):
            names.update(item.model_fields)
            todo.extend(field.annotation for field in item.model_fields.values())
        todo.extend(getattr(item, "__args__", ()))
    return names

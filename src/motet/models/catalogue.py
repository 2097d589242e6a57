"""What `motet models` shows: every kind of model, whether it can be used here, and if not, what to do about it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from motet.errors import InputError, ModelError
from motet.models.model import Model, ModelInfo
from motet.models.providers import LOCAL, OPENAI_URL, key_of, resolve
from motet.settings import Provider, Settings

PROBE_SECONDS = 0.3


@dataclass(frozen=True)
class Row:
    """One kind of model. ``usable`` is ``None`` where only a request could tell; ``note`` says why not and what to do."""

    name: str
    usable: bool | None
    note: str
    models: tuple[str, ...] = ()


async def catalogue(settings: Settings, *, probe: bool) -> list[Row]:
    """The rows, in-process models first. ``probe`` asks the local servers what they serve, for 0.3 s at most."""
    rows = [*_in_process(), _keyed("openai", settings)]
    rows += [_keyed(name, settings) for name in settings.providers if name not in LOCAL and name != "openai"]
    places = {name: settings.providers.get(name) or provider for name, provider in LOCAL.items()}
    found = await asyncio.gather(*(_listed(provider) if probe else _unasked() for provider in places.values()))
    for (name, provider), models in zip(places.items(), found, strict=True):
        if not probe:
            rows.append(Row(f"{name}:NAME", None, f"a server at {provider.base_url}"))
        elif models is None:
            rows.append(Row(f"{name}:NAME", False, f"nothing answers at {provider.base_url}"))
        else:
            rows.append(Row(f"{name}:NAME", True, f"answers at {provider.base_url}", models))
    rows.append(Row("NAME@BASE_URL", None, "any OpenAI-compatible server, asked without a key"))
    return rows


def _in_process() -> list[Row]:
    from motet.models.embedded import open_embedded
    from motet.models.scripted import POLICIES, open_scripted

    return [
        _opened("embedded", open_embedded, "a small chat model inside this process; free, and tiny"),
        *(
            _opened(f"scripted:{name}", open_scripted, "a scripted policy: shows mechanics, measures nothing")
            for name in POLICIES
        ),
    ]


def _opened(name: str, opener: Callable[[str], Model], note: str) -> Row:
    try:
        opener(name)
    except InputError as error:
        return Row(name, False, str(error))
    return Row(name, True, note)


def _keyed(name: str, settings: Settings) -> Row:
    """A provider that needs no more than its key."""
    try:
        place = resolve(f"{name}:NAME", settings)
        key = key_of(place)
    except InputError as error:
        return Row(f"{name}:NAME", False, str(error))
    where = "OpenAI" if place.provider.base_url == OPENAI_URL else place.provider.base_url
    return Row(f"{name}:NAME", None if key is None else True, f"{where}, {'with its key' if key else 'without a key'}")


async def _unasked() -> None:
    return None


async def _listed(provider: Provider) -> tuple[str, ...] | None:
    """The models that a local server lists, or ``None`` when nothing usable answers. Sends no key."""
    from motet.models.endpoint import Endpoint

    info = ModelInfo(name="local", identity="local", provider="local")
    endpoint = Endpoint(info, model="", provider=provider, key=None)
    try:
        return tuple(await endpoint.probe(timeout=PROBE_SECONDS))
    except ModelError:
        return None
    finally:
        await endpoint.aclose()

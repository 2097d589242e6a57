"""Models by name: which server answers, with which key, behind which gate.

Names:

- ``openai:NAME``: OpenAI, or the server at ``OPENAI_BASE_URL``.
- ``vllm:NAME``, ``ollama:NAME``, ``llamacpp:NAME``: a server on this machine, at its usual port.
- ``PROVIDER:NAME``: a ``[providers.PROVIDER]`` of the settings file, which may also redefine the names above.
- ``NAME@BASE_URL``: any OpenAI-compatible server.
- ``embedded`` or ``embedded:NAME``: a small model inside this process.
- ``scripted:NAME``: a scripted policy, for tests and mechanics; never a measure of quality.

Keys: ``OPENAI_API_KEY`` goes to OpenAI's own address and to ``OPENAI_BASE_URL`` only; the key of a ``[providers.X]`` goes to
its ``base_url`` only; an address that nobody configured gets none.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from motet.errors import InputError, ModelDenied, ModelError
from motet.models.gate import Gate, Gated
from motet.models.model import Model, ModelInfo, Price
from motet.models.prices import price_of
from motet.settings import Provider, Settings, nearest

if TYPE_CHECKING:
    from motet.models.catalogue import Row
    from motet.models.endpoint import Clients, Endpoint

OPENAI_URL = "https://api.openai.com/v1"
LOCAL = {
    "vllm": Provider(base_url="http://127.0.0.1:8000/v1"),
    "ollama": Provider(base_url="http://127.0.0.1:11434/v1"),
    "llamacpp": Provider(base_url="http://127.0.0.1:8080/v1"),
}
_BUILT_IN = ("embedded", "scripted")
# Servers whose list of models is complete, so that a name it lacks is a mistake.
_COMPLETE_LISTS = ("openai", "vllm")


@dataclass(frozen=True)
class Place:
    """Where a model is: ``name`` of the provider in records, its configuration, and the server's name for the model."""

    name: str
    provider: Provider
    model: str


class Models:
    """The models of one process, by name. Models of one provider share its gate and its connections.

    ``prices`` go before those of the settings, and are keyed by a model's name as it is given here.
    """

    def __init__(self, settings: Settings, *, prices: Mapping[str, Price] | None = None) -> None:
        for taken in _BUILT_IN:
            if taken in settings.providers:
                raise InputError(f"[providers.{taken}]: {taken!r} is a kind of model; give the provider another name")
        self.settings = settings
        self._prices = {**settings.prices, **(prices or {})}
        self._models: dict[str, Model] = {}
        self._endpoints: dict[str, Endpoint] = {}
        self._shared: dict[tuple[str, Provider], tuple[Gate, Clients]] = {}

    def get(self, name: str) -> Model:
        """The model called ``name``. Raises InputError for a name that means nothing here, or whose key is missing."""
        if name not in self._models:
            self._models[name] = self._open(name)
        return self._models[name]

    async def preflight(self, name: str) -> None:
        """Check that ``name`` can be asked: configuration, key, and one cheap request to its server.

        Raises InputError saying what is wrong and what to check.
        """
        self.get(name)
        endpoint = self._endpoints.get(name)
        if endpoint is None:
            return
        place = resolve(name, self.settings)
        host = urlsplit(place.provider.base_url).netloc
        try:
            listed = await endpoint.probe()
        except ModelDenied as error:
            raise InputError(f"{error}; {_key_hint(place)}") from None
        except ModelError as error:
            raise InputError(
                f"{error}; is the server running, and is {place.provider.base_url} its address? ({name} is asked at {host})"
            ) from None
        if listed and place.model not in listed and place.name in _COMPLETE_LISTS:
            raise InputError(f"{place.name} at {host} has no model {place.model!r}{nearest(place.model, listed)}")

    async def describe(self, *, probe: bool = False) -> list[Row]:
        """Every kind of model, and whether it can be used here. ``probe`` also asks the usual local ports."""
        from motet.models.catalogue import catalogue

        return await catalogue(self.settings, probe=probe)

    async def aclose(self) -> None:
        """Close the running event loop's connections. The models stay usable; a later call connects anew."""
        for _, clients in self._shared.values():
            await clients.aclose()

    def _open(self, name: str) -> Model:
        kind = name.partition(":")[0]
        if kind == "embedded" and "@" not in name:
            from motet.models.embedded import open_embedded

            return open_embedded(name)
        if kind == "scripted" and "://" not in name:
            from motet.models.scripted import open_scripted

            return open_scripted(name)
        from motet.models.endpoint import Clients, Endpoint

        place = resolve(name, self.settings)
        key = key_of(place)
        shared = self._shared.get((place.name, place.provider))
        if shared is None:
            provider = place.provider
            gate = Gate(provider.max_parallel, attempts=provider.attempts, retry_for=provider.retry_for)
            shared = self._shared[place.name, provider] = gate, Clients(provider, key)
        gate, clients = shared
        info = ModelInfo(
            name=name,
            identity=f"{place.name}/{place.model}",
            provider=place.name,
            context=place.provider.context,
            native_tools=place.provider.native_tools,
            price=self._price(name, place),
        )
        endpoint = Endpoint(info, model=place.model, provider=place.provider, key=key, clients=clients)
        self._endpoints[name] = endpoint
        return Gated(endpoint, gate)

    def _price(self, name: str, place: Place) -> Price | None:
        if name in self._prices:
            return self._prices[name]
        if loopback(place.provider.base_url):
            return None
        provider = "openai" if place.provider.base_url == OPENAI_URL else place.provider.base_url
        return price_of(provider, place.model, prices=self._prices)


def resolve(name: str, settings: Settings) -> Place:
    """Where the model called ``name`` is. Raises InputError for a name that means nothing here."""
    for mark in ("@http://", "@https://"):
        model, found, _ = name.partition(mark)
        if found:
            return _at(model, name[len(model) + 1 :], settings)
    kind, colon, model = name.partition(":")
    known = {*settings.providers, *LOCAL, "openai", *_BUILT_IN}
    if not colon or kind not in known:
        if not colon and kind in known:
            raise InputError(f"model {name!r} lacks a name: write {name}:NAME")
        hint = nearest(kind, known) if colon or _near(kind) else f"; did you mean 'openai:{name}'?"
        raise InputError(f"unknown model {name!r}{hint} (PROVIDER:NAME, NAME@BASE_URL or embedded)")
    if not model:
        raise InputError(f"model {name!r} lacks a name: write {kind}:NAME")
    provider = settings.providers.get(kind) or LOCAL.get(kind)
    if provider is None:
        base_url = os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
        provider = Provider(base_url=base_url)
        # Records name what answered: another server behind OpenAI's variable is not OpenAI.
        kind = "openai" if _same(base_url, OPENAI_URL) else _host(base_url)
    return Place(kind, _checked(provider, name), model)


def key_of(place: Place) -> str | None:
    """The key for ``place``, or ``None`` where none belongs. Raises InputError that names what is missing."""
    provider = place.provider
    if provider.key_env:
        if provider.key_env == "OPENAI_API_KEY" and not _openai(provider.base_url):
            raise InputError(
                f"[providers.{place.name}]: OPENAI_API_KEY is sent to OpenAI only, not to {_host(provider.base_url)}; "
                "put this provider's key into a variable of its own and name that in key_env"
            )
        return _usable(os.environ.get(provider.key_env), f"the environment variable {provider.key_env}", place)
    if provider.key_file:
        try:
            text = provider.key_file.expanduser().read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            raise InputError(f"key file {provider.key_file} of {place.name} cannot be read: {reason}") from None
        return _usable(text, f"the key file {provider.key_file}", place)
    if _same(provider.base_url, OPENAI_URL):
        return _usable(os.environ.get("OPENAI_API_KEY"), "the environment variable OPENAI_API_KEY", place)
    if _openai(provider.base_url) and os.environ.get("OPENAI_API_KEY"):
        return _usable(os.environ["OPENAI_API_KEY"], "the environment variable OPENAI_API_KEY", place)
    return None


def loopback(base_url: str) -> bool:
    """Whether an address is on this machine."""
    host = urlsplit(base_url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _at(model: str, base_url: str, settings: Settings) -> Place:
    """``NAME@BASE_URL``. An address that is configured is that provider, key and gate included."""
    stranger = _checked(Provider(base_url=base_url), f"{model}@{base_url}")
    if not model:
        raise InputError(f"model '@{base_url}' lacks a name: write NAME@{base_url}")
    for name, provider in settings.providers.items():
        if _same(provider.base_url, base_url):
            return Place(name, _checked(provider, f"{name}:{model}"), model)
    return Place("openai" if _same(base_url, OPENAI_URL) else _host(base_url), stranger, model)


def _checked(provider: Provider, name: str) -> Provider:
    """``provider`` with its address in one form, and with the token field that OpenAI itself insists on."""
    try:
        parts = urlsplit(provider.base_url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise InputError(f"model {_bare(name)!r}: base_url is not an address such as http://127.0.0.1:8000/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise InputError(
            f"model {_bare(name)!r}: base_url may hold no user, password, query or fragment; name a key with key_env instead"
        )
    update: dict[str, object] = {"base_url": provider.base_url.rstrip("/")}
    if parts.hostname == "api.openai.com" and "max_tokens_field" not in provider.model_fields_set:
        update["max_tokens_field"] = "max_completion_tokens"
    return provider.model_copy(update=update)


def _usable(text: str | None, where: str, place: Place) -> str:
    key = (text or "").strip()
    if not key:
        raise InputError(f"no key for {place.name}: {where} is empty or not there")
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise InputError(f"no usable key for {place.name}: {where} holds more than one line of plain characters")
    return key


def _key_hint(place: Place) -> str:
    """Which variable or setting to check when a server turned us away."""
    provider = place.provider
    if provider.key_env:
        return f"check the key in {provider.key_env}"
    if provider.key_file:
        return f"check the key in {provider.key_file}"
    if _openai(provider.base_url):
        return "check the key in OPENAI_API_KEY"
    return f'to send a key, add [providers.NAME] with base_url = "{provider.base_url}" and key_env to the settings file'


def _openai(base_url: str) -> bool:
    """Whether OPENAI_API_KEY may go to an address."""
    own = os.environ.get("OPENAI_BASE_URL")
    return _same(base_url, OPENAI_URL) or bool(own and _same(base_url, own))


def _same(one: str, other: str) -> bool:
    return _normal(one) == _normal(other)


def _normal(base_url: str) -> tuple[str, str, int | None, str]:
    try:
        parts = urlsplit(base_url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
        return parts.scheme, (parts.hostname or "").lower(), port, parts.path.rstrip("/")
    except ValueError:
        return "", base_url, None, ""


def _host(base_url: str) -> str:
    """The host as records name it: with its port, unless it is this machine, whose ports come and go."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    return host if parts.port is None or loopback(base_url) else f"{host}:{parts.port}"


def _bare(name: str) -> str:
    """A name without what might be a password in its address."""
    before, at, _ = name.partition("@http")
    return f"{before}@…" if at else name


def _near(kind: str) -> bool:
    return bool(nearest(kind, _BUILT_IN).startswith("; did you mean"))

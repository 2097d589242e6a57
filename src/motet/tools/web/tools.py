"""The ``web`` tools out of the settings: ``[web]`` says who answers ``search``; everything missing is named before a run begins."""

from __future__ import annotations

import importlib.util
from typing import Final

from motet.errors import InputError, ToolError
from motet.models.providers import Place, key_of, loopback
from motet.settings import Provider as Endpoint
from motet.settings import Web, nearest
from motet.tools.tool import Tool
from motet.tools.web.guard import Address, Guard, parse
from motet.tools.web.network import Network
from motet.tools.web.providers.brave import BRAVE
from motet.tools.web.providers.local import Local
from motet.tools.web.providers.provider import Provider
from motet.tools.web.providers.searxng import SEARXNG
from motet.tools.web.providers.service import Remote, Service, gate_of
from motet.tools.web.providers.tavily import TAVILY
from motet.tools.web.search import search_tool
from motet.tools.web.visit import visit_tool

PARTS: Final = ("search", "visit")

_SERVICES = {service.name: service for service in (BRAVE, TAVILY, SEARXNG)}
_LIBRARIES = ("charset_normalizer", "httpcore2", "idna", "lxml", "pypdf", "trafilatura")


def web_tools(web: Web, *, part: str = "") -> tuple[Tool, ...]:
    """``search`` and ``visit``, or the one that ``part`` names.

    Raises InputError when ``[web]`` lacks what they need, saying what to put where; or when the extra is not installed.
    """
    if part and part not in PARTS:
        raise InputError(f"tool 'web:{part}': the web tools are {' and '.join(PARTS)}{nearest(part, PARTS)}")
    missing = [library for library in _LIBRARIES if importlib.util.find_spec(library) is None]
    if missing:
        raise InputError(f"web tools need {', '.join(missing)}: pip install 'motet[web]'")
    network = Network(Guard(allow=web.allow))
    provider = _provider(web, alone=bool(part)) if part != "visit" or web.provider == "local" else None
    shelf = provider.open if isinstance(provider, Local) else None
    tools: list[Tool] = []
    if part != "visit":
        assert provider is not None
        tools.append(search_tool(provider))
    if part != "search":
        tools.append(visit_tool(network, shelf=shelf))
    return tuple(tools)


def _provider(web: Web, *, alone: bool) -> Provider:
    if web.provider is None:
        without = "" if alone else "; or use the tool 'web:visit', which opens pages and searches nothing"
        raise InputError(
            'the search tool needs a provider: put into motet.toml [web] with provider = "brave" and the key in BRAVE_API_KEY, '
            'provider = "tavily" and the key in TAVILY_API_KEY, provider = "searxng" and base_url, '
            f'or provider = "local" and folder{without}'
        )
    if web.provider == "local":
        _unused(web, "key_env", "key_file", "base_url")
        if web.folder is None:
            raise InputError('[web] provider = "local" needs folder = "FOLDER", where the saved pages are')
        return Local(web.folder)
    _unused(web, "folder")
    service = _SERVICES[web.provider]
    if service.key_env is None:
        _unused(web, "key_env", "key_file")
    base = _base(web, service)
    key = _key(web, service, base) if service.key_env is not None else ""
    # The user named this address, so it may be on this machine. What is allowed here is not allowed to ``visit``.
    own = Network(Guard(allow=[base.netloc]))
    return Remote(service, base=base, key=key, network=own, gate=gate_of(base))


def _unused(web: Web, *names: str) -> None:
    for name in names:
        if getattr(web, name) is not None:
            raise InputError(f"[web] {name} has no use with provider = {web.provider!r}; take it out")


def _base(web: Web, service: Service) -> Address:
    url = web.base_url or service.base_url
    if url is None:
        raise InputError(
            f'[web] provider = "{service.name}" needs base_url, the address of your server, such as "http://127.0.0.1:8888"'
        )
    try:
        base = parse(url)
    except ToolError as error:
        raise InputError(f"[web] base_url: {error}") from None
    if "?" in base.target:
        raise InputError("[web] base_url holds a query; write the address without it")
    return base


def _key(web: Web, service: Service, base: Address) -> str:
    if base.scheme != "https" and not loopback(str(base)):
        raise InputError(f"[web] base_url: a key is not sent unencrypted to {base.netloc}; use https")
    key_env = web.key_env or (None if web.key_file else service.key_env)
    endpoint = Endpoint(base_url=str(base), key_env=key_env, key_file=web.key_file)
    try:
        key = key_of(Place(service.name, endpoint, "search"))
    except InputError as error:
        raise InputError(f"{error}; set it, or name another place for the key with [web] key_env or key_file") from None
    assert key is not None
    return key

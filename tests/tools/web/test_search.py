"""``search`` through each provider, against small servers that speak as the services do, and fail as they do."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from motet.errors import InputError, ToolError
from motet.models.gate import Gate
from motet.settings import Settings, Web, load_settings
from motet.tools import Observation, load_tools
from motet.tools.web.guard import Guard, parse
from motet.tools.web.network import Network
from motet.tools.web.providers import brave, tavily
from motet.tools.web.providers.brave import BRAVE
from motet.tools.web.providers.provider import found
from motet.tools.web.providers.searxng import SEARXNG
from motet.tools.web.providers.service import Remote, Service
from motet.tools.web.providers.tavily import TAVILY
from motet.tools.web.search import search_tool
from tests.tools.web.servers import application

KEY = "BSA-secret-key-0123456789"
EXAMPLES = Path(__file__).parents[3] / "examples" / "corpus"
SERVICES = {"brave": BRAVE, "tavily": TAVILY, "searxng": SEARXNG}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

# Answers in the services' own shapes, shortened: what they carry besides results is left where it could mislead a reader.
ANSWERS: dict[str, dict[str, JsonValue]] = {
    "brave": {
        "type": "search",
        "query": {"original": "motets", "more_results_available": True},
        "mixed": {"type": "mixed", "main": [{"type": "web", "index": 0, "all": False}]},
        "web": {
            "type": "search",
            "results": [
                {
                    "title": "Motet &amp; <strong>madrigal</strong>",
                    "url": "https://example.org/motet",
                    "description": "The <strong>motet</strong> isn&#x27;t a madrigal.",
                    "page_age": "2024-01-01T00:00:00",
                    "profile": {"name": "Example", "url": "https://example.org/profile"},
                    "extra_snippets": ["more"],
                },
                {"title": "Second", "url": "https://example.org/2", "description": "Two"},
            ],
        },
    },
    "tavily": {
        "query": "motets",
        "answer": None,
        "images": [],
        "results": [
            {
                "title": "Motet & madrigal",
                "url": "https://example.org/motet",
                "content": "The motet isn't\n a madrigal.",
                "score": 0.99,
                "raw_content": None,
            },
            {"title": "Second", "url": "https://example.org/2", "content": "Two", "score": 0.5},
        ],
        "response_time": 1.67,
        "request_id": "123e4567",
    },
    "searxng": {
        "query": "motets",
        "number_of_results": 0,
        "results": [
            {
                "url": "https://example.org/motet",
                "title": "Motet & madrigal",
                "content": "The motet isn't a madrigal.",
                "engine": "brave",
                "parsed_url": ["https", "example.org", "/motet", "", "", ""],
                "score": 1.0,
                "category": "general",
            },
            {"url": "https://example.org/2", "title": "Second", "content": "Two"},
            {"url": "https://example.org/3", "title": "Third", "content": "Three"},
        ],
        "answers": [],
        "infoboxes": [],
        "suggestions": [],
        "unresponsive_engines": [],
    },
}


class Clock:
    """A clock that only sleeping moves; it keeps every wait."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waits: list[float] = []
        self.slept = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.slept.set()
        await asyncio.sleep(0)
        self.now += seconds


def remote(service: Service, url: str, *, clock: Clock | None = None) -> Remote:
    time = clock or Clock()
    base = parse(url)
    gate = Gate(4, attempts=4, retry_for=60.0, clock=lambda: time.now, sleep=time.sleep)
    return Remote(service, base=base, key=KEY, network=Network(Guard(allow=[base.netloc])), gate=gate)


def search(
    handler: Handler, *, name: str = "brave", clock: Clock | None = None, path: str = "", **arguments: Any
) -> Observation:
    """What an agent sees of one search at a server with ``handler``."""

    async def run() -> Observation:
        async with application(handler) as url:
            tool = search_tool(remote(SERVICES[name], url + path, clock=clock))
            return await tool({"query": "motets", **arguments}, key="k")

    return asyncio.run(run())


def always(response: Callable[[], web.StreamResponse], seen: list[web.Request] | None = None) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        if seen is not None:
            seen.append(request)
        return response()

    return handle


@pytest.mark.parametrize("name", SERVICES)
def test_each_service_gives_results_with_sources(name: str) -> None:
    """Title, address and words of each result, in the service's order, as plain text and as sources."""
    seen = search(always(lambda: web.json_response(ANSWERS[name])), name=name, limit=2)
    assert not seen.error, seen.text
    assert seen.text.splitlines() == [
        "1. Motet & madrigal",
        "   https://example.org/motet",
        "   The motet isn't a madrigal.",
        "2. Second",
        "   https://example.org/2",
        "   Two",
        "Read a page with visit(url).",
    ]
    assert [(source.ref, source.title, source.quote) for source in seen.sources] == [
        ("https://example.org/motet", "Motet & madrigal", "The motet isn't a madrigal."),
        ("https://example.org/2", "Second", "Two"),
    ]
    assert seen.data == [
        {"url": "https://example.org/motet", "title": "Motet & madrigal"},
        {"url": "https://example.org/2", "title": "Second"},
    ]


def test_each_service_is_asked_as_it_documents() -> None:
    """Method, path, parameters, key and body are the service's; the key is in one header and no address."""
    asked: dict[str, tuple[str, str, dict[str, str], str | None, Any]] = {}

    def keep(name: str) -> Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            key = request.headers.get("X-Subscription-Token") or request.headers.get("Authorization")
            body = await request.json() if request.method == "POST" else None
            asked[name] = (request.method, request.path, dict(request.query), key, body)
            assert KEY not in str(request.url)
            assert sum(KEY in value for value in request.headers.values()) == (name != "searxng")
            return web.json_response(ANSWERS[name])

        return handle

    for name in SERVICES:
        assert not search(
            keep(name), name=name, query="moné &=?#\u00fc", limit=7, path="/sub/" if name == "searxng" else ""
        ).error
    assert asked["brave"] == (
        "GET",
        "/res/v1/web/search",
        {"q": "moné &=?#ü", "count": "7", "text_decorations": "false", "result_filter": "web"},
        KEY,
        None,
    )
    assert asked["tavily"] == (
        "POST",
        "/search",
        {},
        f"Bearer {KEY}",
        {"query": "moné &=?#ü", "max_results": 7, "search_depth": "basic"},
    )
    assert asked["searxng"] == ("GET", "/sub/search", {"q": "moné &=?#ü", "format": "json"}, None, None)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("brave", {"type": "search", "query": {}}),
        ("brave", {"type": "search", "web": {"results": []}}),
        ("tavily", {"results": []}),
        ("searxng", {"results": []}),
        ("searxng", {"results": [{"title": "no address"}, {"url": "ftp://x/y"}, {"url": 3}, "odd", None]}),
    ],
)
def test_nothing_found_is_no_error(name: str, answer: JsonValue) -> None:
    """No results, or none with a web address, is said plainly."""
    seen = search(always(lambda: web.json_response(answer)), name=name)
    assert not seen.error
    assert seen.text == "No page was found for 'motets'. Try other words."


@pytest.mark.parametrize("name", ["brave", "tavily"])
@pytest.mark.parametrize("fault", ["429", "500", "503", "reset", "torn"])
def test_what_may_pass_is_tried_again(name: str, fault: str) -> None:
    """A refusal for now, a server's failure, and a connection that breaks before or within the answer are got over."""
    requests: list[web.Request] = []
    clock = Clock()

    async def handle(request: web.Request) -> web.StreamResponse:
        requests.append(request)
        if len(requests) > 2:
            return web.json_response(ANSWERS[name])
        if fault.isdecimal():
            return web.json_response({"error": "later"}, status=int(fault), headers={"Retry-After": "3"})
        if fault == "torn":
            response = web.StreamResponse(headers={"Content-Length": "1000", "Content-Type": "application/json"})
            await response.prepare(request)
            await response.write(b'{"results": [')
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    seen = search(handle, name=name, clock=clock)
    assert not seen.error, seen.text
    assert len(requests) == 3
    assert len(clock.waits) >= 2
    if fault in ("429", "503"):
        assert all(3.0 <= wait <= 4.0 for wait in clock.waits)


def test_a_refusal_for_now_pauses_all_who_ask_the_service() -> None:
    """After a 429 nobody's call starts before the pause is over."""
    times: list[float] = []
    clock = Clock()

    async def handle(request: web.Request) -> web.StreamResponse:
        times.append(clock.now)
        if len(times) == 1:
            return web.json_response({}, status=429, headers={"Retry-After": "10"})
        return web.json_response(ANSWERS["brave"])

    async def run() -> None:
        async with application(handle) as url:
            provider = remote(BRAVE, url, clock=clock)

            async def second() -> None:
                await clock.slept.wait()
                await provider.search("two", limit=1)

            await asyncio.gather(provider.search("one", limit=1), second())

    asyncio.run(run())
    assert len(times) == 3
    assert all(time >= 10.0 for time in times[1:])


@pytest.mark.parametrize(
    ("response", "said", "requests"),
    [
        (
            lambda: web.json_response({"error": "slow down"}, status=429),
            "answered 429 Too Many Requests: slow down (after 4 attempts)",
            4,
        ),
        (lambda: web.Response(status=500, text="oops"), "answered 500 Internal Server Error (after 4 attempts)", 4),
        (
            lambda: web.json_response({}, status=429, headers={"Retry-After": "3600"}),
            "it asks to wait 3600 s, which is too long",
            1,
        ),
        (
            lambda: web.json_response(
                {}, status=429, headers={"X-RateLimit-Remaining": "1, 0", "X-RateLimit-Reset": "1, 1419704"}
            ),
            "it asks to wait 1419704 s",
            1,
        ),
        (
            lambda: web.json_response({"detail": {"error": "Unauthorized: bad key."}}, status=401),
            "401 Unauthorized: Unauthorized: bad key.: check the key",
            1,
        ),
        (lambda: web.json_response({"error": {"detail": "no"}}, status=403), "403 Forbidden: no: check the key", 1),
        (
            lambda: web.json_response({"detail": f"unknown key {KEY} given"}, status=400),
            "400 Bad Request: unknown key [key] given",
            1,
        ),
        (
            lambda: web.Response(status=302, headers={"Location": "http://127.0.0.1:1/"}),
            "redirects are not followed",
            1,
        ),
        (
            lambda: web.Response(text="<html>Welcome</html>", content_type="text/html"),
            "a web page in place of results",
            1,
        ),
        (lambda: web.Response(text='{"results": ['), "something that is not JSON", 1),
        (lambda: web.Response(text=""), "something that is not JSON", 1),
        (lambda: web.Response(text="[" * 100_000), "something that is not JSON", 1),
        (lambda: web.json_response([1, 2]), "answered without results", 1),
        (lambda: web.json_response({"message": "quota"}), "answered without results: quota", 1),
        (lambda: web.Response(body=b'"' + b"x" * 6_000_000), "an answer that is too long", 1),
        (lambda: web.Response(body=b"x", headers={"Content-Encoding": "br"}), "packed its answer as 'br'", 1),
    ],
)
@pytest.mark.parametrize("name", ["brave", "tavily"])
def test_what_stays_wrong_is_an_observation_that_says_what(
    name: str, response: Callable[[], web.StreamResponse], said: str, requests: int
) -> None:
    """Bounded attempts for what may pass, one for the rest; the service's words, never its key."""
    if name == "tavily" and "1419704" in said:
        return  # that header is Brave's
    seen_requests: list[web.Request] = []
    seen = search(always(response, seen_requests), name=name)
    assert seen.error
    assert said in seen.text
    assert KEY not in seen.text
    assert len(seen_requests) == requests


def test_services_explain_their_own_refusals() -> None:
    """SearXNG without JSON and Tavily without credit say what to do."""
    assert "search.formats" in search(always(lambda: web.Response(status=403)), name="searxng").text
    assert "plan's limit" in search(always(lambda: web.json_response({}, status=432)), name="tavily").text


def test_a_service_that_is_not_there_is_named() -> None:
    """Nobody at the address: a few attempts, then an error with the service's name."""
    seen = asyncio.run(search_tool(remote(SEARXNG, "http://127.0.0.1:1"))({"query": "x"}, key="k"))
    assert seen.error
    assert seen.text == "the search service searxng refused the connection or cannot be reached (after 4 attempts)"


def test_the_key_is_in_no_representation_and_no_log(caplog: pytest.LogCaptureFixture) -> None:
    """Neither a provider, a request nor the deepest log of the client shows it."""
    caplog.set_level(logging.DEBUG)
    for name in SERVICES:
        search(always(lambda: web.json_response({"error": KEY}, status=500)), name=name)
    shown = (
        caplog.text
        + repr(remote(BRAVE, "http://127.0.0.1:1"))
        + repr(brave.ask("q", 1, KEY))
        + repr(tavily.ask("q", 1, KEY))
    )
    assert "httpcore2" in caplog.text
    assert KEY not in shown


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["web", "results", "url", "title", "description", "content", "type", "detail"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(json_values)
def test_any_answer_is_results_or_a_value_error(data: JsonValue) -> None:
    """Whatever JSON a service sends, reading it ends in one of the two."""
    for read in (brave.read, tavily.read):
        try:
            results = read(data)
        except ValueError:
            continue
        assert all(result is None or result.url.startswith("http") for result in results)


def test_results_hold_no_invisible_characters() -> None:
    """Titles and snippets are one line each, cleaned and bounded."""
    result = found("https://example.org/\u200b", "Ti\u202etle\U000e0041\n two", "x\u200b" * 2_000)
    assert result is not None
    assert (result.url, result.title, result.snippet) == ("https://example.org/", "Title two", "x" * 700)


def test_the_local_provider_searches_and_opens_saved_pages() -> None:
    """Offline: a search gives one address for each page, and ``visit`` opens it, whatever its format."""

    async def run() -> None:
        settings = Settings(web=Web(provider="local", folder=EXAMPLES))
        finder, visit = load_tools(["web"], settings=settings)
        seen = await finder({"query": "Where did Guillaume de Machaut die?", "limit": 3}, key="k")
        refs = [source.ref for source in seen.sources]
        assert refs[0] == "local:machaut.html"
        assert len(set(refs)) == 3
        assert seen.sources[0].quote in seen.text
        page = await visit({"url": refs[0]}, key="k")
        assert "1377" in page.text
        assert page.sources[0].ref == refs[0]
        missing = await visit({"url": "local:machaud.html"}, key="k")
        assert missing.error
        assert "machaut.html" in missing.text
        assert (await visit({"url": "local:../../pyproject.toml"}, key="k")).error
        assert (await visit({"url": "http://127.0.0.1/"}, key="k")).error
        assert finder.version.startswith("web-search-1 local corpus-")

    asyncio.run(run())


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No keys of the services in the environment."""
    for name in ("BRAVE_API_KEY", "TAVILY_API_KEY", "OWN_KEY"):
        monkeypatch.delenv(name, raising=False)


def web_settings(**values: Any) -> Settings:
    return Settings(web=Web(**values))


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize(
    ("spec", "settings", "said"),
    [
        (
            "web",
            web_settings(),
            r'motet\.toml \[web\] with provider = "brave" and the key in BRAVE_API_KEY.*or use the tool \'web:visit\'',
        ),
        ("web:search", web_settings(), "needs a provider"),
        (
            "web",
            web_settings(provider="brave"),
            "variable BRAVE_API_KEY is empty or not there; set it, or name another",
        ),
        ("web", web_settings(provider="tavily"), "variable TAVILY_API_KEY is empty"),
        ("web", web_settings(provider="brave", key_env="OWN_KEY"), "variable OWN_KEY is empty"),
        ("web", web_settings(provider="brave", key_file=Path("/none")), "key file /none of brave cannot be read"),
        ("web", web_settings(provider="brave", key_env="OPENAI_API_KEY"), "OPENAI_API_KEY is sent to OpenAI only"),
        (
            "web",
            web_settings(provider="brave", base_url="http://brave.example.org"),
            "not sent unencrypted to brave.example.org",
        ),
        (
            "web",
            web_settings(provider="searxng"),
            'needs base_url, the address of your server, such as "http://127.0.0.1:8888"',
        ),
        ("web", web_settings(provider="searxng", base_url="127.0.0.1:8888"), "base_url: .* is not a web address"),
        ("web", web_settings(provider="searxng", base_url="http://u:p@x.example/"), "user name or password"),
        ("web", web_settings(provider="searxng", base_url="http://x.example/?q="), "holds a query"),
        ("web", web_settings(provider="searxng", base_url="http://x.example", key_env="OWN_KEY"), "key_env has no use"),
        ("web", web_settings(provider="brave", folder=Path("x")), "folder has no use"),
        ("web", web_settings(provider="local"), "needs folder"),
        ("web", web_settings(provider="local", folder=Path("/none")), "'/none' is not there"),
        ("web:visit", web_settings(allow=("http://x",)), r"\[web\] allow: 'http://x'"),
        ("web:vist", web_settings(), "did you mean 'visit'"),
    ],
)
def test_what_is_missing_is_named_before_a_run(spec: str, settings: Settings, said: str) -> None:
    """Loading says what to put where, on one line."""
    with pytest.raises(InputError, match=said) as caught:
        load_tools([spec], settings=settings)
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("bare")
def test_tools_load_with_what_they_need_and_no_more(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """``visit`` alone needs no provider; a service needs its key, from the environment or a file; names and versions are plain."""
    assert [tool.name for tool in load_tools(["web:visit"], settings=Settings())] == ["visit"]
    assert [tool.name for tool in load_tools(["web:visit"], settings=web_settings(provider="brave"))] == ["visit"]
    monkeypatch.setenv("BRAVE_API_KEY", KEY)
    tools = load_tools(["web"], settings=web_settings(provider="brave"))
    assert [tool.name for tool in tools] == ["search", "visit"]
    assert tools[0].version == "web-search-1 brave"
    assert KEY not in repr(tools)
    file = tmp_path / "key"
    file.write_text(f"{KEY}\n")
    assert len(load_tools(["web:search"], settings=web_settings(provider="tavily", key_file=file))) == 1
    assert len(load_tools(["web"], settings=web_settings(provider="searxng", base_url="http://127.0.0.1:8888/s/"))) == 2


@pytest.mark.usefixtures("bare")
def test_the_settings_file_configures_the_tools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """``[web]`` in motet.toml is read where no settings are given, and the key goes to its ``base_url`` alone."""
    requests: list[web.Request] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OWN_KEY", KEY)

    async def run() -> Observation:
        async with application(always(lambda: web.json_response(ANSWERS["tavily"]), requests)) as url:
            (tmp_path / "motet.toml").write_text(
                f'[web]\nprovider = "tavily"\nkey_env = "OWN_KEY"\nbase_url = "{url}"\nallow = ["127.0.0.1:8000"]\n'
            )
            return await load_tools(["web"])[0]({"query": "motets"}, key="k")

    assert not asyncio.run(run()).error
    assert requests[0].headers["Authorization"] == f"Bearer {KEY}"
    assert load_settings().web.allow == ("127.0.0.1:8000",)
    (tmp_path / "motet.toml").write_text('[web]\nprovider = "gogle"\n')
    with pytest.raises(InputError, match=r"web\.provider: .*'brave', 'tavily', 'searxng' or 'local'"):
        load_tools(["web"])
    (tmp_path / "motet.toml").write_text('[web]\nkey_evn = "X"\n')
    with pytest.raises(InputError, match="did you mean 'key_env'"):
        load_tools(["web"])


def test_a_search_tool_reports_a_broken_provider() -> None:
    """A provider of one's own fits by its methods; its ToolError is an observation."""

    class Broken:
        name = version = "broken"

        async def search(self, query: str, *, limit: int) -> list[Any]:
            raise ToolError("the index is being rebuilt")

    seen = asyncio.run(search_tool(Broken())({"query": "x"}, key="k"))
    assert (seen.error, seen.text) == (True, "the index is being rebuilt")
    assert json.dumps(search_tool(Broken()).parameters)

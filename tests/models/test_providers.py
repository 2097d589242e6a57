"""Names lead to the right server with the right key and no other, and each mistake gets one line saying what to do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from motet.errors import InputError
from motet.models import catalogue
from motet.models.gate import Gated
from motet.models.model import Message, Price, Request
from motet.models.providers import LOCAL, OPENAI_URL, Models, key_of, loopback, resolve
from motet.settings import Provider, Settings

KEY = "secret-0123456789"
ASK = Request(messages=(Message(role="user", content="hello"),), max_tokens=4)
LAB = Settings(providers={"lab": Provider(base_url="https://llm.example.org/v1/", key_env="LAB_KEY", context=4096)})

pytestmark = pytest.mark.usefixtures("home")


class Server:
    """A server that answers chat completions and the list of models, and keeps the headers it saw."""

    def __init__(
        self, *, status: int = 200, models: tuple[str, ...] = ("m",), headers: dict[str, str] | None = None
    ) -> None:
        self.seen: list[tuple[str, str | None]] = []
        self._status = status
        self._models = models
        self._headers = headers

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.seen.append((request.path, request.headers.get("authorization")))
        if request.path.endswith("/models"):
            data = {"data": [{"id": name} for name in self._models]}
            return web.json_response(data, status=self._status, headers=self._headers)
        choice = {"message": {"content": "hi"}, "finish_reason": "stop"}
        return web.json_response({"choices": [choice]})

    @asynccontextmanager
    async def up(self) -> AsyncIterator[str]:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self.answer)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        try:
            yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        finally:
            await runner.cleanup()


@asynccontextmanager
async def models_of(settings: Settings) -> AsyncIterator[Models]:
    models = Models(settings)
    try:
        yield models
    finally:
        await models.aclose()


# Names


@pytest.mark.parametrize(
    ("name", "provider", "base_url", "model"),
    [
        ("openai:gpt-4o-mini", "openai", OPENAI_URL, "gpt-4o-mini"),
        ("vllm:org/model", "vllm", "http://127.0.0.1:8000/v1", "org/model"),
        ("ollama:llama3.2:1b", "ollama", "http://127.0.0.1:11434/v1", "llama3.2:1b"),
        ("llamacpp:x", "llamacpp", "http://127.0.0.1:8080/v1", "x"),
        ("lab:big", "lab", "https://llm.example.org/v1", "big"),
        ("llama3.2:1b@http://localhost:9999/v1", "localhost", "http://localhost:9999/v1", "llama3.2:1b"),
        ("m@http://127.0.0.1:49152/v1", "127.0.0.1", "http://127.0.0.1:49152/v1", "m"),
        ("m@https://other.example:8443/v1/", "other.example:8443", "https://other.example:8443/v1", "m"),
        ("@cf/m@https://other.example/v1", "other.example", "https://other.example/v1", "@cf/m"),
        ("big@https://LLM.example.org:443/v1", "lab", "https://llm.example.org/v1", "big"),
    ],
)
def test_each_kind_of_name_leads_to_its_server(name: str, provider: str, base_url: str, model: str) -> None:
    """Provider, address and the server's name for the model are read from the name; a configured address is its provider."""
    place = resolve(name, LAB)
    assert (place.name, place.provider.base_url, place.model) == (provider, base_url, model)


def test_settings_may_redefine_the_usual_ports() -> None:
    """A provider of the settings goes before the built-in one of its name."""
    place = resolve("vllm:m", Settings(providers={"vllm": Provider(base_url="http://gpu.example:80/v1")}))
    assert place.provider.base_url == "http://gpu.example:80/v1"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("opnai:gpt-4o", "did you mean 'openai'?"),
        ("embeded", "did you mean 'embedded'?"),
        ("gpt-4o-mini", "did you mean 'openai:gpt-4o-mini'?"),
        ("lba:big", "did you mean 'lab'?"),
        ("", "PROVIDER:NAME"),
        ("openai", "write openai:NAME"),
        ("openai:", "write openai:NAME"),
        ("@http://127.0.0.1/v1", "lacks a name"),
        ("m@http://", "not an address"),
        ("m@http://127.0.0.1:99999/v1", "not an address"),
        ("m@https://user:hunter2@llm.example.org/v1", "may hold no user, password"),
        ("m@https://llm.example.org/v1?key=hunter2", "may hold no user, password"),
    ],
)
def test_a_name_that_means_nothing_gets_one_helpful_line(name: str, words: str) -> None:
    """A wrong name is bad input; the line offers the nearest right one, and repeats no secret out of an address."""
    with pytest.raises(InputError) as caught:
        Models(LAB).get(name)
    assert words in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_provider_may_not_take_the_name_of_a_kind() -> None:
    """``[providers.embedded]`` would shadow a kind of model and is refused."""
    with pytest.raises(InputError, match="another name"):
        Models(Settings(providers={"embedded": Provider(base_url="http://127.0.0.1/v1")}))


# Keys


def key(name: str, settings: Settings = LAB) -> str | None:
    return key_of(resolve(name, settings))


def test_each_key_goes_to_its_address_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenAI's key belongs to OpenAI's address, a provider's key to its own, and other addresses get none."""
    monkeypatch.setenv("OPENAI_API_KEY", "for-openai")
    monkeypatch.setenv("LAB_KEY", "for-lab")
    assert key("openai:m") == "for-openai"
    assert key("m@https://api.openai.com/v1") == "for-openai"
    assert key("lab:m") == "for-lab"
    assert key("m@https://llm.example.org/v1") == "for-lab"
    for stranger in ("m@https://llm.example.org/v2", "m@http://llm.example.org/v1", "m@https://evil.example/v1"):
        assert key(stranger) is None
    for local in LOCAL:
        assert key(f"{local}:m") is None


def test_openais_variables_name_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """``OPENAI_BASE_URL`` moves ``openai:``, takes OpenAI's key along if there is one, and is named by its host in records."""
    monkeypatch.setenv("OPENAI_BASE_URL", "https://proxy.example/v1")
    assert key("openai:m") is None
    monkeypatch.setenv("OPENAI_API_KEY", "for-openai")
    assert key("openai:m") == "for-openai"
    assert key("m@https://proxy.example/v1/") == "for-openai"
    info = Models(LAB).get("openai:m").info
    assert (info.identity, info.provider, info.price) == ("proxy.example/m", "proxy.example", None)


def test_openais_key_cannot_be_named_for_another_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider elsewhere that asks for OPENAI_API_KEY is refused."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    settings = Settings(providers={"lab": Provider(base_url="https://llm.example.org/v1", key_env="OPENAI_API_KEY")})
    with pytest.raises(InputError, match="sent to OpenAI only") as caught:
        Models(settings).get("lab:m")
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(("name", "variable"), [("openai:m", "OPENAI_API_KEY"), ("lab:m", "LAB_KEY")])
@pytest.mark.parametrize("value", [None, "", "  ", "two words", "two\nlines", "ключ"])
def test_a_missing_or_unusable_key_is_named(
    name: str, variable: str, value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line names the variable and never its content."""
    monkeypatch.delenv(variable, raising=False)
    if value is not None:
        monkeypatch.setenv(variable, value)
    with pytest.raises(InputError, match=variable) as caught:
        Models(LAB).get(name)
    assert not value or not value.strip() or value not in str(caught.value)


def test_a_key_file_is_read_and_named_when_it_is_not_there(tmp_path: Path) -> None:
    """A key comes from its file without the line's end; a missing file is named."""
    path = tmp_path / "key"
    settings = Settings(providers={"lab": Provider(base_url="https://llm.example.org/v1", key_file=path)})
    with pytest.raises(InputError, match="cannot be read: No such file"):
        key("lab:m", settings)
    path.write_text(f"{KEY}\n")
    assert key("lab:m", settings) == KEY


# Models


def test_models_of_a_provider_share_its_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name gives one model however often it is asked for, and a provider's models one gate."""
    monkeypatch.setenv("LAB_KEY", KEY)
    models = Models(LAB)
    one, two, other = models.get("lab:a"), models.get("lab:b"), models.get("vllm:a")
    assert models.get("lab:a") is one
    assert isinstance(one, Gated)
    assert isinstance(two, Gated)
    assert isinstance(other, Gated)
    assert one._gate is two._gate
    assert one._gate is not other._gate
    info = one.info
    assert (info.name, info.identity, info.provider, info.context) == ("lab:a", "lab/a", "lab", 4096)


def test_prices_come_from_settings_and_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """A price given for the name goes first; OpenAI's models have the table's; a server on this machine has none."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    own = Price(prompt=1, completion=2)
    models = Models(Settings(prices={"vllm:m": own}))
    assert models.get("vllm:m").info.price == own
    assert models.get("vllm:gpt-4o-mini").info.price is None
    price = models.get("openai:gpt-4o-mini").info.price
    assert price is not None
    assert price.prompt > 0


def test_openai_gets_the_token_field_it_insists_on() -> None:
    """Only OpenAI's own address gets ``max_completion_tokens``, unless the settings name a field."""
    assert resolve("openai:m", LAB).provider.max_tokens_field == "max_completion_tokens"
    assert resolve("lab:m", LAB).provider.max_tokens_field == "max_tokens"
    named = Settings(providers={"openai": Provider(base_url=OPENAI_URL, max_tokens_field="max_tokens")})
    assert resolve("openai:m", named).provider.max_tokens_field == "max_tokens"


def test_a_model_answers_through_gate_and_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    """From name to reply: the configured key is sent to the configured address, and an unlisted address gets none."""
    monkeypatch.setenv("LAB_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", "for-openai")

    async def main() -> None:
        mine, strange = Server(), Server()
        async with mine.up() as url, strange.up() as other:
            settings = Settings(providers={"lab": Provider(base_url=url, key_env="LAB_KEY")})
            async with models_of(settings) as models:
                assert (await models.get("lab:m").reply(ASK)).text == "hi"
                assert (await models.get(f"m@{other}").reply(ASK)).text == "hi"
        assert mine.seen == [("/v1/chat/completions", f"Bearer {KEY}")]
        assert strange.seen == [("/v1/chat/completions", None)]

    asyncio.run(main())


# Preflight


def check(server: Server, *, name: str = "lab:m", provider: str = "lab") -> None:
    """Preflight of a model at ``server``."""

    async def main() -> None:
        async with server.up() as url:
            settings = Settings(providers={provider: Provider(base_url=url, key_env="LAB_KEY")})
            async with models_of(settings) as models:
                await models.preflight(name)

    asyncio.run(main())


@pytest.mark.parametrize("status", [200, 404, 405, 429, 500])
def test_a_server_that_answers_passes(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that can be reached passes with one request, whether or not it lists its models."""
    monkeypatch.setenv("LAB_KEY", KEY)
    server = Server(status=status)
    check(server)
    assert server.seen == [("/v1/models", f"Bearer {KEY}")]


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_not_accepted_is_named(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line names the variable that holds the wrong key."""
    monkeypatch.setenv("LAB_KEY", KEY)
    with pytest.raises(InputError, match="check the key in LAB_KEY") as caught:
        check(Server(status=status))
    assert KEY not in str(caught.value)


def test_a_redirecting_server_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A redirect at preflight is bad input, since no call would follow it."""
    monkeypatch.setenv("LAB_KEY", KEY)
    with pytest.raises(InputError, match="put the final address into base_url"):
        check(Server(status=308, headers={"location": "https://elsewhere.example/v1"}))


def test_a_model_that_a_complete_list_lacks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a server lists all it has, a wrong name is found before the run, with the nearest right one; elsewhere it passes."""
    monkeypatch.setenv("LAB_KEY", KEY)
    server = Server(models=("qwen3-8b",))
    with pytest.raises(InputError, match="did you mean 'qwen3-8b'"):
        check(server, name="vllm:qwen3-8", provider="vllm")
    check(server, name="lab:alias")


def test_an_unreachable_server_is_named() -> None:
    """The line names the host and what to check."""

    async def main() -> str:
        async with Server().up() as url:
            pass
        async with models_of(Settings()) as models:
            with pytest.raises(InputError, match="cannot be reached") as caught:
                await models.preflight(f"m@{url}")
        return str(caught.value)

    line = asyncio.run(main())
    assert "127.0.0.1:" in line
    assert "is the server running" in line


# The list


def test_the_list_says_what_is_usable_and_how_to_get_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kind has a row: missing keys and weights are named, and a local server that answers shows its models."""
    monkeypatch.setenv("LAB_KEY", KEY)
    monkeypatch.setenv("MOTET_HOME", str(tmp_path / "nothing"))  # no weights either
    monkeypatch.setattr(catalogue, "PROBE_SECONDS", 30.0)  # a busy machine must not decide this test

    async def main() -> None:
        async with Server().up() as gone:
            pass
        async with Server(models=("a", "b")).up() as url:
            settings = Settings(
                providers={
                    "ollama": Provider(base_url=url),
                    "vllm": Provider(base_url=gone),
                    "llamacpp": Provider(base_url=gone),
                    "lab": LAB.providers["lab"],
                }
            )
            rows = {row.name: row for row in await Models(settings).describe(probe=True)}
        assert rows["embedded"].usable is False
        assert "motet models get smollm2" in rows["embedded"].note
        assert rows["openai:NAME"].usable is False
        assert "OPENAI_API_KEY" in rows["openai:NAME"].note
        assert rows["lab:NAME"].usable is True
        assert (rows["ollama:NAME"].usable, rows["ollama:NAME"].models) == (True, ("a", "b"))
        assert rows["vllm:NAME"].usable is False
        assert KEY not in str(rows)

    asyncio.run(main())


def test_without_a_probe_the_list_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The list is made without a request, and leaves open what only a request could tell."""

    async def main() -> None:
        server = Server()
        async with server.up() as url:
            rows = await Models(Settings(providers={"ollama": Provider(base_url=url)})).describe()
        assert next(row for row in rows if row.name == "ollama:NAME").usable is None
        assert server.seen == []

    asyncio.run(main())


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://127.0.0.1:1/v1", True),
        ("http://[::1]:1/v1", True),
        ("http://localhost/v1", True),
        ("https://127.0.0.1.example.org/v1", False),
        ("https://llm.example.org/v1", False),
    ],
)
def test_this_machine_is_recognised(url: str, here: bool) -> None:
    """Loopback is told by the address or the name, never by a part of it."""
    assert loopback(url) is here

"""Keys: after runs that worked and runs that failed in every way, the key is nowhere but in the environment."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import motet
from motet.models.scripted import ScriptedModel, echo
from motet.runs.events import Event
from motet.settings import Provider, Settings
from motet.store.export import export
from motet.store.store import Store
from motet.testing import Fault, Faults, ModelServer
from motet.tools.function import FunctionTool
from tests.runs.desk import go

KEY = "sk-motet-0123456789abcdefghijklmnopqrstuvwxyz"
LAB_KEY = "lab/very=secret+key.with:odd@characters"
FILE_KEY = "key-from-a-file-5f2b1c"


class Rude:
    """A server that answers with an error that quotes the key it was sent, as some do."""

    def __init__(self, status: int) -> None:
        self.status = status
        self.heard: list[str] = []

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Quote the key in the body, in a header, and as part of a word."""
        sent = request.headers.get("Authorization", "").removeprefix("Bearer ")
        self.heard.append(sent)
        if request.method == "GET":
            return web.json_response({"data": []})
        if self.status == 0:
            assert request.transport is not None
            request.transport.abort()
        message = f"Incorrect API key provided: {sent}; got 'Bearer {sent}' (key={sent!r}, {sent}*)"
        return web.json_response(
            {"error": {"message": message, "code": sent}}, status=self.status or 500, headers={"X-Key": sent}
        )


@contextmanager
def everything_said(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """Collects what is logged at any level by anybody."""
    said: list[str] = []
    with caplog.at_level(logging.DEBUG):
        yield said
    said += [record.getMessage() + str(record.exc_info) for record in caplog.records]


def settings_for(url: str, key_file: Path) -> Settings:
    """Three providers at one address, each with a key of its own."""
    quick = {"base_url": url, "attempts": 2}
    return Settings(
        providers={
            "openai": Provider(**quick, key_env="OPENAI_API_KEY"),
            "lab": Provider(**quick, key_env="LAB_KEY"),
            "filed": Provider(**quick, key_file=key_file),
        }
    )


@pytest.fixture
def keyed(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keys where keys belong."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("LAB_KEY", LAB_KEY)
    file = home / "key.txt"
    file.write_text(FILE_KEY + "\n")
    file.chmod(0o600)
    return home


def look(topic: str) -> str:
    """Look, and fail.

    :param topic: At what.
    """
    raise PermissionError(f"refused for {topic}")


@pytest.mark.parametrize("provider", ["openai", "lab", "filed"])
def test_a_key_is_nowhere_after_runs_of_every_kind(
    keyed: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    provider: str,
) -> None:
    """Good answers, 401, 403, 404, 429 and 500 that quote the key, resets, faults midway, streams, a tool that is refused, bugs: not in the store's files, in an export,
    in events, results, exceptions with all their causes, logs or output. The server did get it.
    """
    key = {"openai": KEY, "lab": LAB_KEY, "filed": FILE_KEY}[provider]
    texts: list[str] = []
    events: list[Event] = []
    heard: list[str] = []

    async def solve(url: str, **options: Any) -> None:
        settings = settings_for(url, keyed / "key.txt")
        monkeypatch.setenv("OPENAI_BASE_URL", url)  # its key goes nowhere else
        try:
            result = await motet.solve(
                "Say this.", model=f"{provider}:m", settings=settings, watchers=[events.append], **options
            )
            texts.append(result.model_dump_json() + repr(result))
        except Exception as error:  # noqa: BLE001 - whatever is raised is looked at
            texts.append("".join(traceback.format_exception(error)) + repr(vars(error)))
            for cause in (error.__cause__, error.__context__):
                texts.append(repr(cause) + repr(getattr(cause, "__dict__", {})))

    async def main() -> None:
        for status in (401, 403, 404, 400, 500, 0):
            rude = Rude(status)
            runner = web.ServerRunner(web.Server(rude.handle, access_log=None))
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            host, port = runner.addresses[0][:2]
            await solve(f"http://{host}:{port}/v1")
            await solve(f"http://{host}:{port}/v1", read_deltas=lambda _scope, _text: None)
            heard.extend(rude.heard)
            await runner.cleanup()
        script = (None, Fault.RESET_MIDWAY, Fault.THROTTLE, Fault.HTML, Fault.RESET, Fault.RESET)
        async with ModelServer(ScriptedModel("echo", echo), faults=Faults(script=script)) as server:
            for _ in range(3):
                await solve(server.base_url, tools=[FunctionTool(look)])

        def breaks(_event: Event) -> None:
            raise RuntimeError("a bug in a watcher")

        async with ModelServer(ScriptedModel("echo", echo)) as server:
            await solve(server.base_url)
            events_before = len(events)
            await solve(server.base_url + "/nothing-here")
            assert len(events) >= events_before

    with everything_said(caplog) as said:
        go(main())
    assert set(heard) == {key}
    with Store.open() as store:
        export(store, keyed / "export.jsonl")
        rows = store.read_now(lambda connection: [*connection.exec_driver_sql("SELECT hash FROM blobs")])
        texts += [store.blob(row.hash).decode() for row in rows]  # compressed in the file
    texts += said
    texts += [event.model_dump_json() for event in events]
    texts += [json.dumps(list(capfd.readouterr()))]
    assert len(texts) > 30
    # The store, its log, the export and whatever else a run left behind; the models and the key's own file are no part of it.
    files = [path for path in keyed.iterdir() if path.is_file() and path.name != "key.txt"]
    assert {"motet.db", "export.jsonl"} <= {path.name for path in files}
    found = [path.read_bytes() for path in files] + [text.encode() for text in texts]
    for part in (key, key[:-1], key[4:]):
        assert not [data[:200] for data in found if part.encode() in data]


def test_a_key_in_an_address_is_refused_or_hidden(home: Path) -> None:
    """``NAME@https://user:key@host`` would put it into the run's configuration, its title line and every error."""
    try:
        result = motet.run("x", model="m@http://user:hunter2@127.0.0.1:9/v1")
        text = result.model_dump_json()
    except motet.InputError as error:
        text = str(error)
    assert "hunter2" not in text

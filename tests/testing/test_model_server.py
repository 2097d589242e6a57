"""The model server speaks the wire format, fails as told, and can be counted on."""

from __future__ import annotations

import asyncio
import io
import json
import resource
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from motet.errors import InputError
from motet.models.model import Model, ToolCall
from motet.models.scripted import ScriptedModel, Turn, open_scripted
from motet.testing import Fault, Faults, ModelServer, Served
from motet.testing.faults import parse_faults

TEXT = "One two three, four five six seven."


@pytest.fixture
def echo(home: Path) -> Model:
    return open_scripted("echo")


def body(text: str = TEXT, **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}], "max_tokens": 50, **more}


@asynccontextmanager
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        yield session


async def post(session: aiohttp.ClientSession, url: str, data: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    async with session.post(f"{url}/chat/completions", json=data) as response:
        return response.status, dict(response.headers), await response.read()


def pieces(raw: bytes) -> tuple[list[dict[str, Any]], bool]:
    """The chunks of a stream, and whether it was ended by ``[DONE]``."""
    events = [line.removeprefix("data: ") for line in raw.decode().split("\n") if line]
    return [json.loads(event) for event in events if event != "[DONE]"], events[-1:] == ["[DONE]"]


def test_whole_answers_and_streams_say_the_same(echo: Model) -> None:
    """Text and usage of a streamed answer equal those of a whole one; usage comes only if asked for, in a chunk of its own."""

    async def main() -> None:
        async with ModelServer(echo) as server, client() as session:
            status, _, raw = await post(session, server.base_url, body())
            whole = json.loads(raw)
            assert (status, whole["choices"][0]["message"]["content"]) == (200, TEXT)
            assert whole["model"] == "m"
            asked = body(stream=True, stream_options={"include_usage": True})
            chunks, done = pieces((await post(session, server.base_url, asked))[2])
            assert done
            text = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks if chunk["choices"])
            assert text == TEXT
            assert chunks[-1]["usage"] == whole["usage"]
            assert chunks[-1]["choices"] == []
            assert chunks[-2]["choices"][0]["finish_reason"] == "stop"
            chunks, _ = pieces((await post(session, server.base_url, body(stream=True)))[2])
            assert not any("usage" in chunk for chunk in chunks)

    asyncio.run(main())


def test_tool_calls_and_reasoning_cross_the_wire(home: Path) -> None:
    """Calls in the conversation reach the model as they were; calls and reasoning of the reply come back, whole and streamed."""
    call = ToolCall(id="c1", name="search", arguments='{"query": "lighthouse"}')
    model = ScriptedModel.of_replies([Turn(reasoning="Hm.", tool_calls=(call,))] * 2)

    async def main() -> None:
        async with ModelServer(model) as server, client() as session:
            whole = json.loads((await post(session, server.base_url, body()))[2])
            message = whole["choices"][0]["message"]
            assert message["tool_calls"][0]["function"] == {"name": "search", "arguments": call.arguments}
            assert (message["reasoning_content"], whole["choices"][0]["finish_reason"]) == ("Hm.", "tool_calls")
            chunks, _ = pieces((await post(session, server.base_url, body(stream=True)))[2])
            found = [part for chunk in chunks for part in chunk["choices"][0]["delta"].get("tool_calls", [])]
            assert "".join(part["function"]["arguments"] for part in found) == call.arguments
            assert found[0]["id"] == "c1"

    asyncio.run(main())


def test_the_official_client_reads_it(echo: Model) -> None:
    """The openai package lists the model and reads whole answers and streams."""
    import openai

    async def main() -> None:
        async with (
            ModelServer(echo) as server,
            openai.AsyncOpenAI(base_url=server.base_url, api_key="none") as official,
        ):
            assert [model.id async for model in official.models.list()] == ["scripted:echo"]
            answer = await official.chat.completions.create(model="m", messages=[{"role": "user", "content": TEXT}])
            assert answer.choices[0].message.content == TEXT
            stream = await official.chat.completions.create(
                model="m", messages=[{"role": "user", "content": TEXT}], stream=True
            )
            assert "".join([chunk.choices[0].delta.content or "" async for chunk in stream]) == TEXT

    asyncio.run(main())


@pytest.mark.parametrize("stream", [False, True])
def test_each_fault_fails_as_its_name_says(echo: Model, stream: bool) -> None:
    """One request for each kind: its status, headers and body are those of the fault, and only good answers count as completed."""
    kinds = tuple(Fault)

    async def main() -> None:
        faults = Faults(script=kinds, retry_after=2.0, pause=0.001)
        async with ModelServer(echo, faults=faults) as server, client() as session:
            for kind in kinds:
                asked = body(stream=stream, stream_options={"include_usage": True})
                if kind in (Fault.RESET, Fault.RESET_MIDWAY) or (kind is Fault.TRUNCATED and not stream):
                    with pytest.raises(aiohttp.ClientError):
                        await post(session, server.base_url, asked)
                else:
                    check(kind, *await post(session, server.base_url, asked), stream=stream)
            assert [entry.fault for entry in server.served] == [kind.value for kind in kinds]
            assert [entry.completed for entry in server.served] == [not kind.fails for kind in kinds]

    asyncio.run(main())


def check(kind: Fault, status: int, headers: dict[str, str], raw: bytes, *, stream: bool) -> None:
    if kind is Fault.THROTTLE:
        assert (status, headers["Retry-After"]) == (429, "2")
    elif kind is Fault.THROTTLE_DATE:
        assert status == 429
        assert abs(parsedate_to_datetime(headers["Retry-After"]).timestamp() - time.time()) < 30
    elif kind is Fault.SERVER_ERROR:
        assert status in (500, 503, 529)
        assert json.loads(raw)["error"]["message"]
    elif kind is Fault.HTML:
        assert (status, headers["Content-Type"]) == (502, "text/html")
    elif kind is Fault.INVALID_JSON:
        assert status == 200
        with pytest.raises(ValueError, match=r"line 1|Expecting"):
            pieces(raw) if stream else json.loads(raw)
    elif kind is Fault.TRUNCATED:
        chunks, done = pieces(raw)
        assert not done
        assert not any(chunk["choices"][0]["finish_reason"] for chunk in chunks)
    elif kind is Fault.EMPTY:
        assert TEXT[:8] not in raw.decode()
    else:
        assert status == 200
        usage = pieces(raw)[0][-1].get("usage") if stream else json.loads(raw).get("usage")
        assert bool(usage) == (kind is not Fault.MISSING_USAGE)


def test_faults_depend_on_the_request_and_not_on_the_order(echo: Model) -> None:
    """The same requests in another order meet the same faults, about as many as the rate says; another seed draws others."""
    texts = [f"text {number}" for number in range(120)]

    async def faults_of(order: list[str], seed: int) -> dict[str, str | None]:
        session_faults = Faults.mixed(0.5, seed=seed)
        async with ModelServer(echo, faults=session_faults) as server, client() as session:
            for text in order:
                try:
                    await post(session, server.base_url, body(text))
                except aiohttp.ClientError:
                    continue
            return dict(zip(order, [entry.fault for entry in server.served], strict=True))

    async def main() -> None:
        first, second = await faults_of(texts, 1), await faults_of(texts[::-1], 1)
        assert first == second
        assert first != await faults_of(texts, 2)
        assert 40 < sum(fault is not None for fault in first.values()) < 80
        assert len({fault for fault in first.values() if fault}) > 6

    asyncio.run(main())


def test_a_repeated_request_is_drawn_anew() -> None:
    """With a rate below one, retries of a request get through in the end, and every kind is drawn at its rate."""
    faults = Faults.mixed(0.2, seed=7)
    for number in range(300):
        drawn = [faults.draw(f"body{number}", seen=seen, number=9) for seen in range(12)]
        assert None in drawn
    draws = [faults.draw(f"body{number}", seen=0, number=9) for number in range(9000)]
    for kind in Fault:
        share = draws.count(kind) / len(draws)
        assert share == pytest.approx(0.2 / 9 if kind.fails else 0.0, abs=0.008)


def test_a_reply_lost_to_a_fault_is_said_again(home: Path) -> None:
    """A model that says each reply once loses none: the retry of a request that failed midway gets the reply it missed."""
    model = ScriptedModel.of_replies(["first", "second"])
    script = (Fault.TRUNCATED, Fault.EMPTY, Fault.INVALID_JSON, None, None)

    async def main() -> None:
        heard = []
        async with ModelServer(model, faults=Faults(script=script)) as server, client() as session:
            for _ in script:
                try:
                    heard.append(pieces((await post(session, server.base_url, body(stream=True)))[2]))
                except ValueError:
                    heard.append(([], False))
            said = ["".join(c["choices"][0]["delta"].get("content", "") for c in chunks) for chunks, _ in heard]
            assert said[3:] == ["first", "second"]

    asyncio.run(main())


def test_bad_requests_are_refused_with_the_reason(echo: Model) -> None:
    """No JSON, no messages, and unknown paths get a 4xx with an error object."""

    async def main() -> None:
        async with ModelServer(echo) as server, client() as session:
            wrong: list[dict[str, Any]] = [
                {},
                {"messages": []},
                {"messages": [{"role": "nobody", "content": "x"}]},
                {"messages": 3},
            ]
            for data in wrong:
                status, _, raw = await post(session, server.base_url, data)
                assert status == 400
                assert "bad request" in json.loads(raw)["error"]["message"]
            async with session.get(f"{server.base_url}/nothing") as response:
                assert response.status == 404
            log = server.served
            assert {entry.status for entry in log} == {400}

    asyncio.run(main())


def test_hooks_and_log_tell_what_was_served(echo: Model) -> None:
    """``on_request`` hears each request before its answer, ``after_reply`` only whole answers; the log has one line for each request."""
    heard: list[str] = []
    log = io.StringIO()

    async def main() -> list[Served]:
        server = ModelServer(
            echo,
            faults=Faults(script=(None, Fault.SERVER_ERROR, None)),
            log=log,
            on_request=lambda number: heard.append(f"request {number}"),
            after_reply=lambda number: heard.append(f"reply {number}"),
        )
        async with server, client() as session:
            for _ in range(3):
                await post(session, server.base_url, body())
        return server.served

    served = asyncio.run(main())
    assert heard == ["request 1", "reply 1", "request 2", "request 3", "reply 2"]
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    assert [(line["number"], line["seen"], line["fault"], line["completed"]) for line in lines] == [
        (1, 0, None, True),
        (2, 1, "server_error", False),
        (3, 2, None, True),
    ]
    assert len({entry.digest for entry in served}) == 1


@contextmanager
def command(*arguments: str) -> Iterator[str]:
    """The server as a command; gives its URL."""
    process = subprocess.Popen(
        [sys.executable, "-m", "motet.testing.model_server", *arguments], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        assert process.wait(timeout=30) == 0
        process.stdout.close()


def test_a_thousand_connections_are_served_at_once(home: Path) -> None:
    """1,000 requests that are all open at the same time are all answered."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    async def main(url: str) -> None:
        async with client() as session:
            answers = await asyncio.gather(*(post(session, url, body(f"text {number}")) for number in range(1000)))
        for number, (status, _, raw) in enumerate(answers):
            assert status == 200
            assert json.loads(raw)["choices"][0]["message"]["content"] == f"text {number}"

    try:
        # The latency keeps each connection open until all of them are.
        with command("--latency", "1") as url:
            asyncio.run(main(url))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize(("moment", "whole"), [("request:2", 1), ("reply:2", 2)])
def test_it_kills_a_process_at_the_moment_asked_for(home: Path, tmp_path: Path, moment: str, whole: int) -> None:
    """A client is killed at its second request before the answer, or after it; the log counts what was sent either way."""
    pid, log = tmp_path / "pid", tmp_path / "log"
    program = (
        "import json, sys, urllib.request\n"
        "while True:\n"
        f"    body = json.dumps({body()!r}).encode()\n"
        "    request = urllib.request.Request(sys.argv[1] + '/chat/completions', body, {'Content-Type': 'application/json'})\n"
        "    urllib.request.urlopen(request).read()\n"
        "    sys.stdin.readline()\n"
    )
    with command("--kill-pid-file", str(pid), "--kill-at", moment, "--log", str(log)) as url:
        victim = subprocess.Popen([sys.executable, "-c", program, url], stdin=subprocess.PIPE, text=True)
        pid.write_text(str(victim.pid))
        assert victim.stdin is not None
        victim.stdin.write("\n")  # one more request after the first, then it waits
        victim.stdin.flush()
        assert victim.wait(timeout=30) == -signal.SIGKILL
        victim.stdin.close()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(lines) == 2
    assert sum(line["completed"] for line in lines) >= whole


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--faults", "throtle=0.1"], "did you mean 'throttle'"),
        (["--faults", "reset"], "write it as reset=0.1"),
        (["--model", "scripted:ech"], "did you mean 'echo'"),
        (["--model", "openai:gpt"], "scripted:NAME or embedded"),
        (["--kill-at", "request:1"], "go together"),
        (["--script", "reset,nothing"], "unknown fault 'nothing'"),
    ],
)
def test_wrong_arguments_are_one_line_and_code_2(home: Path, arguments: list[str], says: str) -> None:
    """What is wrong, and what would be right, on stderr; nothing is served."""
    done = subprocess.run(
        [sys.executable, "-m", "motet.testing.model_server", *arguments], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


def test_rates_make_sense_or_are_refused() -> None:
    """Rates from the command line add up; negative ones and more than one together are errors."""
    faults = parse_faults("mixed=0.18, reset=0.1", seed=3)
    assert faults.seed == 3
    assert faults.rates[Fault.THROTTLE] == pytest.approx(0.02)
    for rates in ({Fault.RESET: -0.1}, {Fault.RESET: 0.6, Fault.HTML: 0.6}):
        with pytest.raises(ValueError, match="fault rates"):
            Faults(rates=rates)
    with pytest.raises(InputError, match="fault rates"):
        parse_faults("mixed=1.5")

"""The command as its users run it: a process of its own, in a folder of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from motet.settings import home

MOTET = Path(sys.executable).with_name("motet")
CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
PATIENCE = 120.0  # seconds; only a hang takes that long

NO_WEIGHTS = "scripted models count tokens with the embedded model's tokenizer; get it with: motet models get smollm2"
HAS_WEIGHTS = (home() / "models" / "smollm2" / "manifest.json").is_file()

# A system that waits for a file, so that a test decides when it goes on, and prints as careless code does.
TEAM = """
import asyncio
from pathlib import Path

from motet import Configured, Message, Request, Result, tool
from motet.system import Needs


class Waiter(Configured):
    model: str = "scripted:echo"
    stubborn: bool = False

    @property
    def name(self):
        return "waiter"

    def needs(self):
        return Needs(models=(self.model,))

    async def solve(self, task, *, run):
        model = run.model(self.model, role="speaker")
        first = await model.reply(Request(messages=(Message(role="user", content=task.question),), max_tokens=50))
        run.keep(first.text)
        print("careless")
        run.emit("waiter.waits")
        while not Path("go").exists():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                if not self.stubborn:
                    raise
        again = Request(messages=(Message(role="user", content=f"{first.text} and again"),), max_tokens=50)
        second = await model.reply(again)
        return Result(status="completed", answer=second.text)


@tool(effect="write")
async def send(text: str) -> str:
    "Send a text."
    with Path("sent").open("a") as file:
        file.write(f"{text}\\n")
    print("sent", flush=True)
    while not Path("go").exists():
        await asyncio.sleep(0.01)
    return "confirmed"


class Sender(Configured):
    @property
    def name(self):
        return "sender"

    def needs(self):
        return Needs(tools=("team:send",))

    async def solve(self, task, *, run):
        (sender,) = run.tools(["team:send"])
        observation = await run.tool(sender, {"text": task.question})
        return Result(status="completed", answer=observation.text)


class Broken(Configured):
    @property
    def name(self):
        return "broken"

    async def solve(self, task, *, run):
        raise KeyError("\\x1b[31mno such thing")
"""


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def error_lines(self) -> list[str]:
        """The lines of standard error that begin with the command's name."""
        return [line for line in self.err.splitlines() if line.startswith("motet: ")]

    @property
    def json(self) -> Any:
        """Standard output as one JSON document."""
        return json.loads(self.out)


class Desk:
    """A folder with a home, a store and the module ``team``, in which commands are run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir()
        if (home() / "models").is_dir():
            (self.home / "models").symlink_to((home() / "models").resolve())
        (folder / "team.py").write_text(TEAM, encoding="utf-8")
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
        self.env = {**kept, "MOTET_HOME": str(self.home), "PYTHONUTF8": "1"}

    def run(self, *arguments: str, stdin: str = "", env: dict[str, str] | None = None) -> Done:
        """Run ``motet`` to its end."""
        done = subprocess.run(
            [str(MOTET), *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            cwd=self.folder,
            env={**self.env, **(env or {})},
            timeout=PATIENCE,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def run_until(self, sign: str, then: Callable[[subprocess.Popen[str]], None], *arguments: str) -> Done:
        """Run ``motet``, and do ``then`` to it as soon as a line on standard error holds ``sign``."""
        process = subprocess.Popen(
            [str(MOTET), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            cwd=self.folder,
            env=self.env,
        )
        assert process.stderr is not None
        heard = []
        try:
            for line in process.stderr:
                heard.append(line)
                if sign in line:
                    break
            then(process)
            out, err = process.communicate(timeout=PATIENCE)
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()
        return Done(process.returncode, out, "".join(heard) + err)

    def go(self) -> None:
        """Let the waiting system go on."""
        (self.folder / "go").touch()

    def stay(self) -> None:
        """Make the waiting system wait."""
        (self.folder / "go").unlink(missing_ok=True)

    def runs(self) -> list[dict[str, Any]]:
        """The runs in the store, as ``motet runs --json`` tells them; none when there is no store."""
        if not (self.home / "motet.db").exists():
            return []
        found: list[dict[str, Any]] = self.run("runs", "--json").json
        return found

    def fresh_copy(self, name: str) -> Desk:
        """Another desk beside this one."""
        folder = self.folder.parent / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return Desk(folder)


def interrupt(process: subprocess.Popen[str]) -> None:
    """Ctrl-C."""
    process.send_signal(signal.SIGINT)

"""``motet doctor``: what works on this machine, and how to mend what does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import typer

from motet.cli.options import JsonOption, StoreOption

if TYPE_CHECKING:
    from pathlib import Path

Verdict: TypeAlias = Literal["ok", "warn", "fail"]

_CORE = ("pydantic", "openai", "sqlalchemy", "alembic", "typer", "rich", "anyio", "genai-prices")
_EXTRAS = {
    "embedded": ("xllamacpp", "tokenizers"),
    "corpus": ("bm25s", "pypdf", "trafilatura"),
    "web": ("httpcore2", "trafilatura"),
    "postgres": ("psycopg",),
    "bench": ("math-verify", "matplotlib"),
    "ray": ("ray",),
}
_DISK_LOW = 1_000_000_000  # bytes


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. ``mend`` says what to do about a warning or a failure."""

    verdict: Verdict
    name: str
    text: str
    mend: str = ""


def doctor(store: StoreOption = None, as_json: JsonOption = False) -> int:
    """Say what works here and how to mend the rest.

    Looks at Python, the store, models, keys (present or not, never their values), the sandbox and the disk.
    Exit code 1 when something is broken.

    \b
    Examples:
      motet doctor
      motet doctor --json
    """
    import sys

    from motet.cli.terminal import json_text, output, put, styled

    findings = [finding for look in _LOOKS for finding in _guarded(look, store)]
    broken = any(finding.verdict == "fail" for finding in findings)
    if as_json:
        sys.stdout.write(f"{json_text({'ok': not broken, 'findings': [asdict(finding) for finding in findings]})}\n")
        return int(broken)
    from motet.cli.render import grid

    styles = {"ok": "green", "warn": "yellow", "fail": "bold red"}
    table = grid("", "", "", header=False, fold=True)
    for finding in findings:
        text = styled(finding.text)
        if finding.mend:
            text.append_text(styled(f"\n→ {finding.mend}", style="dim"))
        table.add_row(styled(finding.verdict, styles[finding.verdict]), finding.name, text)
    put(output(), table)
    if broken:
        typer.echo("something is broken: see the lines that say fail", err=True)
    return int(broken)


def _guarded(look: Callable[[str | None], Iterator[Finding]], store: str | None) -> Iterator[Finding]:
    """What ``look`` finds; a look that fails is a finding itself, and the others go on."""
    from motet.errors import MotetError

    name = look.__name__.strip("_").replace("_", " ")
    try:
        yield from look(store)
    except MotetError as error:
        yield Finding("fail", name, str(error))
    except Exception as error:  # noqa: BLE001 - a doctor that falls ill is of no use
        yield Finding(
            "fail", name, f"{type(error).__name__}: {error}", "this is a bug in Motet, or a broken installation"
        )


def _python(_store: str | None) -> Iterator[Finding]:
    import platform
    import sys
    from importlib import metadata

    from motet.version import __version__

    yield Finding("ok", "motet", f"{__version__} on Python {platform.python_version()}, {platform.platform()}")
    versions = []
    for package in _CORE:
        try:
            versions.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            yield Finding("fail", "packages", f"{package} is not installed", "pip install --force-reinstall motet")
    yield Finding("ok", "packages", ", ".join(versions))
    if (sys.stdout.encoding or "").lower().replace("-", "") != "utf8":
        yield Finding(
            "warn",
            "locale",
            f"standard output is {sys.stdout.encoding}",
            "set PYTHONUTF8=1 or a UTF-8 locale to see every character",
        )


def _extras(_store: str | None) -> Iterator[Finding]:
    from importlib import metadata

    for extra, packages in _EXTRAS.items():
        there, missing = [], []
        for package in packages:
            try:
                there.append(f"{package} {metadata.version(package)}")
            except metadata.PackageNotFoundError:
                missing.append(package)
        if missing:
            yield Finding(
                "warn", "extra", f"{extra}: {', '.join(missing)} not installed", f"pip install 'motet[{extra}]'"
            )
        else:
            yield Finding("ok", "extra", f"{extra}: {', '.join(there)}")


def _home(_store: str | None) -> Iterator[Finding]:
    import os
    import shutil

    from motet.cli.render import bytes_text
    from motet.settings import home

    place = home()
    origin = "MOTET_HOME" if os.environ.get("MOTET_HOME") else "the default"
    existing = _existing(place)
    if place.exists() and not place.is_dir():
        yield Finding("fail", "home", f"{place} ({origin}) is no folder", "set MOTET_HOME to a folder")
        return
    if not os.access(existing, os.W_OK | os.X_OK):
        yield Finding("fail", "home", f"{place} ({origin}) cannot be written to", "set MOTET_HOME to a folder of yours")
        return
    yield Finding("ok", "home", f"{place} ({origin}{'' if place.exists() else '; not made yet'})")
    free = shutil.disk_usage(existing).free
    low = free < _DISK_LOW
    yield Finding("warn" if low else "ok", "disk", f"{bytes_text(free)} free there", "make room" if low else "")


def _settings(_store: str | None) -> Iterator[Finding]:
    from motet.settings import load_settings

    settings = load_settings()
    if settings.source is None:
        yield Finding("ok", "settings", "no settings file: defaults")
    else:
        yield Finding(
            "ok", "settings", f"{settings.source}: {len(settings.providers)} providers, {len(settings.prices)} prices"
        )


def _run_store(given: str | None) -> Iterator[Finding]:
    from pathlib import Path

    import sqlalchemy as sa

    from motet.cli.render import bytes_text
    from motet.settings import store_url
    from motet.store.migrate import HEAD
    from motet.store.queries import sizes
    from motet.store.store import Store

    url = sa.make_url(given or store_url())
    if url.get_backend_name() == "sqlite" and url.database and not Path(url.database).exists():
        # A look must not make anything.
        yield Finding("ok", "store", f"{url.render_as_string()}: made at the first run")
        return
    with Store.open(given) as opened:
        found = sizes(opened)
        size = f"{bytes_text(found.disk)} on disk, {bytes_text(found.content)} of text"
        counts = ", ".join(f"{found.rows[name]:,} {name}" for name in ("runs", "calls", "events", "blobs"))
        yield Finding("ok", "store", f"{opened.name}: schema {HEAD}, {counts}, {size}")


def _models(_store: str | None) -> Iterator[Finding]:
    from importlib.util import find_spec

    from motet.models.weights import RECIPES, installed

    for name, recipe in RECIPES.items():
        manifest = installed(name)
        if manifest is not None:
            yield Finding("ok", "weights", f"{name}: {manifest.file} ({manifest.size / 1e6:.0f} MB)")
        elif recipe.chat:
            yield Finding(
                "warn",
                "weights",
                f"{name} is not here: no embedded model, no scripted ones",
                f"motet models get {name}",
            )
    if find_spec("xllamacpp") is None:
        yield Finding("warn", "embedded", "the runtime is not installed", "pip install 'motet[embedded]'")


def _keys(_store: str | None) -> Iterator[Finding]:
    import asyncio

    from motet.models.providers import LOCAL, Models
    from motet.settings import load_settings

    async def rows() -> list[tuple[str, bool | None, str, int]]:
        models = Models(load_settings())
        try:
            return [(row.name, row.usable, row.note, len(row.models)) for row in await models.describe(probe=True)]
        finally:
            await models.aclose()

    for name, usable, note, served in asyncio.run(rows()):
        if name.startswith(("embedded", "scripted", "NAME@")):
            continue
        provider = name.removesuffix(":NAME")
        models = f" ({served} models)" if served else ""
        if usable is not False:
            yield Finding("ok", "provider", f"{provider}: {note}{models}")
        elif provider in LOCAL:
            yield Finding(
                "warn",
                "provider",
                f"{provider}: {note}",
                f"to use it, start it, or set [providers.{provider}] base_url",
            )
        else:
            yield Finding("warn", "provider", f"{provider}: {note}", "to use it, put its key there")


def _sandbox(_store: str | None) -> Iterator[Finding]:
    from motet.tools.sandbox import probe

    report = probe()
    if report.level == "namespaces":
        kept = ", ".join(check.name for check in report.checks if check.ok)
        yield Finding("ok", "sandbox", f"namespaces, tried: {kept}")
    else:
        yield Finding(
            "warn",
            "sandbox",
            f"weak: {report.reason}",
            "enable user namespaces, or accept a weak sandbox for the python tool: --allow-weak-sandbox",
        )
    for check in report.checks:
        if not check.ok and check.required is False:
            yield Finding("warn", "sandbox", f"{check.name}: {check.detail}")


_LOOKS: tuple[Callable[[str | None], Iterator[Finding]], ...] = (
    _python,
    _extras,
    _home,
    _settings,
    _run_store,
    _models,
    _keys,
    _sandbox,
)


def _existing(place: Path) -> Path:
    """``place``, or the nearest folder above it that exists."""
    while not place.exists() and place != place.parent:
        place = place.parent
    return place

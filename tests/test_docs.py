"""What the documents say about the project is true: links, paths, tests, commands, code."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

import motet

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*.md")])
_PATH = re.compile(r"`((?:src|tests|docs|examples|benchmarks)/[\w/.-]*)(?:::(\w+))?`(?:: `(\w+)`)?")


def blocks(text: str, language: str) -> Iterator[str]:
    """The fenced blocks of one language."""
    for match in re.finditer(rf"^```{language}\n(.*?)^```", text, re.M | re.S):
        yield match[1]


def named(path: Path) -> set[str]:
    """Every function, class and method that a Python file defines."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, kinds)}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_and_path_leads_somewhere(document: Path) -> None:
    """Relative links, paths in backticks, and tests named after a path all exist."""
    text = document.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", text):
        assert (document.parent / target).exists(), target
    for path, *names in _PATH.findall(text):
        assert (ROOT / path).exists(), path
        for name in filter(None, names):
            assert name in named(ROOT / path), f"{path} has no {name}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_shown_exists(document: Path) -> None:
    """Each ``motet WORD`` and ``make WORD`` in a code block or in backticks is a command and a target that there is."""
    from motet.cli.app import app

    commands = set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    text = document.read_text(encoding="utf-8")
    code = [*re.findall(r"`([^`\n]+)`", text), *"\n".join(blocks(text, r"\w*")).splitlines()]
    for line in code:
        for command in re.findall(r"(?:^|·|\$) *motet ([a-z]+)", line):
            assert command in commands, line
        for target in re.findall(r"(?:^|·) *make ([a-z-]+)", line):
            assert target in targets, line


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_python_block_is_python_and_imports_what_there_is(document: Path) -> None:
    """Python blocks parse (``await`` allowed), and each name they import from Motet exists."""
    for block in blocks(document.read_text(encoding="utf-8"), "python"):
        tree = compile(block, str(document), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST)
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                exec(compile(ast.Module([node], []), str(document), "exec"), {})
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "motet":
                assert hasattr(motet, node.attr), f"motet.{node.attr}"


def test_the_readmes_python_runs(home: Path) -> None:
    """The screen of Python in the README does what it says, on the embedded model."""
    (block,) = blocks((ROOT / "README.md").read_text(encoding="utf-8"), "python")
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(block, "README.md", "exec"), {"__name__": "readme"})
    assert said.getvalue().startswith("completed ")
    assert asyncio.run(motet.resume(said.getvalue().split()[-1])).status == "completed"


def test_the_map_names_every_part_of_the_package() -> None:
    """Each package, and each module of the ground floor, stands in the architecture's tree and in its chain of floors."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    (chain,) = [block for block in blocks(text, "") if block.startswith("cli →")]
    for part in Path(motet.__file__).parent.iterdir():
        if part.is_dir() and part.name != "__pycache__":
            assert f"\n  {part.name}/" in text, part.name
            assert re.search(rf"\b{part.name}\b", chain), part.name
        elif part.suffix == ".py" and part.stem != "__init__":
            assert part.name in text, part.name

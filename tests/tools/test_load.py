"""Tools by name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from motet.errors import InputError
from motet.tools import FunctionTool, Tool, load_tools

MODULE = '''
from motet.tools import FunctionTool, Observation, Tool, tool


def plain(a: int) -> int:
    """Double it."""
    return 2 * a


@tool(name="dressed")
def decorated(a: int) -> int:
    return a


def make() -> Tool:
    return FunctionTool(plain, name="made")


def make_two() -> tuple[FunctionTool, ...]:
    return FunctionTool(plain, name="one"), FunctionTool(plain, name="two")


def broken_factory() -> Tool:
    raise ValueError("no wood")


def endless() -> Tool:
    return plain


class Handmade:
    name = "handmade"
    description = "Made by hand."
    parameters = {"type": "object", "properties": {}}
    effect = "read"
    delivery = "plain"
    version = "1"

    async def __call__(self, arguments, *, key):
        return Observation(text="done")

    async def confirm(self, key):
        return None


class Group:
    inner = decorated


both = [decorated, make()]
number = 7
untyped = lambda a: a
'''


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a module of tools, a module that fails, and a folder of documents."""
    (tmp_path / "own_tools_of_test.py").write_text(MODULE)
    (tmp_path / "failing_of_test.py").write_text("raise RuntimeError('no')")
    (tmp_path / "needing_of_test.py").write_text("import not_there_of_test")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("text")
    monkeypatch.chdir(tmp_path)
    for name in ("own_tools_of_test", "failing_of_test", "needing_of_test"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        ("corpus:docs", ["corpus_search", "corpus_read"]),
        ("python", ["python"]),
        ("own_tools_of_test:plain", ["plain"]),
        ("own_tools_of_test:decorated", ["dressed"]),
        ("own_tools_of_test:make", ["made"]),
        ("own_tools_of_test:make_two", ["one", "two"]),
        ("own_tools_of_test:Handmade", ["handmade"]),
        ("own_tools_of_test:Group.inner", ["dressed"]),
        ("own_tools_of_test:both", ["dressed", "made"]),
    ],
)
def test_each_form_of_name_gives_its_tools(here: Path, spec: str, names: list[str]) -> None:
    """Corpora, the sandbox, functions, Tools, lists, classes and factories all load from the working directory."""
    tools = load_tools([spec])
    assert [loaded.name for loaded in tools] == names
    assert all(isinstance(loaded, Tool) for loaded in tools)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("pyhton", "did you mean 'python'.*known: corpus:FOLDER"),
        ("", "known: corpus:FOLDER"),
        ("corpus", "needs a folder: corpus:FOLDER"),
        ("corpus:nowhere", "'nowhere' is not there"),
        ("python:3", "no module|has no"),
        ("no_such_module_of_test:f", "there is no module 'no_such_module_of_test'"),
        ("own_tools_of_test:plane", "has no 'plane'; did you mean 'plain'"),
        ("own_tools_of_test.py:plain", "name the module, not its file: own_tools_of_test:plain"),
        ("https://example.org/x", "there is no module 'https'"),
        ("own tools:plain", "not a module's name"),
        ("failing_of_test:f", "importing 'failing_of_test' failed: RuntimeError: no"),
        ("needing_of_test:f", "needs 'not_there_of_test'"),
        ("own_tools_of_test:number", "is int, not a tool"),
        ("own_tools_of_test:untyped", "lambda"),
        ("own_tools_of_test:broken_factory", "ValueError: no wood"),
        ("own_tools_of_test:endless", "was to make a Tool"),
    ],
)
def test_what_cannot_be_loaded_is_bad_input(here: Path, spec: str, said: str) -> None:
    """One line says what is wrong and what would be right."""
    with pytest.raises(InputError, match=said) as caught:
        load_tools([spec])
    assert "\n" not in str(caught.value)


def test_two_tools_of_one_name_are_refused(here: Path) -> None:
    """The message names the tool and both places it came from."""
    with pytest.raises(InputError, match=r"'corpus_search': from 'corpus:docs' and 'corpus:\./docs'"):
        load_tools(["corpus:docs", "corpus:./docs"])


def test_tools_pass_through_beside_names(here: Path) -> None:
    """A Tool given as such keeps its place among named ones."""

    def mine(a: int) -> int:
        return a

    made = FunctionTool(mine)
    assert [loaded.name for loaded in load_tools([made, "own_tools_of_test:plain"])] == ["mine", "plain"]
    assert load_tools([made])[0] is made
    assert load_tools([]) == ()


def test_a_tool_with_a_name_no_endpoint_takes_is_refused(here: Path) -> None:
    """A hand-made Tool is checked too."""

    def mine(a: int) -> int:
        return a

    made = FunctionTool(mine)
    made.name = "not valid"
    with pytest.raises(InputError, match="'not valid' is not valid"):
        load_tools([made])


def test_the_import_path_is_left_as_it_was(here: Path) -> None:
    """The working directory is importable only while a name is resolved."""
    before = list(sys.path)
    load_tools(["own_tools_of_test:plain"])
    with pytest.raises(InputError):
        load_tools(["failing_of_test:f"])
    assert sys.path == before


def test_importing_tools_loads_nothing_heavy() -> None:
    """numpy, bm25s and the document readers wait until a corpus is used."""
    program = (
        "import sys, motet.tools, motet.tools.corpus\n"
        "print([name for name in ('numpy', 'bm25s', 'griffe', 'trafilatura', 'pypdf', 'lxml', 'openai') if name in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"

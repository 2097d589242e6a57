"""Tools from typed Python functions."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import functools
import json
import math
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import date
from typing import Annotated, Any, Literal

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, Field

from motet.errors import BudgetExceeded, InputError, ToolError
from motet.tools import FunctionTool, Key, Observation, Tool, tool

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(), max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


class Point(BaseModel):
    x: int
    y: int = 0


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


def explode(value: int) -> int:
    raise RuntimeError("boom")


Explosive = Annotated[int, AfterValidator(explode)]


def call(made: FunctionTool, arguments: Any = None, *, key: str = "k") -> Observation:
    return asyncio.run(made(arguments if arguments is not None else {}, key=key))


def add(first: int, second: int = 1) -> int:
    """Add two numbers.

    It is exact.

    Args:
        first: The one to start from.
        second: How much
            to add.

    Returns:
        The sum.
    """
    return first + second


def everything(
    text: str,
    number: float,
    whole: int,
    yes: bool,
    many: list[int],
    mapping: dict[str, float],
    choice: Literal["a", "b"],
    colour: Colour,
    point: Point,
    day: date,
    perhaps: str | None = None,
) -> dict[str, object]:
    """Take one of each."""
    return {"text": text, "whole": whole, "colour": colour, "day": day, "point": point}


ONE_OF_EACH: dict[str, Any] = {
    "text": "t",
    "number": 1.5,
    "whole": 2,
    "yes": True,
    "many": [1, 2],
    "mapping": {"a": 1},
    "choice": "b",
    "colour": "red",
    "point": {"x": 1},
    "day": "2026-01-31",
}


def test_the_schema_and_its_descriptions_come_from_signature_and_docstring() -> None:
    """Google, NumPy and Sphinx docstrings all give the same descriptions, and sections stay out of the text."""

    def numpy(first: int, second: int = 1) -> int:
        """Add two numbers.

        It is exact.

        Parameters
        ----------
        first
            The one to start from.
        second : int
            How much to add.
        """
        return first

    def sphinx(first: int, second: int = 1) -> int:
        """Add two numbers.

        It is exact.

        :param first: The one to start from.
        :param second: How much to add.
        """
        return first

    expected = {
        "type": "object",
        "properties": {
            "first": {"type": "integer", "description": "The one to start from."},
            "second": {"type": "integer", "default": 1, "description": "How much to add."},
        },
        "required": ["first"],
        "additionalProperties": False,
    }
    for function in (add, numpy, sphinx):
        made = FunctionTool(function)
        assert made.parameters == expected
        assert made.description == "Add two numbers.\n\nIt is exact."
        assert isinstance(made, Tool)


def test_values_of_every_json_shape_arrive_as_the_annotated_types() -> None:
    """Enums, dates, models and numbers are read from their JSON forms, and go back into JSON."""
    observation = call(FunctionTool(everything), ONE_OF_EACH)
    assert not observation.error, observation.text
    expected = {"text": "t", "whole": 2, "colour": "red", "day": "2026-01-31", "point": {"x": 1, "y": 0}}
    assert json.loads(observation.text) == expected == observation.data


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "missing argument 'first'"),
        ({"first": "3"}, "argument 'first': Input should be a valid integer, got \"3\""),
        ({"first": True}, "argument 'first'"),
        ({"first": 1.5}, "argument 'first'"),
        ({"first": None}, "argument 'first'"),
        ({"first": 1, "secnd": 2}, "unknown argument 'secnd'; did you mean 'second'?"),
        ([1, 2], "expected a JSON object of arguments, got [1, 2]"),
        ("first=1", "expected a JSON object of arguments"),
    ],
)
def test_arguments_that_do_not_fit_are_named_and_nothing_runs(arguments: Any, said: str) -> None:
    """The observation names the argument, shows what came and the schema; the function is not called."""
    ran = []

    def probe(first: int, second: int = 1) -> str:
        ran.append(first)
        return "ran"

    tool = FunctionTool(probe)
    observation = asyncio.run(tool(arguments, key="k"))
    assert observation.error
    assert tool.refuse(arguments) == observation
    assert said in observation.text
    assert '"additionalProperties":false' in observation.text
    assert "\n" not in observation.text
    assert ran == []


@pytest.mark.parametrize(("value", "text"), [(3.0, "4"), (3, "4"), (2.0**53 - 1, str(2**53))])
def test_whole_numbers_fit_integers_however_they_are_written(value: float, text: str) -> None:
    """JSON does not tell 3.0 from 3."""
    assert call(FunctionTool(add), {"first": value}).text == text


@settings(max_examples=100, deadline=None)
@given(st.one_of(JSON, st.dictionaries(st.sampled_from(list(ONE_OF_EACH)), JSON)), st.randoms(use_true_random=False))
def test_no_json_argument_makes_a_call_raise(noise: Any, random: Any) -> None:
    """Arbitrary JSON, alone or in place of some good arguments, always gives an observation."""
    made = FunctionTool(everything)
    assert isinstance(call(made, noise), Observation)
    mixed = dict(ONE_OF_EACH)
    mixed[random.choice(list(mixed))] = noise
    observation = call(made, mixed)
    assert isinstance(observation, Observation)
    if observation.error:
        assert "Nothing was run" in observation.text


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from(["first", "second", "third"]), JSON, max_size=3))
def test_what_runs_is_what_the_shown_schema_allows(arguments: dict[str, Any]) -> None:
    """A call is refused exactly when the JSON schema that the model was shown refuses its arguments."""
    made = FunctionTool(add)
    allowed = jsonschema.Draft202012Validator(made.parameters).is_valid(arguments)
    big = any(isinstance(value, float) and abs(value) >= 2**53 for value in arguments.values())
    if not big:  # beyond 2^53 a float no longer says which integer it means
        assert call(made, arguments).error == (not allowed)


def test_arguments_nested_beyond_reason_are_refused() -> None:
    """Depth that breaks a JSON writer ends in an observation."""
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    observation = call(FunctionTool(add), {"first": deep})
    assert observation.error
    while deep:  # unwound by hand: freeing it at once would recurse as deep
        deep = deep.pop()


def test_results_become_deterministic_text() -> None:
    """Text stays text; other values are compact JSON with sorted keys and sorted sets."""

    @dataclasses.dataclass
    class Pair:
        left: int
        right: set[str]

    def returning(value: object) -> FunctionTool:
        def give() -> object:
            return value

        return FunctionTool(give)

    assert call(returning("as it is")).text == "as it is"
    assert call(returning("as it is")).data is None
    assert call(returning({"b": 1, "a": [None, True, 2.5]})).text == '{"a":[null,true,2.5],"b":1}'
    assert call(returning(Pair(1, {"z", "y", "x"}))).text == '{"left":1,"right":["x","y","z"]}'
    assert call(returning(None)).text == "null"
    assert call(returning({1: "é"})).text == '{"1":"é"}'
    assert call(returning(math.nan)).text == "NaN"
    assert call(returning("a\x00b\ud800")).text == "ab?"
    whole = Observation(text="mine", data={"x": 1})
    assert call(returning(whole)) == whole


def test_a_result_without_a_json_form_is_an_error_observation() -> None:
    """What cannot be shown to a model is said to be so, by type."""

    def give() -> object:
        return object()

    observation = call(FunctionTool(give))
    assert observation.error
    assert "give returned a value that has no JSON form" in observation.text


def test_long_output_is_cut_where_everyone_can_see_it() -> None:
    """The marker counts what is missing, and data shown only in part is not kept."""

    def text() -> str:
        return "x" * 150

    def numbers() -> list[int]:
        return [1] * 100

    assert call(FunctionTool(text, max_chars=100)).text == "x" * 100 + "… cut, 50 more characters"
    observation = call(FunctionTool(numbers, max_chars=100))
    assert observation.text.endswith("… cut, 101 more characters")
    assert observation.data is None


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ToolError("the shop is closed"), "the shop is closed"),
        (ValueError("two\nlines"), "broken failed: ValueError: two lines"),
        (KeyError(), "broken failed: KeyError"),
        (TimeoutError("mine"), "broken failed: TimeoutError: mine"),
        (StopIteration(3), "StopIteration"),
        (SystemExit(2), "SystemExit: 2"),
    ],
)
def test_whatever_a_function_raises_is_an_observation(error: BaseException, text: str, is_async: bool) -> None:
    """Errors are one line each, in sync and async functions alike."""

    def broken() -> str:
        raise error

    async def abroken() -> str:
        raise error

    observation = call(FunctionTool(abroken if is_async else broken, name="broken"))
    assert observation.error
    assert text.removeprefix("broken failed: ") in observation.text
    assert "\n" not in observation.text


def test_a_validator_of_the_users_own_cannot_break_a_call() -> None:
    """An exception inside a custom type is an observation as well."""

    def probe(value: Explosive) -> str:
        return "ran"

    observation = call(FunctionTool(probe), {"value": 1})
    assert observation.error
    assert "boom" in observation.text


def test_the_runs_own_rules_pass_through() -> None:
    """A budget that is met inside a tool stops the run, and is not shown to the model as a failed tool."""

    def spend() -> str:
        raise BudgetExceeded("no more", limit="tokens")

    with pytest.raises(BudgetExceeded):
        call(FunctionTool(spend))


def test_a_call_over_its_time_is_an_error_observation() -> None:
    """Sync and async functions are both given up after their time-out; a write says that it may still be at work."""
    release = threading.Event()

    def hang() -> str:
        release.wait()
        return "late"

    async def ahang() -> str:
        await asyncio.Event().wait()
        return "never"

    try:
        assert call(FunctionTool(hang, timeout=0.05)).text == "hang timed out after 0.05 s; it may still be at work"
        assert call(FunctionTool(ahang, timeout=0.05)).text == "ahang timed out after 0.05 s"
        late = call(FunctionTool(ahang, timeout=0.05, effect="write"))
        assert late.error
        assert late.text.endswith("it may still be at work")
    finally:
        release.set()


def test_a_function_that_hangs_does_not_keep_the_process_alive() -> None:
    """A program ends although a timed-out function never returns."""
    program = (
        "import asyncio, threading\nfrom motet.tools import FunctionTool\n"
        "def hang() -> str:\n    threading.Event().wait()\n    return ''\n"
        "print(asyncio.run(FunctionTool(hang, timeout=0.05, version='1')({}, key='k')).error)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout == "True\n"


def test_many_calls_at_once_all_answer_within_the_thread_limit() -> None:
    """More calls than threads wait for their turn, and waiting does not count as their time."""
    running, most, guard = 0, 0, threading.Lock()

    def work(number: int) -> int:
        nonlocal running, most
        with guard:
            running += 1
            most = max(most, running)
        threading.Event().wait(0.001)
        with guard:
            running -= 1
        return number

    async def all_at_once() -> list[Observation]:
        made = FunctionTool(work, timeout=30)
        return await asyncio.gather(*(made({"number": number}, key="k") for number in range(300)))

    assert [int(observation.text) for observation in asyncio.run(all_at_once())] == list(range(300))
    assert most <= 64


def test_cancelling_a_call_ends_it_at_once() -> None:
    """A cancelled caller does not wait for the thread, and its place is free again."""
    release = threading.Event()

    def hang() -> str:
        release.wait()
        return ""

    async def cancel_some() -> str:
        made = FunctionTool(hang, timeout=None)
        tasks = [asyncio.create_task(made({}, key="k")) for _ in range(100)]
        await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return (await FunctionTool(add)({"first": 1}, key="k")).text

    try:
        assert asyncio.run(cancel_some()) == "2"
    finally:
        release.set()


def test_the_key_reaches_the_function_and_not_the_schema() -> None:
    """A parameter annotated with Key gets the call's key, and a model can neither see nor set it."""

    @tool(effect="write", delivery="keyed")
    def send(text: str, key: Key) -> str:
        """Send a message."""
        return f"{text} under {key}"

    assert list(send.parameters["properties"]) == ["text"]  # type: ignore[arg-type]
    assert call(send, {"text": "hi"}, key="abc").text == "hi under abc"
    assert call(send, {"text": "hi", "key": "forged"}, key="abc").error


def test_confirm_tells_what_happened_from_what_did_not() -> None:
    """None means never; anything else is the call's observation; an unanswered question is a ToolError."""
    sent = {"a": {"id": 7}}

    def make(confirm: Callable[[str], object]) -> FunctionTool:
        @tool(effect="write", delivery="confirmable", confirm=confirm)
        def send(text: str, key: Key) -> dict[str, int]:
            """Send a message."""
            return sent.setdefault(key, {"id": len(text)})

        return send

    async def later(key: str) -> object:
        return sent.get(key)

    def unreachable(key: str) -> object:
        raise ConnectionError("down")

    for confirm in (sent.get, later):
        made = make(confirm)
        assert asyncio.run(made.confirm("b")) is None
        assert asyncio.run(made.confirm("a")) == Observation(text='{"id":7}', data={"id": 7})
    with pytest.raises(ToolError, match="down"):
        asyncio.run(make(unreachable).confirm("a"))
    with pytest.raises(ToolError, match="or None if it never happened"):
        asyncio.run(make(lambda key: False).confirm("a"))
    with pytest.raises(ToolError, match="no way to confirm"):
        asyncio.run(FunctionTool(add).confirm("a"))


def test_positional_only_parameters_keep_their_places() -> None:
    """A later positional argument does not slip into the place of one that was left out."""

    def minus(first: int = 10, second: int = 1, /) -> int:
        return first - second

    assert call(FunctionTool(minus), {"second": 4}).text == "6"
    assert call(FunctionTool(minus), {}).text == "9"


def test_parameters_may_have_any_name() -> None:
    """Names that mean something to Pydantic are names like others."""

    def probe(schema: int, model_config: int, copy: int, _private: int) -> list[int]:
        return [schema, model_config, copy, _private]

    assert call(FunctionTool(probe), {"schema": 1, "model_config": 2, "copy": 3, "_private": 4}).data == [1, 2, 3, 4]


def test_constraints_in_annotations_hold() -> None:
    """Field limits stand in the schema and are checked."""

    def probe(count: Annotated[int, Field(ge=1, le=3, description="How many.")]) -> int:
        return count

    made = FunctionTool(probe)
    assert made.parameters["properties"] == {
        "count": {"type": "integer", "minimum": 1, "maximum": 3, "description": "How many."}
    }
    assert call(made, {"count": 4}).error
    assert call(made, {"count": 3}).text == "3"


def test_what_cannot_be_a_tool_is_refused_by_name() -> None:
    """Each refusal is an InputError that names the tool and the parameter."""

    def untyped(a: int, b) -> int:  # type: ignore[no-untyped-def]
        return a

    def many(*numbers: int) -> int:
        return 0

    def named(**options: int) -> int:
        return 0

    def opaque(lock: threading.Event) -> int:
        return 0

    def fielded(count: int = Field(3, ge=1)) -> int:
        return count

    def generator() -> Any:
        yield 1

    def unknown(a: Missing) -> int:  # type: ignore[name-defined]  # noqa: F821
        return 0

    refused: list[tuple[Any, str]] = [
        (untyped, "parameter 'b' has no type annotation"),
        (many, r"parameter '\*numbers"),
        (named, r"parameter '\*\*options"),
        (opaque, "parameter 'lock' has a type without a JSON schema"),
        (fielded, "parameter 'count'.*Annotated"),
        (generator, "generator"),
        (unknown, "Missing"),
        (lambda a: a, r"lambda.*\(a\)"),
        (functools.partial(add, 1), "partial"),
        (Point, "made from a function"),
    ]
    for function, said in refused:
        with pytest.raises(InputError, match=said):
            FunctionTool(function)
    for name in ("", "with space", "ü", "x" * 65):
        with pytest.raises(InputError, match="is not valid"):
            FunctionTool(add, name=name)


def test_contradictory_declarations_are_refused() -> None:
    """Delivery, key, confirm and time-out have to make sense together."""

    def keyed(key: Key) -> str:
        return key

    refused: list[tuple[Callable[..., object], dict[str, Any], str]] = [
        (add, {"effect": "writes"}, "effect"),
        (add, {"effect": "write", "delivery": "sure"}, "delivery"),
        (keyed, {"effect": "read", "delivery": "keyed"}, "is for writes"),
        (add, {"effect": "write", "delivery": "keyed"}, "key: Key"),
        (keyed, {"effect": "write", "delivery": "confirmable"}, "belong together"),
        (keyed, {"effect": "write", "delivery": "keyed", "confirm": print}, "belong together"),
        (add, {"timeout": 0}, "timeout"),
        (add, {"max_chars": 0}, "max_chars"),
    ]
    for function, options, said in refused:
        with pytest.raises(InputError, match=said):
            FunctionTool(function, **options)


def test_the_version_follows_the_source_unless_it_is_given() -> None:
    """Another body is another version; an equal one is the same; an explicit version wins."""

    def make(body: str) -> FunctionTool:
        space: dict[str, Any] = {"__name__": "made_up_module"}
        exec(compile(f"def probe(a: int) -> object:\n    return {body}\n", "<made>", "exec"), space)
        return FunctionTool(space["probe"])

    assert make("a + 1").version == make("a + 1").version
    assert make("a + 1").version != make("a + 2").version
    assert make("a in {'x', 'y', 'z'}").version == make("a in {'z', 'y', 'x'}").version
    assert FunctionTool(add, version="7").version == "7"
    assert FunctionTool(add).version == FunctionTool(add).version


def test_a_version_is_the_same_in_every_process() -> None:
    """Hash randomisation and addresses leave no trace in a version, with source or without."""
    program = (
        "from motet.tools import FunctionTool\nfrom motet.settings import nearest\n"
        "space = {'__name__': 'made'}\n"
        "exec(\"def probe(a: str) -> bool:\\n    return (lambda: a in {'x', 'y', 'z', 'q', 'r'})()\", space)\n"
        "def plain(a: str) -> str:\n    return a\n"
        "print(FunctionTool(space['probe']).version, FunctionTool(plain).version)\n"
    )
    versions = {
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PATH": ""},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(versions) == 1


def test_a_function_from_an_installed_distribution_carries_its_version() -> None:
    """The version names the distribution that the function comes from."""
    import importlib.metadata

    from motet.settings import data_dir

    assert FunctionTool(data_dir).version.endswith(f"motet {importlib.metadata.version('motet')}")


def test_the_decorator_takes_options_or_none() -> None:
    """``@tool`` and ``@tool(…)`` both make a FunctionTool, and the function stays reachable."""

    @tool
    def plain(a: int) -> int:
        """Double it."""
        return 2 * a

    @tool(name="renamed", effect="write")
    async def other(a: int) -> int:
        """Triple it."""
        return 3 * a

    assert (plain.name, plain.effect, plain.function(2)) == ("plain", "read", 4)
    assert (other.name, other.effect, call(other, {"a": 2}).text) == ("renamed", "write", "6")


def test_a_write_to_a_state_in_this_process_needs_no_key() -> None:
    """The tools of a forkable world are plain functions; there is no service that a key would be passed on to."""

    def put(book: str) -> str:
        """Put a book down."""
        return book

    assert FunctionTool(put, effect="write", delivery="local").delivery == "local"

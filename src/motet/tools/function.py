"""Tools from typed Python functions.

    @tool
    def days_between(first: date, last: date) -> int:
        '''Count the days from one date to another.

        :param first: The earlier date, as YYYY-MM-DD.
        :param last: The later date.
        '''
        return (last - first).days

The schema and the descriptions come from the signature and the docstring (see ``signature.py`` for what is accepted).

- A coroutine function is awaited; any other function runs in a thread, of which there are at most 64 at a time (``threads.py``).
  A thread cannot be stopped: after a time-out or a cancellation its result is dropped, but what it does goes on.
- The default version is the hash of the function's source with the version of the distribution it comes from. Code that it
  calls, and values it closes over, are not in the hash: give ``version`` where these may change.
- Whatever happens inside the function becomes an observation. Only the run's own rules (RunError) and cancellation pass.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import json
import re
import sys
import textwrap
from collections.abc import Awaitable, Callable, Mapping
from types import CodeType
from typing import TypeAlias, get_args, overload

import anyio
from pydantic import BaseModel, JsonValue
from pydantic_core import to_jsonable_python

from motet.canonical import canonical, clean_text
from motet.errors import InputError, RunError, ToolError
from motet.tools.signature import BadArguments, Key, read_signature
from motet.tools.threads import threads
from motet.tools.tool import Delivery, Effect, Observation

__all__ = ["Confirm", "FunctionTool", "Key", "tool"]

# Asks a service whether the call with this key happened: ``None`` for no, else what the call returned.
Confirm: TypeAlias = Callable[[str], object]

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # what the OpenAI wire format allows
MAX_CHARS = 20_000
_MAX_ERROR = 500


class FunctionTool:
    """A typed Python function as a Tool.

    ``timeout`` is in seconds (``None``: no limit) and ``max_chars`` caps the text an agent is shown. A ``keyed`` or
    ``confirmable`` write needs a parameter annotated with ``Key``; a ``confirmable`` one also needs ``confirm``; one to the state of a
    forkable world is ``local``.

    Raises InputError for a function that cannot be a tool, naming the parameter.
    """

    def __init__(
        self,
        function: Callable[..., object],
        *,
        name: str | None = None,
        effect: Effect = "read",
        delivery: Delivery = "plain",
        version: str | None = None,
        confirm: Confirm | None = None,
        timeout: float | None = 60.0,
        max_chars: int = MAX_CHARS,
    ) -> None:
        self.name = name if name is not None else getattr(function, "__name__", "")
        _check_function(function, self.name)
        self._signature = read_signature(function, name=self.name)
        self.function = function
        self.description = self._signature.description
        self.parameters = self._signature.schema
        self.effect = effect
        self.delivery = delivery
        self.timeout = timeout
        self.max_chars = max_chars
        self._confirm = confirm
        _check_delivery(self, has_key=self._signature.key is not None, has_confirm=confirm is not None)
        self.version = version if version is not None else _version(function)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, effect={self.effect!r}, version={self.version!r})"

    async def __call__(self, arguments: Mapping[str, JsonValue], *, key: str) -> Observation:
        """Check ``arguments``, call the function, and return what it answered or how it failed."""
        values = self._read(arguments)
        if isinstance(values, Observation):
            return values
        if self._signature.key is not None:
            values[self._signature.key] = key
        positional, keywords = self._signature.bind(values)
        return await self._observe(functools.partial(self.function, *positional, **keywords))

    def refuse(self, arguments: Mapping[str, JsonValue]) -> Observation | None:
        """What a call with ``arguments`` would be answered that do not fit; ``None`` for those that do. Nothing is run."""
        values = self._read(arguments)
        return values if isinstance(values, Observation) else None

    def _read(self, arguments: Mapping[str, JsonValue]) -> dict[str, object] | Observation:
        """The function's arguments, or what is wrong with them."""
        try:
            return self._signature.check(arguments)
        except BadArguments as error:
            return self._failed(str(error), cap=self.max_chars)
        except Exception as error:  # noqa: BLE001 - a validator of the user's own types may raise anything
            return self._failed(f"{self.name} could not read its arguments: {_line(error)}")

    async def confirm(self, key: str) -> Observation | None:
        """Ask the service whether the call with ``key`` happened. Raises ToolError when it cannot be asked."""
        if self._confirm is None:
            raise ToolError(f"{self.name} has no way to confirm a call")
        try:
            with anyio.move_on_after(self.timeout) as scope:
                value = await _call(functools.partial(self._confirm, key), is_async=_is_async(self._confirm))
        except (ToolError, RunError):
            raise
        except Exception as error:
            raise ToolError(f"{self.name} could not confirm a call: {_line(error)}") from error
        if scope.cancelled_caught:
            raise ToolError(f"{self.name} could not confirm a call within {self.timeout:g} s")
        if value is None:
            return None
        if isinstance(value, bool):
            # False would read as "it happened, and answered false".
            raise ToolError(f"{self.name}: confirm must return what the call returned, or None if it never happened")
        return self._observation(value)

    async def _observe(self, call: Callable[[], object]) -> Observation:
        is_async = _is_async(self.function)
        slots, place = threads().limiter, object()
        if not is_async:
            await slots.acquire_on_behalf_of(place)  # waiting for a thread is not the function's time
        try:
            with anyio.move_on_after(self.timeout) as scope:
                value = await _call(call, is_async=is_async)
        except RunError:
            raise
        except ToolError as error:
            return self._failed(str(error), cap=self.max_chars)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a tool's failure is an observation
            return self._failed(f"{self.name} failed: {_line(error)}")
        finally:
            if not is_async:
                slots.release_on_behalf_of(place)
        if scope.cancelled_caught:
            rest = "" if is_async and self.effect == "read" else "; it may still be at work"
            return self._failed(f"{self.name} timed out after {self.timeout:g} s{rest}")
        try:
            return self._observation(value)
        except Exception as error:  # noqa: BLE001
            return self._failed(f"{self.name} returned a value that has no JSON form: {_line(error)}")

    def _observation(self, value: object) -> Observation:
        if isinstance(value, Observation):
            text = _capped(value.text, self.max_chars)
            return value if text == value.text else value.model_copy(update={"text": text})
        if isinstance(value, str):
            return Observation(text=_capped(str.__str__(value), self.max_chars))
        data = _plain(value)
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        shown = _capped(text, self.max_chars)
        # Data that the agent was not shown in full is not kept either: nothing may rest on it.
        return Observation(text=shown, data=data if shown == text else None)

    def _failed(self, text: str, *, cap: int = _MAX_ERROR) -> Observation:
        return Observation(text=_capped(text, cap), error=True)


@overload
def tool(function: Callable[..., object], /) -> FunctionTool: ...


@overload
def tool(
    *,
    name: str | None = None,
    effect: Effect = "read",
    delivery: Delivery = "plain",
    version: str | None = None,
    confirm: Confirm | None = None,
    timeout: float | None = 60.0,
    max_chars: int = MAX_CHARS,
) -> Callable[[Callable[..., object]], FunctionTool]: ...


def tool(
    function: Callable[..., object] | None = None,
    /,
    *,
    name: str | None = None,
    effect: Effect = "read",
    delivery: Delivery = "plain",
    version: str | None = None,
    confirm: Confirm | None = None,
    timeout: float | None = 60.0,
    max_chars: int = MAX_CHARS,
) -> FunctionTool | Callable[[Callable[..., object]], FunctionTool]:
    """Make a tool of the decorated function; ``@tool`` and ``@tool(effect="write", …)`` both work.

    The function itself stays reachable as ``.function``. Parameters are those of ``FunctionTool``.
    """

    def wrap(wrapped: Callable[..., object]) -> FunctionTool:
        return FunctionTool(
            wrapped,
            name=name,
            effect=effect,
            delivery=delivery,
            version=version,
            confirm=confirm,
            timeout=timeout,
            max_chars=max_chars,
        )

    return wrap if function is None else wrap(function)


def _check_function(function: Callable[..., object], name: str) -> None:
    if not inspect.isroutine(function):
        raise InputError(f"a tool is made from a function, got {type(function).__name__}")
    if name == "<lambda>" or getattr(function, "__name__", "") == "<lambda>":
        parameters = ", ".join(inspect.signature(function).parameters)
        raise InputError(
            f"a lambda cannot be a tool: its parameters ({parameters}) have no types; write a def with annotations"
        )
    if not NAME.fullmatch(name):
        raise InputError(f"tool name {name!r} is not valid; use 1 to 64 of the characters a-z, A-Z, 0-9, _ and -")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InputError(f"tool {name!r} is a generator; return the whole answer instead")


def _check_delivery(made: FunctionTool, *, has_key: bool, has_confirm: bool) -> None:
    name, effect, delivery = made.name, made.effect, made.delivery
    if effect not in get_args(Effect):
        raise InputError(f"tool {name!r}: effect must be 'read' or 'write', got {effect!r}")
    if delivery not in get_args(Delivery):
        raise InputError(
            f"tool {name!r}: delivery must be 'plain', 'keyed', 'confirmable' or 'local', got {delivery!r}"
        )
    if delivery != "plain" and effect != "write":
        raise InputError(f"tool {name!r}: delivery {delivery!r} is for writes; set effect='write'")
    if delivery in ("keyed", "confirmable") and not has_key:
        raise InputError(f"tool {name!r}: delivery {delivery!r} needs a parameter 'key: Key' to pass on to the service")
    if has_confirm != (delivery == "confirmable"):
        raise InputError(f"tool {name!r}: delivery 'confirmable' and confirm=… belong together")
    if made.timeout is not None and not made.timeout > 0:
        raise InputError(f"tool {name!r}: timeout must be more than 0 seconds, or None for no limit")
    if made.max_chars < 1:
        raise InputError(f"tool {name!r}: max_chars must be at least 1")


def _is_async(function: Callable[..., object]) -> bool:
    return inspect.iscoroutinefunction(function)


async def _call(call: Callable[[], object], *, is_async: bool) -> object:
    value = call() if is_async else await threads().run(call)
    return await value if isinstance(value, Awaitable) else value


def _plain(value: object) -> JsonValue:
    """``value`` as JSON. Sets are sorted, so that equal values give equal text."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return clean_text(str.__str__(value))
    if isinstance(value, BaseModel):
        return {name: _plain(item) for name, item in value}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {
            clean_text(name if isinstance(name, str) else str(_plain(name))): _plain(v) for name, v in value.items()
        }
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((_plain(item) for item in value), key=canonical)
    plain: JsonValue = to_jsonable_python(value)
    return plain


def _capped(text: str, limit: int) -> str:
    text = clean_text(text)
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… cut, {len(text) - limit} more characters"


def _line(error: BaseException) -> str:
    """``Type: message`` on one line."""
    try:
        message = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 - an exception's own __str__ may fail
        message = ""
    name = type(error).__name__
    return f"{name}: {message}" if message else name


def _version(function: Callable[..., object]) -> str:
    inner = inspect.unwrap(function)
    try:
        code = textwrap.dedent(inspect.getsource(inner)).encode()
    except (OSError, TypeError):
        compiled = getattr(inner, "__code__", None)
        facts = _code_facts(compiled) if isinstance(compiled, CodeType) else (inner.__module__, inner.__qualname__)
        code = repr(facts).encode()
    version = f"sha256:{hashlib.sha256(code).hexdigest()[:16]}"
    distribution = _distribution(getattr(inner, "__module__", None) or "")
    return f"{version} {distribution}" if distribution else version


def _code_facts(code: CodeType) -> tuple[object, ...]:
    """What a code object does, without file names, line numbers or addresses."""
    constants = tuple(
        _code_facts(item)
        if isinstance(item, CodeType)
        else sorted(map(repr, item))  # a set's own order changes from process to process
        if isinstance(item, frozenset)
        else repr(item)
        for item in code.co_consts
    )
    return code.co_code.hex(), code.co_names, code.co_varnames, constants


@functools.cache
def _distribution(module: str) -> str:
    """``name version`` of the installed distribution that holds ``module``, or nothing."""
    import importlib.metadata as metadata

    top = module.partition(".")[0]
    try:
        return f"{top} {metadata.version(top)}"
    except (metadata.PackageNotFoundError, ValueError):
        pass
    file = getattr(sys.modules.get(top), "__file__", None) or ""
    if "site-packages" not in file and "dist-packages" not in file:
        return ""  # the map below takes a fifth of a second to build; code outside these folders is in no distribution
    names = metadata.packages_distributions().get(top, [])
    return " ".join(f"{name} {metadata.version(name)}" for name in sorted(set(names)))

"""What the tests of runs work with: small models and systems that do exactly what a test says, in real runs on a real store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, TypeVar

import sqlalchemy as sa

from motet.errors import InputError
from motet.models.model import Message, Model, ModelInfo, Observer, Price, Reply, Request
from motet.runs import sitting as sittings
from motet.runs.run import Run
from motet.runs.sitting import Sitting
from motet.store.schema import calls
from motet.store.store import Store
from motet.task import Result, Task
from motet.tools.load import load_tools
from motet.usage import Usage

T = TypeVar("T")
TASK = Task(question="What is to be done?", id="task")
Answer: TypeAlias = "str | Reply | Exception"
Work: TypeAlias = Callable[[Task, Run], Awaitable[Result]]


class Says:
    """A model whose replies a function of the request decides: a text (of ``usage``), a Reply, or an error to be raised. Counts what it is asked."""

    def __init__(
        self,
        answer: Callable[[Request], Answer | Awaitable[Answer]],
        *,
        name: str = "says",
        price: Price | None = None,
        context: int | None = None,
        native_tools: bool = True,
        usage: Usage | None = None,
    ) -> None:
        self.info = ModelInfo(
            name=name, identity=name, provider="test", price=price, context=context, native_tools=native_tools
        )
        self.requests: list[Request] = []
        self._answer = answer
        self._usage = usage or Usage(prompt=10, completion=5)

    async def reply(self, request: Request, *, observer: Observer | None = None) -> Reply:
        """What the function says."""
        self.requests.append(request)
        said = self._answer(request)
        if isinstance(said, Awaitable):
            said = await said
        if isinstance(said, Exception):
            raise said
        return Reply(text=said, usage=self._usage) if isinstance(said, str) else said


class Does:
    """A System that is no Pydantic model: it does what it is given."""

    name = "does"

    def __init__(self, work: Work) -> None:
        self._work = work

    async def solve(self, task: Task, *, run: Run) -> Result:
        """Do it."""
        return await self._work(task, run)


def echo(request: Request) -> str:
    """The last message again."""
    return f"echo {request.messages[-1].content}"


def in_turn(answers: Sequence[Answer]) -> Callable[[Request], Answer]:
    """Says ``answers`` one after the other."""
    script = iter(answers)
    return lambda _request: next(script)


def ask(text: str, *, max_tokens: int = 100) -> Request:
    """A request of one message."""
    return Request(messages=(Message(role="user", content=text),), max_tokens=max_tokens)


def done(answer: str) -> Result:
    """A completed Result."""
    return Result(status="completed", answer=answer)


async def new_run(store: Store, *tasks: Task) -> str:
    """A new run in ``store``."""
    return await sittings.create(
        store, kind="solve", system="does", model="", title="test", config={}, tasks=tasks or (TASK,)
    )


def no_models(name: str) -> Model:
    """Knows no model by name."""
    raise InputError(f"unknown model {name!r}")


@asynccontextmanager
async def sit(store: Store, run_id: str, **options: Any) -> AsyncIterator[Sitting]:
    """A sitting on ``run_id``."""
    async with sittings.begin(store, run_id, resolve=no_models, load_tools=load_tools, **options) as sitting:
        yield sitting


async def work_once(store: Store, run_id: str, work: Work, *, task: Task = TASK, **options: Any) -> Result:
    """One sitting in which ``work`` is done and finished, as ``motet.solve`` does it."""
    async with sit(store, run_id, **options) as sitting:
        result = await sitting.execute(Does(work), task)
        await sitting.finish(result)
        return result


async def interrupted(store: Store, run_id: str, work: Work, *, task: Task = TASK, **options: Any) -> None:
    """One sitting that is broken off, as by Ctrl-C, where ``work`` raises CancelledError."""
    sitter = asyncio.current_task()
    assert sitter is not None

    async def broken_off(task: Task, run: Run) -> Result:
        try:
            return await work(task, run)
        except asyncio.CancelledError:
            sitter.cancel()
            await asyncio.Event().wait()
            raise

    try:
        async with sit(store, run_id, **options) as sitting:
            await sitting.execute(Does(broken_off), task)
    except asyncio.CancelledError:
        sitter.uncancel()
        return
    raise AssertionError("the work was to raise CancelledError")


class BreakOff:
    """Breaks a sitting off, as Ctrl-C does, while a call of ``model`` is on its way."""

    def __init__(self, model: Says) -> None:
        self._model = model
        self._until: int | None = None
        self._sitter: asyncio.Task[None] | None = None

    async def at(self, position: int, work: Callable[[], Awaitable[object]]) -> None:
        """Do ``work`` up to its call ``position``, counted from 0, of which there must be one."""
        self._until = len(self._model.requests) + position
        self._sitter = asyncio.current_task()
        assert self._sitter is not None
        try:
            await work()
        except asyncio.CancelledError:
            self._sitter.uncancel()
            self._until = None
            return
        raise AssertionError(f"the run has no call {position}")

    @property
    def is_due(self) -> bool:
        """Whether the model's latest call is the one."""
        return self._until is not None and len(self._model.requests) > self._until

    async def happen(self) -> Answer:
        """The model's answer to that call: none."""
        assert self._sitter is not None
        self._sitter.cancel()
        await asyncio.Event().wait()
        raise AssertionError("cancelled before")


def rows(store: Store, run_id: str) -> list[sa.Row[Any]]:
    """The journal's rows in the order of their commits."""
    return store.read_now(
        lambda connection: list(
            connection.execute(sa.select(calls).where(calls.c.run_id == run_id).order_by(calls.c.id)).all()
        )
    )


def places(store: Store, run_id: str, *, superseded: bool) -> list[tuple[str, int]]:
    """Scope and ordinal of the rows that are, or are not, superseded."""
    return sorted((row.scope, row.ordinal) for row in rows(store, run_id) if row.superseded == superseded)


def go(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` in an event loop of its own, for at most a minute: nothing here may hang."""

    async def bounded() -> T:
        async with asyncio.timeout(60):
            return await work

    return asyncio.run(bounded())


async def side_by_side(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """All of ``work`` at once."""
    return list(await asyncio.gather(*work))

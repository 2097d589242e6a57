"""Every failure Motet raises on purpose. Each belongs to one boundary, which its class names.

MotetError
├── InputError             what the user gave: config, names, files, missing key (the command exits with 2)
├── ModelError             a model endpoint, after the retries that make sense
│   ├── ModelUnavailable     no connection, time-out, 5xx, reset, truncated stream
│   ├── ModelThrottled       429 for longer than we are willing to wait
│   ├── ModelDenied          401, 403, 404: wrong key, no access, no such model
│   ├── ContextOverflow      the prompt does not fit the model's window
│   ├── ModelRefusal         the model, or its provider's filter, declined to answer
│   └── BadReply             an answer that cannot be used: empty, not JSON, not the schema, after its repair
├── ToolError              a tool that could not do its work; agents see its text, it ends no run by itself
├── WorldError             a world whose state cannot be rebuilt, copied or read
├── StoreError             the run store
│   ├── Damaged              content that does not match its hash
│   └── SchemaMismatch       a store written by a newer Motet
└── RunError               the run's own rules
    ├── BudgetExceeded       a call that would pass a budget (the command exits with 3)
    ├── RunBusy              another process owns the run
    ├── LeaseLost            this process no longer owns the run it was writing
    ├── UnconfirmedWrite     a write was sent and never confirmed: a person must say what happened
    └── Cancelled            someone asked the run to stop
"""

from __future__ import annotations

from motet.usage import Usage

__all__ = [
    "BadReply",
    "BudgetExceeded",
    "Cancelled",
    "ContextOverflow",
    "Damaged",
    "InputError",
    "LeaseLost",
    "ModelDenied",
    "ModelError",
    "ModelRefusal",
    "ModelThrottled",
    "ModelUnavailable",
    "MotetError",
    "RunBusy",
    "RunError",
    "SchemaMismatch",
    "StoreError",
    "ToolError",
    "UnconfirmedWrite",
    "WorldError",
]


class MotetError(Exception):
    """A failure with a boundary. ``str(error)`` is one line for a person: what, where, and what would be right."""

    boundary = "motet"

    @property
    def kind(self) -> str:
        """The class name, as reports and events show it."""
        return type(self).__name__


class InputError(MotetError):
    """Something the user gave is wrong; the message says what would be right."""

    boundary = "input"


class ModelError(MotetError):
    """A model did not give a usable reply.

    ``retryable`` says whether the same request may succeed if sent again; ``retry_after`` is the server's
    own wish in seconds; ``billed`` says whether the failed attempt may have cost tokens we cannot see. ``attempts`` and ``lost``
    cover the whole call: how often it was tried, and the usage (as a rule unknown) of every attempt that may have been billed.
    """

    boundary = "model"
    retryable = False

    def __init__(self, message: str, *, retry_after: float | None = None, billed: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.billed = billed
        self.attempts = 1
        self.lost: tuple[Usage, ...] = (Usage(),) if billed else ()


class ModelUnavailable(ModelError):
    """No connection, time-out, 5xx, reset connection or a stream cut short."""

    retryable = True


class ModelThrottled(ModelError):
    """429: too many requests."""

    retryable = True


class ModelDenied(ModelError):
    """401, 403 or 404."""


class ContextOverflow(ModelError):
    """The prompt is longer than the model's window."""


class ModelRefusal(ModelError):
    """The model or its provider's filter declined to answer."""


class BadReply(ModelError):
    """A reply that cannot be used: empty, invalid JSON, or not the schema that was asked for."""


class ToolError(MotetError):
    """A tool could not do its work. Agents are shown the message as an observation."""

    boundary = "tool"


class WorldError(MotetError):
    """A world's state could not be rebuilt, copied or read."""

    boundary = "world"


class StoreError(MotetError):
    """The run store could not be read or written."""

    boundary = "store"


class Damaged(StoreError):
    """Stored content does not match its hash."""


class SchemaMismatch(StoreError):
    """The store was written by a newer version of Motet."""


class RunError(MotetError):
    """A rule of the run itself was met."""

    boundary = "run"


class BudgetExceeded(RunError):
    """The next call would pass a budget; ``limit`` names which (tokens, money, calls, seconds) and ``account`` whose. ``lost`` is the usage of
    attempts that failed before the budget stopped the next one.
    """

    def __init__(self, message: str, *, limit: str, account: str = "") -> None:
        super().__init__(message)
        self.limit = limit
        self.account = account
        self.lost: tuple[Usage, ...] = ()


class RunBusy(RunError):
    """Another live process owns the run; ``owner`` says which."""

    def __init__(self, message: str, *, owner: str) -> None:
        super().__init__(message)
        self.owner = owner


class LeaseLost(RunError):
    """The run was taken over while this process was still writing to it."""


class UnconfirmedWrite(RunError):
    """A write was sent before a crash and nobody can say whether it happened; ``call`` shows it."""

    def __init__(self, message: str, *, call: str) -> None:
        super().__init__(message)
        self.call = call


class Cancelled(RunError):
    """Someone asked the run to stop."""


def leading(group: ExceptionGroup[Exception]) -> Exception:
    """The failure that a group of them comes down to, as from work done side by side: a bug if there is one, else what ends a run first."""

    def weight(error: Exception) -> int:
        order = (LeaseLost, InputError, Cancelled, UnconfirmedWrite, BudgetExceeded, MotetError)
        return next((place for place, kind in enumerate(order) if isinstance(error, kind)), -1)

    return min(_members(group), key=weight)


def _members(group: ExceptionGroup[Exception]) -> list[Exception]:
    return [
        member
        for error in group.exceptions
        for member in (_members(error) if isinstance(error, ExceptionGroup) else [error])
    ]

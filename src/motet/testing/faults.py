"""What may go wrong at a model server, how often, and which request it hits."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from hashlib import blake2b

from pydantic import Field, ValidationError, model_validator

from motet.errors import InputError
from motet.settings import explain, nearest
from motet.value import Value


class Fault(StrEnum):
    """One way in which an answer can go wrong. The last three are no failures: a client must do without what is missing."""

    THROTTLE = "throttle"  # 429, Retry-After in seconds
    THROTTLE_DATE = "throttle_date"  # 429, Retry-After as an HTTP date
    SERVER_ERROR = "server_error"  # 500, 503 or 529 with a JSON error
    RESET = "reset"  # the connection is reset before any answer
    RESET_MIDWAY = "reset_midway"  # the connection is reset in the middle of the answer
    TRUNCATED = "truncated"  # the body, or the stream, ends too early
    EMPTY = "empty"  # 200 with no text and no tool call
    INVALID_JSON = "invalid_json"  # 200 with a body, or an event, that is no JSON
    HTML = "html"  # 502 with a gateway's HTML page
    MISSING_USAGE = "missing_usage"  # a good answer without usage
    LATE_USAGE = "late_usage"  # a stream with usage in a chunk of its own at the end, asked for or not
    SLOW_STREAM = "slow_stream"  # a good answer in many pieces with pauses

    @property
    def fails(self) -> bool:
        """Whether no client can use the answer."""
        return self not in (Fault.MISSING_USAGE, Fault.LATE_USAGE, Fault.SLOW_STREAM)


class Faults(Value):
    """Rates per kind of fault, and how the kind for a request is drawn.

    The draw is a hash of ``seed``, the request's body and how often this body came before: it does not depend on the order in
    which concurrent requests arrive, and a repeated request is drawn anew. ``script`` decides the first requests instead, in order
    of arrival; ``None`` is a good answer. Times are in seconds: ``latency`` before each answer, ``pause`` between the pieces of a
    slow stream, ``retry_after`` in 429 answers.
    """

    rates: dict[Fault, float] = Field(default_factory=dict)
    seed: int = 0
    script: tuple[Fault | None, ...] = ()
    latency: float = Field(default=0.0, ge=0)
    pause: float = Field(default=0.02, ge=0)
    retry_after: float = Field(default=0.0, ge=0)

    @model_validator(mode="after")
    def _rates_make_sense(self) -> Faults:
        if any(rate < 0 for rate in self.rates.values()) or sum(self.rates.values()) > 1 + 1e-9:
            raise ValueError(f"fault rates must be at least 0 and at most 1 together: {self.rates}")
        return self

    @classmethod
    def mixed(cls, rate: float, *, seed: int = 0) -> Faults:
        """``rate`` of all requests fail, spread evenly over the kinds that fail."""
        return cls(rates=_spread(rate), seed=seed)

    def draw(self, digest: str, *, seen: int, number: int) -> Fault | None:
        """The fault for request ``number`` (from 0), whose body ``digest`` came ``seen`` times before."""
        if number < len(self.script):
            return self.script[number]
        if not self.rates:
            return None
        drawn = blake2b(f"{self.seed}:{digest}:{seen}".encode(), digest_size=8).digest()
        point = int.from_bytes(drawn) / 2**64
        for kind, rate in self.rates.items():
            point -= rate
            if point < 0:
                return kind
        return None


def parse_faults(text: str, *, seed: int = 0, others: Mapping[str, float] | None = None) -> Faults:
    """Faults from a command line: ``mixed=0.2``, or rates by kind as in ``throttle=0.1,reset=0.05``.

    ``others`` are further fields of Faults. Raises InputError naming the nearest right kind.
    """
    rates: dict[Fault, float] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = item.partition("=")
        try:
            rate = float(value)
        except ValueError:
            raise InputError(f"fault {item!r} has no rate; write it as {name}=0.1") from None
        if name == "mixed":
            for kind, share in _spread(rate).items():
                rates[kind] = rates.get(kind, 0) + share
        else:
            rates[fault_named(name)] = rates.get(fault_named(name), 0) + rate
    try:
        return Faults.model_validate({"rates": rates, "seed": seed, **(others or {})})
    except ValidationError as error:
        raise InputError(f"faults {text!r}: {explain(error, Faults)}") from None


def _spread(rate: float) -> dict[Fault, float]:
    kinds = [kind for kind in Fault if kind.fails]
    return {kind: rate / len(kinds) for kind in kinds}


def fault_named(name: str) -> Fault:
    """The fault called ``name``; InputError with the nearest right name otherwise."""
    try:
        return Fault(name)
    except ValueError:
        raise InputError(f"unknown fault {name!r}{nearest(name, [*(kind.value for kind in Fault), 'mixed'])}") from None

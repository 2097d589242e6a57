"""Values as plain JSON and back: builtin types only, so that what comes out of a sandbox has no behaviour of its own.

Sent into the sandbox as a file beside the program, and imported outside by whoever reads what came out.
"""

from __future__ import annotations

import decimal
import fractions
import json
import math
from typing import Any

_SAFE = 2**53


def encode(value: Any) -> Any:
    """``value`` as JSON. Subclasses become their builtin type. Raises TypeError for what has no plain form."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        # Python refuses to write integers of more than 4,300 digits in decimal.
        return int(value) if -_SAFE < value < _SAFE else {"int": hex(value)}
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": repr(float(value))}
    if isinstance(value, list):
        return [encode(item) for item in value]
    if isinstance(value, dict):
        return {"dict": [[encode(key), encode(item)] for key, item in value.items()]}
    for name, type_ in (("tuple", tuple), ("set", set), ("frozenset", frozenset)):
        if isinstance(value, type_):
            return {name: [encode(item) for item in value]}
    if isinstance(value, complex):
        return {"complex": [encode(value.real), encode(value.imag)]}
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": value.hex()}
    if isinstance(value, range):
        return {"range": [encode(value.start), encode(value.stop), encode(value.step)]}
    if isinstance(value, fractions.Fraction):
        return {"fraction": [encode(value.numerator), encode(value.denominator)]}
    if isinstance(value, decimal.Decimal):
        return {"decimal": str(value)}
    raise TypeError(f"a {type(value).__name__} has no plain form")


def decode(data: Any) -> Any:
    """What ``encode`` was given. Raises ValueError or TypeError for what it would not have written."""
    if isinstance(data, list):
        return [decode(item) for item in data]
    if not isinstance(data, dict):
        return data
    if len(data) != 1:
        raise ValueError("an encoded value has one key")
    [(name, inner)] = data.items()
    if name == "dict":
        return {decode(key): decode(item) for key, item in inner}
    if name == "int":
        return int(inner, 16)
    if name == "float":
        return float(inner)
    if name == "bytes":
        return bytes.fromhex(inner)
    if name == "decimal":
        return decimal.Decimal(inner)
    makers: dict[str, Any] = {
        "tuple": tuple,
        "set": set,
        "frozenset": frozenset,
        "complex": lambda parts: complex(*parts),
        "range": lambda parts: range(*parts),
        "fraction": lambda parts: fractions.Fraction(*parts),
    }
    if name not in makers:
        raise ValueError(f"no encoded value is called {name!r}")
    return makers[name]([decode(item) for item in inner])


def dumps(value: Any) -> str:
    """``encode`` as text."""
    return json.dumps(encode(value))

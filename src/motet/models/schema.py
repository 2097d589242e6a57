"""JSON schemas that servers can enforce while decoding ("strict" structured output)."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from functools import lru_cache
from typing import Final

from pydantic import BaseModel, JsonValue

# What every strict decoder in use accepts. A schema with any other keyword is sent as a wish, not as a constraint.
_KEYWORDS: Final = frozenset(
    {
        "$defs", "$ref", "additionalProperties", "anyOf", "const", "description", "enum", "exclusiveMaximum",
        "exclusiveMinimum", "items", "maxItems", "maximum", "minItems", "minimum", "multipleOf", "pattern",
        "properties", "required", "title", "type",
    }
)  # fmt: skip


def schema_of(type_: type[BaseModel]) -> dict[str, JsonValue]:
    """The JSON schema of ``type_`` for a model to fill in: every object closed, every property required, no defaults and no
    generated titles. A property that may be absent in Python is still written by the model, so that nothing is left open.
    """
    return deepcopy(_schema(type_))


# Making one takes milliseconds, and the same few types are asked for in every call.
@lru_cache(maxsize=64)
def _schema(type_: type[BaseModel]) -> dict[str, JsonValue]:
    tidy = _tidy(type_.model_json_schema())
    assert isinstance(tidy, dict)
    return tidy


def strict_ready(schema: Mapping[str, JsonValue]) -> bool:
    """Whether a strict decoder accepts ``schema``: an object at the root, every object closed with all its properties
    required, and no keyword outside the common set.
    """
    return schema.get("type") == "object" and _strict(schema)


def _strict(schema: object) -> bool:
    if not isinstance(schema, Mapping) or not schema.keys() <= _KEYWORDS or not schema:
        return False
    properties = schema.get("properties", {})
    if schema.get("type") == "object":
        required = schema.get("required", [])
        if schema.get("additionalProperties") is not False or not isinstance(required, list):
            return False
        if not isinstance(properties, Mapping) or set(properties) != set(required):
            return False
    if "items" in schema and not _strict(schema["items"]):
        return False
    nested: list[object] = []
    for part in (properties, schema.get("$defs", {})):
        nested.extend(part.values() if isinstance(part, Mapping) else [None])
    options = schema.get("anyOf", [])
    nested.extend(options if isinstance(options, list) else [None])
    return all(map(_strict, nested))


def _tidy(schema: JsonValue) -> JsonValue:
    if isinstance(schema, list):
        return [_tidy(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    tidy: dict[str, JsonValue] = {}
    for keyword, value in schema.items():
        if keyword in ("title", "default"):
            continue
        if keyword in ("properties", "$defs") and isinstance(value, dict):
            tidy[keyword] = {name: _tidy(item) for name, item in value.items()}
        elif keyword in ("enum", "const", "examples"):
            tidy[keyword] = value
        else:
            tidy[keyword] = _tidy(value)
    properties = tidy.get("properties")
    if isinstance(properties, dict) and not tidy.get("additionalProperties"):
        tidy["additionalProperties"] = False
        tidy["required"] = list(properties)
    elif tidy.get("type") == "object" and "additionalProperties" not in tidy and properties is None:
        tidy |= {"properties": {}, "required": [], "additionalProperties": False}
    return tidy

"""Filling in a JSON schema: how a scripted policy acts where a model has no native tool calls.

Nothing is assumed of the schema but that an action names its tool by a ``const`` or an ``enum`` of strings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from pydantic import JsonValue

Schema: TypeAlias = Mapping[str, JsonValue]


def names(schema: Schema) -> list[str]:
    """Every string that ``schema`` offers as a ``const`` or in an ``enum``, in order: the names of actions."""
    return list(dict.fromkeys(_names(schema)))


def fill(schema: Schema, choice: str, values: Mapping[str, JsonValue], *, root: Schema | None = None) -> JsonValue:
    """A value that fits ``schema``: the alternative that offers ``choice``, with ``values`` at the properties of their names, and
    the least that fits elsewhere.
    """
    root = schema if root is None else root
    schema = _resolved(schema, root)
    options = [_resolved(option, root) for option in _list(schema, "anyOf") + _list(schema, "oneOf")]
    if options:
        best = max(options, key=lambda option: _fit(option, choice, values, root))
        return fill(best, choice, values, root=root)
    if "const" in schema:
        return schema["const"]
    enum = schema.get("enum")
    if isinstance(enum, list) and enum:
        return choice if choice in enum else enum[0]
    properties = schema.get("properties")
    if isinstance(properties, dict):
        required = schema.get("required")
        required = required if isinstance(required, list) else []
        return {
            name: values[name]
            if _is_plain(part, root) and name in values
            else fill(_schema(part), choice, values, root=root)
            for name, part in properties.items()
            if name in required or name in values or choice in _names(_schema(part))
        }
    return _least(schema, values)


def _least(schema: Schema, values: Mapping[str, JsonValue]) -> JsonValue:
    kinds = schema.get("type")
    kind = kinds[0] if isinstance(kinds, list) and kinds else kinds
    if kind == "object":
        return dict(values)
    least: dict[JsonValue, JsonValue] = {"array": [], "string": "", "boolean": False, "null": None}
    if kind in ("integer", "number"):
        minimum = schema.get("minimum", 0)
        return minimum if isinstance(minimum, int | float) else 0
    return least.get(kind, "") if isinstance(kind, str) else ""


def _fit(option: Schema, choice: str, values: Mapping[str, JsonValue], root: Schema) -> tuple[bool, int]:
    return choice in _names(option, root), sum(name in values for name in _property_names(option, root))


def _is_plain(part: JsonValue, root: Schema) -> bool:
    resolved = _resolved(_schema(part), root)
    return "properties" not in resolved and "const" not in resolved and "enum" not in resolved


def _names(schema: JsonValue | Schema, root: Schema | None = None, depth: int = 0) -> Iterator[str]:
    if isinstance(schema, list):
        for item in schema:
            yield from _names(item, root, depth)
    if not isinstance(schema, Mapping) or depth > 8:
        return
    if root is not None:
        schema = _resolved(schema, root)
    enum = schema.get("enum")
    for value in (schema.get("const"), *(enum if isinstance(enum, list) else ())):
        if isinstance(value, str):
            yield value
    for key, value in schema.items():
        if key not in ("enum", "const", "default", "examples"):
            yield from _names(value, root, depth + 1)


def _property_names(schema: Schema, root: Schema) -> Iterator[str]:
    properties = _resolved(schema, root).get("properties")
    for name, part in properties.items() if isinstance(properties, dict) else ():
        yield name
        yield from _property_names(_schema(part), root)


def _resolved(schema: Schema, root: Schema) -> Schema:
    reference = schema.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return schema
    found: JsonValue | Schema = root
    for step in reference[2:].split("/"):
        found = found.get(step) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _list(schema: Schema, key: str) -> list[Schema]:
    value = schema.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _schema(value: JsonValue) -> Schema:
    return value if isinstance(value, dict) else {}

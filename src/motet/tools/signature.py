"""A Python function's signature as a tool's schema, and the check of a model's arguments against it.

What is accepted:

- Every parameter needs an annotation that has a JSON schema; ``*args`` and ``**kwargs`` cannot be described and are refused.
- Arguments are read strictly, as JSON: ``"3"`` is not 3, ``1`` is not true, and nothing is turned into a string. Numbers
  follow JSON, where 3 and 3.0 are the same: an integer fits ``float``, and 3.0 fits ``int``. What JSON has no type for
  (dates, paths, enums, bytes) is read from its text form.
- Unknown arguments are refused: a misspelt optional one would otherwise be lost without a word.
- A parameter annotated with ``Key`` gets the call's idempotency key. The model neither sees nor sets it.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NewType, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import CoreSchema

from motet.errors import InputError
from motet.settings import nearest

Key = NewType("Key", str)
"""Marks the parameter that receives the idempotency key: stable for one call, also across resumes."""

_SHOWN_PROBLEMS = 5
_SHOWN_SCHEMA = 2_000
_SHOWN_VALUE = 80
_SAFE_INTEGER = 2.0**53


class BadArguments(Exception):
    """Arguments that do not fit the schema; the text is written for the model that sent them."""


@dataclass(frozen=True)
class Signature:
    """What a tool made from a function shows to a model, and the check that stands before the function.

    ``description`` is the docstring's text without its sections; ``schema`` a JSON schema of type object; ``key`` the name
    of the parameter annotated with ``Key``.
    """

    description: str
    schema: dict[str, JsonValue]
    key: str | None
    positional: tuple[str, ...]
    _model: type[BaseModel]
    _fields: Mapping[str, str]

    def check(self, arguments: Mapping[str, JsonValue]) -> dict[str, object]:
        """Return the values to call the function with, by parameter; those not given are left to the function's defaults.

        Raises BadArguments saying what is wrong with which argument, and the whole schema.
        """
        if not isinstance(arguments, Mapping):
            raise BadArguments(self._explain([f"expected a JSON object of arguments, got {_shown(arguments)}"]))
        try:
            text = json.dumps(_integral(dict(arguments)), ensure_ascii=False).encode("utf-8", "replace")
        except (TypeError, ValueError, RecursionError) as error:
            raise BadArguments(self._explain([f"the arguments are not plain JSON ({error})"])) from None
        try:
            values = self._model.model_validate_json(text, strict=True)
        except ValidationError as error:
            raise BadArguments(self._explain(list(self._problems(error)))) from None
        given = values.model_fields_set
        return {
            name: getattr(values, field)
            for field, name in self._fields.items()
            if field in given or name in self.positional  # a positional one cannot be left out before another
        }

    def bind(self, values: Mapping[str, object]) -> tuple[list[object], dict[str, object]]:
        """Split checked values into positional and keyword arguments of the function."""
        positional = [values[name] for name in self.positional]
        keywords = {name: value for name, value in values.items() if name not in self.positional}
        return positional, keywords

    def _problems(self, error: ValidationError) -> Iterator[str]:
        known = self._fields.values()
        for problem in error.errors(include_url=False):
            where = ".".join(str(part) for part in problem["loc"])
            if problem["type"] == "missing":
                yield f"missing argument {where!r}"
            elif problem["type"] == "extra_forbidden":
                yield f"unknown argument {where!r}" + (nearest(where, known) if len(problem["loc"]) == 1 else "")
            elif where:
                yield f"argument {where!r}: {problem['msg']}, got {_shown(problem['input'])}"
            else:
                yield str(problem["msg"])

    def _explain(self, problems: list[str]) -> str:
        more = len(problems) - _SHOWN_PROBLEMS
        text = "; ".join(problems[:_SHOWN_PROBLEMS]) + (f"; and {more} more" if more > 0 else "")
        schema = json.dumps(self.schema, ensure_ascii=False, separators=(",", ":"))
        if len(schema) > _SHOWN_SCHEMA:
            schema = schema[:_SHOWN_SCHEMA] + " …"
        return f"Nothing was run: {text}. Send arguments that fit this JSON schema: {schema}"


def read_signature(function: Callable[..., object], *, name: str) -> Signature:
    """Read the schema of ``function`` from its annotations, defaults and docstring (Google, NumPy or Sphinx style).

    Raises InputError naming the parameter that cannot be described.
    """
    try:
        signature = inspect.signature(function)
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise InputError(f"tool {name!r}: an annotation cannot be resolved: {error}; define it in the module") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(f"tool {name!r}: its signature cannot be read: {error}") from None
    description, explained = _read_docstring(function)
    fields: dict[str, str] = {}
    definitions: dict[str, Any] = {}
    positional: list[str] = []
    key: str | None = None
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise InputError(f"tool {name!r}: parameter '{parameter}' takes any number of values; list each by name")
        if parameter.name not in hints:
            raise InputError(f"tool {name!r}: parameter {parameter.name!r} has no type annotation")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            positional.append(parameter.name)
        if hints[parameter.name] is Key:
            key = parameter.name
            continue
        field = f"p{len(fields)}"
        fields[field] = parameter.name
        definitions[field] = _definition(parameter, hints[parameter.name], explained.get(parameter.name), tool=name)
    # Fields are numbered and aliased, so that a parameter may be called "schema" or "model_name".
    model = create_model("Arguments", __config__=ConfigDict(extra="forbid"), **definitions)
    schema = model.model_json_schema(schema_generator=_Schema)
    schema.pop("title", None)
    schema.setdefault("properties", {})
    return Signature(
        description=description or name.replace("_", " "),
        schema=schema,
        key=key,
        positional=tuple(positional),
        _model=model,
        _fields=fields,
    )


class _Schema(GenerateJsonSchema):
    """JSON schema without the titles that only repeat names, and without warnings for defaults that are not JSON."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012

    def field_title_should_be_set(self, schema: object) -> bool:
        return False

    def generate(self, schema: CoreSchema, mode: Any = "validation") -> JsonSchemaValue:
        return super().generate(schema, mode="validation")


def _definition(parameter: inspect.Parameter, hint: Any, explained: str | None, *, tool: str) -> tuple[Any, Any]:
    """One field of the arguments' model, tried on its own so that a failure can name the parameter."""
    default = ... if parameter.default is parameter.empty else parameter.default
    if isinstance(default, FieldInfo):
        raise InputError(
            f"tool {tool!r}: parameter {parameter.name!r} has a pydantic Field as its default; "
            "write Annotated[type, Field(…)] and a plain default"
        )
    try:
        TypeAdapter(hint).json_schema(schema_generator=_Schema)
    except (PydanticUserError, TypeError, RecursionError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"tool {tool!r}: parameter {parameter.name!r} has a type without a JSON schema: {reason}"
        ) from None
    if explained:
        return hint, Field(default=default, alias=parameter.name, description=explained)
    return hint, Field(default=default, alias=parameter.name)


def _read_docstring(function: Callable[..., object]) -> tuple[str, dict[str, str]]:
    """The docstring's free text, and its descriptions of parameters."""
    text = inspect.getdoc(function)
    if not text:
        return "", {}
    import griffe

    with griffe.logger.disable():  # it reports every parameter without a type; ours stand in the signature
        sections = griffe.parse_auto(griffe.Docstring(text))
    prose = [section.value for section in sections if section.kind is griffe.DocstringSectionKind.text]
    explained = {
        parameter.name: " ".join(parameter.description.split())
        for section in sections
        if section.kind is griffe.DocstringSectionKind.parameters
        for parameter in section.value
    }
    return "\n\n".join(prose).strip(), explained


def _integral(value: JsonValue) -> JsonValue:
    """``value`` with 3.0 written as 3, as JSON does not tell them apart."""
    if isinstance(value, float) and value.is_integer() and abs(value) < _SAFE_INTEGER:
        return int(value)
    if isinstance(value, Mapping):
        return {key: _integral(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_integral(item) for item in value]
    return value


def _shown(value: object) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= _SHOWN_VALUE else text[:_SHOWN_VALUE] + "…"

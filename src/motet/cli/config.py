"""A system's configuration from a YAML file, from flags and from ``-c key.path=value``, under the same names as in Python.

The file comes first; flags and ``-c`` replace what it says. A key that is given twice on the command line is an error, and so is a key that the
system does not have: nothing the user wrote is ever ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from motet.errors import InputError
from motet.settings import nearest
from motet.system import System
from motet.systems import build, fields

KeyPath = tuple[str, ...]


class _Loader(yaml.SafeLoader):
    """YAML without dates: they are no JSON, and a text that looks like one is a text."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - as in the base class
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


@dataclass(frozen=True)
class ConfigFile:
    """A YAML file: its values, and the line (from 1) of each key."""

    path: Path
    values: Mapping[str, Any]
    lines: Mapping[KeyPath, int] = field(default_factory=dict)

    def at(self, key: Sequence[object]) -> str:
        """``FILE:LINE`` of ``key``, or of the nearest key above it."""
        names = tuple(str(part) for part in key)
        while names and names not in self.lines:
            names = names[:-1]
        return f"{self.path}:{self.lines[names]}" if names else str(self.path)


def read_file(path: Path) -> ConfigFile:
    """Read a configuration file. Raises InputError naming the file and the line."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"config file {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"config file {path} is no UTF-8 text") from None
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return ConfigFile(path, {})
        if not isinstance(node, yaml.MappingNode):
            raise InputError(
                f"{path}:{node.start_mark.line + 1}: a config file is a mapping of keys, such as 'model: embedded'"
            )
        lines: dict[KeyPath, int] = {}
        _note_lines(node, (), lines, path, set())
        return ConfigFile(path, loader.construct_document(node), lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        raise InputError(f"{where}: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise InputError(f"{path}: {' '.join(str(error).split())}") from None


def parse_setting(text: str) -> tuple[KeyPath, Any]:
    """``key.path=value`` in its parts; the value is read as YAML. Raises InputError."""
    key, equals, value = text.partition("=")
    path = tuple(part.strip() for part in key.split("."))
    if not equals or not all(path):
        raise InputError(f"-c {text!r} is not key=value, such as -c sampling.temperature=0.2")
    try:
        parsed = yaml.load(value, Loader=_Loader)  # noqa: S506 - a safe loader
    except yaml.YAMLError:
        parsed = value
    return path, "" if value == "" else parsed


def system_from(
    name: str,
    *,
    file: ConfigFile | None,
    flags: Mapping[str, tuple[KeyPath, Any]],
    settings: Sequence[str],
) -> System:
    """The system ``name`` as configured. ``flags`` maps each flag that was given to the key it sets and its value.

    Raises InputError naming the flag, the ``-c``, or the file and line that is wrong.
    """
    known = fields(name)
    values: dict[str, Any] = dict(file.values) if file else {}
    if file is not None:
        for key in values:
            if known and key not in known:
                raise InputError(
                    f"{file.at((str(key),))}: system {name} has no key {str(key)!r}{nearest(str(key), known)}"
                )
    given: dict[KeyPath, str] = {}
    for flag, (path, value) in flags.items():
        if known and path[0] not in known:
            raise InputError(f"system {name} takes no {flag}; its keys: {', '.join(known)}")
        _put(values, path, value, source=flag, given=given)
    for text in settings:
        path, value = parse_setting(text)
        if known and path[0] not in known:
            raise InputError(f"-c {text}: system {name} has no key {path[0]!r}{nearest(path[0], known)}")
        _put(values, path, value, source=f"-c {text}", given=given)
    try:
        return build(name, values)
    except InputError as error:
        raise InputError(_located(str(error), error.__context__, file=file, given=given)) from None


def _put(values: dict[str, Any], path: KeyPath, value: Any, *, source: str, given: dict[KeyPath, str]) -> None:
    """Set ``path`` in ``values``, replacing what a file says and refusing what the command line already set."""
    for other, where in given.items():
        if path[: len(other)] == other or other[: len(path)] == path:
            raise InputError(f"{'.'.join(path)} is given twice: {where} and {source}")
    given[path] = source
    place = values
    for part in path[:-1]:
        below = place.get(part)
        # Copied, so that what was read from the file stays as it was read.
        place[part] = dict(below) if isinstance(below, Mapping) else {}
        place = place[part]
    place[path[-1]] = value


def _located(
    message: str, cause: BaseException | None, *, file: ConfigFile | None, given: Mapping[KeyPath, str]
) -> str:
    """``message`` with where the wrong value was written, as far as the validation says which it was."""
    if not isinstance(cause, ValidationError):
        return message
    key = tuple(str(part) for part in cause.errors(include_url=False)[0]["loc"])
    for path, source in given.items():
        if key[: len(path)] == path:
            return f"{message} (from {source})"
    if file is not None and key and key[0] in file.values:
        return f"{file.at(key)}: {message}"
    return message


def _note_lines(node: yaml.Node, path: KeyPath, lines: dict[KeyPath, int], file: Path, done: set[int]) -> None:
    """Note the line of each key below ``node``. Raises InputError for a key that is there twice."""
    if id(node) in done:
        return  # an alias of what was noted already, perhaps of a node that holds it
    done.add(id(node))
    if isinstance(node, yaml.MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            name, line = str(key.value), key.start_mark.line + 1
            if name in seen:
                raise InputError(f"{file}:{line}: the key {name!r} is there already, in line {seen[name]}")
            seen[name] = line
            lines[(*path, name)] = line
            _note_lines(value, (*path, name), lines, file, done)
    elif isinstance(node, yaml.SequenceNode):
        for position, item in enumerate(node.value):
            lines[(*path, str(position))] = item.start_mark.line + 1
            _note_lines(item, (*path, str(position)), lines, file, done)

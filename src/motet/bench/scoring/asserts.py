"""Tests written as assertions, taken apart: what calls the solution, and what is expected of it.

``assert set(similar((3, 4), (5, 4))) == {4}`` becomes the call ``similar((3, 4), (5, 4))``, for the sandbox in which the solution runs, and
``set(_value_0) == {4}``, for one in which it does not. So a solution never shares a process with what is expected of it.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from motet.errors import InputError

_BUILTINS = frozenset(dir(builtins))


@dataclass(frozen=True)
class Split:
    """The two halves of a test. ``inside`` and ``outside`` are steps in order, each ``(kind, source)`` with the kinds ``exec`` and ``eval``.

    The n-th ``eval`` inside is ``_value_n`` outside; ``needs`` says, for each assertion (``eval`` outside), how many values precede its end.
    """

    inside: tuple[tuple[str, str], ...]
    outside: tuple[tuple[str, str], ...]
    needs: tuple[int, ...]


def split_asserts(tests: Sequence[str], *, setup: str = "", names: Collection[str] | None = None) -> Split:
    """Take ``tests`` apart. ``names`` are what the solution defines; without it, every name that the tests use and nothing else defines.

    Modules of the standard library that the tests use without importing them are imported. Raises InputError for a test that cannot be taken apart,
    such as a loop over calls of the solution.
    """
    splitter = _Splitter(frozenset(names) if names is not None else None)
    for source in (setup, *tests):
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError) as error:
            raise InputError(f"the test {_short(source)} is no Python: {error}") from None
        for statement in tree.body:
            splitter.take(statement)
    if not splitter.needs:
        raise InputError(f"the test {_short(tests[0] if tests else '')} asserts nothing")
    return Split(splitter.given(), tuple(splitter.outside), tuple(splitter.needs))


@dataclass(frozen=True)
class _Step:
    """A step inside. ``shared`` ones are the test's own statements, which go inside only as far as the solution's calls need them."""

    kind: str
    source: str
    used: frozenset[str]
    defined: frozenset[str] = frozenset()
    shared: bool = False


@dataclass
class _Splitter:
    names: frozenset[str] | None
    bound: set[str] = field(default_factory=set)
    tainted: set[str] = field(default_factory=set)
    inside: list[_Step] = field(default_factory=list)
    outside: list[tuple[str, str]] = field(default_factory=list)
    needs: list[int] = field(default_factory=list)
    values: int = 0

    def take(self, statement: ast.stmt) -> None:
        """Put one statement where it belongs."""
        self._import_modules(statement)
        if isinstance(statement, ast.Assert):
            kept = ast.unparse(ast.fix_missing_locations(self._part(statement.test)))
            self.outside.append(("eval", kept))
            self.needs.append(self.values)
            return
        source = ast.unparse(statement)
        targets = {
            node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        if not self._foreign(statement):
            defined = targets | _defined(statement)
            self.inside.append(_Step("exec", source, _used(statement), frozenset(defined), shared=True))
            self.outside.append(("exec", source))
            self.bound |= defined
        elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Expr)) and not any(
            isinstance(node, ast.Compare) for node in ast.walk(statement)
        ):
            self.inside.append(_Step("exec", source, _used(statement)))
            self.tainted |= targets
        else:
            raise InputError(
                f"the test {_short(source)} cannot be taken apart: only assertions and assignments may use the solution"
            )

    def given(self) -> tuple[tuple[str, str], ...]:
        """The steps inside, without the test's own statements that no call needs: what is expected may stand in those."""
        needed: set[str] = set()
        kept: list[_Step] = []
        for step in reversed(self.inside):
            if step.shared:
                wanted = step.defined & needed
                if not wanted:
                    continue
                if wanted != step.defined and not step.source.startswith(("import ", "from ")):
                    raise InputError(
                        f"the test {_short(step.source)} cannot be taken apart: it sets more than the solution is called with"
                    )
            needed |= step.used
            kept.append(step)
        return tuple((step.kind, step.source) for step in reversed(kept))

    def _part(self, node: ast.expr) -> ast.expr:
        """``node`` with what belongs to the solution replaced by values."""
        if not self._foreign(node):
            return node
        if isinstance(node, ast.Call) and not self._foreign(node.func):
            node.args = [self._part(argument) for argument in node.args]
            for keyword in node.keywords:
                keyword.value = self._part(keyword.value)
            return node
        if isinstance(node, ast.Compare):
            node.left = self._part(node.left)
            node.comparators = [self._part(item) for item in node.comparators]
            return node
        if isinstance(node, ast.BoolOp):
            node.values = [self._part(item) for item in node.values]
            return node
        if isinstance(node, ast.UnaryOp):
            node.operand = self._part(node.operand)
            return node
        if isinstance(node, ast.BinOp):
            node.left, node.right = self._part(node.left), self._part(node.right)
            return node
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            node.elts = [self._part(item) for item in node.elts]
            return node
        if isinstance(node, (ast.Call, ast.Name, ast.Attribute, ast.Subscript)):
            self._check_inside(node)
            self.inside.append(_Step("eval", ast.unparse(node), _used(node)))
            self.values += 1
            return ast.Name(id=f"_value_{self.values - 1}", ctx=ast.Load())
        raise InputError(
            f"the test {_short(ast.unparse(node))} cannot be taken apart: it is no call of the solution, and holds one"
        )

    def _check_inside(self, node: ast.expr) -> None:
        """Refuse a call that may be a comparison: one by an unknown function of another unknown one's result, or with a comparison in it."""
        foreign = self._foreign(node)
        if (self.names is None and len(foreign - self.tainted) > 1) or any(
            isinstance(inner, ast.Compare) for inner in ast.walk(node)
        ):
            raise InputError(
                f"the test {_short(ast.unparse(node))} cannot be taken apart: say which of {', '.join(sorted(foreign))} the solution defines"
            )

    def _foreign(self, node: ast.AST) -> set[str]:
        """The names in ``node`` that the solution, or something made from it, defines."""
        local = {
            inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
        }
        local |= {inner.arg for inner in ast.walk(node) if isinstance(inner, ast.arg)}
        used = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load)}
        if self.names is not None:
            return used & (self.names | self.tainted)
        return {
            name
            for name in used
            if name in self.tainted or not (name in local or name in self.bound or name in _BUILTINS)
        }

    def _import_modules(self, statement: ast.stmt) -> None:
        """Import the standard modules that ``statement`` uses as if they were imported."""
        for node in ast.walk(statement):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                name = node.value.id
                known = name in self.bound or name in self.tainted or name in (self.names or ())
                if not known and name in sys.stdlib_module_names:
                    self.inside.append(_Step("exec", f"import {name}", frozenset(), frozenset({name}), shared=True))
                    self.outside.append(("exec", f"import {name}"))
                    self.bound.add(name)


def _used(node: ast.AST) -> frozenset[str]:
    return frozenset(
        inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load)
    )


def _defined(statement: ast.stmt) -> set[str]:
    """Names that an import or a definition binds."""
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return {statement.name}
    return set()


def _short(source: str) -> str:
    line = " ".join(source.split())
    return repr(line if len(line) <= 80 else f"{line[:79]}…")

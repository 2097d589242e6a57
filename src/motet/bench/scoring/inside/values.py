"""Evaluates calls of a solution and says what they returned, as plain values. It is given inputs only, never what is expected.

stdin: JSON ``{"steps": [["exec", SOURCE] | ["eval", SOURCE] | ["call", NAME, ENCODED ARGUMENTS], …]}``; ``solution.py`` lies beside it.
stdout: one JSON list with an item for each ``eval`` or ``call``: ``{"value": …}``, or a last ``{"raised": NAME}``.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import Any


def main() -> None:
    """Serve the one request."""
    import motet_plain  # type: ignore[import-not-found]  # lies beside this file in the sandbox
    import motet_prelude  # type: ignore[import-not-found]

    out = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 1)  # what the solution prints is no result
    request = json.loads(sys.stdin.buffer.read())
    os.dup2(nothing, 0)
    sys.setrecursionlimit(50_000)
    sys.set_int_max_str_digits(0)
    names: dict[str, Any] = {name: value for name, value in vars(motet_prelude).items() if not name.startswith("__")}
    names["__name__"] = "solution"
    with open("solution.py", encoding="utf-8") as file:
        exec(compile(file.read(), "solution.py", "exec"), names)  # noqa: S102 - it is what we are for
    results: list[Any] = []
    for kind, source, *rest in request["steps"]:
        try:
            if kind == "exec":
                exec(compile(source, "test", "exec"), names)  # noqa: S102
                continue
            value = _call(names, source, motet_plain.decode(rest[0])) if kind == "call" else eval(source, names)  # noqa: S307
            results.append({"value": motet_plain.encode(value)})
        except Exception as error:  # noqa: BLE001 - the solution's own
            traceback.print_exc()
            results.append({"raised": type(error).__name__})
            break
    view = memoryview(json.dumps(results).encode())
    while view:
        view = view[os.write(out, view) :]
    os._exit(0)  # nothing that the solution registered runs after the result


def _call(names: dict[str, Any], name: str, arguments: list[Any]) -> Any:
    """Call ``Solution().name``, or the function of that name where there is no such class."""
    owner = names.get("Solution")
    function = getattr(owner(), name) if owner is not None and hasattr(owner, name) else names[name]
    return function(*arguments)


if __name__ == "__main__":
    main()

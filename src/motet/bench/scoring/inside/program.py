"""Runs ``solution.py`` as a program that reads stdin and writes stdout, with the common imports already made."""

from __future__ import annotations

import contextlib
import sys


def main() -> None:
    """Run it; an exit is an end like any other, whatever its code."""
    import motet_prelude  # type: ignore[import-not-found]  # lies beside this file in the sandbox

    sys.setrecursionlimit(50_000)
    sys.set_int_max_str_digits(0)
    with open("solution.py", encoding="utf-8") as file:
        source = file.read()
    names = {name: value for name, value in vars(motet_prelude).items() if not name.startswith("__")}
    with contextlib.suppress(SystemExit):
        exec(compile(source, "solution.py", "exec"), {**names, "__name__": "__main__"})  # noqa: S102 - it is what we are for


if __name__ == "__main__":
    main()

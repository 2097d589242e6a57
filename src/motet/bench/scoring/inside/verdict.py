"""Evaluates assertions over plain values, in a sandbox that the solution has never been in.

stdin: JSON ``{"values": [ENCODED, …], "steps": [["exec", SOURCE] | ["eval", SOURCE], …]}``; the n-th value is called ``_value_n`` in the sources.
stdout: the number of the ``eval`` steps that held, up to the first that did not.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def main() -> None:
    """Serve the one request."""
    import motet_plain  # type: ignore[import-not-found]  # lies beside this file in the sandbox

    sys.set_int_max_str_digits(0)
    request = json.loads(sys.stdin.buffer.read())
    names: dict[str, Any] = {f"_value_{n}": motet_plain.decode(data) for n, data in enumerate(request["values"])}
    held = 0
    for kind, source in request["steps"]:
        if kind == "exec":
            exec(compile(source, "test", "exec"), names)  # noqa: S102 - the benchmark's own test
            continue
        try:
            if not eval(source, names):  # noqa: S307
                break
        except Exception:  # noqa: BLE001 - a comparison that cannot be made does not hold
            break
        held += 1
    print(f"\n{held}")


if __name__ == "__main__":
    main()

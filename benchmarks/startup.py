"""How long it takes to import Motet and to start its command, beside an interpreter that does nothing.

    python -m benchmarks.startup [--times 10] [--top 12]

The least of ``--times`` starts each, in turn, in milliseconds of wall time; then the modules whose own code takes longest at ``motet --help``, by ``-X importtime``.
Exits with 1 when ``import motet`` takes 0.3 s or ``motet --help`` 0.5 s, or when either imports what only a later step needs.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.common import parser, publish, table

LIMITS = {"import motet": 0.3, "motet --help": 0.5}  # seconds
HEAVY = ("openai", "torch", "numpy", "sqlalchemy", "aiohttp", "tokenizers", "xllamacpp")
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "import motet": ["-c", "import motet"],
    "motet --version": ["-c", "import sys; from motet.cli import main; sys.exit(main())", "--version"],
    "motet --help": ["-c", "import sys; from motet.cli import main; sys.exit(main())", "--help"],
}


def main() -> int:
    """Measure, print, and judge."""
    options = parser(__doc__)
    options.add_argument("--times", type=int, default=10)
    options.add_argument("--top", type=int, default=12, help="how many modules to show")
    asked = options.parse_args()
    commands = {name: command(name) for name in COMMANDS}
    least = dict.fromkeys(commands, float("inf"))
    for _ in range(asked.times):
        for name, words in commands.items():
            least[name] = min(least[name], seconds(words))
    loaded = {name: import_times(commands[name]) for name in LIMITS}
    heavy = {name: sorted({module.partition(".")[0] for module, _ in of} & set(HEAVY)) for name, of in loaded.items()}
    wrong = [
        f"{name} takes {least[name]:.2f} s, not under {limit}" for name, limit in LIMITS.items() if least[name] >= limit
    ]
    wrong += [f"{name} imports {', '.join(modules)}" for name, modules in heavy.items() if modules]
    top = sorted(loaded["motet --help"], key=lambda item: -item[1])[: asked.top]
    pass_ = least["python -c pass"]
    rows = [[name, took * 1e3, (took - pass_) * 1e3, LIMITS.get(name, 0) * 1e3 or ""] for name, took in least.items()]
    text = (
        f"least of {asked.times} starts\n\n{table(['start', 'ms', 'above python', 'limit'], rows)}\n\n"
        f"{len(loaded['motet --help'])} modules at motet --help, those with most time of their own:\n"
        f"{table(['module', 'ms'], [[module, took * 1e3] for module, took in top])}\n\n"
        f"{'FAIL: ' + '; '.join(wrong) if wrong else 'PASS: under the limits, and none of ' + ', '.join(HEAVY)}"
    )
    facts = {"seconds": least, "limits": LIMITS, "heavy": heavy, "top": dict(top), "pass": not wrong}
    publish("startup", as_json=asked.json, facts=facts, text=text)
    return 1 if wrong else 0


def command(name: str) -> list[str]:
    """The command line of a start: the installed ``motet`` where there is one, as a user starts it."""
    script = Path(sys.executable).with_name("motet")
    if name.startswith("motet ") and script.exists():
        return [sys.executable, str(script), *name.split()[1:]]
    return [sys.executable, *COMMANDS[name]]


def seconds(words: list[str]) -> float:
    """Wall time of one start."""
    start = time.perf_counter()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def import_times(words: list[str]) -> list[tuple[str, float]]:
    """Every module that is imported beyond a bare interpreter's, with the seconds of its own code."""
    environment = {**os.environ, "PYTHONPROFILEIMPORTTIME": "1"}
    bare = subprocess.run([sys.executable, "-c", "pass"], env=environment, check=True, capture_output=True, text=True)
    done = subprocess.run(words, env=environment, check=True, capture_output=True, text=True)
    line = re.compile(r"import time:\s*(\d+) \|\s*\d+ \|\s*(\S+)")
    known = {name for _, name in line.findall(bare.stderr)}
    return [(name, int(own) / 1e6) for own, name in line.findall(done.stderr) if name not in known]


if __name__ == "__main__":
    sys.exit(main())

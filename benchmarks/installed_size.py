"""What the core of Motet, without extras, takes on disk.

    python -m benchmarks.installed_size [--top 15]

Installs the package from this checkout into a new virtual environment with pip, as a user would, and sums the files of site-packages, less what the empty environment
had (pip). Sizes are in MB of 10^6 bytes. The promise is about what the packages hold; the bytecode that pip compiles from them at install (other installers do so
at first use, for what is used) is a cache, and is printed beside. Exits with 1 at 100 MB. Needs a package index.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from collections import Counter
from collections.abc import Mapping
from email.parser import HeaderParser
from pathlib import Path

from benchmarks.common import ROOT, parser, publish, table

LIMIT = 100.0  # MB


def main() -> int:
    """Install, measure, print, and judge."""
    options = parser(__doc__)
    options.add_argument("--top", type=int, default=15, help="how many packages to show")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        site = next(Path(folder).glob("lib/python*/site-packages"))
        before = set(files(site))
        command = [f"{folder}/bin/python", "-m", "pip", "install", "--quiet", "--no-cache-dir"]
        command += ["-c", str(ROOT / "constraints.txt"), str(ROOT)]
        quiet = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        subprocess.run(command, check=True, env=quiet, stdout=sys.stderr)
        sizes = {path: size for path, size in files(site).items() if path not in before}
        owners = owner_of(site)
    total = sum(sizes.values()) / 1e6
    compiled = sum(size for path, size in sizes.items() if path.suffix == ".pyc") / 1e6
    packages, bytecode = by_package(sizes, owners)
    ok = total - compiled < LIMIT
    rows = [[name, size / 1e6, bytecode[name] / 1e6] for name, size in packages.most_common(asked.top)]
    rest = sum(size for _, size in packages.most_common()[asked.top :]) / 1e6
    text = (
        f"the core in {len(packages)} packages\n\n{table(['package', 'MB', 'of it bytecode'], rows)}\n"
        f"{len(packages) - len(rows)} others: {rest:.1f} MB\n\n"
        f"the packages hold {total - compiled:.1f} MB (wanted: under {LIMIT:.0f} MB): {'PASS' if ok else 'FAIL'}; "
        f"{total:.1f} MB on disk with the bytecode that pip compiled"
    )
    facts = {
        "megabytes": total,
        "without_bytecode": total - compiled,
        "packages": {name: size / 1e6 for name, size in packages.most_common()},
        "pass": ok,
    }
    publish("installed_size", as_json=asked.json, facts=facts, text=text)
    return 0 if ok else 1


def files(site: Path) -> dict[Path, int]:
    """Every file below ``site``, relative to it, with its bytes."""
    return {path.relative_to(site): path.stat().st_size for path in site.rglob("*") if path.is_file()}


def owner_of(site: Path) -> dict[str, str]:
    """For each top-level name in ``site``, the distribution that put it there."""
    owners: dict[str, str] = {}
    for record in site.glob("*.dist-info/RECORD"):
        about = (record.parent / "METADATA").read_text(encoding="utf-8")
        name = HeaderParser().parsestr(about)["Name"]
        for line in record.read_text(encoding="utf-8").splitlines():
            owners[line.partition(",")[0].partition("/")[0].strip('"')] = name
    return owners


def by_package(sizes: Mapping[Path, int], owners: Mapping[str, str]) -> tuple[Counter[str], Counter[str]]:
    """Bytes by distribution: all, and of bytecode alone."""
    total: Counter[str] = Counter()
    bytecode: Counter[str] = Counter()
    for path, size in sizes.items():
        name = owners.get(path.parts[0], path.parts[0])
        total[name] += size
        bytecode[name] += size if path.suffix == ".pyc" else 0
    return total, bytecode


if __name__ == "__main__":
    sys.exit(main())

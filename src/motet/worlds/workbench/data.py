"""The benchmark's files: where they are, that they are the right ones, and how to get them.

Every file is checked against the SHA-256 of the published one, since a corrected or converted file would change scores silently.
"""

from __future__ import annotations

import csv
import functools
import hashlib
import io
from pathlib import Path
from typing import Final

from motet.errors import InputError
from motet.settings import data_dir
from motet.worlds.workbench.tables import Cell, Dialect, State, Table, table_of

_SOURCE: Final = "https://github.com/olly-styles/WorkBench"
_COMMIT: Final = "42f1b6dc18986f47701ca83de2d63dd4f95c59a0"

SHA256: Final = {
    "processed/analytics_data.csv": "9f02ac1311812721fa4d521aaf91e2d3a4320d1409cfd5b43f130ee476cae709",
    "processed/calendar_events.csv": "9f029b17eb05e6b837946b50f15b63e59c939a544ba293075d98ac301554d636",
    "processed/customer_relationship_manager_data.csv": "8632a748512e2c4e1ad7ffa6669efb1ce73bcfe9600f976a99af6e6c46e79297",
    "processed/emails.csv": "35c0a3af40acddc9aa48d0289e75cc44785e33abedfa3e48ca3f7b2fb679f4c3",
    "processed/project_tasks.csv": "ef4941767aa7ec5c85f481d90d9fc9aef9f7424d972701d2149e0ef55e56b07d",
    "processed/queries_and_answers/analytics_queries_and_answers.csv": "aa45a14f2edac0bc8ed6cefd14d21ce677e5ad7fceb584ed8eff3ed61c4859bd",
    "processed/queries_and_answers/calendar_queries_and_answers.csv": "fefb61e1a78bc2042befdb5703287a398aa4d8e8749bbf8badce8e6dd3ee9185",
    "processed/queries_and_answers/customer_relationship_manager_queries_and_answers.csv": "20e34dffd61654b0302991a8222b13408a622de86d5d5fac10b7c4ffe5f45a76",
    "processed/queries_and_answers/email_queries_and_answers.csv": "f260be0ab34983675dbee1c313662e3882464198ac9146e1fa86b1920aa93b86",
    "processed/queries_and_answers/multi_domain_queries_and_answers.csv": "d04c2bf8c2c286d7fd26336f4d7deeca0ba402b28ed32e888e5c7796f1e50618",
    "processed/queries_and_answers/project_management_queries_and_answers.csv": "01fe40615b65836e0c2a4ecd21e96b33b5e2ffad70f40f43c72081c37adb8945",
    "raw/email_addresses.csv": "d9227ee1a072e528c3735afea166a56e5d2e88f4c98dc7a0beba035ff0efcc2a",
}

# What the benchmark reads as an empty cell.
_EMPTY: Final = frozenset(
    {
        "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA", "NULL",
        "NaN", "None", "n/a", "nan", "null",
    }
)  # fmt: skip


def workbench_dir() -> Path:
    """The folder with the files. Raises InputError that says how to get them."""
    base = data_dir()
    how = (
        f"get them with `git clone {_SOURCE} && git -C WorkBench checkout {_COMMIT[:7]}`, copy WorkBench/data to a folder D/workbench, "
        "and set MOTET_DATA_DIR=D"
    )
    if base is None:
        raise InputError(f"WorkBench needs its data files, and MOTET_DATA_DIR is not set; {how}")
    folder = base / "workbench"
    if not folder.is_dir():
        raise InputError(f"WorkBench needs its data files, and {folder} is not there; {how}")
    return folder


def read_file(folder: Path, name: str) -> str:
    """The text of one of the benchmark's files. Raises InputError where it is missing or not the published one."""
    path = folder / name
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"WorkBench's file {path} cannot be read ({error.strerror}); it is {name} under data/ of {_SOURCE} at {_COMMIT[:7]}"
        ) from None
    found = hashlib.sha256(data).hexdigest()
    if found != SHA256[name]:
        raise InputError(
            f"{path} is not the published file: its SHA-256 begins with {found[:12]}, not {SHA256[name][:12]}; "
            f"take {name} from data/ of {_SOURCE} at {_COMMIT[:7]}, with its line ends unchanged"
        )
    return data.decode("utf-8")


def pristine(dialect: Dialect, *, folder: Path | None = None) -> State:
    """The state that every task begins with. Raises InputError where the files are missing or wrong."""
    tables, directory = _tables((folder or workbench_dir()).resolve())
    calendar, email, projects, crm, analytics = tables
    return State(
        calendar=calendar,
        email=email,
        plots=Table(("file_path",)),
        projects=projects,
        crm=crm,
        analytics=analytics,
        directory=directory,
        dialect=dialect,
    )


@functools.lru_cache(maxsize=4)
def _tables(folder: Path) -> tuple[tuple[Table, ...], tuple[str, ...]]:
    """The tables as they are on disk: checked files, so the same folder always gives the same tables."""
    names = ("calendar_events", "emails", "project_tasks", "customer_relationship_manager_data", "analytics_data")
    tables = tuple(_table(read_file(folder, f"processed/{name}.csv")) for name in names)
    return tables, tuple(read_file(folder, "raw/email_addresses.csv").split())


def _table(text: str) -> Table:
    columns, *rows = csv.reader(io.StringIO(text, newline=""))
    return table_of(columns, ([_cell(column, text) for column, text in zip(columns, row, strict=True)] for row in rows))


def _cell(column: str, text: str) -> Cell:
    if column == "user_engaged":
        return text == "True"
    return None if text in _EMPTY else text

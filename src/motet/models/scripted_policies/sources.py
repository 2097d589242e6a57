"""What names a scripted policy's rules: the text of its sources, so that no changed rule passes for the old one."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from motet.canonical import digest

# What all policies use.
_SHARED = "motet.models.scripted_policies"


@cache
def version_of(*packages: str) -> str:
    """A hash of the modules and YAML files of ``packages``, and of those that all policies share."""
    texts = {
        f"{package}/{item.name}": item.read_text(encoding="utf-8")
        for package in (_SHARED, *packages)
        for item in files(package).iterdir()
        if item.name.endswith((".py", ".yaml"))
    }
    return digest(texts)[:16]

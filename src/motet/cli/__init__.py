"""The command ``motet``."""

from __future__ import annotations

from motet.cli.app import main

__all__ = ["main"]

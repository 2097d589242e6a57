"""Parts for testing what is built on Motet: a model server in the OpenAI wire format that fails on purpose.

Scripted models are in ``motet.models.scripted``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from motet.testing.faults import Fault, Faults

if TYPE_CHECKING:
    from motet.testing.model_server import ModelServer, Served

__all__ = ["Fault", "Faults", "ModelServer", "Served"]


def __getattr__(name: str) -> object:
    # Later than the rest: it imports aiohttp, and ``python -m motet.testing.model_server`` must not find it loaded.
    if name in ("ModelServer", "Served"):
        from motet.testing import model_server

        return getattr(model_server, name)
    raise AttributeError(f"module 'motet.testing' has no attribute {name!r}")

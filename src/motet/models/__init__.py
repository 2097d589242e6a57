"""Models: anything that answers a request, and what stands behind it.

The values and the protocol are here at once; what needs a client, a gate or settings is imported when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from motet.models.model import (
    Message,
    Model,
    ModelInfo,
    Observer,
    Price,
    Reply,
    Request,
    Sampling,
    ToolCall,
    ToolSpec,
    estimate_tokens,
)

if TYPE_CHECKING:
    from motet.models.gate import Gate, Gated
    from motet.models.providers import Models
    from motet.models.structured import Structured, extract_json

__all__ = [
    "Gate",
    "Gated",
    "Message",
    "Model",
    "ModelInfo",
    "Models",
    "Observer",
    "Price",
    "Reply",
    "Request",
    "Sampling",
    "Structured",
    "ToolCall",
    "ToolSpec",
    "estimate_tokens",
    "extract_json",
]

# Settings need Price from here, and providers need settings: these names are found on first use to keep that from being a circle.
_LATER = {
    "Gate": "gate",
    "Gated": "gate",
    "Models": "providers",
    "Structured": "structured",
    "extract_json": "structured",
}


def __getattr__(name: str) -> object:
    if name in _LATER:
        from importlib import import_module

        return getattr(import_module(f"motet.models.{_LATER[name]}"), name)
    raise AttributeError(f"module 'motet.models' has no attribute {name!r}")

"""Choices that options offer. Light: imported by ``motet --help``."""

from __future__ import annotations

from enum import StrEnum


class Mode(StrEnum):
    """How progress is shown. ``auto``: live on a terminal, plain lines otherwise."""

    auto = "auto"
    plain = "plain"
    json = "json"
    none = "none"


class Format(StrEnum):
    """How a team is written: as a document, or as a picture."""

    yaml = "yaml"
    json = "json"
    mermaid = "mermaid"
    dot = "dot"


class Assume(StrEnum):
    """What became of a write that was sent and never confirmed."""

    done = "done"
    redo = "redo"


class EngineName(StrEnum):
    """Where the cells of a bench are worked."""

    local = "local"
    ray = "ray"

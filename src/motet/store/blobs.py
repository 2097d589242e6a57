"""Blobs: content named by its SHA-256, compressed where that helps, checked on every read."""

from __future__ import annotations

import zlib
from typing import NamedTuple

import sqlalchemy as sa

from motet.canonical import Json, canonical, digest_bytes
from motet.errors import Damaged
from motet.store.schema import blobs

_COMPRESS_FROM = 200  # bytes; below this zlib seldom wins


class Packed(NamedTuple):
    """A blob as it is stored. ``size`` counts the uncompressed bytes."""

    size: int
    codec: str
    data: bytes


def as_blob(value: Json) -> tuple[str, bytes]:
    """Name and bytes of ``value``'s canonical JSON, ready for ``write(blobs=…)``."""
    data = canonical(value)
    return digest_bytes(data), data


def pack(content: bytes) -> Packed:
    """``content`` as it is stored."""
    if len(content) >= _COMPRESS_FROM:
        small = zlib.compress(content, 1)
        if len(small) < len(content):
            return Packed(len(content), "zlib", small)
    return Packed(len(content), "raw", content)


def unpacked(name: str, codec: str, data: bytes) -> bytes:
    """The content of a stored blob. Raises Damaged when it does not match ``name``."""
    try:
        content = zlib.decompress(data) if codec == "zlib" else bytes(data)
    except zlib.error:
        raise Damaged(f"blob {name} is damaged: its data cannot be decompressed") from None
    if digest_bytes(content) != name:
        raise Damaged(f"blob {name} is damaged: its content does not match its hash")
    return content


def read_blob(connection: sa.Connection, name: str) -> bytes:
    """The content named ``name``, checked against its hash. Raises Damaged."""
    row = connection.execute(sa.select(blobs.c.codec, blobs.c.data).where(blobs.c.hash == name)).first()
    if row is None:
        raise Damaged(f"blob {name} is missing from the store")
    return unpacked(name, row.codec, row.data)

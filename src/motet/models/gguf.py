"""The metadata of a GGUF file: its keys and values, without its tensors.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (version 3, little-endian). The ``gguf`` package on PyPI
reads it too, but brings numpy and takes a second on a vocabulary of 50,000 words.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO, TypeAlias

GgufValue: TypeAlias = "bool | int | float | str | list[GgufValue]"

_STRING, _ARRAY = 8, 9
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


def read_metadata(path: Path) -> dict[str, GgufValue]:
    """The metadata of ``path`` in the file's order.

    Raises ValueError when the file is not GGUF version 3 or ends early.
    """
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise ValueError(f"{path} is not a GGUF file")
        version = _scalar(file, "I")
        if version != 3:
            raise ValueError(f"{path} is GGUF version {version}; only version 3 is read")
        _scalar(file, "Q")  # number of tensors
        count = int(_scalar(file, "Q"))
        try:
            return dict(_pair(file) for _ in range(count))
        except (struct.error, KeyError, UnicodeDecodeError, MemoryError, OverflowError):
            raise ValueError(f"{path} is damaged: its metadata cannot be read to the end") from None


def _pair(file: BinaryIO) -> tuple[str, GgufValue]:
    key = _string(file)
    return key, _value(file, int(_scalar(file, "I")))


def _value(file: BinaryIO, kind: int) -> GgufValue:
    if kind == _STRING:
        return _string(file)
    if kind == _ARRAY:
        inner, count = int(_scalar(file, "I")), int(_scalar(file, "Q"))
        return [_value(file, inner) for _ in range(count)]
    return _scalar(file, _SCALARS[kind])


def _string(file: BinaryIO) -> str:
    return file.read(int(_scalar(file, "Q"))).decode("utf-8")


def _scalar(file: BinaryIO, code: str) -> bool | int | float:
    layout = f"<{code}"
    value: bool | int | float = struct.unpack(layout, file.read(struct.calcsize(layout)))[0]
    return value

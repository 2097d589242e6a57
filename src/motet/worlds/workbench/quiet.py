"""Reading model-written code and patterns without Python's remarks on their style."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def quietly(read: Callable[[], T]) -> T:
    """What ``read`` returns. Python warns of doubtful escapes and sets while it parses; those are the model's, not the user's to mend."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read()

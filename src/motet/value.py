"""The base of every frozen value in Motet."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A frozen Pydantic model that refuses unknown fields, so that a misspelt key is an error and never a no-op."""

    model_config = ConfigDict(frozen=True, extra="forbid")

"""Worlds: tools over a state that can be fingerprinted, forked, staged and scored."""

from motet.worlds.shared import Shared
from motet.worlds.staging import Staged, stage
from motet.worlds.world import LiveWorld, World, Write, restore

__all__ = ["LiveWorld", "Shared", "Staged", "World", "Write", "restore", "stage"]

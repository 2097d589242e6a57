"""Worlds: tools over a state that can be fingerprinted, forked, staged and scored."""

from motet.worlds.world import LiveWorld, Staged, World, Write, restore, stage

__all__ = ["LiveWorld", "Staged", "World", "Write", "restore", "stage"]

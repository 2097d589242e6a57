"""The scripted policies that ship with Motet, one per module."""

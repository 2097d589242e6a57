"""Runs: scopes, journal, ledger, budgets, leases, events."""

from motet.runs.budget import Budget, Charge
from motet.runs.events import Event
from motet.runs.run import Run

__all__ = ["Budget", "Charge", "Event", "Run"]

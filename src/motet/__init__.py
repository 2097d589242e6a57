"""Motet: teams of language-model agents behind one interface, on one ledger.

The names below load on first use, so that ``import motet`` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from motet.agent.react import React as React
    from motet.api import resume as resume
    from motet.api import run as run
    from motet.api import solve as solve
    from motet.baselines.best_of_n import BestOfN as BestOfN
    from motet.baselines.broadcast import Broadcast as Broadcast
    from motet.baselines.evoagent import EvoAgent as EvoAgent
    from motet.baselines.evomas import EvoMAS as EvoMAS
    from motet.baselines.inherit_initial import InheritInitial as InheritInitial
    from motet.baselines.naive import Naive as Naive
    from motet.baselines.swarm import Swarm as Swarm
    from motet.baselines.tacomas import TacoMAS as TacoMAS
    from motet.errors import InputError as InputError
    from motet.errors import MotetError as MotetError
    from motet.inherit.system import Inherit as Inherit
    from motet.models.model import Message as Message
    from motet.models.model import Model as Model
    from motet.models.model import ModelInfo as ModelInfo
    from motet.models.model import Price as Price
    from motet.models.model import Reply as Reply
    from motet.models.model import Request as Request
    from motet.runs.budget import Budget as Budget
    from motet.runs.run import Run as Run
    from motet.store.store import Store as Store
    from motet.system import Configured as Configured
    from motet.system import System as System
    from motet.task import Result as Result
    from motet.task import Score as Score
    from motet.task import Source as Source
    from motet.task import Task as Task
    from motet.tools.function import tool as tool
    from motet.tools.tool import Observation as Observation
    from motet.tools.tool import Tool as Tool
    from motet.version import __version__ as __version__

_HOMES = {
    "React": "motet.agent.react",
    "Inherit": "motet.inherit.system",
    "InheritInitial": "motet.baselines.inherit_initial",
    "EvoAgent": "motet.baselines.evoagent",
    "EvoMAS": "motet.baselines.evomas",
    "TacoMAS": "motet.baselines.tacomas",
    "BestOfN": "motet.baselines.best_of_n",
    "Broadcast": "motet.baselines.broadcast",
    "Naive": "motet.baselines.naive",
    "Swarm": "motet.baselines.swarm",
    "InputError": "motet.errors",
    "MotetError": "motet.errors",
    "Message": "motet.models.model",
    "Model": "motet.models.model",
    "ModelInfo": "motet.models.model",
    "Price": "motet.models.model",
    "Reply": "motet.models.model",
    "Request": "motet.models.model",
    "Budget": "motet.runs.budget",
    "Run": "motet.runs.run",
    "resume": "motet.api",
    "run": "motet.api",
    "solve": "motet.api",
    "Store": "motet.store.store",
    "Configured": "motet.system",
    "System": "motet.system",
    "Result": "motet.task",
    "Score": "motet.task",
    "Source": "motet.task",
    "Task": "motet.task",
    "tool": "motet.tools.function",
    "Observation": "motet.tools.tool",
    "Tool": "motet.tools.tool",
    "__version__": "motet.version",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'motet' has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return __all__

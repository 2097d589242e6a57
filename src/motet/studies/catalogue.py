"""Studies by name: one lazy table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from motet.errors import InputError
from motet.load import load_object
from motet.settings import explain, nearest
from motet.studies.study import Study

STUDIES = {
    "inheritance": "motet.studies.inheritance:Inheritance",
    "switches": "motet.studies.switches:Switches",
    "locality": "motet.studies.locality:Locality",
    "models": "motet.studies.models:Models",
    "budget": "motet.studies.budget:EqualBudget",
    "control": "motet.studies.control:Control",
    "peers": "motet.studies.peers:Peers",
    "swapped": "motet.studies.swapped:Swapped",
    "ladder": "motet.studies.ladder:Ladder",
    "hub": "motet.studies.hub:HubSizes",
    "controls": "motet.studies.controls:Controls",
    "revisits": "motet.studies.revisits:Revisits",
    "pointers": "motet.studies.pointers:Pointers",
    "trust": "motet.studies.trust:Trust",
}


def open_study(name: str, options: Mapping[str, object] | None = None) -> Study:
    """The study called ``name`` with its own ``options``. Raises InputError for an unknown name or option, naming the nearest right one."""
    kind = study_class(name)
    for key in options or {}:
        if key not in kind.model_fields:
            raise InputError(f"the study {name} takes no --{key.replace('_', '-')}")
    try:
        return kind(**(options or {}))
    except ValidationError as error:
        raise InputError(f"study {name}: {explain(error, kind)}") from None


def study_class(name: str) -> type[Study]:
    """The class of the study called ``name``. Raises InputError for an unknown one."""
    if name not in STUDIES:
        raise InputError(f"unknown study {name!r}{nearest(name, STUDIES)}; motet study lists them")
    kind: Any = load_object(STUDIES[name])
    chosen: type[Study] = kind
    return chosen

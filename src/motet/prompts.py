"""Prompts are data: YAML files of Jinja templates beside the code that uses them.

A file has a ``version`` and named templates. Rendering is strict: a missing value is an error, never an empty gap in what a model is told.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import yaml

from motet.canonical import digest

if TYPE_CHECKING:
    from jinja2 import Template


class Prompts:
    """The templates of one file. ``version`` is the file's own number with a digest of its text: it changes whenever the words do."""

    def __init__(self, text: str) -> None:
        from jinja2 import Environment, StrictUndefined

        # Prompts are plain text for a model, not HTML, so nothing is escaped.
        environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)  # noqa: S701
        data = yaml.safe_load(text)
        self.version = f"{data.pop('version')}-{digest(data)[:8]}"
        self._templates: dict[str, Template] = {
            name: environment.from_string(template) for name, template in data.items()
        }

    def __call__(self, name: str, /, **values: object) -> str:
        """Render the template ``name``. Raises jinja2.UndefinedError when a value is missing."""
        return self._templates[name].render(**values).strip()


@cache
def load_prompts(package: str, name: str) -> Prompts:
    """The prompts in ``prompts/NAME.yaml`` of ``package``."""
    return Prompts(files(package).joinpath("prompts", f"{name}.yaml").read_text(encoding="utf-8"))

"""Pages that stand alone: one HTML file from a template, its style within, every text escaped."""

from __future__ import annotations

from importlib.resources import files


def render_html(package: str, name: str, /, **values: object) -> str:
    """The template ``templates/NAME`` of ``package`` with ``values``; ``style`` is the one that all pages have in common."""
    from jinja2 import Environment

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    text = files(package).joinpath("templates", name).read_text(encoding="utf-8")
    style = files(__package__).joinpath("templates", "page.css").read_text(encoding="utf-8")
    return environment.from_string(text).render(style=style, **values)

"""SearXNG, a metasearch engine that anyone can run: GET ``/search?format=json``, no key; results in ``results``.

It gives a fixed number of results a page and has no limit to ask for. Source: https://docs.searxng.org/dev/search_api
"""

from __future__ import annotations

from urllib.parse import urlencode

from motet.tools.web.providers.service import Ask, Service
from motet.tools.web.providers.tavily import read


def ask(query: str, limit: int, key: str) -> Ask:
    """The request for the first page of results."""
    return Ask(f"/search?{urlencode({'q': query, 'format': 'json'})}")


SEARXNG = Service(
    name="searxng",
    base_url=None,
    key_env=None,
    ask=ask,
    read=read,  # title, url and content under the same names
    hints={403: "JSON must be among search.formats in its settings.yml"},
)

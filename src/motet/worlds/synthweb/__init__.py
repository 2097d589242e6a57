"""The synthetic web: a seeded graph of pages about invented entities, to search and to read, with questions whose answers and shortest paths are known."""

from motet.worlds.synthweb.site import Clue, Question, Site, SiteOptions, make_site
from motet.worlds.synthweb.web import Page, Web
from motet.worlds.synthweb.world import SynthWeb

__all__ = ["Clue", "Page", "Question", "Site", "SiteOptions", "SynthWeb", "Web", "make_site"]

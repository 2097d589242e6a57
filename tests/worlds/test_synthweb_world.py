"""The synthetic web as a world: what its tools answer, in the form that they promise, and failures that stay with who met them."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from motet.tools.tool import Observation, Tool
from motet.worlds.load import open_world
from motet.worlds.synthweb import Page, SiteOptions, SynthWeb, Web, make_site
from motet.worlds.synthweb.world import PART, parts_of
from motet.worlds.world import World

SMALL = SiteOptions(questions=1, breadth=4, hops=3, distractors=2, dead_ends=2)
_HIT = re.compile(r"(\d+)\. (.+)\n   address: (\S+)\n   (.+) …")


def call(tool: Tool, **arguments: JsonValue) -> Observation:
    """What the tool answers."""
    return asyncio.run(tool(arguments, key=""))


def tools(world: SynthWeb) -> tuple[Tool, Tool]:
    """Fresh ``search`` and ``visit``."""
    search, visit = world.tools()
    return search, visit


def data(observation: Observation) -> dict[str, Any]:
    """The observation's data, an object."""
    assert isinstance(observation.data, dict)
    return observation.data


def test_it_is_a_world_that_is_named_by_its_pages() -> None:
    """It is a forkable World; the same pages have the same fingerprint, others or another number of hits have another."""
    world = SynthWeb(make_site(SMALL, 0).web)
    assert isinstance(world, World)
    assert world.forkable
    assert world.fork().fingerprint() == world.fingerprint()
    assert SynthWeb(make_site(SMALL, 0).web).fingerprint() == world.fingerprint()
    assert SynthWeb(make_site(SMALL, 1).web).fingerprint() != world.fingerprint()
    assert SynthWeb(make_site(SMALL, 0).web, results=3).fingerprint() != world.fingerprint()
    assert [(tool.name, tool.effect) for tool in world.tools()] == [("search", "read"), ("visit", "read")]
    assert world.score({"answer": "anything"}) == ()


def test_it_can_be_opened_by_name() -> None:
    """``module:Class`` gives the first site of seed 0."""
    world = open_world("motet.worlds.synthweb:SynthWeb")
    assert world is not None
    assert world.fingerprint() == SynthWeb(make_site(SiteOptions(), 0).web).fingerprint()


def test_hits_have_the_form_that_is_promised() -> None:
    """Each hit is a number, a title, an address and how its page begins; data and sources name the same pages."""
    web = make_site(SMALL, 0).web
    search, _ = tools(SynthWeb(web, results=3))
    for page in web.pages.values():
        seen = call(search, query=page.title)
        hits = _HIT.findall(seen.text)
        assert seen.text == "\n".join(
            f"{number}. {title}\n   address: {address}\n   {start} …" for number, title, address, start in hits
        )
        assert 1 <= len(hits) <= 3
        assert page.address in data(seen)["hits"]
        assert data(seen) == {"query": page.title, "hits": [address for _, _, address, _ in hits]}
        assert [source.ref for source in seen.sources] == data(seen)["hits"]
        for _, title, address, start in hits:
            assert web.pages[address].title == title
            assert web.pages[address].text.startswith(start)


def test_a_search_without_hits_says_so() -> None:
    """Words that no page holds give no hit and no error."""
    search, _ = tools(SynthWeb(make_site(SMALL, 0).web))
    seen = call(search, query="xylophone zzz")
    assert seen.text == "No page holds any of the words 'xylophone zzz'. Try other words."
    assert data(seen)["hits"] == []
    assert not seen.error


@settings(max_examples=10)
@given(words=st.sampled_from([40, 300, 1200]), seed=st.integers(0, 1000))
def test_a_page_is_read_whole_in_parts_with_its_links(words: int, seed: int) -> None:
    """The parts of a page are its text, no part is too long, and each shows the links that it names."""
    web = make_site(SMALL.model_copy(update={"words": words, "seed": seed}), 0).web
    _, visit = tools(SynthWeb(web))
    for page in list(web.pages.values())[:8]:
        parts = parts_of(page.text)
        assert " ".join(" ".join(parts).split()) == " ".join(page.text.split())
        assert all(0 < len(part) <= PART for part in parts)
        linked = set()
        for number, part in enumerate(parts, 1):
            seen = call(visit, address=page.address, part=number)
            head = f"Title: {page.title}\nAddress: {page.address}\nPart {number} of {len(parts)}\n\n{part}"
            assert seen.text.startswith(head)
            links = re.findall(r"^- (.+): (\S+)$", seen.text.partition("\n\nLinks:\n")[2], re.MULTILINE)
            assert all(title in part for title, _ in links)
            linked |= set(links)
            assert seen.text.endswith(f"The next part: visit with part={number + 1}.") == (number < len(parts))
            assert data(seen) == {"address": page.address, "title": page.title, "part": number, "parts": len(parts)}
            (source,) = seen.sources
            assert (source.ref, source.quote) == (page.address, part)
        assert linked == set(page.links)


def test_a_title_is_taken_for_an_address() -> None:
    """What reads a title and visits it reads the page."""
    web = make_site(SMALL, 0).web
    _, visit = tools(SynthWeb(web))
    page = next(iter(web.pages.values()))
    assert call(visit, address=page.title).text == call(visit, address=f" {page.address} ").text


def test_failures_say_what_would_be_right() -> None:
    """A wrong address is answered with the nearest one, a part too many with how many there are."""
    web = make_site(SMALL, 0).web
    _, visit = tools(SynthWeb(web))
    page = next(iter(web.pages.values()))
    near, far = call(visit, address=f"{page.address}x"), call(visit, address="http://elsewhere.example")
    assert near.error
    assert page.address in near.text
    assert far.text == "There is no page at 'http://elsewhere.example'; a search shows the addresses of pages"
    assert call(visit, address=page.address, part=2).text == f"{page.address!r} has parts 1 to 1, not 2"


def test_a_flaky_page_fails_as_often_as_said_for_each_agent() -> None:
    """Who has fresh tools meets all failures of a page, whatever others have met, in whatever order."""
    world = SynthWeb(Web([Page("a", "A", "All is well."), Page("b", "B", "All is well.", flaky=2)]))
    (_, one), (_, two) = tools(world), tools(world.fork())
    turns = [(one, "b"), (two, "b"), (one, "a"), (one, "b"), (one, "b"), (two, "b"), (two, "B"), (one, "b")]
    seen = [call(tool, address=address) for tool, address in turns]
    assert [item.error for item in seen] == [True, True, False, True, False, True, False, False]
    assert seen[0].text == "b did not answer (503). Try again."


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_flaky_pages_are_chosen_by_the_seed(share: float) -> None:
    """The share of flaky pages is as asked, and the same each time."""
    asked = SiteOptions(flaky=share, flaky_fails=3)
    failing = {page.address for page in make_site(asked, 0).web.pages.values() if page.flaky}
    pages = list(make_site(asked, 0).web.pages.values())
    assert {page.flaky for page in pages} <= {0, 3}
    assert abs(len(failing) / len(pages) - share) < 0.12
    make_site.cache_clear()
    assert {page.address for page in make_site(asked, 0).web.pages.values() if page.flaky} == failing


def test_ranking_prefers_rare_words_and_is_the_same_for_equal_pages() -> None:
    """A rare word weighs more than a common one; equal pages come by their address; plurals count as singular."""
    web = Web([Page("c", "C", "grey stone"), Page("b", "B", "grey stone"), Page("a", "A", "grey clocks")])
    assert [page.address for page in web.search("grey clock", limit=5)] == ["a", "b", "c"]
    assert [page.address for page in web.search("stones", limit=1)] == ["b"]
    assert web.search("", limit=5) == []

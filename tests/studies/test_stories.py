"""What studies make of the stories of teams: exploring twice, reads that are well aimed, claims that spread, and whose notes are swapped for whose."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.fugue.measures import PeerRow
from motet.studies.journal import Story, pages_of
from motet.studies.pointers import aimed
from motet.studies.revisits import explored, names
from motet.studies.trust import LIAR, spread_of
from tests.studies.works import note, opened, read

PEERS = st.sampled_from(["p1", "p2", "p3"])
PAGES = st.sampled_from(["a/one", "a/two", "b/three", "b/four"])
VISITS = st.lists(st.tuples(PEERS, PAGES), min_size=1, max_size=12)


def story(visits: list[tuple[str, str]], *notes: tuple[int, object]) -> Story:
    """A team that opened pages in turn."""
    return Story(tuple(opened(place, peer, page) for place, (peer, page) in enumerate(visits)), tuple(notes))  # type: ignore[arg-type]


@given(VISITS, st.sets(PAGES))
def test_shares_of_what_was_done_before_are_shares(visits: list[tuple[str, str]], path: set[str]) -> None:
    """Each lies between nothing and all; what is off the path is a part of what was visited before; without notes nothing was ruled out by any."""
    found = explored(story(visits), path)
    assert found.again is not None
    assert found.off_path is not None
    assert 0 <= found.off_path <= found.again < 1
    assert found.ruled_out == 0
    assert (found.facts is None) == (not path & {page for _, page in visits})


@given(st.lists(PAGES, min_size=1, max_size=8))
def test_one_peer_visits_nothing_that_a_teammate_visited(pages: list[str]) -> None:
    """What it opens again itself is not counted."""
    found = explored(story([("p1", page) for page in pages]), set(pages))
    assert (found.again, found.facts) == (0, 0)


def test_a_fact_that_three_find_was_found_twice_too_often() -> None:
    """Of three openings of a path's page by three peers, two were not the first."""
    found = explored(story([("p1", "a/one"), ("p2", "a/one"), ("p3", "a/one"), ("p3", "a/one")]), {"a/one"})
    assert found.facts == pytest.approx(2 / 3)
    assert found.again == pytest.approx(3 / 4)


@pytest.mark.parametrize(("place", "author", "counted"), [(0, "p1", 1.0), (9, "p1", 0.0), (0, "p2", 0.0)])
def test_a_page_is_ruled_out_by_a_teammates_earlier_note_only(place: int, author: str, counted: float) -> None:
    """A note that came later, or is one's own, was no warning."""
    visits = (opened(5, "p2", "a/one"),)
    assert explored(Story(visits, ((place, note(author, ruled_out=["One (a/one): no"])),)), None).ruled_out == counted


def test_without_a_known_path_nothing_is_said_of_it() -> None:
    """Another benchmark does not say what leads to the answer."""
    found = explored(story([("p1", "a/one"), ("p2", "a/one")]), None)
    assert (found.off_path, found.facts) == (None, None)
    assert found.again == 0.5


@given(st.text(max_size=20), st.text(max_size=20))
def test_a_line_names_a_page_by_its_whole_address(before: str, after: str) -> None:
    """Between spaces it does, whatever else stands there; within a longer address it does not."""
    assert names(f"{before} (a/one) {after}", "a/one") or "a/one" in before
    assert not names("see a/one-two", "a/one")
    assert not names("see ba/one", "a/one")


def test_a_note_stands_for_the_pages_of_its_steps() -> None:
    """Not for those of other steps or peers."""
    calls = (opened(0, "p1", "a/one", step=1), opened(1, "p1", "a/two", step=3), opened(2, "p2", "b/three", step=1))
    assert pages_of(Story(calls, ()), note("p1", first=1, last=2)) == {"a/one"}


def test_reads_are_right_where_the_steps_hold_a_page_of_the_path() -> None:
    """One of two reads is; of the two notes worth reading for p3 it read one, whatever form the name has; p2's own notes are none for p2."""
    calls = (
        opened(0, "p1", "a/one"),
        opened(1, "p2", "b/three"),
        opened(2, "p2", "a/two", step=2),
        read(10, "p3", "[p1.1r]"),
        read(11, "p3", "p2.1"),
    )
    notes = ((3, note("p1")), (4, note("p2")), (5, note("p2", first=2, last=2, episode=2)))
    shown = {"p3": {"p1.1", "p2.1", "p2.2"}, "p2": {"p2.2"}}
    assert aimed(Story(calls, notes), {"a/one", "a/two"}, shown) == (2, 1, 2, 1)


def test_what_a_peer_had_opened_itself_was_not_worth_a_read() -> None:
    """It knew already."""
    calls = (opened(0, "p1", "a/one"), opened(1, "p2", "a/one"))
    assert aimed(Story(calls, ((2, note("p1")),)), {"a/one"}, {"p2": {"p1.1"}}).worth == 0


def test_only_honest_peers_adopt_and_hearsay_needs_no_page() -> None:
    """Of three honest peers one adopted, which had opened the page; who is made to err counts nowhere."""
    peers = [
        PeerRow(name=name, status="answered", answer=answer)
        for name, answer in (("p1", "x"), ("p2", "y"), ("p3", "y"), (LIAR, "x"))
    ]
    all_honest, told = spread_of(peers, adopted=lambda peer: peer.answer == "x", opened={"p1": True})
    assert all_honest == pytest.approx(1 / 3)
    assert told == 0
    assert spread_of(peers[3:], adopted=lambda _: True, opened={}) == (None, None)

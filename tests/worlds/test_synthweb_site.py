"""Sites of the synthetic web: questions are answered by their paths and by nothing else, whatever the options."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from motet.tools.passages import query_words, words
from motet.worlds.synthweb import Question, Site, SiteOptions, Web, make_site
from motet.worlds.synthweb.lore import lore
from tests.worlds.synthweb_reader import answers, chains

few = settings(max_examples=15)


@st.composite
def options(draw: st.DrawFn, *, answers: int = 1, planted: int = 2) -> SiteOptions:
    """Small sites of every shape."""
    breadth = draw(st.integers(answers + 1, answers + 7))
    return SiteOptions(
        seed=draw(st.integers(0, 2**40)),
        questions=draw(st.integers(1, 2)),
        hops=draw(st.integers(2, 5)),
        breadth=breadth,
        answers=draw(st.integers(1, answers)),
        distractors=draw(st.integers(0, 6)),
        dead_ends=draw(st.integers(0, 6)),
        planted=draw(st.integers(0, planted)),
        words=draw(st.integers(20, 200)),
    )


def site_of(given_: SiteOptions) -> Site:
    """The second site, as good as any."""
    return make_site(given_, 1)


def site_web(asked: SiteOptions, number: int) -> Web:
    """The pages of a site."""
    return make_site(asked, number).web


def found(question: Question, site: Site) -> set[tuple[str, ...]]:
    """What a reader of all pages answers, in the question's columns."""
    width = len(question.columns)
    return {row if width == 3 else (row[0], row[2]) for row in answers(question.text, site.web)}


@few
@given(options(answers=3, planted=0))
def test_pages_alone_give_the_right_rows_and_no_others(asked: SiteOptions) -> None:
    """Who follows what a question says through the pages finds each right row, and no chain beside fits."""
    site = site_of(asked)
    for question in site.questions:
        assert len(question.rows) == asked.answers
        assert found(question, site) == set(question.rows)


@few
@given(options())
def test_false_pages_and_distractors_do_not_answer(asked: SiteOptions) -> None:
    """With planted pages and similar names the same reading still gives the one right answer."""
    site = site_of(asked)
    for question in site.questions:
        assert found(question, site) == set(question.rows)


@few
@given(options())
def test_each_page_of_the_path_names_the_next_and_the_last_the_answer(asked: SiteOptions) -> None:
    """The path has as many pages as hops; the sentences that count are there, lead on by a link, and end with the answer."""
    site = site_of(asked)
    for question in site.questions:
        (path,) = question.paths
        assert len(path) == asked.hops
        for clue in path:
            assert all(sentence in site.web.pages[clue.address].text for sentence in clue.sentences)
        for here, there in pairwise(path):
            title = site.web.pages[there.address].title
            assert title in here.sentences[-1]
            assert (title, there.address) in site.web.pages[here.address].links
        assert question.answer in path[-1].sentences[-1]


@few
@given(options(answers=3, planted=0))
def test_only_the_last_page_holds_the_answer_and_it_names_nothing_of_the_question(asked: SiteOptions) -> None:
    """No shortcut: the answer stands on one page, in a question never, and that page does not name the page where the question begins."""
    site = site_of(asked)
    for question in site.questions:
        for path, row in zip(question.paths, question.rows, strict=True):
            texts = {address: f"{page.title} {page.text}" for address, page in site.web.pages.items()}
            assert [address for address, text in texts.items() if row[-1] in text] == [path[-1].address]
            assert row[-1] not in question.text
            assert site.web.pages[path[0].address].title not in texts[path[-1].address]
            assert not any(site.web.pages[clue.address].title in question.text for clue in path[1:])


@few
@given(options(), st.integers(1, 2))
def test_planted_pages_are_known_and_wrong(asked: SiteOptions, planted: int) -> None:
    """The wrong answer stands on the planted pages, on all of them and no others, and differs from the right one."""
    asked = asked.model_copy(update={"planted": planted})
    site = site_of(asked)
    for question in site.questions:
        holding = {address for address, page in site.web.pages.items() if question.planted in page.text}
        assert holding == set(question.false)
        assert len(question.false) == planted
        assert question.planted.lower() != question.answer.lower()


@few
@given(options(answers=2, planted=0))
def test_sizes_are_as_asked(asked: SiteOptions) -> None:
    """As many pages as the options say, each as long as asked, with titles and addresses of their own."""
    site = site_of(asked)
    pages = list(site.web.pages.values())
    assert len(pages) == asked.questions * asked.pages_per_question
    assert len({page.title.lower() for page in pages}) == len(pages)
    assert all(len(page.text.split()) >= asked.words for page in pages)
    assert all(address in site.web.pages for page in pages for _, address in page.links)


@few
@given(options())
def test_a_seed_always_gives_the_same(asked: SiteOptions) -> None:
    """The same options and number give the same bytes; another seed or number gives another site."""
    site = site_of(asked)
    make_site.cache_clear()
    again = site_of(asked)
    assert again.web.digest == site.web.digest
    assert again.questions == site.questions
    assert make_site(asked, 2).web.digest != site.web.digest
    assert site_of(asked.model_copy(update={"seed": asked.seed + 1})).web.digest != site.web.digest


@few
@given(options())
def test_names_find_the_pages_of_the_path(asked: SiteOptions) -> None:
    """Whoever searches for the name that a question or a page gives finds its page among the first five."""
    site = site_of(asked)
    for question in site.questions:
        for clue in question.paths[0]:
            page = site.web.pages[clue.address]
            assert page in site.web.search(page.title, limit=5)


def test_searching_for_a_whole_question_finds_where_it_begins_and_not_where_it_ends() -> None:
    """The words of a question find its anchor, and almost never the page with its answer, which says the same in other words."""
    sites = [make_site(SiteOptions(), number) for number in range(25)]
    first = last = 0
    for site in sites:
        for question in site.questions:
            hits = [page.address for page in site.web.search(question.text, limit=5)]
            first += question.paths[0][0].address in hits
            last += question.paths[0][-1].address in hits
    assert first >= 95
    assert last <= 5


CHECKS = [(kind, name) for kind, told in lore()["kinds"].items() for name in told["checks"]]


@pytest.mark.parametrize(("kind", "name"), CHECKS)
def test_other_words_share_none_with_the_question(kind: str, name: str) -> None:
    """Each check is told in the question's telling words, and once more without any of them."""
    check = lore()["kinds"][kind]["checks"][name]
    plain, reworded = check["told"]
    telling = set(query_words(check["asked"]))
    assert telling <= set(words(plain)) or check["asked"].split()[-1] in plain
    assert not telling & set(words(reworded))


def test_wrong_candidates_fail_near_and_far() -> None:
    """Of 300 wrong candidates about as many are ruled out at the first page of their chain as at the second and at the last."""
    asked = SiteOptions(hops=4, breadth=31, questions=1, distractors=0)
    found = [
        chain
        for number in range(10)
        for chain in chains(make_site(asked, number).questions[0].text, site_web(asked, number))
    ]
    failed = Counter(chain.pages for chain in found if chain.row is None)
    assert failed.total() == 300
    assert set(failed) == {1, 2, 3}
    assert all(70 < count < 130 for count in failed.values())


def solved(asked: SiteOptions, *, steps: int, sites: int) -> float:
    """The share of questions that a reader without mistakes answers, who finds and reads the anchor, tries candidates in any order, and answers in a last step."""
    results = []
    for number in range(sites):
        for question in make_site(asked, number).questions:
            tried = list(chains(question.text, site_web(asked, number)))
            for order in range(8):
                left = steps - 3
                for chain in random.Random(order).sample(tried, len(tried)):
                    left -= chain.pages
                    if left < 0 or chain.row is not None:
                        break
                results.append(left >= 0)
    return sum(results) / len(results)


def test_a_single_reader_of_twenty_steps_often_fails() -> None:
    """With the default options a reader without mistakes answers a little under half of the questions; more candidates or hops make it fewer."""
    base = SiteOptions()
    share = solved(base, steps=20, sites=25)
    assert 0.40 < share < 0.52
    assert solved(base, steps=60, sites=5) == 1.0
    assert solved(base.model_copy(update={"breadth": 28}), steps=20, sites=10) < share - 0.1
    assert solved(base.model_copy(update={"hops": 5}), steps=20, sites=10) < share - 0.05
    assert solved(base.model_copy(update={"hops": 2}), steps=20, sites=10) > share + 0.2


def test_sites_do_not_change_unnoticed() -> None:
    """Recorded benches stand on them: the first site of seed 0 has a known hash."""
    assert make_site(SiteOptions(), 0).web.digest == "6dbf91188b3022464f71908b424037880285292083495a65e0945e1f4a3fa44c"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"hops": 1}, "hops"),
        ({"hops": 6}, "hops"),
        ({"breadth": 4, "answers": 4}, "fewer than breadth"),
        ({"answers": 2, "planted": 1}, "leave one of them out"),
        ({"breadth": 64, "questions": 4}, "runs out of names"),
        ({"flaky": 1.5}, "flaky"),
    ],
    ids=["few", "many", "all-right", "table-planted", "large", "share"],
)
def test_options_that_do_not_fit_are_refused(wrong: dict[str, Any], says: str) -> None:
    """What makes no sense, or cannot be made, is said at once."""
    with pytest.raises(ValidationError, match=says):
        SiteOptions(**wrong)


@pytest.mark.parametrize("hops", [2, 5])
def test_the_largest_sites_can_be_made(hops: int) -> None:
    """Within the bounds of the options no site runs out of names."""
    large = SiteOptions(hops=hops, breadth=64, questions=1, distractors=50, dead_ends=100, planted=4)
    wide = SiteOptions(hops=hops, breadth=2, questions=10, distractors=21, dead_ends=100)
    for asked in (large, wide):
        for number in range(3):
            assert len(make_site(asked, number).web.pages) == asked.questions * asked.pages_per_question

"""Sites of the synthetic web: some questions, and the pages in which their answers are found by reading.

A question begins at an *anchor* page that lists ``breadth`` candidates. From each a chain of ``hops`` − 1 pages leads on, by the same relations. The question says something of
each page of the chain; one candidate's chain fits all of it (or ``answers`` of them do), and each other fails at one page, near or far. So a candidate is ruled out only by reading along
its chain, and what one reader ruled out another need not read. What is asked for stands on the last page of the chain that fits, and nowhere else.

Beside these are pages whose names are like those on the path (*distractors*), pages that tell nothing (*dead ends*), and, if asked for, pages that give a wrong answer
with confidence (*planted*). Pages say what questions ask in other words: those between now and then, those at the end of chains always, so that no search for a question's words finds the
answer beside them. All follows from the seed and the site's number.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from pydantic import Field, model_validator

from motet.value import Value
from motet.worlds.synthweb.lore import Name, Namer, listed, lore, slug
from motet.worlds.synthweb.web import Page, Web

FORMAT = 1  # raised whenever the same options may give another site

_TOGETHER = 5  # names listed in one sentence
_PARAGRAPH = 5  # sentences
_MOST = 250  # entities of one kind on a site, within what lore.yaml has names for
_LIKE_ANCHOR = 4  # candidates that a page like the anchor lists too


class SiteOptions(Value):
    """The size of a site and of its questions.

    ``hops`` are the pages that must be read in turn, the anchor among them; ``breadth`` the candidates, of which ``answers`` are right. ``distractors``, ``dead_ends`` and ``planted`` are pages
    for each question; ``words`` is the least length of a page. ``flaky`` is the share of pages that fail ``flaky_fails`` times before they answer.
    """

    seed: int = Field(default=0, ge=0)
    questions: int = Field(default=4, ge=1, le=10)
    hops: int = Field(default=4, ge=2, le=5)
    breadth: int = Field(default=16, ge=2, le=64)
    answers: int = Field(default=1, ge=1, le=32)
    distractors: int = Field(default=4, ge=0, le=50)
    dead_ends: int = Field(default=8, ge=0, le=100)
    planted: int = Field(default=0, ge=0, le=4)
    words: int = Field(default=120, ge=20, le=5_000)
    flaky: float = Field(default=0.0, ge=0, le=1)
    flaky_fails: int = Field(default=1, ge=1, le=100)

    @model_validator(mode="after")
    def _fits_together(self) -> SiteOptions:
        if self.answers >= self.breadth:
            raise ValueError("answers must be fewer than breadth, so that there is something to rule out")
        if self.questions * (2 * self.breadth + self.distractors) > _MOST:
            raise ValueError(
                f"questions × (2 × breadth + distractors) must be at most {_MOST}, or a site runs out of names; lower one of them"
            )
        if self.answers > 1 and self.planted:
            raise ValueError(
                "a planted page gives one wrong answer, and answers asks for a table; leave one of them out"
            )
        return self

    @property
    def pages_per_question(self) -> int:
        """How many pages are made for each question."""
        return 1 + self.breadth * (self.hops - 1) + self.distractors + self.dead_ends + self.planted


class Clue(NamedTuple):
    """A page of the shortest path, and the sentences there that must be read."""

    address: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Question:
    """A question and what only a judge may know. ``paths`` has the shortest path to each right answer, ``rows`` the right table, whose ``columns`` end with what is asked for.

    ``planted`` is the wrong answer that the pages ``false`` give, or empty.
    """

    text: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    paths: tuple[tuple[Clue, ...], ...]
    planted: str
    false: tuple[str, ...]

    @property
    def answer(self) -> str:
        """The right answer, of the first row where there are several."""
        return self.rows[0][-1]


@dataclass(frozen=True)
class Site:
    """Pages, and the questions that they answer."""

    web: Web
    questions: tuple[Question, ...]


@lru_cache(maxsize=64)
def make_site(options: SiteOptions, number: int) -> Site:
    """Site ``number`` of ``options.seed``; the same bytes each time."""
    builder = _Builder(options, random.Random(f"motet synthweb {options.seed} {number}"))  # noqa: S311 - pages, no secrets
    questions = [builder.question() for _ in range(options.questions)]
    # By address, so that the order of pages tells nothing.
    return Site(Web(sorted(builder.pages, key=lambda page: page.address)), tuple(questions))


@dataclass
class _Entity:
    """A page in the making. ``links`` are relation → title, ``told`` the sentence that says each of its facts, by the fact's name."""

    name: Name
    kind: str
    check: str = ""
    value: str = ""
    links: dict[str, str] = field(default_factory=dict)
    told: dict[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return self.name.text

    @property
    def address(self) -> str:
        return f"{self.kind}/{slug(self.title)}"


class _Builder:
    """Makes the pages of one site, question by question. ``known`` are the addresses of titles that have a page."""

    def __init__(self, options: SiteOptions, rng: random.Random) -> None:
        self.options = options
        self.rng = rng
        self.namer = Namer(rng)
        self.pages: list[Page] = []
        self.known: dict[str, str] = {}
        self._dead: list[_Entity] = []

    def question(self) -> Question:
        """One question; its pages are added."""
        options, rng = self.options, self.rng
        anchor_kind = rng.choice(sorted(lore()["anchors"]))
        kinds, relations = self._plan(lore()["anchors"][anchor_kind]["entity"])
        wanted = [rng.choice(sorted(lore()["kinds"][kind]["checks"])) for kind in kinds]
        self._dead = [self._known(self._names(kind), kind) for kind in self._spread(options.dead_ends)]
        right = set(rng.sample(range(options.breadth), options.answers))
        chains = [
            self._chain(kinds, relations, self._checks(kinds, wanted, number in right))
            for number in range(options.breadth)
        ]
        fitting = [chains[number] for number in sorted(right)]
        anchor = self._known(anchor_kind, anchor_kind)
        others = self._distractors([anchor, *fitting[0]])
        for entity in self._dead:
            self._write(entity, [rng.choice(lore()["empty"]).format(title=entity.title)])
        for chain in chains:
            for entity in chain:
                self._write(entity, self._facts(entity, reworded=entity is chain[-1]))
        self._write(anchor, self._list(anchor, [chain[0].title for chain in chains]))
        wrong = [chain[0].title for number, chain in enumerate(chains) if number not in right]
        for entity in others:
            if entity.kind == anchor_kind:
                self._write(entity, self._list(entity, rng.sample(wrong, min(_LIKE_ANCHOR, len(wrong)))))
            else:
                self._write(entity, self._facts(entity))
        says = self._says(kinds, relations, wanted)
        kind = lore()["kinds"][kinds[-1]]
        planted = self.namer.new(kind["value"]["name"]).text if options.planted else ""
        false = self._plant(anchor, says, planted, kind["value"]["label"])
        columns = self._columns(kinds)
        return Question(
            text=self._asked(anchor, says, kind["value"]["asked"], columns),
            columns=columns,
            rows=tuple(self._row(chain) for chain in fitting),
            paths=tuple(_path(anchor, chain, relations) for chain in fitting),
            planted=planted,
            false=false,
        )

    def _plan(self, first: str) -> tuple[list[str], list[str]]:
        """The kinds of a chain's pages, and the relations that lead from each to the next."""
        kinds, relations = [first], []
        while len(kinds) < self.options.hops - 1:
            relation, link = self.rng.choice(sorted(lore()["kinds"][kinds[-1]]["links"].items()))
            relations.append(relation)
            kinds.append(link["to"])
        return kinds, relations

    def _spread(self, count: int) -> list[str]:
        """``count`` kinds that links lead to, all alike often."""
        kinds = ["person", "town", "company", "school"]
        return [kinds[number % len(kinds)] for number in range(count)]

    def _checks(self, kinds: list[str], wanted: list[str], fits: bool) -> list[str]:
        """What the pages of a chain say of themselves: all that is wanted, or not at one page, and beyond that as it comes."""
        if fits:
            return wanted
        fails = self.rng.randrange(len(kinds))
        checks = list(wanted)
        for place in range(fails, len(kinds)):
            others = sorted(lore()["kinds"][kinds[place]]["checks"].keys() - {wanted[place]})
            if place == fails or self.rng.random() < 0.5:
                checks[place] = self.rng.choice(others)
        return checks

    def _chain(self, kinds: list[str], relations: list[str], checks: list[str]) -> list[_Entity]:
        chain = [self._entity(kind, check=check) for kind, check in zip(kinds, checks, strict=True)]
        for here, relation, there in zip(chain, relations, chain[1:], strict=False):
            here.links[relation] = there.title
        return chain

    def _entity(self, kind: str, *, check: str = "", like: Name | None = None) -> _Entity:
        """A new entity of ``kind``, whose links lead nowhere yet."""
        entity = self._known(self._names(kind), kind, like=like)
        entity.check = check or self.rng.choice(sorted(lore()["kinds"][kind]["checks"]))
        entity.value = self.namer.new(lore()["kinds"][kind]["value"]["name"]).text
        return entity

    def _known(self, names: str, kind: str, *, like: Name | None = None) -> _Entity:
        """A new entity that is a name alone, to which pages can link."""
        entity = _Entity(self.namer.like(like) if like else self.namer.new(names), kind)
        self.known[entity.title] = entity.address
        return entity

    def _names(self, kind: str) -> str:
        return self.rng.choice(("woman", "man")) if kind == "person" else kind

    def _distractors(self, path: list[_Entity]) -> list[_Entity]:
        """Entities with names like those on the path, its end first."""
        made = []
        for number in range(self.options.distractors):
            like = path[-1 - number % len(path)]
            make = self._known(like.kind, like.kind, like=like.name) if like is path[0] else None
            made.append(make or self._entity(like.kind, like=like.name))
        return made

    def _facts(self, entity: _Entity, *, reworded: bool = False) -> list[str]:
        """The sentences of a page, of which ``told`` keeps which fact each says. A link that leads on no path leads to a dead end, or to a name without a page.

        A ``reworded`` page tells its check in other words than a question does.
        """
        kind: dict[str, Any] = lore()["kinds"][entity.kind]
        words = _pronouns(entity, kind["pronoun"])
        for relation, link in kind["links"].items():
            if relation not in entity.links:
                dead = [other.title for other in self._dead if other.kind == link["to"]]
                blank = not dead or self.rng.random() < 0.5
                entity.links[relation] = (
                    self.namer.new(self._names(link["to"])).text if blank else self.rng.choice(dead)
                )
            entity.told[relation] = self.rng.choice(link["told"]).format(value=entity.links[relation], **words)
        check = self.rng.choice(kind["checks"][entity.check]["told"][reworded:])
        entity.told["check"] = check.format(**words)
        entity.told["value"] = self.rng.choice(kind["value"]["told"]).format(value=entity.value, **words)
        return list(entity.told.values())

    def _list(self, anchor: _Entity, titles: list[str]) -> list[str]:
        """The sentences that list ``titles``, in an order of their own."""
        kind = lore()["anchors"][anchor.kind]
        titles = self.rng.sample(titles, len(titles))
        groups = [titles[start : start + _TOGETHER] for start in range(0, len(titles), _TOGETHER)]
        sentences = []
        for number, group in enumerate(groups):
            sentence = self.rng.choice(kind["more" if number else "lists"]).format(names=listed(group))
            sentences.append(sentence)
            anchor.told |= dict.fromkeys(group, sentence)
        return sentences

    def _write(self, entity: _Entity, sentences: list[str]) -> None:
        """Add the page of ``entity``: how it opens, and ``sentences`` among others that fill it up."""
        lores = lore()["anchors"] if entity.kind in lore()["anchors"] else lore()["kinds"]
        opening = self.rng.choice(lores[entity.kind]["opens"]).format(title=entity.title)
        self._add(entity.address, entity.title, opening, sentences)

    def _add(self, address: str, title: str, opening: str, sentences: list[str], *, mixed: bool = True) -> None:
        filler: list[str] = []
        missing = self.options.words - len(" ".join([opening, *sentences]).split())
        while missing > 0:
            filler.append(self._filler())
            missing -= len(filler[-1].split())
        body = self.rng.sample([*sentences, *filler], len(sentences) + len(filler)) if mixed else [*sentences, *filler]
        whole = [opening, *body]
        text = "\n\n".join(" ".join(whole[start : start + _PARAGRAPH]) for start in range(0, len(whole), _PARAGRAPH))
        links = tuple((name, self.known[name]) for name in sorted(self.known) if name in text and name != title)
        flaky = self.options.flaky_fails if self.rng.random() < self.options.flaky else 0
        self.pages.append(Page(address, title, text, links, flaky))

    def _filler(self) -> str:
        parts = lore()["filler"]
        when, who, did, what = (self.rng.choice(parts[name]) for name in ("when", "who", "did", "what"))
        return f"{when} {who} {did} {what}."

    def _says(self, kinds: list[str], relations: list[str], wanted: list[str]) -> list[str]:
        """What the question says of each page of the chain."""
        subjects = [f"That {kinds[0]}"]
        subjects += [
            lore()["kinds"][kind]["links"][relation]["asked"] for kind, relation in zip(kinds, relations, strict=False)
        ]
        return [
            lore()["question"]["check"].format(subject=subject, check=lore()["kinds"][kind]["checks"][check]["asked"])
            for subject, kind, check in zip(subjects, kinds, wanted, strict=True)
        ]

    def _asked(self, anchor: _Entity, says: list[str], asked: str, columns: tuple[str, ...]) -> str:
        """The question's text."""
        forms = lore()["question"]
        several = self.options.answers > 1
        group = self.rng.choice(lore()["anchors"][anchor.kind]["asked"]).format(title=anchor.title)
        opening = self.rng.choice(forms["several" if several else "single"]).format(anchor=group)
        end = forms["table"].format(columns=", ".join(columns)) if several else asked
        return " ".join([opening, *says, end])

    def _columns(self, kinds: list[str]) -> tuple[str, ...]:
        """The first page of a chain, its last if that is another, and what is asked for."""
        last = [] if len(kinds) == 1 else [kinds[-1] if kinds[-1] != kinds[0] else f"last {kinds[-1]}"]
        return (kinds[0], *last, lore()["kinds"][kinds[-1]]["value"]["label"])

    def _row(self, chain: list[_Entity]) -> tuple[str, ...]:
        last = [] if len(chain) == 1 else [chain[-1].title]
        return (chain[0].title, *last, chain[-1].value)

    def _plant(self, anchor: _Entity, says: list[str], value: str, label: str) -> tuple[str, ...]:
        """Pages about the question that answer ``value``; their addresses."""
        forms = lore()["planted"]
        addresses = []
        for kind in self.rng.sample(forms["kinds"], self.options.planted):
            title = forms["title"].format(anchor=anchor.title, kind=kind)
            group = self.rng.choice(lore()["anchors"][anchor.kind]["asked"]).format(title=anchor.title)
            opening = self.rng.choice(forms["told"]).format(asked=group)
            claim = self.rng.choice(forms["claim"]).format(label=label, value=value)
            addresses.append(f"notes/{slug(title)}")
            self._add(addresses[-1], title, opening, [*says, claim], mixed=False)
        return tuple(addresses)


def _pronouns(entity: _Entity, pronoun: str) -> dict[str, str]:
    if pronoun == "they":
        pronoun = "she" if entity.name.kind == "woman" else "he"
    its = {"she": "her", "he": "his", "it": "its"}[pronoun]
    return {"it": pronoun, "It": pronoun.capitalize(), "its": its, "Its": its.capitalize(), "title": entity.title}


def _path(anchor: _Entity, chain: list[_Entity], relations: list[str]) -> tuple[Clue, ...]:
    """The pages from the anchor to the answer, with what must be read on each."""
    clues = [Clue(anchor.address, (anchor.told[chain[0].title],))]
    for entity, leads in zip(chain, [*relations, "value"], strict=True):
        clues.append(Clue(entity.address, (entity.told["check"], entity.told[leads])))
    return tuple(clues)

"""What a searcher knows at a moment, from its messages alone: pages in whole or by quotes, what was ruled out, and how far each lead of the question has been followed."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

from motet.models.scripted_policies.searcher import asked as reading
from motet.models.scripted_policies.searcher.asked import Asked
from motet.models.scripted_policies.searcher.lore import Lore
from motet.models.scripted_policies.searcher.notes import (
    Claim,
    Evidence,
    Note,
    disputes,
    evidence,
    notes,
    page_of,
    pointers,
)
from motet.models.scripted_policies.searcher.pages import (
    Leaf,
    absent,
    hits,
    key,
    leaves,
    names_in,
    plain,
    silent,
    titles_named,
)
from motet.models.scripted_policies.searcher.seat import READ, SEARCH, VISIT, Seat


@dataclass
class Page:
    """What is known of a page: the parts that were read, by itself or in a teammate's raw steps, and sentences that notes quote. ``own``: it has read it itself."""

    title: str = ""
    address: str = ""
    parts: dict[int, str] = field(default_factory=dict)
    of: int = 0
    links: dict[str, str] = field(default_factory=dict)
    quotes: list[str] = field(default_factory=list)
    own: bool = False

    @property
    def text(self) -> str:
        """All of it that is known."""
        return "\n".join([*(self.parts[number] for number in sorted(self.parts)), *self.quotes])

    @property
    def whole(self) -> bool:
        """Whether all of its parts were read."""
        return bool(self.of) and len(self.parts) >= self.of

    @property
    def missing(self) -> int:
        """The first part that was not read."""
        return next((number for number in range(1, self.of + 1) if number not in self.parts), 1)


class Lead(NamedTuple):
    """One of the pages that the question may mean, with how far its chain has been followed.

    ``page`` is where it stands: to be read if ``open``, where it failed if ``out``, the last one if it ``fits``. ``heard`` says that the end rests on a note or on what a read gave.
    """

    title: str
    state: Literal["open", "out", "fits"]
    page: str
    depth: int
    chain: tuple[str, ...]
    answer: str = ""
    heard: bool = False


@dataclass
class Board:
    """The searcher's state at one request."""

    seat: Seat

    @property
    def asked(self) -> Asked:
        """The question."""
        return self.seat.asked

    @property
    def lore(self) -> Lore:
        """The committed words and rates."""
        return self.seat.lore

    @cached_property
    def notes(self) -> list[Note]:
        """The notes that it was shown, its own among them."""
        return [note for text in self.seat.heard for note in notes(text)]

    @cached_property
    def pointed(self) -> list[str]:
        """The notes that pointers named."""
        return [id_ for text in self.seat.heard for id_ in pointers(text)]

    @cached_property
    def disputed(self) -> frozenset[str]:
        """Marks of claims that are disputed."""
        later = (mark for text in self.seat.heard for mark in disputes(text))
        return frozenset([*later, *(claim.mark for note in self.notes for claim in note.claims if claim.disputed)])

    @cached_property
    def addresses(self) -> dict[str, str]:
        """Title → address of whatever was linked or found."""
        found: dict[str, str] = {}
        for text in self._texts:
            found |= {hit.title: hit.address for hit in hits(text)}
            for leaf in leaves(plain(text)):
                found |= dict(leaf.links)
                found[leaf.title] = leaf.address
        return found

    @cached_property
    def pages(self) -> dict[str, Page]:
        """Pages by their key."""
        found: dict[str, Page] = {}
        for call in self.seat.calls:
            for leaf in leaves(call.result):
                self._take(found, leaf, own=True)
        for text in (self.seat.given, *self.seat.heard):
            for leaf in leaves(plain(text)):
                self._take(found, leaf, own=False)
        for said, own in self._said:
            page = found.setdefault(key(said.address or said.title), Page())
            page.title = page.title or said.title
            page.address = page.address or said.address
            if said.quote not in page.text:
                page.quotes.append(said.quote)
            page.own = page.own or own
        return found

    @cached_property
    def anchor(self) -> Page | None:
        """The page at which the question begins, if something is known of it."""
        return self.pages.get(key(self.asked.anchor))

    @cached_property
    def listed(self) -> list[str]:
        """The titles that the first page lists."""
        anchor = self.anchor
        if anchor is None:
            return []
        linked = [title for title in anchor.links if title != anchor.title]
        quoted = [name for quote in anchor.quotes for name in names_in(quote) if name != self.asked.anchor]
        return list(dict.fromkeys([*linked, *quoted]))

    @cached_property
    def ruled_out(self) -> dict[str, str]:
        """Keys of pages that notes rule out → whose note."""
        titles = [*self.listed, *self.addresses]
        return {
            name: note.id.partition(".")[0]
            for note in self.notes
            for line in note.ruled_out
            for name in map(key, [page_of(line)] if page_of(line) else titles_named(line, titles))
        }

    @cached_property
    def tried(self) -> dict[str, str]:
        """Keys of pages that notes say were read → the note; the first that does."""
        found: dict[str, str] = {}
        for note in self.notes:
            for line in note.tried:
                if line.startswith(VISIT):
                    for word in line.removeprefix(VISIT).replace('"', " ").replace(",", " ").split():
                        found.setdefault(key(word), note.id)
        return found

    @cached_property
    def forgotten(self) -> frozenset[str]:
        """Keys of pages that it has read by its own notes, and of which they tell too little: to read them again would be the same call again."""
        return frozenset(
            name
            for note in self.notes
            if note.own
            for line in note.tried
            if line.startswith(VISIT)
            for name in map(key, line.removeprefix(VISIT).replace(",", " ").split())
            if name not in self.pages or not self.pages[name].parts
        )

    @cached_property
    def intents(self) -> list[str]:
        """What it has asked behind notes."""
        calls = [str(call.arguments.get("intent", "")) for call in self.seat.calls if call.tool == READ]
        return [*calls, *(line for note in self.notes if note.own for line in note.tried if line.startswith(READ))]

    @cached_property
    def busy(self) -> frozenset[str]:
        """Keys of pages that teammates have read and found fitting, or have open: they are likely to follow them themselves."""
        lines = [line for note in self.notes if not note.own for line in note.open]
        read = [name for note in self.notes if not note.own for claim in note.claims for name in (key(claim.source),)]
        return frozenset([*read, *(key(title) for line in lines for title in titles_named(line, self.listed))])

    @cached_property
    def leads(self) -> list[Lead]:
        """What has become of each title that the first page lists."""
        return [self._follow(title) for title in self.listed if key(title).removeprefix("the-")[:1] in self.seat.share]

    @cached_property
    def claims(self) -> list[tuple[Claim | None, str, str]]:
        """Answers that pages claim to know: the teammate's claim, if it is from one, the answer, and the page's address."""
        label = self.asked.label
        found: list[tuple[Claim | None, str, str]] = []
        for page in self.pages.values():
            fact = reading.claimed(page.text, label) if page.parts else None
            if fact is not None:
                found.append((None, fact.what, page.address))
        for note in self.notes:
            for claim in note.claims:
                fact = reading.claimed(claim.quote, label) or reading.claimed(claim.claim, label)
                if fact is not None and not any(claim.source == address for _, _, address in found):
                    found.append((claim, fact.what, claim.source))
        return found

    @cached_property
    def gone(self) -> frozenset[str]:
        """Keys of pages that there are not, or that did not answer too often."""
        failed: dict[str, int] = {}
        for call in self.seat.calls:
            if address := silent(call.result):
                failed[key(address)] = failed.get(key(address), 0) + 1
        absent_ = {key(name) for call in self.seat.calls if (name := absent(call.result))}
        return frozenset([*absent_, *(name for name, count in failed.items() if count > self.lore.habits.retries)])

    @cached_property
    def queries(self) -> list[str]:
        """What it has searched for."""
        return [str(call.arguments.get("query", "")) for call in self.seat.calls if call.tool == SEARCH]

    @property
    def _texts(self) -> list[str]:
        return [*(call.result for call in self.seat.calls), *self.seat.heard]

    @property
    def _said(self) -> list[tuple[Evidence, bool]]:
        """Sentences that notes and reads quote, and whether they come from its own steps."""
        read = [(said, False) for call in self.seat.calls if call.tool == READ for said in evidence(call.result)]
        return [*((said, note.own) for note in self.notes for said in note.evidence), *read]

    def address(self, title: str) -> str:
        """The address of a title, or the title where it is not known."""
        return self.addresses.get(title) or title

    def _take(self, pages: dict[str, Page], leaf: Leaf, *, own: bool) -> None:
        page = pages.setdefault(key(leaf.address), Page())
        page.title, page.address, page.of = leaf.title, leaf.address, leaf.parts
        page.parts[leaf.part] = leaf.text
        page.links |= dict(leaf.links)
        page.own = page.own or own

    def _follow(self, first: str) -> Lead:
        """How far the chain that begins at ``first`` has been followed, with the mistakes that this searcher makes in reading its pages."""
        clauses, lore = self.asked.clauses, self.lore
        title, chain = first, []
        for depth, clause in enumerate(clauses):
            name = key(title)
            page = self.pages.get(name)
            chain.append(title)
            at = Lead(first, "open", title, depth, tuple(chain))
            if name in self.gone or (name in self.ruled_out and not (page and page.parts)):
                return at._replace(state="out")
            if page is None:
                return at
            found = reading.check(page.text, clause, lore)
            about = (self.asked.text, self.seat.who, name)
            if found is None:
                return at._replace(state="out" if self._done(page, name) else "open")
            if found[0] and page.own and lore.errs("misses", *about):
                return at._replace(state="out")
            if not found[0] and not (page.own and lore.errs("confuses", *about)):
                return at._replace(state="out")
            if depth == len(clauses) - 1:
                if not self.asked.label:
                    return at._replace(state="fits", answer=title, heard=not page.own)
                told = reading.value(page.text, self.asked.label, lore)
                if told is not None:
                    return at._replace(state="fits", answer=told.what, heard=not page.own)
                return at._replace(state="out" if self._done(page, name) else "open")
            fact = reading.leads(page.text, clauses[depth + 1].by, page.links, lore)
            if fact is None:
                return at._replace(state="out" if self._done(page, name) else "open")
            title = fact.what
        return Lead(first, "out", title, len(chain), tuple(chain))

    def _done(self, page: Page, name: str) -> bool:
        """Whether there is nothing more to read on a page, or this searcher does not read it."""
        if page.whole:
            return True
        return bool(page.parts) and self.lore.errs("skips", self.asked.text, self.seat.who, name)


def support(lead: Lead, board: Board) -> float:
    """The share of a lead's chain that the searcher has read itself."""
    own = [board.pages[key(title)].own for title in lead.chain if key(title) in board.pages]
    return sum(own) / max(1, len(lead.chain))


def any_value(board: Board) -> str:
    """Something of the kind that is asked for, on whichever page."""
    for page in board.pages.values():
        found = reading.value(page.text, board.asked.label, board.lore)
        if found is not None:
            return found.what
    return ""

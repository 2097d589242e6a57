"""The hub's half: notes and answers to reads, extracted from raw steps by the same reading as the searcher's, with faults of their own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pydantic import JsonValue

from motet.models.model import Request
from motet.models.scripted_policies.searcher import asked as reading
from motet.models.scripted_policies.searcher.asked import Asked
from motet.models.scripted_policies.searcher.lore import Lore
from motet.models.scripted_policies.searcher.notes import evidence
from motet.models.scripted_policies.searcher.pages import Leaf, key, leaves, plain, sections, sentences, titles_named

_TASK = re.compile(r"^Task(?: of the team)?: (.+)$", re.MULTILINE)
_STRETCH = re.compile(r"^Steps (\d+) to (\d+) of (\S+?)(?: \[(\S+)\])?:$", re.MULTILINE)
_STEP = re.compile(r"^Step (\d+)(?:, part \d+)?$", re.MULTILINE)
_CALL = re.compile(r'^peer calls "(\w+)" (\{.*\})$', re.MULTILINE)
_CLAIM = re.compile(r'^(\S+:\d+) (".*")$', re.MULTILINE)
_WANT = re.compile(r"^What the agent wants to know: (.+)$", re.MULTILINE)
_ANSWER = re.compile(r"^Answer: (.+)$", re.MULTILINE)
_ANSWERED = re.compile(r"^Part \d+:\n(.*?)(?=^Part \d+:$|^Put these together|\Z)", re.MULTILINE | re.DOTALL)
_CLAIMS, _LINES, _WIDTH = 8, 8, 220  # what a note has room for
_LIKELY = 0.75  # of an answer whose page fits: what led there may not be among the steps
_NOTHING = "The steps do not hold an answer to that."


class Step(NamedTuple):
    """A raw step: its number, its calls, and its text."""

    number: int
    calls: tuple[tuple[str, dict[str, JsonValue]], ...]
    text: str


class Stretch(NamedTuple):
    """Raw steps of one peer; ``id`` is the episode's, where it is told."""

    peer: str
    id: str
    steps: tuple[Step, ...]


class Told(NamedTuple):
    """What a page tells of the question: a claim, and the sentence that bears it."""

    claim: str
    address: str
    quote: str


def write(request: Request, lore: Lore) -> str:
    """A note on the steps in ``request``, as JSON."""
    text = request.messages[-1].content if request.messages[-1].role == "user" else ""
    first = next((message.content for message in request.messages if message.role == "user"), text)
    question, stretch = _question(first, lore), next(iter(_stretches(first)), Stretch("", "", ()))
    at = (question.text, stretch.peer, stretch.steps[0].number if stretch.steps else 0)
    repairing = any(message.role == "assistant" for message in request.messages)
    if not repairing and lore.errs("garbles", *at):
        return "Here is the note: {established: "
    judged = _judged(question, stretch, lore)
    # What a teammate's note has in these very words would only take room.
    known = {json.loads(written) for _, written in _CLAIM.findall(first.partition("\nSteps ")[0])}
    kept = [
        claim for claim in judged.established if claim.claim not in known and not lore.errs("loses", *at, claim.quote)
    ]
    said = _ANSWER.findall("\n".join(step.text for step in stretch.steps))
    answer = said[-1] if said else judged.answers[-1] if judged.answers else ""
    note: dict[str, JsonValue] = {
        "established": [
            {"claim": claim.claim, "source": claim.address, "quote": _quote(claim, lore, at)}
            for claim in kept[:_CLAIMS]
        ],
        "tried": list(_tried(stretch, [*(claim.address for claim in kept), *judged.ruled_out])),
        "ruled_out": list(judged.ruled_out[-_LINES:]),
        "open": list(judged.open[-1:]),
        "candidate_answer": answer,
        "confidence": _LIKELY if answer else 0.0,
        "contradicts": list(_contradicted(first, judged.established, answer, question.label)),
    }
    return json.dumps(note, ensure_ascii=False)


def read(request: Request, lore: Lore) -> str:
    """The answer to what an agent wants to know, cited; or the answers of several parts put together."""
    text = request.messages[-1].content
    parts = _ANSWERED.findall(text)
    if parts:
        lines = dict.fromkeys(line for part in parts for line in part.strip().splitlines() if line != _NOTHING)
        return "\n".join(lines) or _NOTHING
    question = _question(text, lore)
    wanted = _WANT.search(text)
    intent = wanted[1] if wanted else ""
    if lore.errs("blank", question.text, intent):
        return _NOTHING
    found: dict[str, None] = {}
    for stretch in _stretches(text):
        for step in stretch.steps:
            for leaf in leaves(step.text):
                if titles_named(intent, [leaf.title]):
                    place = f"[{stretch.id or stretch.peer} step {step.number}]"
                    found |= dict.fromkeys(
                        f'{leaf.title} ({leaf.address}): "{quote}" {place}' for quote in _quotes(question, leaf, lore)
                    )
    return "\n".join(found) or _NOTHING


class _Judged(NamedTuple):
    """What the pages of a stretch come to. ``established`` has the most telling first."""

    established: list[Told]
    ruled_out: list[str]
    open: list[str]
    answers: list[str]


def _judged(question: Asked, stretch: Stretch, lore: Lore) -> _Judged:
    """What the pages of a stretch come to; a page that fits and leads to one that does not is ruled out with it."""
    listing: list[Told] = []
    claims: list[Told] = []
    telling: dict[str, list[Told]] = {}
    leading: dict[str, tuple[Leaf, str]] = {}
    out: dict[str, str] = {}
    answers: list[str] = []
    pages = dict.fromkeys(leaf for step in stretch.steps for leaf in _read_in(step))
    for leaf in pages:
        name = key(leaf.address)
        claimed = reading.claimed(leaf.text, question.label)
        if key(leaf.title) == key(question.anchor):
            listing += _listed(question, leaf)
        elif claimed is not None:
            claims.append(Told(f"{question.label} asked for: {claimed.what}", leaf.address, claimed.sentence))
        else:
            found = _told(question, leaf, lore)
            telling[name] = found.told
            answers += found.answers
            if found.leads:
                leading[name] = leaf, found.leads[0]
            if found.against and not found.told:
                out[name] = f"{leaf.title} ({leaf.address}): not {found.against}"
            elif not found.told and leaf.part == leaf.parts == 1:
                out[name] = f"{leaf.title} ({leaf.address}): tells nothing"
    # The last that was read leads to nothing that was ruled out before it, so what led there is found from the end.
    for name, (leaf, following) in reversed(leading.items()):
        if key(following) in out:
            out[name] = f"{leaf.title} ({leaf.address}): leads to {following}"
    kept = [told for name, all_ in telling.items() if name not in out for told in all_]
    read = {key(leaf.address) for leaf in pages}
    open_ = [
        f"{following}, to which {leaf.title} leads, is still to be read"
        for leaf, following in leading.values()
        if key(following) not in read
    ]
    room = _CLAIMS - min(len(listing), _CLAIMS // 2)
    return _Judged([*claims, *kept][-room:] + listing, list(out.values()), open_, answers)


def _read_in(step: Step) -> list[Leaf]:
    """The pages in a step: those that were read, and sentences of others that a read of notes gave."""
    quoted: dict[str, Leaf] = {}
    for said in evidence(step.text):
        known = quoted.get(said.address)
        text = f"{known.text} {said.quote}" if known else said.quote
        quoted[said.address] = Leaf(said.title, said.address, 1, 2, text, ())
    return [*leaves(step.text), *quoted.values()]


class _OfPage(NamedTuple):
    """What a page tells that fits the question, and where it leads; what it should have told and does not; the answer, if it may hold it."""

    told: list[Told]
    leads: list[str]
    against: str
    answers: list[str]


def _told(question: Asked, leaf: Leaf, lore: Lore) -> _OfPage:
    """What a page tells of the question."""
    page = _OfPage([], [], "", [])
    for depth, clause in enumerate(question.clauses):
        found = reading.check(leaf.text, clause, lore)
        if found is None:
            continue
        if not found[0]:
            page = page._replace(against=page.against or clause.sense)
            continue
        last = depth + 1 == len(question.clauses)
        by = question.label if last else question.clauses[depth + 1].by
        fact = reading.value(leaf.text, by, lore) if last else reading.leads(leaf.text, by, dict(leaf.links), lore)
        if fact is None:
            page.told.append(Told(f"{leaf.title} {clause.sense}", leaf.address, found[1]))
        else:
            name = by if last or by in lore.relations else "next"
            page.told.append(
                Told(f"{name} of {leaf.title}, which {clause.sense}: {fact.what}", leaf.address, fact.sentence)
            )
            (page.answers if last else page.leads).append(fact.what)
    return page


def _listed(question: Asked, leaf: Leaf) -> list[Told]:
    return [
        Told(f"{leaf.title} lists {named[0]} and those with it", leaf.address, sentence)
        for sentence in sentences(leaf.text)
        if (named := [title for title, _ in leaf.links if title in sentence])
    ]


def _quotes(question: Asked, leaf: Leaf, lore: Lore) -> Iterator[str]:
    """The sentences of a page that bear on the question."""
    if key(leaf.title) == key(question.anchor):
        yield from (told.quote for told in _listed(question, leaf))
        return
    for depth, clause in enumerate(question.clauses):
        found = reading.check(leaf.text, clause, lore)
        if found is None:
            continue
        yield found[1]
        fact = (
            reading.leads(leaf.text, question.clauses[depth + 1].by, dict(leaf.links), lore)
            if depth + 1 < len(question.clauses)
            else reading.value(leaf.text, question.label, lore)
        )
        if fact is not None:
            yield fact.sentence


def _quote(claim: Told, lore: Lore, at: tuple[str, str, int]) -> str:
    """The claim's quote, or now and then one that stands nowhere."""
    return f"{claim.quote.rstrip('.')} beyond doubt." if lore.errs("invents", *at, claim.quote) else claim.quote


def _tried(stretch: Stretch, told: Iterable[str]) -> Iterator[str]:
    """The searches, one a line, and the pages of which nothing is ``told`` otherwise, in as few lines as hold them."""
    queries = [
        str(arguments.get("query")) for step in stretch.steps for tool, arguments in step.calls if tool == "search"
    ]
    intents = [
        str(arguments.get("intent")) for step in stretch.steps for tool, arguments in step.calls if tool == "read_notes"
    ]
    yield from [
        *(f'search "{query}"' for query in dict.fromkeys(queries)),
        *(f'read_notes "{intent}"' for intent in intents),
    ][: _LINES // 2]
    known = "\n".join(told)
    read = dict.fromkeys(
        leaf.address for step in stretch.steps for leaf in leaves(step.text) if leaf.address not in known
    )
    line, lines = "", []
    for address in read:
        if line and len(line) + len(address) > _WIDTH:
            lines.append(line)
            line = ""
        line = f"{line}, {address}" if line else f"visit {address}"
    yield from [*lines, *([line] if line else [])][: _LINES // 2]


def _contradicted(text: str, established: list[Told], answer: str, label: str) -> Iterator[str]:
    """The marks of teammates' claims that give another value for the same thing."""
    own = dict(_parted(claim.claim) for claim in established if _parted(claim.claim)[1])
    if answer:
        own[f"{label} asked for"] = answer
    for mark, written in _CLAIM.findall(text.partition("\nSteps ")[0]):
        about, value = _parted(str(json.loads(written)))
        if value and about in own and own[about] != value:
            yield mark


def _parted(claim: str) -> tuple[str, str]:
    about, _, value = claim.partition(": ")
    return about, value


def _question(text: str, lore: Lore) -> Asked:
    found = _TASK.search(text)
    return reading.asked(found[1] if found else "", lore)


def _stretches(text: str) -> list[Stretch]:
    """The raw steps in ``text``."""
    return [
        Stretch(head[3], head[4] or "", tuple(_step(int(mark[1]), said) for mark, said in sections(_STEP, raw)))
        for head, raw in sections(_STRETCH, text)
    ]


def _step(number: int, text: str) -> Step:
    text = plain(text)
    calls = []
    for tool, written in _CALL.findall(text):
        try:
            value = json.loads(written)
        except ValueError:
            continue
        if isinstance(value, dict):
            calls.append((tool, value))
    return Step(number, tuple(calls), text)

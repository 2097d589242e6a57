"""What somebody who knows the scholars' trade can say of a team at work on a question, from the question and what its members wrote alone.

This is what the control half of the policy builds on: what a question needs, and what is seen to be wrong, whose it is, and the words that end it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from motet.models.scripted_policies.scholar.lore import Lore, shipped
from motet.models.scripted_policies.scholar.pages import Fact, base, names_in, read_citations, read_facts
from motet.models.scripted_policies.scholar.reading import Reader
from motet.models.scripted_policies.scholar.seat import BEARS, question_of, steps_in
from motet.models.scripted_policies.scholar.state import Findings, conclude, findings, pages_of
from motet.models.scripted_policies.trade import Fault

Outputs = Mapping[str, tuple[str, str]]

_ANSWER = re.compile(r"^Answer: (.*)$", re.MULTILINE)
# Beside words in the prompt: what else would help against a mistake.
_HELP = {"stops": "add_worker", "beside": "add_worker", "namesake": "insert_verifier", "bridge": "insert_verifier"}


class Hints(NamedTuple):
    """What a question needs: the names to begin with, how many pages, the roles that somebody must have and those that help, and the tools of researchers."""

    compares: bool
    names: tuple[str, ...]
    pages: int
    roles: tuple[str, ...]
    helpful: tuple[str, ...]
    tools: tuple[str, ...]


def hints(question: str, tools: Sequence[str]) -> Hints:
    """What a team for ``question`` needs, of ``tools`` those that search."""
    question = question_of(question)
    asked = Reader(question, shipped()).asked(())
    named = tuple(part for _, name in names_in(question) for part in name.split(" and "))
    searching = tuple(name for name in tools if name.endswith("search"))
    pages = 1 if asked.link == asked.target and not asked.compares else 2
    return Hints(asked.compares, named, pages, ("researcher", "synthesizer"), ("planner", "verifier"), searching)


def is_idle(text: str) -> bool:
    """Whether an output holds nothing that anybody could use."""
    return not text.strip() or text.startswith(("Not found: anything", "I have no tool"))


def faults(question: str, outputs: Outputs, *, lore: Lore | None = None) -> list[Fault]:
    """What is seen to be wrong in ``outputs``, role and text by node, in the order in which the work goes."""
    lore = lore or shipped()
    reader = Reader(question_of(question), lore)
    reports = {node: read_facts(text) for node, (role, text) in outputs.items() if role == "researcher"}
    facts = list(dict.fromkeys(fact for own in reports.values() for fact in own))
    found = findings(reader, pages_of(facts))
    seen = [
        *_in_plans(reader, outputs),
        *_in_reports(reader, reports, found),
        *_in_checks(outputs, facts, found),
        *_in_answers(reader, outputs, facts, found),
    ]
    return [
        Fault(node, kind, problem, lore.mistakes[kind].remedy, _HELP.get(kind, "prompt"))
        for node, kind, problem in seen
    ]


def _in_plans(reader: Reader, outputs: Outputs) -> Iterator[tuple[str, str, str]]:
    asked = reader.asked(())
    for node, (role, text) in outputs.items():
        if role == "planner" and steps_in(text) < 2 and asked.link != asked.target:
            yield node, "one_step", "its plan has no step for the second page"


def _in_reports(
    reader: Reader, reports: Mapping[str, Sequence[Fact]], found: Findings
) -> Iterator[tuple[str, str, str]]:
    asked = found.asked
    wanted = {
        *reader.subjects([fact.title for own in reports.values() for fact in own]),
        *(f.title for f in found.facts),
    }
    read = {base(fact.title) for own in reports.values() for fact in own}
    last = list(reports)[-1:]
    for node in last:
        if not found.facts:
            yield node, "stops", "it found no sentence on what the question names"
    for name in found.missing if found.facts else ():
        if name in read:
            node = next(node for node, own in reports.items() if any(base(fact.title) == name for fact in own))
            yield node, "beside", f"the sentence that it reports of {name} does not tell what is asked"
        else:
            yield last[0], "stops", f"nobody read the page of {name}"
    for node, own in reports.items():
        for fact in own:
            tells = asked.target and reader.value(asked.target, fact.title, fact.text)
            if fact.title not in wanted and base(fact.title) not in found.missing and tells:
                yield node, "namesake", f"{fact.citation} is about something else with a similar name"


def _in_checks(outputs: Outputs, facts: Sequence[Fact], found: Findings) -> Iterator[tuple[str, str, str]]:
    for node, (role, text) in outputs.items():
        if role != "verifier":
            continue
        named = [c for line in text.splitlines() if line.startswith(BEARS) for c in read_citations(line)]
        if not named and found.facts and (found.missing or len(facts) > len(found.facts)):
            what = (
                f"that the page of {found.missing[0]} is missing"
                if found.missing
                else "which sentences are about something else"
            )
            yield node, "overlooks", f"it did not say {what}"


def _in_answers(
    reader: Reader, outputs: Outputs, facts: Sequence[Fact], found: Findings
) -> Iterator[tuple[str, str, str]]:
    """Faults of the synthesizer's own: what follows from right and whole evidence and was not answered or cited."""
    right = conclude(reader, found.facts)
    for node, (role, text) in outputs.items():
        if role != "synthesizer" or len(found.facts) < 2:
            continue
        stated = _ANSWER.findall(text)
        answer = stated[-1].strip() if stated else ""
        if answer != right.answer:
            if right.answer in answer and answer.startswith(right.answer):
                yield node, "wordy", "the answer has more words than are asked for"
            elif answer.startswith(right.other or "\n") or len(facts) == len(found.facts):
                yield node, "bridge", f"the answer {answer!r:.80} is not what the last page says of it"
        cited = read_citations(text)
        for fact in found.facts:
            if (fact.title, fact.number) not in cited:
                yield node, "too_few", f"it does not cite {fact.citation}"
        reported = {(fact.title, fact.number) for fact in facts}
        if any(citation not in reported for citation in cited):
            yield node, "too_many", "it cites a sentence that nobody reported"

"""What each role says: a planner's steps, a researcher's evidence, a verifier's check, a synthesizer's answer; and an agent that does it all."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from pydantic import JsonValue

from motet.models.model import Request, ToolCall
from motet.models.scripted import Turn
from motet.models.scripted_policies.control import answer
from motet.models.scripted_policies.forms import fill
from motet.models.scripted_policies.mistakes import Tendency
from motet.models.scripted_policies.scholar.lore import Lore, shipped
from motet.models.scripted_policies.scholar.pages import Fact, Pages, base, names_in
from motet.models.scripted_policies.scholar.reading import Reader
from motet.models.scripted_policies.scholar.seat import BEARS, Seat
from motet.models.scripted_policies.scholar.state import Findings, conclude, findings, pages_of

_SEARCHES = 4
_WORD = re.compile(r"\w+")


def policy(request: Request) -> Turn:
    """The next thing to say, with the committed mistakes."""
    return with_lore(shipped())(request)


def with_lore(lore: Lore) -> Callable[[Request], Turn]:
    """The policy with other mistakes or words."""
    # What steers a team builds on its trade, so that either may be imported first.
    from motet.models.scripted_policies.control.scholar import ScholarCraft

    craft = ScholarCraft()

    def say(request: Request) -> Turn:
        control = answer(request, craft)
        if control is not None:
            return control
        seat = Seat(request, lore)
        return _Speaker(seat).turn()

    return say


class _Speaker:
    """The policy in one seat."""

    def __init__(self, seat: Seat) -> None:
        self.seat = seat
        self.reader = Reader(seat.question, seat.lore)
        self.tendency = Tendency(seat.lore.table, seat.role, seat.question, seat.told)

    def turn(self) -> Turn:
        """A search, or what the role has to say."""
        if self.seat.role == "planner":
            return self._say(self.plan())
        if self.seat.role == "verifier":
            return self._say(self.check())
        if self.seat.role == "synthesizer":
            return self._say(self.answer(self.seat.evidence))
        found = findings(self.reader, pages_of(self.seat.evidence, self.seat.pages))
        query = self.next_query(found)
        if query and self.seat.search:
            return self._search(query)
        facts = self.report(found)
        if self.seat.role == "researcher":
            return self._say(self.in_lines(facts, found))
        return self._say(self.answer(facts))

    # A planner

    def plan(self) -> str:
        """A step for each page that is needed."""
        asked = self.reader.asked(())
        named = [part for _, name in names_in(self.seat.question) for part in name.split(" and ")]
        if asked.compares and len(named) > 1:
            steps = [f"Search for {name} and read: {_plain(asked.target)}." for name in named]
        else:
            steps = [f"Search for {' '.join(named)} and read which name it gives: {_plain(asked.link)}."]
            steps.append(f"Search for the page of that name and read: {_plain(asked.target)}.")
        kept = steps[:1] if self.tendency.to("one_step") else steps
        return "\n".join(f"{number}. {step}" for number, step in enumerate(kept, 1))

    # A researcher

    @property
    def stops(self) -> bool:
        """Whether the first page is enough for it."""
        if self.seat.evidence and findings(self.reader, pages_of(self.seat.evidence)).facts:
            return False
        remedied = self.seat.lore.mistakes["stops"].remedy.lower() in self.seat.told
        if self.seat.steps is not None and not remedied:
            return self.seat.steps < 2
        return self.tendency.to("stops")

    def next_query(self, found: Findings) -> str:
        """What to search for next; empty where there is nothing left."""
        done = self.seat.queries
        if len(done) >= _SEARCHES:
            return ""
        if not found.facts:
            tries = [_telling(self.seat.question), " ".join(name for _, name in names_in(self.seat.question))]
        else:
            tries = [] if self.stops else list(found.missing)
        return next((query for query in tries if query and query not in done), "")

    def report(self, found: Findings) -> list[Fact]:
        """The sentences that it holds to matter."""
        facts = list(found.facts[:1] if self.stops else found.facts)
        if len(facts) == 2 and self.tendency.to("beside"):
            facts[1] = _neighbour(facts[1], self.seat.pages) or facts[1]
        if len(facts) == 2 and self.tendency.to("namesake"):
            others = [title for title in self.seat.pages if title not in (facts[0].title, facts[1].title)]
            alike = [title for title in others if _shares_word(title, facts[1].title)]
            told = [self.reader.fact(found.asked.target, title, self.seat.pages) for title in alike]
            facts[1:1] = [fact for fact in told if fact is not None][:1]
        return facts

    def in_lines(self, facts: Sequence[Fact], found: Findings) -> str:
        """A report as colleagues read it."""
        lines = [fact.line for fact in dict.fromkeys([*self.seat.evidence, *facts])]
        if not self.seat.tools and not self.seat.pages:
            lines.append("I have no tool to search with.")
        elif found.missing and not self.stops:
            lines.append(f"Not found: the page of {' and of '.join(found.missing)}.")
        return "\n".join(lines) or "Not found: anything about the question."

    # A verifier

    def check(self) -> str:
        """Which sentences bear the answer, which are about something else, and what is missing."""
        if self.tendency.to("overlooks"):
            return f"{BEARS} all that is reported. Nothing is missing."
        found = findings(self.reader, pages_of(self.seat.evidence))
        others = [fact.citation for fact in self.seat.evidence if fact not in found.facts]
        lines = [f"{BEARS} {', '.join(fact.citation for fact in found.facts) or 'nothing'}"]
        if others:
            lines.append(f"About something else: {', '.join(others)}")
        if found.missing or len(found.facts) < 2:
            lines.append(f"Missing: what the page of {' and of '.join(found.missing) or 'somebody'} says of it.")
        return "\n".join(lines)

    # A synthesizer, and the last step of an agent by itself

    def answer(self, facts: Sequence[Fact]) -> str:
        """The two lines."""
        borne = [fact for fact in facts if (fact.title, fact.number) in self.seat.bearing]
        checked = len(borne) > 1
        said = conclude(self.reader, borne if checked else facts)
        answer, cited = said.answer, list(said.facts)
        if not checked:
            if self.tendency.to("bridge"):
                answer = said.other or answer
            if self.tendency.to("too_few") and len(cited) > 1:
                cited = cited[1:]
            if self.tendency.to("too_many") and cited:
                cited.append(Fact(cited[-1].title, cited[-1].number + 1, ""))
        if self.tendency.to("wordy"):
            answer = f"{answer}, as the pages say"
        listed: list[JsonValue] = [[fact.title, fact.number] for fact in cited]
        return f"Answer: {answer}\nSupporting facts: {json.dumps(listed, ensure_ascii=False)}"

    # Replies

    def _search(self, query: str) -> Turn:
        request, name = self.seat.request, self.seat.search
        assert name is not None
        arguments: dict[str, JsonValue] = {"query": query}
        if request.tools:
            call = ToolCall(id=f"call_{len(request.messages)}", name=name, arguments=json.dumps(arguments))
            return Turn(tool_calls=(call,))
        return Turn(text=json.dumps(fill(request.reply_schema or {}, name, arguments), ensure_ascii=False))

    def _say(self, text: str) -> Turn:
        schema = self.seat.request.reply_schema
        if schema is None:
            return Turn(text=text)
        return Turn(text=json.dumps(fill(schema, "answer", {"answer": text, "text": text}), ensure_ascii=False))


def _telling(question: str) -> str:
    """The words of ``question`` that are worth searching for: its names first, since a search has room for few."""
    named = " ".join(name for _, name in names_in(question))
    rest = [word for word in _WORD.findall(question) if len(word) > 3 and word[0].islower()]
    return f"{named} {' '.join(rest[:4])}".strip() or question


def _neighbour(fact: Fact, pages: Pages) -> Fact | None:
    page = pages.get(fact.title, {})
    number = fact.number + 1 if fact.number + 1 in page else fact.number - 1
    return Fact(fact.title, number, page[number]) if number in page else None


def _shares_word(one: str, other: str) -> bool:
    return bool(set(base(one).split()) & set(base(other).split()) - {"The", "of", "Museum", "River"})


def _plain(relation: str) -> str:
    return relation.replace("_", " ") or "what is asked"

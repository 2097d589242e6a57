"""Invented questions of HotpotQA's form: two hops or two pages side by side, ten paragraphs each, all names made up.

They stand in for the official file where that cannot be: to see that systems, scoring and reports work. Their language is plain and their kinds are few, so a
score on them says nothing of one on the real questions. A question depends on the seed and its number alone; ``invented.yaml`` holds names and wordings.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple, TypeAlias

import yaml

from motet.bench.hotpotqa.data import Questions, read_questions

Row: TypeAlias = dict[str, Any]

PARAGRAPHS = 10  # of each question, as in the official distractor file
_BRIDGES = 0.75  # of the questions; in the official file it is about as many
_TRIES = 50


@dataclass(frozen=True)
class Name:
    """A made-up name: the list of ``invented.yaml`` it comes from, and its parts."""

    kind: str
    parts: tuple[str, ...]

    @property
    def text(self) -> str:
        """The name as it is written."""
        form: str = _lore()["names"][self.kind]["form"]
        return form.format(*self.parts)


class Page(NamedTuple):
    """A paragraph in the making. ``told`` says in which sentence each relation stands, ``fields`` what it says there."""

    name: Name
    kind: str
    sentences: tuple[str, ...]
    told: Mapping[str, int]
    fields: Mapping[str, Any]

    @property
    def title(self) -> str:
        """Its title."""
        return self.name.text


@lru_cache(maxsize=4)
def invented_questions(count: int, seed: int) -> Questions:
    """``count`` invented questions, checked as the official ones are."""
    data = json.dumps(invented_rows(count, seed), ensure_ascii=False).encode()
    return read_questions(data, place="the invented questions")


def invented_rows(count: int, seed: int) -> list[Row]:
    """``count`` questions as the official file writes them; the first ones are the same for every ``count``."""
    return [_row(number, seed) for number in range(count)]


@cache
def _lore() -> Mapping[str, Any]:
    text = files("motet.bench.hotpotqa").joinpath("invented.yaml").read_text(encoding="utf-8")
    lore: dict[str, Any] = yaml.safe_load(text)
    return lore


def _row(number: int, seed: int) -> Row:
    for attempt in range(_TRIES):
        rng = random.Random(f"motet hotpotqa {seed} {number} {attempt}")  # noqa: S311 - questions, no secrets
        writer = _Writer(rng)
        row = writer.bridge() if rng.random() < _BRIDGES else writer.comparison()
        if _is_sound(row):
            return {"_id": f"invented-{seed}-{number:04d}", **row}
    raise AssertionError(f"no sound question {number} of seed {seed} in {_TRIES} attempts")


def _is_sound(row: Row) -> bool:
    """Whether the ten titles differ, and nothing but the two right pages says the answer or speaks of what it rests on."""
    right = {title for title, _ in row["supporting_facts"]}
    texts = {title: f"{title} {' '.join(sentences)}" for title, sentences in row["context"]}
    secrets = right if row["answer"] in ("yes", "no") else {*right, row["answer"]}
    wrong = [text for title, text in texts.items() if title not in right]
    if len(texts) != PARAGRAPHS or any(_says(text, secret) for text in wrong for secret in secrets):
        return False
    first = row["supporting_facts"][0][0]
    return row["type"] == "comparison" or not _says(texts[first], row["answer"])


def _says(text: str, words: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text) is not None


@dataclass
class _Writer:
    """Writes one question. ``used`` are the names that it has given away."""

    rng: random.Random
    used: set[str] = field(default_factory=set)

    def bridge(self) -> Row:
        """From one page to another that it names, to what is asked of that one."""
        plan = self.rng.choice(_lore()["bridges"])
        asked = self.rng.choice(_lore()["asked"][plan["to"]])
        second = self.page(plan["to"])
        link = plan.get("field", plan["relation"])
        first = self.page(plan["page"], {link: second.title})
        it = self.rng.choice(plan["called"]).format(title=first.title)
        facts = [(first, plan["relation"]), (second, asked["relation"])]
        question = self.rng.choice(asked["words"]).format(it=it)
        return self._row("bridge", question, str(second.fields[asked["field"]]), facts)

    def comparison(self) -> Row:
        """Two pages of one kind."""
        plan = self.rng.choice(_lore()["compared"])
        one = self.page(plan["page"])
        two = self.page(plan["page"], {plan["field"]: self._beside(one, plan)})
        values = [page.fields[plan["field"]] for page in (one, two)]
        if plan["how"] == "same":
            answer = "yes" if values[0] == values[1] else "no"
        else:
            first = (values[0] < values[1]) == (plan["how"] == "least")
            answer = (one if first else two).title
        question = self.rng.choice(plan["words"]).format(one=one.title, two=two.title)
        return self._row("comparison", question, answer, [(one, plan["relation"]), (two, plan["relation"])])

    def _beside(self, one: Page, plan: Mapping[str, Any]) -> str | int:
        """What the second page says where ``one`` is compared: now and then the same where that is asked, never the same number."""
        value: str | int = one.fields[plan["field"]]
        if plan["how"] == "same" and self.rng.random() < 0.5:
            return value
        drawn = value
        while drawn == value:
            drawn = self.value(_lore()["pages"][one.kind]["fields"][plan["field"]])
        return drawn

    def page(self, kind: str, known: Mapping[str, Any] | None = None, near: Name | None = None) -> Page:
        """A page of ``kind``, with ``known`` fields, and a title like ``near``."""
        lore = _lore()["pages"][kind]
        name = self.name(self.rng.choice(lore["names"])) if near is None else self.like(near)
        they, their = {"woman": ("she", "her"), "man": ("he", "his")}.get(name.kind, ("it", "its"))
        fields = {key: self.value(of) for key, of in lore["fields"].items()} | dict(known or {})
        article = "an" if str(fields.get("job", ""))[:1] in tuple("aeiou") else "a"
        words = {
            **fields,
            "title": name.text,
            "they": they,
            "They": they.title(),
            "their": their,
            "Their": their.title(),
        }
        words["a_job"] = f"{article} {fields.get('job')}"
        first = [(relation, self.rng.choice(wordings)) for relation, wordings in lore["opens"].items()]
        rest = [(relation, self.rng.choice(wordings)) for relation, wordings in lore["tells"].items()]
        rest += [("", wording) for wording in self.rng.sample(lore["also"], k=self.rng.randint(0, 2))]
        self.rng.shuffle(rest)
        # Every sentence but the first begins with a space, as in the official file.
        sentences = [
            f"{' ' if number else ''}{wording.format(**words)}" for number, (_, wording) in enumerate(first + rest)
        ]
        told = {relation: number for number, (relation, _) in enumerate(first + rest) if relation}
        return Page(name, kind, tuple(sentences), told, fields)

    def value(self, of: str | Sequence[int]) -> str | int:
        """A value for a field: a number from a range, a word from a list, or a name."""
        if not isinstance(of, str):
            return self.rng.randint(*of)
        words = _lore()["words"].get(of)
        return (
            self.rng.choice(words)
            if words
            else self.name(self.rng.choice(("woman", "man")) if of == "person" else of).text
        )

    def name(self, kind: str) -> Name:
        """A name that is new here."""
        return self._new(Name(kind, ()), ())

    def like(self, name: Name) -> Name:
        """A new name like ``name``: some of its parts are others."""
        return self._new(name, self.rng.choice(_lore()["names"][name.kind]["near"]))

    def _new(self, name: Name, again: Sequence[int]) -> Name:
        lists = _lore()["names"][name.kind]["parts"]
        while True:
            kept = [part if place not in again else None for place, part in enumerate(name.parts)] or [None] * len(
                lists
            )
            drawn = Name(name.kind, tuple(part or self.rng.choice(lists[place]) for place, part in enumerate(kept)))
            if not any(drawn.text in other or other in drawn.text for other in self.used):
                self.used.add(drawn.text)
                return drawn

    def _row(self, kind: str, question: str, answer: str, facts: Sequence[tuple[Page, str]]) -> Row:
        right = [page for page, _ in facts]
        others = [self.page(page.kind, near=page.name) for page in right for _ in range((PARAGRAPHS - 2) // 2)]
        pages = [*right, *others]
        self.rng.shuffle(pages)
        return {
            "question": question,
            "answer": answer,
            "supporting_facts": [[page.title, page.told[relation]] for page, relation in facts],
            "context": [[page.title, list(page.sentences)] for page in pages],
            "type": kind,
            "level": "invented",
        }

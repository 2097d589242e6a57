"""``scripted:searcher`` in a team: what it makes of notes, and how it plays the hub, the judge and a leader."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import motet
from motet.bench.synthweb import SyntheticWeb
from motet.fugue.aggregate import with_confidence
from motet.fugue.note import Claim, Note, Writing, render, verified
from motet.fugue.peer import Room
from motet.fugue.system import Fugue
from motet.models.model import Message, Request, ToolCall, ToolSpec
from motet.models.schema import schema_of
from motet.models.scripted import Turn
from motet.models.scripted_policies.searcher import policy, with_lore
from motet.models.scripted_policies.searcher.lore import Lore, shipped
from motet.models.scripted_policies.searcher.pages import key
from motet.prompts import load_prompts
from motet.task import Task
from tests.models.scripted_policies.searchers import (
    FAULTLESS,
    READS,
    SEARCHES,
    VISITS,
    Walk,
    asked,
    faultless,
    habits,
    lore,
    web,
    write_request,
)

WEB = web(8, breadth=8)
TASK = WEB.tasks()[0]
QUESTION = WEB.question(TASK.id)


def told(task: Task, *messages: str, lore_: Lore = FAULTLESS, read: bool = False) -> Turn:
    """What a peer says next, that has been told ``messages`` since its task."""
    system = "You are p1, one of 2 agents that work on the same task side by side, each on its own."
    request = Request(
        messages=(
            Message(role="system", content=system),
            Message(role="user", content=task.question),
            *(Message(role="user", content=text) for text in messages),
        ),
        max_tokens=900,
        tools=(SEARCHES, VISITS, *([READS] if read else [])),
    )
    return with_lore(lore_)(request)


def shown(writing: Writing, *, peer: str = "p2", disputed: Mapping[str, set[str]] | None = None) -> str:
    """A teammate's note as peers are shown it."""
    note = Note(peer=peer, episode=1, first=1, last=4, writing=writing)
    return load_prompts("motet.fugue", "peer")(
        "others", notes=render(note, disputed=disputed or {}), titles="", disputed=""
    )


def listing() -> list[Claim]:
    """Claims that the first page lists what it lists."""
    clue = QUESTION.paths[0][0]
    page = WEB.setting(TASK).world.web.find(clue.address)  # type: ignore[union-attr]
    sentences = re.findall(r"[^.?!\n]+[.?!]", page.text)
    named = [sentence.strip() for sentence in sentences if any(title in sentence for title, _ in page.links)]
    return [Claim(claim=f"a list, {number}", source=clue.address, quote=said) for number, said in enumerate(named)]


def others() -> tuple[str, ...]:
    """Lines that rule out every lead but the right one."""
    page = WEB.setting(TASK).world.web.find(QUESTION.paths[0][0].address)  # type: ignore[union-attr]
    return tuple(f"{title}: does not fit" for title, address in page.links if address != QUESTION.paths[0][1].address)


def path_claims(upto: int) -> list[Claim]:
    """Claims that the first ``upto`` pages of the right chain tell what is asked."""
    return [
        Claim(claim=f"so says page {clue.address}", source=clue.address, quote=sentence)
        for clue in QUESTION.paths[0][1 : upto + 1]
        for sentence in clue.sentences
    ]


def called(turn: Turn) -> tuple[str, Any]:
    """The one call of a turn."""
    (call,) = turn.tool_calls
    return call.name, json.loads(call.arguments)


def walked(task: Task, *, steps: int | None = None, of: Lore = FAULTLESS) -> Walk:
    """A conversation on ``task``, of ``steps`` or until its answer."""
    walk = Walk(with_lore(of), WEB, task)
    for _ in range(steps or 200):
        if walk.step():
            break
    return walk


def test_it_goes_on_from_what_a_teammate_established() -> None:
    """Shown the first pages of a chain in a note, and no other lead, it reads the page after them and none of these."""
    name, arguments = called(told(TASK, shown(Writing(established=(*listing(), *path_claims(2)), ruled_out=others()))))
    assert name == "visit"
    assert key(arguments["address"]) == key(QUESTION.paths[0][3].address)


def test_it_does_not_visit_what_a_note_rules_out() -> None:
    """With every other lead ruled out, the one that is left is read, whichever it would have taken first."""
    page = WEB.setting(TASK).world.web.find(QUESTION.paths[0][0].address)  # type: ignore[union-attr]
    titles = [title for title, _ in page.links]
    for left in titles:
        lines = tuple(f"{title}: does not fit" for title in titles if title != left)
        writing = Writing(established=tuple(listing()), ruled_out=lines)
        assert called(told(TASK, shown(writing)))[1]["address"] == left


def test_a_whole_chain_of_notes_is_an_answer_or_makes_it_read_the_last_page() -> None:
    """Who trusts teammates answers with what their quotes support; who does not visits the page first."""
    writing = Writing(established=tuple(path_claims(3)), candidate_answer=QUESTION.answer, confidence=0.9)
    notes = (shown(Writing(established=tuple(listing()))), shown(writing, peer="p3"))
    trusting = told(TASK, *notes, lore_=habits(FAULTLESS, trusts=1.0))
    assert QUESTION.answer in trusting.text
    name, arguments = called(told(TASK, *notes, lore_=habits(FAULTLESS, trusts=0.0)))
    assert name == "visit"
    assert key(arguments["address"]) == key(QUESTION.paths[0][3].address)


def test_a_candidate_without_support_is_not_adopted() -> None:
    """A teammate's answer alone ends no search."""
    writing = Writing(established=tuple(listing()), candidate_answer="the Pink Unicorn", confidence=0.99)
    assert called(told(TASK, shown(writing)))[0] == "visit"


def test_hearsay_is_taken_unless_it_is_marked_as_disputed() -> None:
    """A claim from a page that is sure of itself is adopted by who believes teammates; marked as disputed, only by who believes it all the same."""
    label = QUESTION.columns[-1]
    quote = f"It is settled beyond doubt, after years of research, that the {label} in question is the Pink Unicorn."
    writing = Writing(established=(*listing()[:1], Claim(claim="the answer is known", source="notes/x", quote=quote)))
    mark = "p2.1:2"
    believing = lore(hearsay=1.0)
    assert "the Pink Unicorn" in told(TASK, shown(writing), lore_=believing).text
    assert told(TASK, shown(writing)).tool_calls
    assert told(TASK, shown(writing, disputed={mark: {"p3"}}), lore_=believing).tool_calls
    assert told(TASK, shown(writing), f"Now disputed by a teammate's steps: {mark}", lore_=believing).tool_calls
    despite = lore(hearsay=1.0, despite=1.0)
    assert "the Pink Unicorn" in told(TASK, shown(writing, disputed={mark: {"p3"}}), lore_=despite).text


def test_it_asks_behind_a_note_that_read_a_page_and_says_nothing_of_it() -> None:
    """A page that a note names as read, without what it tells, is asked for if there is the tool; the shy ask only if a pointer names the note."""
    titles = [title for title, _ in WEB.setting(TASK).world.web.find(QUESTION.paths[0][0].address).links]  # type: ignore[union-attr]
    writing = Writing(established=tuple(listing()), tried=tuple(f"visit {title.replace(' ', '-')}" for title in titles))
    asking = habits(FAULTLESS, asks=1.0, asks_shy=0.0, asks_pointed=1.0)
    name, arguments = called(told(TASK, shown(writing), lore_=asking, read=True))
    assert name == "read_notes"
    assert arguments["refs"] == ["p2.1"]
    assert called(told(TASK, shown(writing), lore_=asking))[0] == "visit"
    shy = asking.shy()
    assert called(told(TASK, shown(writing), lore_=shy, read=True))[0] == "visit"
    pointed = "p2.1 bears on what you are doing: kettle."
    assert called(told(TASK, shown(writing), pointed, lore_=shy, read=True))[0] == "read_notes"


def test_what_a_read_gave_is_taken_as_read() -> None:
    """The quotes in a read's answer lead on as the pages would."""
    lines = "\n".join(f'T ({claim.source}): "{claim.quote}" [p2.1 step 2]' for claim in path_claims(2))
    call = ToolCall(id="1", name="read_notes", arguments=json.dumps({"intent": "What?", "refs": ["p2.1"]}))
    request = Request(
        messages=(
            Message(role="user", content=TASK.question),
            Message(role="user", content=shown(Writing(established=tuple(listing()), ruled_out=others()))),
            Message(role="assistant", content="", tool_calls=(call,)),
            Message(role="tool", content=lines, tool_call_id="1"),
        ),
        max_tokens=900,
        tools=(SEARCHES, VISITS, READS),
    )
    name, arguments = called(faultless()(request))
    assert name == "visit"
    assert key(arguments["address"]) == key(QUESTION.paths[0][3].address)


def test_a_note_quotes_what_stands_in_the_steps_and_rules_out_only_what_fails() -> None:
    """Without faults, no claim is refused, no page of the right chain is ruled out, and some other page is."""
    out = 0
    for task in WEB.tasks():
        walk = walked(task)
        episode = walk.episode()
        writing = Writing.model_validate(json.loads(faultless()(write_request(task, episode)).text))
        assert verified(writing, episode.raw()) == (writing, 0)
        assert writing.established
        lines = " ".join(writing.ruled_out)
        assert not any(clue.address in lines for clue in WEB.question(task.id).paths[0])
        assert writing.candidate_answer == WEB.question(task.id).answer
        out += len(writing.ruled_out)
    assert out > 0


def test_a_note_stands_in_for_the_steps() -> None:
    """With all of its steps replaced by notes of a few steps each, a searcher goes on where it stood: it reads nothing again."""
    for task in WEB.tasks():
        walk = walked(task, steps=6)
        texts = []
        for number in range(3):
            episode = walk.episode("p1", number=number + 1, steps=slice(2 * number, 2 * number + 2))
            writing = Writing.model_validate(json.loads(faultless()(write_request(task, episode)).text))
            note = Note(peer="p1", episode=number + 1, first=episode.first, last=episode.last, writing=writing)
            texts.append(load_prompts("motet.fugue", "peer")("own_note", note=render(note, disputed={}, own=True)))
        turn = told(task, *texts)
        for call in turn.tool_calls:
            assert json.loads(call.arguments).get("address") not in walk.visits


def test_a_contradicted_claim_is_marked() -> None:
    """A teammate's claim that gives another answer than the steps come to is named; one that gives the same is not."""
    label = QUESTION.columns[-1]
    claims = "\n".join(
        f'{mark} "{label} asked for: {value}"'
        for mark, value in (("p2.1:1", "the Pink Unicorn"), ("p3.1:1", QUESTION.answer))
    )
    reply = json.loads(faultless()(write_request(TASK, walked(TASK).episode(), claims=claims)).text)
    assert reply["contradicts"] == ["p2.1:1"]


def test_faults_of_the_hub_are_seen_by_what_surrounds_it() -> None:
    """An invented quote is refused, a lost claim is missing, and a garbled note is whole when it is asked for again."""
    episode = walked(TASK).episode()
    right = Writing.model_validate(json.loads(faultless()(write_request(TASK, episode)).text))
    invented = json.loads(with_lore(lore(invents=1.0))(write_request(TASK, episode)).text)
    assert verified(Writing.model_validate(invented), episode.raw())[1] == len(right.established)
    lost = json.loads(with_lore(lore(loses=1.0))(write_request(TASK, episode)).text)
    assert lost["established"] == []
    garbling = with_lore(lore(garbles=1.0))
    request = write_request(TASK, episode)
    bad = garbling(request).text
    with pytest.raises(ValueError, match="Expecting"):
        json.loads(bad)
    again = Request(
        messages=(*request.messages, Message(role="assistant", content=bad), Message(role="user", content="Again.")),
        max_tokens=900,
    )
    assert Writing.model_validate(json.loads(garbling(again).text)) == right


def test_a_read_answers_from_the_steps_with_where_it_stands() -> None:
    """Asked of a page, the hub quotes it with peer, episode and step; asked of one that nobody read, it says so; parts are put together, each line once."""
    prompts = load_prompts("motet.fugue", "hub")
    walk = walked(TASK)
    episode = walk.episode("p2")
    clue = QUESTION.paths[0][1]
    title = WEB.setting(TASK).world.web.find(clue.address).title  # type: ignore[union-attr]
    part = {"id": episode.id, "peer": "p2", "first": episode.first, "last": episode.last, "raw": episode.raw()}

    def read(intent: str) -> str:
        user = prompts("read", question=TASK.question, intent=intent, parts=[part])
        return faultless()(asked(prompts("read_system"), user)).text

    found = read(f"What does {title} tell?")
    assert all(sentence in found for sentence in clue.sentences)
    step = next(
        step.number
        for step in episode.steps
        if any(clue.address in call.arguments for m in step.messages for call in m.tool_calls)
    )
    assert f"[p2.1 step {step}]" in found
    assert read("What does Nobody Atall tell?") == "The steps do not hold an answer to that."
    merge = prompts("merge", question=TASK.question, intent="x", answers=[found, found])
    assert faultless()(asked(prompts("read_system"), merge)).text == found


def test_the_judge_takes_the_best_supported_answer() -> None:
    """Agreement and confidence decide; the reply fits the schema that is asked for."""
    prompts = load_prompts("motet.fugue", "team")
    answers: list[dict[str, Any]] = [
        {"peer": "p1", "answer": "Answer: A Bell", "confidence": 0.2, "sources": []},
        {"peer": "p2", "answer": "Answer: B Horn", "confidence": 0.9, "sources": []},
        {"peer": "p3", "answer": "Answer: B Horn", "confidence": 0.8, "sources": []},
    ]
    from motet.fugue.team import Chosen

    request = Request(
        messages=asked(prompts("judge_system"), prompts("judge", question="Q?", answers=answers)).messages,
        max_tokens=200,
        reply_schema=schema_of(Chosen),
    )
    assert json.loads(faultless()(request).text)["number"] == 2
    assert json.loads(with_lore(lore(overrules=1.0))(request).text)["number"] == 1


@pytest.mark.parametrize("by_clause", [0.0, 1.0], ids=["letters", "clauses"])
def test_a_leader_splits_a_task_and_makes_one_answer_of_reports(by_clause: float) -> None:
    """There are as many parts as workers, in the form that is asked for; of the reports the surest answer is taken."""
    prompts = load_prompts("motet.baselines", "naive")
    leading = with_lore(lore(by_clause=by_clause))
    task = prompts("task", question=TASK.question, context="")
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"subtasks": {"type": "array", "items": {"type": "string"}}},
        "required": ["subtasks"],
    }
    messages = asked(prompts("system", instructions=""), f"{task}\n\n{prompts('split', number=3)}").messages
    parts = json.loads(leading(Request(messages=messages, max_tokens=900, reply_schema=schema)).text)["subtasks"]
    assert len(parts) == len(set(parts)) == 3
    reports = [
        {"row": {"name": f"p{n}", "failure": "", "answer": text}, "subtask": part}
        for n, (part, text) in enumerate(
            zip(
                parts, ("Confidence: 3 %\nAnswer: not found", "Confidence: 90 %\nAnswer: the Red Fox", ""), strict=True
            ),
            1,
        )
    ]
    joined = asked(prompts("system", instructions=""), f"{task}\n\n{prompts('synthesise', reports=reports)}")
    assert leading(joined).text == "Answer: the Red Fox"


def test_a_leader_with_sub_agents_assigns_parts_and_then_answers() -> None:
    """First all parts are assigned, each in words of its own; then the surest report is the answer."""
    meta = load_prompts("motet.baselines", "swarm")("meta", most=8)
    assign = ToolSpec(name="assign", description="", parameters={"type": "object"})
    first = faultless()(asked(meta, TASK.question, tools=[assign]))
    parts = [json.loads(call.arguments)["subtask"] for call in first.tool_calls]
    assert len(set(parts)) == len(parts) > 1
    reports = [
        Message(role="tool", tool_call_id=call.id, content=f"p{n}: Confidence: {n} %\nAnswer: the Fox {n}")
        for n, call in enumerate(first.tool_calls, 1)
    ]
    messages = (
        *asked(meta, TASK.question).messages,
        Message(role="assistant", content="", tool_calls=first.tool_calls),
        *reports,
    )
    last = faultless()(Request(messages=messages, max_tokens=900, tools=(assign,)))
    assert last.text == f"Answer: the Fox {len(reports)}"


def test_workers_look_into_their_own_share() -> None:
    """A part by letters is worked on by these alone, so all parts together read every lead that may be needed."""
    workers = load_prompts("motet.baselines", "workers")
    page = WEB.setting(TASK).world.web.find(QUESTION.paths[0][0].address)  # type: ignore[union-attr]
    titles = {address: title for title, address in page.links}
    subtask = f"Look only into those of the first page whose names begin with A, B, C, D, E, F. {TASK.question}"
    part = Task(id=TASK.id, question=workers("part", question=TASK.question, subtask=subtask))
    walk = Walk(faultless(), WEB, part)
    walk.walk()
    read = [titles[address] for address in walk.visits if address in titles]
    assert all(title[0] in "ABCDEF" for title in read)


def test_peers_that_share_notes_need_fewer_calls_than_the_same_peers_alone(tmp_path: Path) -> None:
    """What teammates rule out need not be read: in real runs without mistakes, both kinds of team find the answers, and peers that see each other's notes make fewer calls."""
    benchmark = SyntheticWeb(count=6, breadth=16)
    steps: dict[str, int] = {}
    for visibility in ("isolated", "notes"):
        system = Fugue(
            model="scripted:searcher@0",
            peers=4,
            visibility=visibility,
            room=Room(close_at=1200, keep=500),
            max_steps=60,
        )
        steps[visibility] = 0
        for task in benchmark.tasks():
            store = f"sqlite:///{tmp_path / f'{visibility}.db'}"
            result = motet.run(task, system=system, world=benchmark.setting(task).world, store=store)
            assert benchmark.question(task.id).answer in (result.answer or "")
            team: Any = result.details["team"]
            steps[visibility] += sum(row["steps"] for row in team["peers"])
    assert steps["notes"] < 0.9 * steps["isolated"]


def test_the_confidence_is_read_as_teams_read_it() -> None:
    """The answer's line on confidence has the form that aggregation takes out."""
    walk = walked(TASK)
    text, sure = with_confidence(walk.answer)
    assert sure is not None
    assert sure > 0.8
    assert text == f"Answer: {QUESTION.answer}"


def test_rates_are_rates() -> None:
    """Every committed mistake is a rate, and twice as often stays one."""
    assert all(0 <= rate <= 1 for rate in shipped().times(50).mistakes.values())
    assert policy(asked("", "x")).text

"""The searcher's next step: which leads it takes, when it asks behind a note, and when and how it answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from motet.canonical import digest
from motet.models.model import ToolCall
from motet.models.scripted import Turn
from motet.models.scripted_policies.forms import fill
from motet.models.scripted_policies.searcher.board import Board, Lead, any_value, support
from motet.models.scripted_policies.searcher.lore import drawn
from motet.models.scripted_policies.searcher.pages import hits, key
from motet.models.scripted_policies.searcher.seat import READ, SEARCH, VISIT, Seat

_SURE, _HEARD, _BELIEVED = (
    92,
    80,
    88,
)  # per cent: a chain read to its end, one from notes, a page that is sure of itself
_GUESS, _NOTHING = 12, 3


@dataclass(frozen=True)
class Move:
    """A call, and why in a few words."""

    tool: str
    arguments: dict[str, JsonValue]
    why: str


def turn(seat: Seat) -> Turn:
    """What the searcher says next."""
    board = Board(seat)
    if seat.last:
        return _say(seat, *_best(board))
    done = _conclusion(board)
    if done is not None:
        return _say(seat, *done)
    moves = list(_moves(board))
    if not moves:
        return _say(seat, *_best(board))
    if board.lore.errs("repeats", *_now(board)) and board.queries:
        moves.append(Move(SEARCH, {"query": board.queries[-1]}, ""))
    return _call(seat, moves)


def _conclusion(board: Board) -> tuple[str, int] | None:
    """The answer, if the searcher is content with what it has."""
    fitting = [lead for lead in board.leads if lead.state == "fits"]
    if board.asked.columns:
        return _table(board, fitting) if fitting and not any(lead.state == "open" for lead in board.leads) else None
    for lead in sorted(fitting, key=lambda lead: -support(lead, board)):
        if not lead.heard:
            return lead.answer, _SURE - round(20 * (1 - support(lead, board)))
        if board.lore.does("trusts", board.asked.text, board.seat.who, key(lead.page)):
            return lead.answer, _HEARD
    if fitting:
        return None
    for claim, answer, address in board.claims:
        about = (board.asked.text, board.seat.who, address)
        if claim is None:
            taken = board.lore.errs("believes", *about)
        elif claim.mark in board.disputed:
            taken = board.lore.errs("hearsay", *about) and board.lore.errs("despite", *about)
        else:
            taken = board.lore.errs("hearsay", *about)
        dwells = int(drawn(board.lore.seed, "dwells", *about) * (board.lore.habits.dwells + 1))
        if taken and _since(board, address) >= dwells:
            return answer, _BELIEVED
    return None


def _moves(board: Board) -> Iterator[Move]:
    """What to do next, the first ``at_once`` of it together."""
    if not board.listed or _unread_anchor(board):
        yield _towards_anchor(board)
        return
    asking = _read_behind(board)
    if asking is not None:
        yield asking
        return
    curious = _curious(board)
    if curious is not None:
        yield curious
        return
    if board.lore.errs("dawdles", *_now(board)):
        lead = next(iter(_order(board)), None)
        if lead is not None and lead.page not in board.queries:
            yield Move(SEARCH, {"query": lead.page}, f"I look for {lead.page}.")
            return
    heard = [lead for lead in board.leads if lead.state == "fits" and lead.heard]
    chosen = (heard or _order(board) or _second_look(board))[: board.lore.habits.at_once]
    if not chosen and not (board.anchor and board.anchor.own):
        yield _towards_anchor(board)
    for lead in chosen:
        page = board.pages.get(key(lead.page))
        part = page.missing if page is not None and page.parts else 1
        arguments: dict[str, JsonValue] = {"address": board.address(lead.page)}
        yield Move(VISIT, arguments | ({"part": part} if part > 1 else {}), f"Next is {lead.page}.")


def _towards_anchor(board: Board) -> Move:
    """The way to the page at which the question begins."""
    asked, lore, who = board.asked, board.lore, board.seat.who
    anchor = board.anchor
    if anchor is not None and anchor.parts:
        return Move(VISIT, {"address": anchor.address, "part": anchor.missing}, f"{anchor.title} goes on.")
    clause = (
        asked.clauses[int(drawn(lore.seed, "clause", asked.text, who) * len(asked.clauses))] if asked.clauses else None
    )
    if not board.queries and clause is not None and lore.errs("detour", asked.text, who):
        return Move(SEARCH, {"query": f"{clause.sense} {asked.label}".strip()}, f"I begin with {clause.sense}.")
    found = [hit for call in board.seat.calls for hit in hits(call.result)]
    exact = next((hit for hit in found if key(hit.title) == key(asked.anchor)), None)
    if exact is None:
        if asked.anchor and asked.anchor not in board.queries:
            return Move(SEARCH, {"query": asked.anchor}, f"I look for {asked.anchor}.")
        if key(asked.anchor) not in board.gone:
            return Move(VISIT, {"address": asked.anchor}, f"I try {asked.anchor} by its name.")
        return Move(SEARCH, {"query": f"{asked.anchor} {_other_words(board)}"}, "I try other words.")
    alike = [hit for hit in found if _alike(hit.title, asked.anchor) and key(hit.title) not in board.pages]
    if alike and lore.errs("distractor", asked.text, who):
        return Move(VISIT, {"address": alike[0].address}, f"{alike[0].title} may be it.")
    return Move(VISIT, {"address": exact.address}, f"I read {exact.title}.")


def _unread_anchor(board: Board) -> bool:
    """Whether the first page goes on, and the searcher reads on."""
    anchor = board.anchor
    if anchor is None or not anchor.parts or anchor.whole:
        return False
    return not board.lore.errs("skips", board.asked.text, board.seat.who, key(anchor.address))


def _curious(board: Board) -> Move | None:
    """A page that says by its title that it knows the answer, if the searcher looks at such."""
    for call in board.seat.calls:
        for hit in hits(call.result):
            name = key(hit.address)
            sure = ": " in hit.title and board.asked.anchor and hit.title.startswith(board.asked.anchor)
            unread = name not in board.pages and name not in board.gone
            if sure and unread and board.lore.errs("curious", board.asked.text, board.seat.who, name):
                return Move(VISIT, {"address": hit.address}, f"{hit.title} may know.")
    return None


def _order(board: Board) -> list[Lead]:
    """The open leads in the order in which this searcher takes them: the chain that it is on first, then those that nobody else has open."""
    open_ = [lead for lead in board.leads if lead.state == "open" and key(lead.page) not in board.forgotten]
    wanders = board.lore.errs("wanders", *_now(board))

    def place(lead: Lead) -> tuple[int, int, float]:
        last = board.pages.get(key(lead.chain[-2])) if lead.depth else None
        own = last is not None and last.own
        others = not own and any(key(title) in board.busy for title in lead.chain)
        depth = (lead.depth if wanders else -lead.depth) if own else 0
        return others, depth, drawn(board.lore.seed, "order", board.asked.text, board.seat.who, key(lead.title))

    return sorted(open_, key=place)


def _second_look(board: Board) -> list[Lead]:
    """Leads that only teammates ruled out: they may be wrong."""
    return [
        lead._replace(state="open")
        for lead in board.leads
        if lead.state == "out" and key(lead.page) in board.ruled_out and key(lead.page) not in board.pages
    ]


def _read_behind(board: Board) -> Move | None:
    """A question behind a note that says that a page was read, and not what it tells."""
    if READ not in board.seat.tools:
        return None
    if len(board.intents) >= board.lore.habits.most_reads:
        return None
    forgotten = [lead for lead in board.leads if lead.state == "open" and key(lead.page) in board.forgotten]
    for lead in [*_order(board), *forgotten]:
        note = board.tried.get(key(lead.page))
        if note is None or any(lead.page in intent for intent in board.intents):
            continue
        page = board.pages.get(key(lead.page))
        if page is not None and page.parts:
            continue
        habit = "asks_pointed" if note in board.pointed else "asks"
        if board.lore.does(habit, board.asked.text, board.seat.who, key(lead.page)):
            intent = f"What does {lead.page} tell of what is asked, and where does it lead?"
            return Move(READ, {"intent": intent, "refs": [note]}, f"{note} has read {lead.page}.")
    return None


def _best(board: Board) -> tuple[str, int]:
    """The answer to give when there is no more to do: what fits, a teammate's, a claim that is taken, or a guess."""
    fitting = [lead for lead in board.leads if lead.state == "fits"]
    if board.asked.columns:
        return _table(board, fitting)
    if fitting:
        best = max(fitting, key=lambda lead: support(lead, board))
        return best.answer, _SURE - round(30 * (1 - support(best, board)))
    teammates = [note for note in board.notes if note.answer and note.confidence >= 0.5]
    if teammates:
        best_note = max(teammates, key=lambda note: note.confidence)
        return best_note.answer, round(80 * best_note.confidence)
    guess = any_value(board)
    return (guess, _GUESS) if guess else ("not found", _NOTHING)


def _table(board: Board, fitting: list[Lead]) -> tuple[str, int]:
    """The fitting leads as a table: the first page, the last where there is a column for it, and what is asked for."""
    columns = board.asked.columns
    lines = [columns, ("---",) * len(columns)]
    for lead in fitting:
        between = (lead.chain[-1],) if len(columns) > 2 else ()
        lines.append((lead.chain[0], *between, lead.answer)[-len(columns) :])
    open_ = sum(lead.state == "open" for lead in board.leads)
    sure = round(_SURE * (1 - open_ / max(1, len(board.leads)))) if fitting else _NOTHING
    return "\n".join(f"| {' | '.join(line)} |" for line in lines), sure


def _say(seat: Seat, answer: str, sure: int) -> Turn:
    """The answer, in the form in which the request takes it."""
    text = f"Confidence: {sure} %\n{answer if answer.startswith('|') else f'Answer: {answer}'}"
    if seat.request.reply_schema is not None:
        return Turn(text=json.dumps(fill(seat.request.reply_schema, "answer", {"answer": text}), ensure_ascii=False))
    return Turn(text=text)


def _call(seat: Seat, moves: list[Move]) -> Turn:
    """The calls, as the request takes them: one alone where there are no native calls."""
    if seat.request.reply_schema is not None:
        filled = fill(seat.request.reply_schema, moves[0].tool, moves[0].arguments)
        return Turn(text=json.dumps(filled, ensure_ascii=False))
    calls = tuple(
        ToolCall(
            id=f"call_{digest([len(seat.request.messages), place, move.tool, move.arguments])[:10]}",
            name=move.tool,
            arguments=json.dumps(move.arguments, ensure_ascii=False),
        )
        for place, move in enumerate(moves)
    )
    return Turn(text=" ".join(move.why for move in moves if move.why), tool_calls=calls)


def _now(board: Board) -> tuple[str, str, int]:
    """What tells a step of this searcher from others: by how much it has read, since old steps leave the conversation."""
    return board.asked.text, board.seat.who, len(board.pages) * 64 + len(board.queries)


def _since(board: Board, address: str) -> int:
    """How many calls came after the page at ``address`` was read or heard of."""
    calls = board.seat.calls
    place = next(
        (number for number, call in enumerate(calls) if key(str(call.arguments.get("address", ""))) == key(address)),
        None,
    )
    return len(calls) - 1 - place if place is not None else board.lore.habits.dwells


def _alike(title: str, wanted: str) -> bool:
    """Whether two names are told apart by a part of a word only."""
    one, other = title.split(), wanted.split()
    return (
        title != wanted and len(one) == len(other) and sum(a[:3] == b[:3] for a, b in zip(one, other, strict=True)) >= 1
    )


def _other_words(board: Board) -> str:
    senses = [clause.sense for clause in board.asked.clauses]
    return senses[len(board.queries) % len(senses)] if senses else board.asked.label

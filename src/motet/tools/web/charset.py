"""The text of a body whose encoding may be declared wrongly, variously, or not at all.

In order: a byte order mark (which outranks all else, as in browsers: https://encoding.spec.whatwg.org/#decode), what the
server declared, what the page declares in its first kilobytes, strict UTF-8, and the best guess of
``charset-normalizer``. What an encoding cannot read becomes U+FFFD; nothing fails.
"""

from __future__ import annotations

import codecs
import re

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_META = re.compile(rb"""<meta[^>]{0,400}?charset\s*=\s*["']?\s*([\w:.-]{1,40})""", re.IGNORECASE)
_XML = re.compile(rb"""\A\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w:.-]{1,40})""")
_META_BYTES = 4_096
_GUESS_BYTES = 30_000

# What browsers read under these names (https://encoding.spec.whatwg.org/#names-and-labels): supersets of what they say.
_WIDER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "tis-620": "cp874",
    "iso8859-11": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "utf-16": "utf-16-le",
}
# Python knows encodings that are no charsets (rot13, punycode, idna, unicode_escape) or a danger (utf-7).
_CHARSETS = re.compile(
    r"ascii|utf-8|utf-8-sig|utf-(?:16|32)(?:-[bl]e)?|iso8859-\d+|cp\d+|koi8-[rtu]|mac-\w+|gb2312|gbk|gb18030|hz|big5\w*"
    r"|euc_\w+|iso2022_\w+|shift_\w+|johab|tis-620|kz1048|ptcp154|hp-roman8"
)


def decode(body: bytes, *, declared: str, page: bool) -> str:
    """The text of ``body``. ``page`` says that it is HTML or XML, which may declare its encoding itself."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    return body.decode(_known(declared) or (_inner(body) if page else None) or _guess(body), "replace")


def _known(label: str) -> str | None:
    """Python's name for a charset, or ``None`` for what is none."""
    try:
        name = codecs.lookup(label.strip().strip("\"'")).name
    except (LookupError, ValueError):
        return None
    return _WIDER.get(name, name) if _CHARSETS.fullmatch(name) else None


def _inner(body: bytes) -> str | None:
    """What a page declares. It was read as ASCII to get here, so it cannot be UTF-16: then UTF-8 is meant."""
    found = _XML.match(body[:_META_BYTES]) or _META.search(body[:_META_BYTES])
    name = _known(found[1].decode("ascii", "replace")) if found else None
    return "utf-8" if name and name.startswith(("utf-16", "utf-32")) else name


def _guess(body: bytes) -> str:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(body)  # a character that a cut went through is no error
        return "utf-8"
    except UnicodeDecodeError:
        pass
    import charset_normalizer

    best = charset_normalizer.from_bytes(body[:_GUESS_BYTES]).best()
    return (_known(best.encoding) if best else None) or "cp1252"

"""Documents out of a folder: text, Markdown, HTML and PDF as plain text with a title.

- Found recursively, by ending: ``.txt .md .markdown .html .htm .pdf``. Other files are counted. Names that begin with a dot are
  left out. Symbolic links to folders are not followed; one to a file is, if the file is inside the folder.
- A file that cannot be used (too big, not UTF-8, encrypted, empty, unreadable) is skipped with its reason; it never stops the rest.
- The text is what citations point into: Unicode NFC, Unix line ends, no NUL. Markdown keeps its marks and loses its
  front matter; a web page is reduced to its main content, or to all of its text where none is found.
- A folder is named by the SHA-256 over the names and the bytes of its files. Bytes that no longer match when they are read
  are an error: an answer must come from what the name promises.
"""

from __future__ import annotations

import hashlib
import io
import logging
import os
import re
import stat
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from motet.canonical import clean_text, digest
from motet.errors import InputError, ToolError

MAX_BYTES = 20_000_000  # of one file
MAX_CHARS = 5_000_000  # of one document's text
MAX_FILES = 20_000

_TITLE_CHARS = 120
_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)[ \t]*\n(.*?)\n\1[ \t]*(?:\n|\Z)", re.DOTALL)
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t]*#*[ \t]*$|^([^\s#>*+\-].*)\n(?:=+|-+)[ \t]*$", re.MULTILINE)
_YAML_TITLE = re.compile(r"""^title\s*[:=]\s*["']?(.+?)["']?\s*$""", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Document:
    """One readable file. ``ref`` is its path in the folder, with forward slashes."""

    ref: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that could not be used, and why."""

    ref: str
    reason: str

    def __str__(self) -> str:
        return f"{self.ref}: {self.reason}"


@dataclass(frozen=True)
class Folder:
    """What is in a folder before any of it is understood. ``files`` maps each ref to the SHA-256 of its bytes; ``ignored``
    counts the files of other kinds.
    """

    root: Path
    files: dict[str, str]
    skipped: tuple[Skipped, ...]
    ignored: int

    @property
    def digest(self) -> str:
        """SHA-256 over the names and contents of the files, as 64 hex digits."""
        return digest(dict(self.files))

    def read(self) -> tuple[list[Document], list[Skipped]]:
        """Read every file, in the order of their refs. Raises ToolError when a file has changed since the folder was opened."""
        quiet()
        documents, skipped = [], list(self.skipped)
        for ref, expected in self.files.items():
            try:
                data = _bytes(self.root / ref)
            except OSError as error:
                skipped.append(Skipped(ref, f"cannot be read: {error.strerror or error}"))
                continue
            if hashlib.sha256(data).hexdigest() != expected:
                raise ToolError(f"the document {ref!r} has changed since this run began; start again to read it anew")
            try:
                documents.append(_document(ref, data))
            except ImportError as error:
                raise ToolError(
                    f"documents like {ref!r} cannot be read: a library is missing or broken: {error}"
                ) from error
            except Unreadable as error:
                skipped.append(Skipped(ref, str(error)))
            except Exception as error:  # noqa: BLE001 - parsers of hostile files raise anything; one file must not stop the rest
                skipped.append(
                    Skipped(ref, f"cannot be parsed: {type(error).__name__}: {' '.join(str(error).split())}")
                )
        return documents, skipped


def open_folder(path: str | Path) -> Folder:
    """List and hash the documents under ``path``.

    Raises InputError when it is no folder, or holds no document, or more than ``MAX_FILES``.
    """
    root = Path(path).expanduser()
    if not root.is_dir():
        what = "is a file, not a folder" if root.exists() else "is not there"
        raise InputError(f"corpus folder {str(path)!r} {what}")
    root = root.resolve()
    files: dict[str, str] = {}
    skipped: list[Skipped] = []
    ignored = 0
    for file in _walk(root, skipped):
        ref = file.relative_to(root).as_posix()
        if file.suffix.lower() not in READERS or file.name.startswith("."):
            ignored += 1
        elif len(files) >= MAX_FILES:
            raise InputError(
                f"corpus folder {str(path)!r} holds more than {MAX_FILES:,} documents; choose a smaller one"
            )
        elif reason := _unusable(file, root):
            skipped.append(Skipped(ref, reason))
        else:
            try:
                files[clean_text(ref)] = hashlib.sha256(_bytes(file)).hexdigest()
            except OSError as error:
                skipped.append(Skipped(ref, f"cannot be read: {error.strerror or error}"))
    if not files:
        why = f"; skipped {skipped[0]}" if skipped else f"; {ignored} files of other kinds" if ignored else ""
        raise InputError(f"corpus folder {str(path)!r} holds no readable document ({', '.join(READERS)}){why}")
    return Folder(root=root, files=dict(sorted(files.items())), skipped=tuple(skipped), ignored=ignored)


def _walk(root: Path, skipped: list[Skipped]) -> Iterator[Path]:
    """All files under ``root``, links to folders and hidden folders left out, in a fixed order."""

    def failed(error: OSError) -> None:
        where = Path(error.filename or root)
        ref = where.relative_to(root).as_posix() if where.is_relative_to(root) else str(where)
        skipped.append(Skipped(ref, f"cannot be listed: {error.strerror}"))

    for folder, folders, names in os.walk(root, onerror=failed, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            yield Path(folder, name)


def _unusable(file: Path, root: Path) -> str:
    """Why ``file`` is not even opened, or nothing."""
    try:
        if not file.resolve().is_relative_to(root):
            return "is a link to a place outside the folder"
        facts = file.stat()
    except (OSError, RuntimeError) as error:
        return f"cannot be read: {getattr(error, 'strerror', None) or error}"
    if not stat.S_ISREG(facts.st_mode):
        return "is not a regular file"
    if facts.st_size > MAX_BYTES:
        return f"is {facts.st_size / 1e6:.0f} MB; the limit is {MAX_BYTES / 1e6:.0f} MB"
    if file.name != clean_text(file.name):
        return "has a name that is not valid text"
    return ""


def _bytes(file: Path) -> bytes:
    """At most ``MAX_BYTES`` and one: a file that grows meanwhile cannot fill the memory."""
    with file.open("rb") as stream:
        return stream.read(MAX_BYTES + 1)


class Unreadable(Exception):
    """A file without usable text; the message completes the sentence that its name begins."""


def _document(ref: str, data: bytes) -> Document:
    title, text = READERS[Path(ref).suffix.lower()](data)
    text = tidy(text)
    if not text:
        raise Unreadable("holds no text")
    if len(text) > MAX_CHARS:
        raise Unreadable(f"holds {len(text):,} characters of text; the limit is {MAX_CHARS:,}")
    title = " ".join(tidy(title).split())[:_TITLE_CHARS]
    return Document(ref=ref, title=title or Path(ref).stem.replace("-", " ").replace("_", " "), text=text)


def tidy(text: str) -> str:
    """``text`` in NFC, with Unix line ends, and without NUL and what surrounds it."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return clean_text(unicodedata.normalize("NFC", text)).strip()


def _decode(data: bytes) -> str:
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise Unreadable(
            f"is not {encoding.removesuffix('-sig').upper()} text (byte {error.start:,}); save it as UTF-8"
        ) from None
    if "\x00" in text:
        raise Unreadable("is not text (it holds NUL characters)")
    return text


def _read_text(data: bytes) -> tuple[str, str]:
    text = _decode(data)
    return _first_line(text), text


def _first_line(text: str) -> str:
    """The first line as a title, where it looks like one."""
    first = text.strip().partition("\n")[0].strip()
    return first if 0 < len(first) <= 80 and not first.endswith((".", ",", ";", ":")) else ""


def _read_markdown(data: bytes) -> tuple[str, str]:
    text = _decode(data).replace("\r\n", "\n")
    title = ""
    if matter := _FRONT_MATTER.match(text):
        text = text[matter.end() :]
        declared = _YAML_TITLE.search(matter.group(2))
        title = declared.group(1) if declared else ""
    heading = _HEADING.search(_FENCE.sub("", text))
    if heading:
        title = heading.group(1) or heading.group(2)
    return title.replace("*", "").replace("`", ""), text


def _read_html(data: bytes) -> tuple[str, str]:
    import trafilatura

    page = trafilatura.load_html(data)
    if page is None:  # most often a fragment without a page around it
        page = trafilatura.load_html(f"<html><body>{_decode(data)}</body></html>")
    if page is None:
        raise Unreadable("is not an HTML page")
    return page_text(page)


def page_text(page: Any) -> tuple[str, str]:
    """Title and text of a parsed web page (an lxml tree): its main content, or all of it where none is found."""
    import trafilatura

    headings = [" ".join(heading.text_content().split()) for heading in page.iter("h1")]
    title = headings[0] if len(headings) == 1 and headings[0] else page.findtext(".//title") or ""
    text = trafilatura.extract(page, include_comments=False, include_tables=True, output_format="txt")
    if text:
        return title, text.replace("\n", "\n\n")  # one block of the page a line
    # The extractor gives up on pages without running text (lists, forms, very short ones); all of the page is better than none.
    return title, trafilatura.html2txt(page)


def _read_pdf(data: bytes) -> tuple[str, str]:
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted:
        try:
            opened = reader.decrypt("")  # many files are encrypted against change only, with no password to read
        except (DependencyError, NotImplementedError):
            opened = None
        if not opened:
            raise Unreadable("is encrypted")
    pages, size = [], 0
    for page in reader.pages:
        pages.append(page.extract_text())
        size += len(pages[-1])
        if size > MAX_CHARS:
            raise Unreadable(f"holds more than {MAX_CHARS:,} characters of text")
    text = "\n\n".join(pages)
    if not text.strip():
        raise Unreadable("holds no text (a scan?)")
    declared = (reader.metadata.title if reader.metadata else None) or ""
    return declared.strip() or _first_line(text), text


READERS: dict[str, Callable[[bytes], tuple[str, str]]] = {
    ".txt": _read_text,
    ".md": _read_markdown,
    ".markdown": _read_markdown,
    ".html": _read_html,
    ".htm": _read_html,
    ".pdf": _read_pdf,
}


def quiet() -> None:
    """Keep the parsers' own complaints off a terminal, unless the user has set their level: ours name the file."""
    for name in ("trafilatura", "pypdf", "htmldate"):
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.CRITICAL)

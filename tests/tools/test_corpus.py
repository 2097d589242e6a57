"""The corpus tools, over the example corpus and over folders made to break them."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from motet.errors import InputError, ToolError
from motet.tools import Observation, Tool
from motet.tools import documents as documents_module
from motet.tools.corpus import WINDOW, corpus_tools, open_corpus
from motet.tools.passages import MAX_WORDS, MIN_WORDS, REST_WORDS, Ranking, cut, fold, query_words, words

EXAMPLES = Path(__file__).parents[2] / "examples" / "corpus"

# Words of many scripts, punctuation, blank lines and odd characters.
TEXT = st.lists(
    st.sampled_from(
        [
            "motet",
            "Voices",
            "Léonin",
            "多声部",
            "हिन्दी",
            "ไทย",
            "…",
            ". ",
            "\n\n",
            "\n",
            " ",
            "#",
            "_",
            "\x00",
            "🎵",
            "ﬁn",
        ]
    )
    | st.text(max_size=6),
    max_size=400,
).map("".join)


def call(made: Tool, **arguments: Any) -> Observation:
    return asyncio.run(made(arguments, key="k"))


def folder_of(path: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def pdf(text: str, *, password: str | None = None) -> bytes:
    """A PDF of one page, made with pypdf alone."""
    import io

    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = PdfWriter()
    page = writer.add_blank_page(width=400, height=400)
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    page[NameObject("/Resources")] = DictionaryObject(
        {NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})}
    )
    stream = DecodedStreamObject()
    stream.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode())
    page[NameObject("/Contents")] = stream
    if password is not None:
        writer.encrypt(password, algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("question", "document", "said"),
    [
        ("For how many voices is Thomas Tallis's motet Spem in alium written?", "spem-in-alium.md", "forty voices"),
        ("Who divided the breve into as many as seven semibreves?", "petronian-motet.txt", "Petrus de Cruce"),
        ("Which motet did Dufay write for the consecration of Florence cathedral?", "dufay.md", "Nuper rosarum flores"),
        ("In which year did Guillaume de Machaut die?", "machaut.html", "1377"),
        ("Where did Josquin die?", "josquin.pdf", "Condé"),
        ("What are talea and color?", "isorhythm.md", "series of durations"),
        ("Which Bach motet was sung at the funeral of Ernesti?", "bach-motets.md", "Der Geist hilft"),
        ("Who wrote the Ars cantus mensurabilis?", "mensural-notation.md", "Franco of Cologne"),
        ("Which pieces of Perotin have four voices?", "leonin-and-perotin.md", "organa quadrupla"),
        ("When was the Missa Papae Marcelli printed?", "palestrina.md", "1567"),
        ("Where does the word motet come from?", "birth-of-the-motet.md", "mot"),
    ],
)
def test_a_natural_question_finds_its_document_first(question: str, document: str, said: str) -> None:
    """The passage ranked first is of the right document and its quote holds the answer."""
    search, _ = corpus_tools(EXAMPLES)
    observation = call(search, query=question)
    first = observation.sources[0]
    assert first.ref.rpartition("#")[0] == document
    assert said in " ".join(first.quote.split())
    assert f"1. {first.title}" in observation.text


def test_every_example_document_is_readable_and_reached() -> None:
    """Nothing in the example corpus is skipped, and each document is found by its own title."""
    corpus = open_corpus(EXAMPLES)
    documents, skipped = corpus.folder.read()
    assert skipped == []
    assert len(documents) == len(list(EXAMPLES.iterdir())) >= 12
    for document in documents:
        assert document.ref in {hit.document.ref for hit in corpus.search(document.title, limit=5)}


def test_a_web_page_loses_its_furniture() -> None:
    """Navigation, footers and scripts are no part of the document."""
    _, read = corpus_tools(EXAMPLES)
    text = call(read, document="machaut.html").text
    assert "Ma fin est mon commencement" in text
    for furniture in ("Glossary", "newsletter", "cookies", "documentElement"):
        assert furniture not in text


def test_pages_join_to_the_whole_document(tmp_path: Path) -> None:
    """Following each page's next start reads the document to its end, with no gap and in pages of bounded size."""
    text = "\n\n".join(f"Paragraph {number} " + "word " * (number % 90) for number in range(200)).strip()
    _, read = corpus_tools(folder_of(tmp_path, {"long.txt": text, "solid.txt": "x" * 10_000}))
    for name, size in (("long.txt", len(text)), ("solid.txt", 10_000)):
        start, end, pages = 0, 0, 0
        while end < size:
            data: Any = call(read, document=name, start=start).data
            assert data["start"] == end == start
            assert 0 < data["end"] - start <= WINDOW
            start = end = data["end"]
            pages += 1
        assert pages > 1
        past = call(read, document=name, start=size)
        assert past.error
        assert f"has {size} characters" in past.text


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(
        st.text(max_size=40),
        st.lists(
            st.sampled_from(["..", "/", "inside", "a.txt", "secret.txt", "#1", "\\", "~", ".", "%2e", "link.txt"]),
            max_size=6,
        ).map("".join),
    ),
    st.one_of(st.integers(), st.floats(), st.none(), st.text(max_size=3)),
)
def test_no_document_name_reaches_outside_the_folder(tmp_path: Path, document: str, start: Any) -> None:
    """Whatever the arguments, a read answers from the folder's documents or with an error, and never raises."""
    inside = tmp_path / "inside"
    if not inside.exists():
        folder_of(tmp_path, {"secret.txt": "SECRET", "inside/a.txt": "the open text", "inside/sub/b.txt": "another"})
        (inside / "link.txt").symlink_to(tmp_path / "secret.txt")
        (inside / "linked").symlink_to(tmp_path)
    search, read = corpus_tools(inside)
    observation = call(read, document=document, start=start)
    assert "SECRET" not in observation.text
    data: Any = observation.data
    assert observation.error or data["document"] in ("a.txt", "sub/b.txt")
    assert "SECRET" not in call(search, query="secret").text


@settings(max_examples=40, deadline=None)
@given(st.lists(TEXT, min_size=1, max_size=4), TEXT)
def test_every_quote_stands_in_its_document(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], query: str
) -> None:
    """For any texts and any query, a search's quotes are exact slices, ranked by score, with deterministic ties."""
    files: dict[str, str | bytes] = {f"{number}.txt": text.replace("\x00", "") for number, text in enumerate(texts)}
    files["always.txt"] = "motet"
    corpus = open_corpus(folder_of(tmp_path_factory.mktemp("corpus"), files))
    hits = corpus.search(query, limit=20)
    keys = [(-hit.score, hit.document.ref, hit.number) for hit in hits]
    assert keys == sorted(keys)
    for hit in hits:
        assert hit.text
        assert hit.text in hit.document.text
        assert hit.passage.start <= hit.quote.start < hit.quote.end <= hit.passage.end
        assert corpus.find(hit.ref) == (hit.document, hit.passage.start)
    assert [(hit.ref, hit.score) for hit in corpus.search(query, limit=20)] == [(hit.ref, hit.score) for hit in hits]


@settings(max_examples=150, deadline=None)
@given(TEXT)
def test_passages_cover_every_word_and_move_forward(text: str) -> None:
    """No word is lost between passages, none is empty, and each ends later than the one before."""
    passages = cut(text)
    covered: set[int] = set()
    for passage in passages:
        assert text[passage.start : passage.end].strip()
        covered.update(range(passage.start, passage.end))
    assert all(text[place].isspace() for place in range(len(text)) if place not in covered)
    assert all(before.end < after.end and before.start < after.start for before, after in itertools.pairwise(passages))


def test_passages_keep_their_size_and_respect_paragraphs() -> None:
    """Passages have 150 to 250 words (and a rest of up to 75), and end with a paragraph where one ends in that range."""
    text = "\n\n".join(f"Start{number} " + "word " * 44 + "end." for number in range(40))
    passages = cut(text)
    for passage in passages:
        assert MIN_WORDS <= passage.words <= MAX_WORDS + REST_WORDS
        assert text[passage.start : passage.end].startswith("Start")
        assert text[: passage.end].endswith("end.")
    solid = cut("word " * 2_000)
    assert max(passage.words for passage in solid) <= MAX_WORDS + REST_WORDS


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("經文歌是一種多聲部的合唱音樂，起源於十三世紀的法國。", "多聲部音樂"),
        ("モテットは中世の多声音楽の一種である。", "多声音楽"),
        ("Мотет — жанр многоголосной музыки.", "МОТЕТ"),
        ("모테트는 중세의 다성 음악이다.", "음악"),
        ("Der Größte unter ihnen schrieb Motetten.", "grösste"),
        ("Léonin fut le premier.", "leonin"),
        ("हिन्दी में संगीत", "संगीत"),
        ("ภาษาไทยมีดนตรี", "ดนตรี"),
        ("Ὁ ποιητὴς ᾄδει", "ποιητης"),
        ("The ﬁnal voices of the churches", "final voice church"),
    ],
)
def test_other_languages_are_found(tmp_path: Path, text: str, query: str) -> None:
    """Case, accents, ligatures and missing spaces do not hide a word, in any script."""
    files: dict[str, str | bytes] = {"right.txt": text, "wrong.txt": "nothing of that kind is here 無"}
    search, _ = corpus_tools(folder_of(tmp_path, files))
    observation = call(search, query=query)
    assert [source.ref for source in observation.sources] == ["right.txt#1"]


def test_words_compare_without_case_accents_and_plurals() -> None:
    """The comparison form of words, as the module documents it."""
    assert words("Voices, MASSES; ladies' boxes – Léonin's motet_s") == [
        "voice",
        "mass",
        "lady",
        "box",
        "leonin",
        "s",
        "motet",
        "s",
    ]
    assert words("多声") == ["多", "声", "多声"]
    assert words("は3月") == ["は", "3", "月"]
    assert fold("ＦＵＬＬ ｗｉｄｔｈ") == "full width"
    assert query_words("who is the king of the kings") == ["king"]
    assert query_words("who is it") == ["who", "is", "it"]


def test_equal_scores_keep_the_order_of_passages() -> None:
    """Ties are broken by place, never by chance."""
    ranking = Ranking([["other"], *[["same", "words"]] * 50])
    assert [place for place, _ in ranking.top(["same"], limit=10)] == list(range(1, 11))


def test_a_bad_file_is_skipped_by_name_and_stops_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Each unusable file is named with its reason in one warning, and the good ones are searched."""
    folder_of(
        tmp_path,
        {
            "good.md": "A good document about motets.",
            "good.pdf": pdf("Searchable words in print"),
            "open.pdf": pdf("Locked against change only", password=""),
            "latin.txt": "Léonin".encode("latin-1"),
            "nul.txt": b"a\x00b",
            "empty.md": "  \n",
            "broken.pdf": b"%PDF-1.7 nothing",
            "locked.pdf": pdf("hidden", password="x"),
            "scan.pdf": pdf(""),
            "noise.html": bytes(range(256)),
            "deep.html": "<div>" * 30_000 + "deep" + "</div>" * 30_000,
            "photo.jpg": b"\xff\xd8",
            ".hidden.txt": "hidden",
            ".git/config.txt": "hidden",
        },
    )
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "loop.txt").symlink_to(tmp_path / "loop.txt")
    (tmp_path / "loop").symlink_to(tmp_path)
    corpus = open_corpus(tmp_path)
    with caplog.at_level(logging.WARNING, "motet"):
        assert [hit.document.ref for hit in corpus.search("motets")] == ["good.md"]
    assert [hit.document.ref for hit in corpus.search("searchable")] == ["good.pdf"]
    assert [hit.document.ref for hit in corpus.search("locked")] == ["open.pdf"]
    reasons = {item.ref: item.reason for item in corpus.skipped}
    assert "UTF-8" in reasons.pop("latin.txt")
    assert "NUL" in reasons.pop("nul.txt")
    assert reasons.pop("empty.md") == "holds no text"
    assert "cannot be parsed" in reasons.pop("broken.pdf")
    assert reasons.pop("locked.pdf") == "is encrypted"
    assert "scan" in reasons.pop("scan.pdf")
    assert reasons.pop("pipe.txt") == "is not a regular file"
    assert set(reasons) == {"noise.html", "deep.html", "loop.txt"}
    assert corpus.folder.ignored == 2  # the photo and the hidden file
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 1
    assert "latin.txt: is not UTF-8 text" in messages[0]


def test_files_beyond_the_caps_are_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes, characters and the number of files are all bounded."""
    monkeypatch.setattr(documents_module, "MAX_BYTES", 1_000)
    monkeypatch.setattr(documents_module, "MAX_CHARS", 500)
    folder_of(tmp_path, {"good.txt": "good", "large.txt": "x" * 1_001, "long.txt": "y" * 600})
    corpus = open_corpus(tmp_path)
    assert corpus.search("good")
    assert {item.ref for item in corpus.skipped} == {"large.txt", "long.txt"}
    monkeypatch.setattr(documents_module, "MAX_FILES", 1)
    with pytest.raises(InputError, match="more than 1 documents"):
        open_corpus(tmp_path)


def test_a_folder_that_cannot_be_a_corpus_is_refused(tmp_path: Path) -> None:
    """Missing, a file, empty, or without any document: one clear line each."""
    (tmp_path / "empty").mkdir()
    folder_of(tmp_path, {"file.txt": "x", "images/a.png": b"x"})
    for name, said in (
        ("missing", "is not there"),
        ("file.txt", "is a file, not a folder"),
        ("empty", "holds no readable document"),
        ("images", "1 files of other kinds"),
    ):
        with pytest.raises(InputError, match=said):
            corpus_tools(tmp_path / name)


def test_a_corpus_without_one_readable_document_says_why(tmp_path: Path) -> None:
    """When parsing leaves nothing, the observation gives the reasons."""
    search, _ = corpus_tools(folder_of(tmp_path, {"a.txt": b"\xff\xfe\x00", "b.md": " "}))
    observation = call(search, query="anything")
    assert observation.error
    assert "a.txt: is not UTF-16 text" in observation.text
    assert "b.md: holds no text" in observation.text


def test_titles_come_from_the_documents(tmp_path: Path) -> None:
    """Headings, front matter, page titles and first lines are titles; front matter is no text; else the name is one."""
    folder_of(
        tmp_path,
        {
            "heading.md": "---\ntitle: Declared\n---\n\n```\n# not this\n```\n\n## *Real* title ##\n\ntext",
            "matter.md": '---\ntitle: "Declared"\ntags: [a]\n---\ntext only',
            "setext.md": "Underlined\n==========\n\ntext",
            "first.txt": "A first line\n\ntext",
            "my-own_name.txt": "This is only a sentence, which makes no title.",
            "page.html": "<html><head><title>Site | Page</title></head><body><p>Some words</p></body></html>",
            "bom.txt": "\ufeffWith a mark\n".encode(),
            "wide.txt": "Sixteen bits\n".encode("utf-16"),
        },
    )
    documents, skipped = open_corpus(tmp_path).folder.read()
    assert skipped == []
    assert {document.ref: document.title for document in documents} == {
        "heading.md": "Real title",
        "matter.md": "Declared",
        "setext.md": "Underlined",
        "first.txt": "A first line",
        "my-own_name.txt": "my own name",
        "page.html": "Site | Page",
        "bom.txt": "With a mark",
        "wide.txt": "Sixteen bits",
    }
    assert next(document for document in documents if document.ref == "matter.md").text == "text only"


@pytest.mark.parametrize(
    "page",
    [
        "<p>green bells</p>",
        "<html><body><ul><li>green bells</li></ul></body></html>",
        "<html><body><h1>Short</h1><p>green bells</p></body></html>",
        "<html><body><table><tr><td>green</td><td>bells</td></tr></table></body></html>",
        "green bells",
    ],
)
def test_pages_without_running_text_are_read_too(tmp_path: Path, page: str) -> None:
    """Fragments, lists, tables and very short pages keep their words."""
    search, _ = corpus_tools(folder_of(tmp_path, {"page.html": page}))
    assert call(search, query="green bells").sources


def test_the_version_follows_the_contents(tmp_path: Path) -> None:
    """The same contents elsewhere have the same version; a changed byte, name or new file gives another."""
    first, second = tmp_path / "first", tmp_path / "second"
    folder_of(first, {"a.txt": "one", "b.txt": "two", "c.png": b"x"})
    shutil.copytree(first, second)
    versions = [corpus_tools(first)[0].version]
    assert corpus_tools(second)[1].version == versions[0]
    for change in ({"a.txt": "One"}, {"d.txt": "three"}):
        folder_of(second, dict(change))
        versions.append(corpus_tools(second)[0].version)
    (second / "d.txt").rename(second / "e.txt")
    versions.append(corpus_tools(second)[0].version)
    assert len(set(versions)) == 4


def test_a_document_that_changes_before_it_is_read_is_an_error(tmp_path: Path) -> None:
    """No answer comes from contents that the tool's version does not name."""
    search, _ = corpus_tools(folder_of(tmp_path, {"a.txt": "one"}))
    (tmp_path / "a.txt").write_text("two")
    observation = call(search, query="two")
    assert observation.error
    assert "'a.txt' has changed" in observation.text


def test_tools_of_one_folder_share_one_index_and_nothing_else(tmp_path: Path) -> None:
    """Each agent gets its own tools; the index is built once, also when many ask at the same time."""
    folder_of(tmp_path, {f"{number}.txt": f"document number {number}" for number in range(20)})
    corpus = open_corpus(tmp_path)
    first, second = corpus_tools(tmp_path), corpus_tools(tmp_path)
    assert first[0] is not second[0]
    assert open_corpus(tmp_path) is corpus
    indexes = []
    barrier = threading.Barrier(8)

    def build() -> None:
        barrier.wait()
        indexes.append(corpus._built())

    threads = [threading.Thread(target=build) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(index) for index in indexes}) == 1


def test_an_unknown_document_gets_the_nearest_names() -> None:
    """Part of a name, a title, a wrong path and a misspelling all lead to the right document."""
    corpus = open_corpus(EXAMPLES)
    for asked, offered in (
        ("tallis", "thomas-tallis.md"),
        ("Guillaume de Machaut", "machaut.html"),
        ("examples/corpus/dufay.md", "dufay.md"),
        ("palestina.md", "palestrina.md"),
        ("JOSQUIN.PDF", "josquin.pdf"),
    ):
        with pytest.raises(ToolError, match=f"did you mean '{offered}'"):
            corpus.find(asked)
    with pytest.raises(ToolError, match="has passages 1 to"):
        corpus.find("dufay.md#99")


def test_a_search_without_a_hit_says_so() -> None:
    """No hit is an answer and no error; a query without any word is the same."""
    search, _ = corpus_tools(EXAMPLES)
    for query in ("xylophone", "?!", "🎵"):
        observation = call(search, query=query)
        assert not observation.error
        assert observation.sources == ()
        assert "No passage in the 16 documents" in observation.text


def test_a_second_corpus_can_have_its_own_name(tmp_path: Path) -> None:
    """Named corpora live side by side, and each search names its own reader."""
    search, read = corpus_tools(folder_of(tmp_path, {"a.txt": "one"}), name="laws")
    assert (search.name, read.name) == ("laws_search", "laws_read")
    assert "laws_read" in call(search, query="one").text
    with pytest.raises(InputError, match="not valid"):
        corpus_tools(tmp_path, name="my laws")

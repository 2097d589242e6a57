"""Tables: how they are read out of an answer, matched and measured."""

from __future__ import annotations

import random
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.bench.scoring.tables import (
    Figures,
    Table,
    arrange,
    column_name,
    figures,
    match_rows,
    pick_table,
    read_tables,
)

PLAIN = Table(("Name", "Height"), (("Velk", "912"), ("Osk", "40")))


@pytest.mark.parametrize(
    "text",
    [
        "| Name | Height |\n| --- | ---: |\n| Velk | 912 |\n| Osk | 40 |",
        "Here it is:\n\n```markdown\n| Name | Height |\n|---|---|\n| Velk | 912 |\n| Osk | 40 |\n```\nDone.",
        "Name | Height\n--- | ---\nVelk | 912\nOsk | 40",
        "| Name | Height |\r\n|:-:|:-:|\r\n| Velk | 912 | |\r\n| Osk | 40 |",
        "> | Name | Height |\n> |---|---|\n> | Velk | 912 |\n> | Osk | 40 |",
        "| Name | Height |\n| Velk | 912 |\n| Osk | 40 |",
        "Heights | in metres\n| Name | Height |\n|---|---|\n| Velk | 912 |\n| Osk | 40 |",
    ],
    ids=["plain", "fenced", "open", "long row", "quoted", "no dashes", "caption"],
)
def test_a_markdown_table_is_read_however_it_is_written(text: str) -> None:
    """The usual form and what models make of it give the same table."""
    assert read_tables(text) == [PLAIN]


def test_short_rows_and_escaped_pipes() -> None:
    """A missing cell is an empty one, and a pipe that is escaped is a character."""
    assert read_tables("| a | b |\n|---|---|\n| x \\| y |\n| | z |")[0].rows == (("x | y", ""), ("", "z"))


@pytest.mark.parametrize("text", ["", "no table", "a | b", "|\n", "|" * 10_000, "|a\n" * 1, "---\n---"])
def test_what_is_no_table_is_none(text: str) -> None:
    """Text, a single line and pipes alone hold no table."""
    assert read_tables(text) == []


@given(st.text(max_size=300) | st.text(alphabet="|-: \n\\ab`", max_size=200))
def test_any_text_is_read(text: str) -> None:
    """Whatever stands in an answer, it is read, and every row has as many cells as there are columns."""
    for table in read_tables(text):
        assert table.columns
        assert all(len(row) == len(table.columns) for row in table.rows)


def test_the_last_table_with_most_columns_is_the_answer() -> None:
    """A draft with the same columns and a table of something else do not count."""
    draft = Table(("Name", "Height"), (("x", "1"),))
    other = Table(("Source",), (("web",),))
    assert pick_table([draft, PLAIN, other], ["name", "height"]) == PLAIN
    assert pick_table([], ["name"]) is None


def test_columns_must_be_those_that_were_asked() -> None:
    """Any order and spelling of the same columns will do; a missing, a further or a repeated one is told."""
    assert arrange(Table(("HEIGHT", "**Na me**"), (("912", "Velk"),)), ["name", "height"]) == Table(("name", "height"), (("Velk", "912"),))  # fmt: skip
    assert arrange(Table(("Peak", "Height"), ()), ["name", "height"], renamed={"peak": "name"}) == Table(("name", "height"), ())  # fmt: skip
    for columns, words in (
        (("Name",), "no column height"),
        (("Name", "Height", "Source"), "unasked column source"),
        (("Name", "Height", "name"), "twice name"),
    ):
        found = arrange(Table(columns, ()), ["name", "height"])
        assert isinstance(found, str)
        assert words in found


def test_the_figures_by_hand() -> None:
    """Of three right rows two are given, one of them with a wrong item, beside one row that is none of them."""
    matching = match_rows([("a",), ("b",), ("c",)], [("b",), ("x",), ("a",)])
    assert matching.pairs == {1: (0,), 0: (2,)}
    found = figures(matching, {0: 2, 1: 1}, columns=2)
    assert found == Figures(
        item_precision=3 / 6, item_recall=3 / 6, item_f1=1 / 2, row_precision=1 / 3, row_recall=1 / 3,
        row_f1=1 / 3, success=False,
    )  # fmt: skip
    assert figures(match_rows([("a",)], [("a",)]), {0: 2}, columns=2) == Figures(1, 1, 1, 1, 1, 1, True)


def test_a_repeated_row_is_one_and_a_key_without_words_is_none() -> None:
    """Saying a row again gains and costs nothing; an empty key matches not even an empty one."""
    assert match_rows([("a",)], [("a",), ("a",)]).pairs == {0: (0, 1)}
    assert match_rows([("a",)], [("x",), ("x",)]).others == 1
    assert match_rows([("",)], [("",)]).pairs == {}


KEYS = st.lists(st.sampled_from("abcdefg"), max_size=8).map(lambda names: [(name,) for name in names])


@given(KEYS, KEYS, st.integers(1, 4), st.randoms(use_true_random=False))
def test_figures_stay_in_range_and_no_order_matters(
    right: list[tuple[str]], given_keys: list[tuple[str]], columns: int, rng: random.Random
) -> None:
    """All figures lie in 0..1, F1 between precision and recall, and shuffling the given rows changes nothing."""

    def measured(keys: list[tuple[str]]) -> Figures:
        matching = match_rows(right, keys)
        return figures(matching, dict.fromkeys(matching.pairs, columns), columns=columns)

    found = measured(given_keys)
    assert measured(rng.sample(given_keys, len(given_keys))) == found
    assert all(0 <= value <= 1 for value in asdict(found).values())
    assert min(found.item_precision, found.item_recall) - 1e-9 <= found.item_f1 <= max(found.item_precision, found.item_recall) + 1e-9  # fmt: skip
    assert found.success == (found.row_f1 == 1 and set(right) == set(given_keys))


def test_columns_are_compared_without_case_and_spaces() -> None:
    """The name of a column has one form."""
    assert column_name(" **Opening\tYear** ") == column_name("openingyear") == "openingyear"

"""Tables written as lines: read as their JSON is, and each mistake told with its line."""

from __future__ import annotations

import pytest

from decoding.errors import UserError
from decoding.models import toy
from decoding.models.table import Table, read
from decoding.models.table_text import MAX_CHARACTERS, read_text, write_text

LINES = """
# the beginning
(start): I .4, We .6
I:  like .5 ,love .5
I like: singing 1
(else): <end> 1
(longest): 3
"""


def test_lines_are_rows() -> None:
    found = read_text(LINES, "own")
    assert found.rows == {
        ("",)[:0]: {"I": 0.4, "We": 0.6},
        ("I",): {"like": 0.5, "love": 0.5},
        ("I", "like"): {"singing": 1},
    }
    assert (found.name, found.end, found.max_words, found.default) == ("own", "<end>", 3, {"<end>": 1})


def test_wide_signs_are_read_as_narrow_ones() -> None:
    assert read_text("（start）：我 .5，你 .5\n我：在 1", "own").rows[("我",)] == {"在": 1}


@pytest.mark.parametrize("name", toy.names())
def test_every_table_that_comes_along_is_written_and_read_back(name: str) -> None:
    table = read(toy.TABLES / f"{name}.json")
    again = read_text(write_text(table), table.name)
    assert _plain(again) == _plain(table)


def _plain(table: Table) -> object:
    rows = {words: {word: pytest.approx(prob) for word, prob in row.items()} for words, row in table.rows.items()}
    return rows, dict(table.default), table.end, table.max_words


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no line"),
        ("# only words about it", "no line"),
        ("(start) I .4", "line 1"),
        (": I 1", "line 1"),
        ("(start): I .4 We", "'I .4 We'"),
        ("(start): I", "'I'"),
        ("(start): I half", "half in row"),
        ("(start): I .4, I .6", "there twice"),
        ("(start): I 1\n(start): We 1", "line 2"),
        ("(start): I .4, We .5", "sums to 0.9"),
        ("(start): I 1.5, We -.5", "from 0 to 1"),
        ("(start): I nan", "from 0 to 1"),
        ("(start): I 1\n(longest): few", "line 2"),
        ("(start): I 1\n(longest): 0", "max_words"),
        ("(start):", "(start)"),
        ("b: a 1", "no line for the beginning"),
        ("x" * (MAX_CHARACTERS + 1), "20,000"),
    ],
)
def test_a_mistake_is_told(text: str, says: str) -> None:
    with pytest.raises(UserError) as caught:
        read_text(text, "own")
    assert says in str(caught.value) and "\n" not in str(caught.value)

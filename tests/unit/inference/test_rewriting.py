"""A table with filled cells: every other byte as it was."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from graphmae.data.tables import read_table
from graphmae.inference.as_written import decimals_of, writer
from graphmae.inference.imputation import Filled
from graphmae.inference.rewriting import with_cells, write_filled

PLAIN = b'id,name,price,kind\na,"Big, one",5.0,x\nb,,NA,\nc,"say ""hi""\nthere",7.50,y\n'


def filled(column: str, row: int, value: object) -> Filled:
    number = isinstance(value, float)
    numbers = np.array([value]) if number else np.empty(0)
    return Filled(column, np.array([row]), [value], numbers, "R²" if number else "accuracy", 1.0, 0.0, True)


@pytest.mark.parametrize(
    "content",
    [
        PLAIN,
        PLAIN.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + PLAIN,
        PLAIN.rstrip(),
        b"# a comment, of two parts\n" + PLAIN,
    ],
)
def test_only_filled_cells_change(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_bytes(content)
    found = with_cells(tmp_path / "n.csv", ["id", "name", "price", "kind"], 3, {"price": {1: "6.0"}, "kind": {1: "x"}})
    end = b"\r\n" if b"\r" in content else b"\n"
    assert found == content.replace(b"b,,NA," + end, b"b,,6.0,x" + end)


def test_other_encodings_separators_and_new_text_with_separators(tmp_path: Path) -> None:
    content = "id;größe;ort\n1;3,5;Köln\n2;;\n".encode("cp1252")
    (tmp_path / "n.csv").write_bytes(content)
    found = with_cells(tmp_path / "n.csv", ["id", "größe", "ort"], 2, {"größe": {1: "4,0"}, "ort": {1: "Köln; West"}})
    assert found == 'id;größe;ort\n1;3,5;Köln\n2;4,0;"Köln; West"\n'.encode("cp1252")
    (tmp_path / "n.csv.gz").write_bytes(gzip.compress(content))
    assert with_cells(tmp_path / "n.csv.gz", ["id", "größe", "ort"], 2, {}) == content


def test_what_cannot_be_followed_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_bytes(PLAIN)
    names = ["id", "name", "price", "kind"]
    assert with_cells(tmp_path / "n.csv", names, 4, {}) is None  # another number of rows
    assert with_cells(tmp_path / "n.csv", names[1:], 3, {}) is None
    assert with_cells(tmp_path / "n.csv", names, 3, {"price": {0: "6.0"}}) is None  # the cell is not empty


def test_a_table_is_written_in_its_own_notation(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_bytes(PLAIN)
    before = read_table(tmp_path / "n.csv")
    done = [filled("price", 1, 6.0), filled("kind", 1, "x")]
    write_filled(tmp_path / "n.csv", tmp_path / "o.csv", before, before, done)
    assert (tmp_path / "o.csv").read_bytes() == PLAIN.replace(b"b,,NA,", b"b,,6.0,x")
    write_filled(tmp_path / "n.csv", tmp_path / "o.tsv", before, before, done)
    lines = (tmp_path / "o.tsv").read_text().splitlines()
    assert lines[:3] == ["id\tname\tprice\tkind", "a\tBig, one\t5.0\tx", "b\t\t6.0\tx"]


@pytest.mark.parametrize(
    ("written", "values", "new", "text"),
    [
        (["5", "12"], [5, 12], 7, "7"),
        (["5.0", "7.25"], [5, 7.25], 6, "6.0"),
        (["1,250", "3,000,000"], [1250, 3e6], 12345, "12,345"),
        (["3,5", "12,25"], [3.5, 12.25], 4.5, "4,5"),
        (["$5.00", "$1.25"], [5, 1.25], 2, "$2.00"),
        (["5 %", "7 %"], [0.05, 0.07], 0.06, "6 %"),
        (["-3", "4"], [-3, 4], -7, "-7"),
        (["2020-01-02 10:00:00", "2020-05-01 00:00:00"], [1577959200, 1588291200], 60, "1970-01-01 00:01:00"),
        (["many", "few"], [5, 3], 4, "4"),
    ],
)
def test_numbers_as_the_column_writes_them(written: list[str], values: list[float], new: float, text: str) -> None:
    assert writer(written, np.array(values, dtype=float))(new) == text


def test_decimals_of_noise_are_not_copied() -> None:
    assert decimals_of(np.random.default_rng(0).random(300)) == 5
    assert decimals_of(np.array([0.5, 0.25])) == 2 and decimals_of(np.array([3.0, 3.0])) == 0

"""The rows of a file of molecules one after another, so that a library of any size can be read."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from ...runtime.errors import DataError
from ...runtime.untrusted import open_gz, refuse_special
from .lines import molecule_table, smiles_column

LARGE = 1 << 25  # bytes of a text table, from which on it is read row by row
Rows = Iterator[tuple[list[str], str]]


def library_rows(path: Path, smiles: str | None = None) -> tuple[list[str], Rows]:
    """(names of the columns, (cells, SMILES) of every row).

    Lists of SMILES and large .csv and .tsv files are read as they are asked for; other tables at once.
    """
    refuse_special(path)
    plain = Path(str(path).lower().removesuffix(".gz"))
    if path.is_file() and plain.suffix in (".csv", ".tsv") and path.stat().st_size > LARGE:
        return _streamed(path, "\t" if plain.suffix == ".tsv" else "", smiles)
    header, rows, column = molecule_table(path, smiles)
    at = header.index(column) if column is not None else 0
    return header, ((_fitted(row, len(header)), row[at].strip()) for row in rows)


def _streamed(path: Path, delimiter: str, smiles: str | None) -> tuple[list[str], Rows]:
    lines = _lines(path)
    first = next(lines)
    delimiter = delimiter or max(",;\t", key=first.count)
    header = next(csv.reader([first], delimiter=delimiter))
    at = smiles_column(path, header, smiles)

    def rows() -> Rows:
        for number, row in enumerate(csv.reader(lines, delimiter=delimiter), 2):
            if not row:
                continue
            if len(row) <= at:
                raise DataError(f"{path}, line {number}: it has {len(row)} cells, and SMILES are in column {at + 1}")
            yield _fitted(row, len(header)), row[at].strip()

    return header, rows()


def _lines(path: Path) -> Iterator[str]:
    packed = path.suffix.lower() == ".gz"
    with (
        io.TextIOWrapper(open_gz(path), encoding="utf-8-sig", newline="")
        if packed
        else path.open(encoding="utf-8-sig", newline="") as lines
    ):
        yield from lines


def _fitted(row: list[str], width: int) -> list[str]:
    """As many cells as there are columns."""
    return row if len(row) == width else [*row, *[""] * (width - len(row))][:width]

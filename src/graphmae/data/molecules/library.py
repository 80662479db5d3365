"""The rows of a file of molecules one after another, so that a library of any size can be read."""

from __future__ import annotations

import csv
import io
import logging
from collections.abc import Iterator
from pathlib import Path

from ...runtime.errors import DataError
from ...runtime.untrusted import open_gz
from .cells import read_cells
from .columns import find_smiles
from .lines import form_of, read_lines, smiles_name

logger = logging.getLogger("graphmae")
LARGE = 1 << 23  # bytes of a text file, from which on it is read row by row
Rows = Iterator[tuple[list[str], str]]


def library_rows(path: Path, smiles: str | None = None) -> tuple[list[str], Rows]:
    """(names of the columns, (cells, SMILES) of every row).

    Large lists of SMILES, .csv and .tsv files are read as they are asked for; smaller and other files at once.
    """
    form, plain = form_of(path), Path(str(path).lower().removesuffix(".gz"))
    if path.stat().st_size > LARGE:
        if form == "list":
            return ["smiles", "name"], (([line.text, line.rest], line.text) for line in read_lines([path]))
        if form == "table" and plain.suffix in (".csv", ".tsv"):
            return _streamed(path, "\t" if plain.suffix == ".tsv" else "", smiles)
    cells = read_cells(path)
    column, how = find_smiles(path, cells, smiles)
    if how:
        logger.info("%s: %s", path.name, how)
    texts = cells.texts(column)
    return cells.names, ((row, text.strip()) for row, text in zip(cells.rows(), texts, strict=True))


def _streamed(path: Path, delimiter: str, smiles: str | None) -> tuple[list[str], Rows]:
    lines = _lines(path)
    first = next(lines, "")
    delimiter = delimiter or max(",;\t", key=first.count)
    header = next(csv.reader([first], delimiter=delimiter), [])
    column = smiles_name(path, header, smiles)
    if column != smiles:
        logger.info("%s: SMILES are in the column %r", path.name, column)
    at = header.index(column)

    def rows() -> Rows:
        for number, row in enumerate(csv.reader(lines, delimiter=delimiter), 2):
            if not row:
                continue
            if len(row) <= at:
                raise DataError(f"{path}, line {number}: it has {len(row)} cells, and SMILES are in column {at + 1}")
            yield [*row, *[""] * (len(header) - len(row))][: len(header)], row[at].strip()

    return header, rows()


def _lines(path: Path) -> Iterator[str]:
    how = {"encoding": "utf-8-sig", "errors": "replace", "newline": ""}
    if path.suffix.lower() == ".gz":
        with io.TextIOWrapper(open_gz(path), **how) as lines:  # type: ignore[arg-type]
            yield from lines
    else:
        with path.open(**how) as lines:  # type: ignore[call-overload]
            yield from lines

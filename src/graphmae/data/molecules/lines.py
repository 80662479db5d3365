"""SMILES strings from text files and tables, plain or compressed, one after the other."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ...runtime.errors import DataError, InputError
from ...runtime.untrusted import open_gz, refuse_special
from ..tables.cells import as_text
from ..tables.reading import PARQUET, read_table

LONGEST = 1_000_000  # characters of a line
NAMES = ("smiles", "smile", "canonical_smiles", "mol", "molecule", "structure")
STRETCH = 500  # lines next to each other, of a sample
TABLES = (".csv", ".tsv", *PARQUET)  # the text ones also as .gz; anything else is a list of SMILES


class Line(NamedTuple):
    """Where a SMILES string stands."""

    file: str
    number: int
    text: str


def read_lines(files: Iterable[Path], column: str | None = None) -> Iterator[Line]:
    """The SMILES of every file: the first word of a line, or of tables a column.

    The column is `column`, or the one whose name says so.
    """
    for file in files:
        refuse_special(file)
        if not file.is_file():
            raise InputError(f"there is no file {file}")
        if is_table(file):
            header, rows = read_cells(file)
            at = smiles_column(file, header, column)
            yield from (Line(file.name, number, row[at].strip()) for number, row in enumerate(rows, 2))
            continue
        for number, line in enumerate(_text_lines(file), 1):
            words = line.split(None, 1)
            if words and not words[0].startswith("#"):
                yield Line(file.name, number, words[0])


def is_table(file: Path) -> bool:
    """Whether the file's name says that it has columns."""
    return Path(str(file).lower().removesuffix(".gz")).suffix in TABLES


def read_cells(file: Path) -> tuple[list[str], list[list[str]]]:
    """(names of the columns, the cells of every row as text), by the reader of all tables."""
    table = read_table(file, as_written=lambda names: names)
    return table.column_names, [list(row) for row in zip(*map(_as_written, table.columns), strict=True)]


def _as_written(column: pa.ChunkedArray) -> list[str]:
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return pc.fill_null(column, "").to_pylist()
    return as_text(column).to_pylist()


def stretches(count: int, most: int) -> list[range]:
    """All of 0 to count − 1, or where that is far more than `most`, parts of it that are spread evenly.

    >>> stretches(10, 20), stretches(4000, 1000)
    ([range(0, 10)], [range(0, 500), range(3500, 4000)])
    """
    if count <= most:
        return [range(count)]
    firsts = [round(i * (count - STRETCH) / max(1, most // STRETCH - 1)) for i in range(max(1, most // STRETCH))]
    return [range(first, first + STRETCH) for first in firsts]


def _text_lines(file: Path) -> Iterator[str]:
    """The lines of a file, plain or .gz. Excel writes a mark in front of UTF-8, which is dropped."""
    how: dict[str, Any] = {"encoding": "utf-8-sig", "errors": "replace"}
    try:
        packed = file.suffix.lower() == ".gz"
        with io.TextIOWrapper(open_gz(file), **how) if packed else file.open(**how) as lines:
            while line := lines.readline(LONGEST):
                if len(line) == LONGEST:
                    raise DataError(
                        f"{file} has a line of more than {LONGEST:,} characters, so it is no list of SMILES"
                    )
                yield line
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{file} is damaged or not a .gz file ({error})") from None


def smiles_column(file: Path, header: Sequence[str], wanted: str | None) -> int:
    """Which column holds SMILES."""
    if wanted is not None:
        if wanted not in header:
            raise InputError(f"{file} has no column {wanted!r}; it has {', '.join(header) or 'none'}")
        return list(header).index(wanted)
    found = [i for i, name in enumerate(header) if name.strip().lower() in NAMES]
    if len(found) != 1:
        raise InputError(f"{file}: say which column holds SMILES (--smiles); it has {', '.join(header) or 'none'}")
    return found[0]

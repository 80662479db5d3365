"""SMILES strings from text files and tables, plain or compressed, one after the other."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ...runtime.errors import DataError, InputError

NAMES = ("smiles", "smile", "canonical_smiles", "mol", "molecule", "structure")


class Line(NamedTuple):
    """Where a SMILES string stands."""

    file: str
    number: int
    text: str


def read_lines(files: Iterable[Path], column: str | None = None) -> Iterator[Line]:
    """The SMILES of every file: the first word of a line, or of .csv and .tsv files a column.

    The column is `column`, or the one whose name says so.
    """
    for file in files:
        if not file.is_file():
            raise InputError(f"there is no file {file}")
        with open_table(file) as (lines, separator):
            if separator:
                yield from _column(file, lines, separator, column)
                continue
            for number, line in enumerate(lines, 1):
                words = line.split(None, 1)
                if words and not words[0].startswith("#"):
                    yield Line(file.name, number, words[0])


@contextmanager
def open_table(file: Path) -> Iterator[tuple[Iterable[str], str]]:
    """(the lines of a file, plain or .gz; what separates its columns, empty where it is not a table)."""
    packed = file.suffix.lower() == ".gz"
    kind = Path(file.stem).suffix if packed else file.suffix
    # Excel writes a mark in front of UTF-8; nobody can see it.
    how: dict[str, Any] = {"encoding": "utf-8-sig", "errors": "replace", "newline": ""}
    try:
        with gzip.open(file, "rt", **how) if packed else file.open(**how) as lines:
            yield lines, {".csv": ",", ".tsv": "\t"}.get(kind.lower(), "")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{file} is damaged or no .gz file ({error})") from None
    except csv.Error as error:
        raise DataError(f"{file} is not a table ({error}); is a quotation mark left open?") from None


def _column(file: Path, lines: Iterable[str], separator: str, wanted: str | None) -> Iterator[Line]:
    rows = csv.reader(lines, delimiter=separator, strict=True)
    header = next(rows, [])
    at = smiles_column(file, header, wanted)
    for row in rows:
        if row:
            yield Line(file.name, rows.line_num, row[at].strip() if at < len(row) else "")


def smiles_column(file: Path, header: Sequence[str], wanted: str | None) -> int:
    """Which column holds SMILES."""
    if wanted is not None:
        if list(header).count(wanted) > 1:
            raise InputError(f"{file} has several columns named {wanted!r}; rename all but one")
        if wanted not in header:
            raise InputError(f"{file} has no column {wanted!r}; it has {', '.join(header) or 'none'}")
        return list(header).index(wanted)
    found = [i for i, name in enumerate(header) if name.strip().lower() in NAMES]
    if len(found) != 1:
        raise InputError(f"{file}: say which column holds SMILES (--smiles); it has {', '.join(header) or 'none'}")
    return found[0]

"""A file of molecules as columns of text, whatever kind of file it is: everybody reads it here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...runtime.errors import DataError
from ..tables.cells import as_text, is_numeric
from ..tables.habits import Habits
from ..tables.reading import read_table
from .lines import form_of, is_header, list_lines, text_lines
from .sdf import read_sdf


@dataclass(frozen=True)
class Cells:
    """The cells of a file as text, column by column.

    Attributes:
        table: every column as Arrow strings.
        typed: columns that hold numbers in the file itself (Excel, Parquet): there is no notation to find out.
        smiles: the column of structures, where the file's kind says which; else "".
        notes: what was guessed about the file.
        habits: how the other columns of a text file write numbers.
    """

    table: pa.Table
    typed: frozenset[str] = frozenset()
    smiles: str = ""
    notes: tuple[str, ...] = ()
    habits: Habits = field(default_factory=Habits)

    @property
    def names(self) -> list[str]:
        return list(self.table.column_names)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def texts(self, name: str) -> list[str]:
        """[rows] the cells of a column, as they are written; "" where there is none."""
        return list(self.table.column(name).to_pylist())

    def rows(self) -> list[list[str]]:
        return [list(row) for row in zip(*map(self.texts, self.names), strict=True)]

    def encoded(self, name: str) -> tuple[list[str], np.ndarray]:
        """(the different cells of a column without blanks around them, [rows] which of them every row has).

        Columns of an assay repeat themselves: what is done once per different cell is done a few times.
        """
        packed = pc.utf8_trim_whitespace(self.table.column(name)).combine_chunks().dictionary_encode()
        return packed.dictionary.to_pylist(), np.asarray(packed.indices)

    @cached_property
    def separator(self) -> str:
        metadata = self.table.schema.metadata or {}
        return metadata.get(b"separator", b"").decode()


def read_cells(file: Path) -> Cells:
    """A table of any kind, a structure file, or a list of SMILES with something after them."""
    form = form_of(file)
    if form == "structures":
        return _from_structures(file)
    if form == "list":
        return _from_list(file)
    notes: list[str] = []
    table = read_table(file, as_written=lambda names: names, note=notes.append)
    names = [" ".join(name.split()) for name in table.column_names]
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise DataError(f"{file.name}: several columns are called {twice[0]!r}; rename them")
    typed = {name for name, column in zip(names, table.columns, strict=True) if is_numeric(column.type)}
    written = pa.Table.from_arrays([_as_written(column) for column in table.columns], names)
    return Cells(
        written.replace_schema_metadata(table.schema.metadata),
        frozenset(typed),
        notes=tuple(notes),
        habits=Habits(table),
    )


def _as_written(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return pc.fill_null(column, "").cast(pa.string())
    return as_text(column)


def _table_of(columns: dict[str, list[str]]) -> pa.Table:
    return pa.table({name: pa.chunked_array([pa.array(cells, pa.string())]) for name, cells in columns.items()})


def _from_structures(file: Path) -> Cells:
    """Columns: the structure, the title of the records where they have one, and every property of any record."""
    records = list(read_sdf(file))
    properties = list(dict.fromkeys(name for record in records for name in record.properties))
    structure = "smiles" if "smiles" not in properties else "structure"
    columns = {structure: [record.smiles for record in records]}
    if any(record.name for record in records):
        columns["title" if "title" not in properties else "name of the record"] = [record.name for record in records]
    for name in properties:
        columns[name] = [record.properties.get(name, "") for record in records]
    return Cells(_table_of(columns), smiles=structure)


def _from_list(file: Path) -> Cells:
    """Words of lines: SMILES first; a header where there is one, else columns are called by what is in them."""
    first = next((line for line in text_lines(file) if line.strip() and not line.lstrip().startswith("#")), "")
    lines = [line for _, line in list_lines(file)]
    if not lines:
        raise DataError(f"{file} is empty" if not first else f"{file} has a header and no rows")
    by_tabs = sum("\t" in line for line in lines) > len(lines) // 2
    rows = [_words(line, by_tabs) for line in lines]
    header = _words(first, by_tabs, first=False) if is_header(first) else None
    width = max(len(row) for row in rows)
    padded = [[*row, *[""] * (width - len(row))] for row in rows]
    cells = [[row[at] for row in padded] for at in range(width)]
    further = [f"column {i}" for i in range(len(header or ()) + 1, width + 1)]
    names = _names_of(cells) if header is None else [*header, *further]
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise DataError(f"{file.name}: several columns are called {twice[0]!r}; rename them")
    notes = () if header or width == 1 else (f"{file.name} has no header: its columns are called {', '.join(names)}",)
    return Cells(_table_of(dict(zip(names, cells, strict=False))), smiles=names[0], notes=notes)


def _words(line: str, by_tabs: bool, first: bool = True) -> list[str]:
    """The cells of a line; of the `first` one its first word, which is the SMILES."""
    cells = [cell.strip() for cell in line.rstrip("\r\n").split("\t")] if by_tabs else line.split()
    return [cells[0].split()[0] if first and cells[0] else cells[0], *cells[1:]]


def _names_of(cells: Sequence[Sequence[str]]) -> list[str]:
    """smiles, then `value` for numbers and `id` for the first words; more of a kind are counted."""
    names, values, words = ["smiles"], 0, 0
    for number, column in enumerate(cells[1:], 2):
        if any(_is_number(cell) for cell in column) and _share_of_numbers(column) > 0.5:
            values += 1
            names.append("value" if values == 1 else f"value {values}")
        else:
            words += 1
            names.append("id" if words == 1 else f"column {number}")
    return names


def _share_of_numbers(column: Sequence[str]) -> float:
    there = [cell for cell in column if cell]
    return sum(map(_is_number, there)) / len(there) if there else 0.0


def _is_number(cell: str) -> bool:
    try:
        float(cell.lstrip("<>~=≤≥").replace(",", "."))
    except ValueError:
        return False
    return True

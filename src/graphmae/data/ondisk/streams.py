"""Tables read a piece at a time: Parquet and CSV as long as the disk, other kinds and data in memory as one piece."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from ...runtime.errors import DataError
from ...runtime.untrusted import refuse_many, refuse_special, refuse_wide
from ..tables.reading import PARQUET, in_usual_types, name_of, read_table, usual_schema
from ..tables.text import one_line

ROWS = 1 << 20  # at a time, of narrow tables
CELLS = 1 << 24  # at a time, of wide ones
SAMPLE = 100_000  # rows that columns are learned from
PLAIN = (".csv", ".tsv", ".txt")
WRONG = (pa.ArrowException, OSError, ValueError, TypeError, OverflowError)


@dataclass(frozen=True)
class TableStream:
    """A table whose rows come in pieces; nothing is read before they are asked for."""

    source: Any

    @property
    def name(self) -> str:
        return name_of(self.source)

    @cached_property
    def _path(self) -> Path | None:
        if not isinstance(self.source, str | Path):
            return None
        path = Path(self.source)
        refuse_special(path)
        if not path.is_file():
            raise DataError(f"{path} is a folder, not a table" if path.is_dir() else f"no file {path}")
        return path

    @property
    def _kind(self) -> str:
        suffix = "" if self._path is None else self._path.suffix.lower()
        return "parquet" if suffix in PARQUET else "csv" if suffix in PLAIN else "whole"

    @cached_property
    def _whole(self) -> pa.Table:
        return read_table(self.source)

    @cached_property
    def _first_line(self) -> tuple[str, list[str]]:
        """(what separates cells, names of the columns where the first line holds numbers)."""
        assert self._path is not None
        with self._path.open("rb") as file:
            line = file.readline(1 << 20).decode("utf-8", "replace").strip("\r\n")
        if not line:
            raise DataError(f"{self._path} is empty, or begins with an empty line")
        found = max(",\t;| ", key=line.count)
        refuse_wide(self.name, 1 + line.count(found))
        cells = line.split(found)
        headerless = all(cell.strip().lstrip("-").isdigit() for cell in cells) and len(cells) > 1
        names = ["source", "target", *(f"column {i}" for i in range(3, len(cells) + 1))]
        return found if line.count(found) else ",", names if headerless else []

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns and their types; of CSV files those of the first rows."""
        try:
            if self._kind == "parquet":
                about = pyarrow.parquet.read_metadata(self._path)
                refuse_wide(self.name, about.num_columns)
                refuse_many(str(self._path), about.num_rows * about.num_columns)
                return usual_schema(pyarrow.parquet.read_schema(self._path))
            if self._kind == "csv":
                with self._csv({}) as reader:
                    return reader.schema
        except DataError:
            raise
        except WRONG as error:
            raise DataError(f"{self.source} cannot be read as a table ({one_line(error)})") from None
        return self._whole.schema

    @cached_property
    def num_rows(self) -> int | None:
        """How many rows there are; None where nobody can know before they are read."""
        if self._kind == "parquet":
            return int(pyarrow.parquet.read_metadata(self._path).num_rows)
        return None if self._kind == "csv" else int(self._whole.num_rows)

    def _csv(self, types: dict[str, pa.DataType], columns: Sequence[str] | None = None) -> Any:
        convert = pyarrow.csv.ConvertOptions(
            column_types=types, include_columns=None if columns is None else list(columns), strings_can_be_null=True
        )
        return pyarrow.csv.open_csv(
            self._path,
            read_options=pyarrow.csv.ReadOptions(block_size=1 << 24, column_names=self._first_line[1]),
            parse_options=pyarrow.csv.ParseOptions(delimiter=self._first_line[0]),
            convert_options=convert,
        )

    def pieces(self, columns: Sequence[str], text: Sequence[str] = ()) -> Iterator[pa.Table]:
        """The rows, these columns of them, some at a time; columns of `text` are read as they are written."""
        size = max(1 << 12, min(ROWS, CELLS // max(1, len(columns))))
        try:
            if self._kind == "parquet":
                with pyarrow.parquet.ParquetFile(self._path, pre_buffer=False) as file:
                    for batch in file.iter_batches(size, columns=list(columns)):
                        yield in_usual_types(pa.Table.from_batches([batch]).select(list(columns)))
            elif self._kind == "csv":
                wanted = {name: pa.string() if name in text else self.schema.field(name).type for name in columns}
                wanted = {n: pa.string() if pa.types.is_null(kind) else kind for n, kind in wanted.items()}
                with self._csv(wanted, columns) as reader:
                    for batch in reader:
                        yield pa.Table.from_batches([batch])
            else:
                for begin in range(0, self._whole.num_rows, size):
                    yield self._whole.select(list(columns)).slice(begin, size)
        except DataError:
            raise
        except WRONG as error:
            raise DataError(
                f"{self.source} cannot be read ({one_line(error)[:300]}); a column must hold cells of one kind from "
                "the first row to the last"
            ) from None

    def sample(self, columns: Sequence[str]) -> tuple[pa.Table, int]:
        """(rows from all over the table, at most some 100,000; how many rows there are)."""
        if self._kind == "parquet":
            return self._parquet_sample(list(columns))
        step, kept, seen = 1, [], 0
        for piece in self.pieces(columns):
            first = -seen % step
            kept.append(piece.take(pa.array(np.arange(first, len(piece), step))) if step > 1 else piece)
            seen += len(piece)
            while sum(map(len, kept)) > 2 * SAMPLE:
                kept, step = [pa.concat_tables(kept).take(pa.array(np.arange(0, sum(map(len, kept)), 2)))], 2 * step
        if not seen:
            raise DataError(f"{self.name} has a header and no rows")
        return pa.concat_tables(kept), seen

    def _parquet_sample(self, columns: list[str]) -> tuple[pa.Table, int]:
        with pyarrow.parquet.ParquetFile(self._path, pre_buffer=False) as file:
            total = file.metadata.num_rows
            if not total:
                raise DataError(f"{self.name} has no rows")
            groups = np.unique(np.linspace(0, file.num_row_groups - 1, 16).astype(int))
            share = -(-SAMPLE // len(groups))
            found = []
            for group in groups:
                rows = file.metadata.row_group(int(group)).num_rows
                table = file.read_row_group(int(group), columns=columns).select(columns)
                table = in_usual_types(table)
                found.append(table.take(pa.array(np.linspace(0, rows - 1, min(rows, share)).astype(np.int64))))
        return pa.concat_tables(found), total

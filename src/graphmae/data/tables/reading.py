"""A table from a file or from memory: CSV, TSV, Parquet, a data frame, a dictionary of columns."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from ...runtime.errors import DataError

PARQUET = (".parquet", ".pq")
TEXT = (".csv", ".tsv", ".txt", ".edges")
SUFFIXES = (*TEXT, *PARQUET)  # the text ones also as .gz
SEPARATORS = (",", "\t", ";", "|", " ")
MAGIC = {b"PK\x03\x04": "an Excel or zip file: export it as CSV", b"PAR1": "a Parquet file: call it .parquet"}
# What counts as a missing value in a column; an id may well be called "NA", so there only an empty cell does.
MISSING = ("", "na", "n/a", "nan", "null", "none", "#n/a", "-nan", "?")
# Given the names of a text table's columns, which of them are to be kept as they are written.
AsWritten = Callable[[list[str]], Iterable[str]]


def is_table(path: str | Path) -> bool:
    """Whether the file's name says that it is a table."""
    return Path(str(path).lower().removesuffix(".gz")).suffix in SUFFIXES


def read_table(
    source: Any, as_written: AsWritten = lambda names: (), headerless: bool | None = False, name: str = "the table"
) -> pa.Table:
    """A file's path, a pandas or Polars data frame, an Arrow table, or a dictionary of columns → an Arrow table.

    `as_written` says which columns keep their text, for ids: 007 is not 7. A `headerless` file begins with data (None:
    where its first line holds numbers), and its columns are called source, target, column 3, ….
    """
    if not isinstance(source, str | Path):
        table = _from_memory(source)
    else:
        path = Path(source)
        if not path.is_file():
            raise DataError(f"{path} is a folder, not a table" if path.is_dir() else f"no file {path}")
        if not path.stat().st_size:
            raise DataError(f"{path} is empty")
        if not is_table(path):
            raise DataError(f"{path}: unknown kind of table. Allowed: {', '.join(SUFFIXES)}, the text ones also .gz")
        table = _parquet(path) if path.suffix.lower() in PARQUET else _text(path, as_written, headerless)
    name = name_of(source, name)
    if twice := sorted({column for column in table.column_names if table.column_names.count(column) > 1}):
        raise DataError(f"{name}: several columns are called {twice[0]!r}; rename them")
    if not table.num_rows:
        raise DataError(f"{name} has a header and no rows")
    return table


def name_of(source: Any, otherwise: str = "the table") -> str:
    """How messages call a table."""
    return Path(source).name if isinstance(source, str | Path) else otherwise


def _from_memory(source: Any) -> pa.Table:
    try:
        if isinstance(source, dict):
            return pa.table({str(key): _array(value) for key, value in source.items()})
        if hasattr(source, "columns") and type(source).__module__.startswith("pandas"):
            frame = source.reset_index() if source.index.name is not None else source
            columns = [_array(frame.iloc[:, i]) for i in range(frame.shape[1])]
            return pa.Table.from_arrays(columns, [str(column) for column in frame.columns])
        return pa.table(source)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(f"cannot make a table of a {type(source).__name__}: {_one_line(error)}") from None


def _array(values: Any) -> pa.Array:
    """A column of cells of one kind; of several kinds, or of numbers beyond 64 bits, their text."""
    cells = values if hasattr(values, "__array__") else list(values)
    try:
        return pa.array(cells, from_pandas=True)
    except (pa.ArrowException, OverflowError):
        missing = [cell is None or cell != cell for cell in cells]
        return pa.array([None if gone else str(cell) for gone, cell in zip(missing, cells, strict=True)], pa.string())


def _parquet(path: Path) -> pa.Table:
    try:
        return pyarrow.parquet.read_table(path, memory_map=True)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path} is truncated or not a Parquet file ({_one_line(error)})") from None


def _text(path: Path, as_written: AsWritten, headerless: bool | None) -> pa.Table:
    first, skipped, separator = _look(path)
    try:
        names = next(csv.reader([first], delimiter=separator), [])
    except csv.Error as error:
        raise DataError(f"{path}: its first line cannot be read ({error})") from None
    if headerless or (headerless is None and len(names) > 1 and all(_is_number(cell) for cell in names[:2])):
        names = ["source", "target", *(f"column {i}" for i in range(3, len(names) + 1))]
        given: list[str] | None = names
    else:
        names, given = [name.strip() for name in names], None
    if any(not name for name in names):
        names = [name or f"column {i + 1}" for i, name in enumerate(names)]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise DataError(f"{path.name}: several columns are called {twice[0]!r}; rename them")
    kept = {name: pa.string() for name in as_written(names)}
    try:
        return pyarrow.csv.read_csv(
            path,
            read_options=pyarrow.csv.ReadOptions(column_names=names, skip_rows=skipped + (given is None)),
            parse_options=pyarrow.csv.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(column_types=kept, strings_can_be_null=False),
        )
    except (pa.ArrowException, OSError, zlib.error) as error:
        text = _one_line(error)
        if "UTF8" in text:
            raise DataError(f"{path} is not UTF-8 text; save it as UTF-8 first") from None
        if "Empty CSV" in text or "Could not skip" in text:
            raise DataError(f"{path.name} has a header and no rows") from None
        raise DataError(f"{path.name} cannot be read as a table with {len(names)} columns: {text}") from None


def _look(path: Path) -> tuple[str, int, str]:
    """(the first line that is no comment, lines before it, the separator)."""
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opened(path, "rb") as file:
            head = file.read(1 << 16)
            while head and b"\n" not in head[-(1 << 16) :] and len(head) < 1 << 24:
                more = file.read(1 << 16)
                if not more:
                    break
                head += more
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} is damaged ({_one_line(error)})") from None
    for magic, what in MAGIC.items():
        if head.startswith(magic):
            raise DataError(f"{path} is no text but {what}")
    if head[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in head:
        raise DataError(f"{path} is not UTF-8 text; save it as UTF-8 first")
    try:
        lines = head.decode("utf-8-sig", errors="strict" if len(head) < 1 << 16 else "ignore").splitlines()
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8 text; save it as UTF-8 first") from None
    skipped = 0
    while skipped < len(lines) and (not lines[skipped].strip() or lines[skipped].startswith(("#", "%"))):
        skipped += 1
    if skipped == len(lines):
        raise DataError(f"{path} is empty")
    first = lines[skipped]
    suffix = Path(str(path).lower().removesuffix(".gz")).suffix
    preferred = "\t" if suffix == ".tsv" else ","
    if preferred in first:
        return first, skipped, preferred
    found = [s for s in SEPARATORS if s in first and (s != " " or suffix not in (".csv", ".tsv"))]
    return first, skipped, max(found, key=first.count) if found else preferred


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__

"""A table from a file or from memory: CSV and the like, Excel, JSON lines, Parquet, a data frame, columns."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.json
import pyarrow.parquet

from ...runtime.errors import DataError, InputError
from ...runtime.files import as_path
from ...runtime.untrusted import refuse_many, refuse_special, refuse_wide, refuse_zip_bomb
from .nesting import is_nested_deep
from .text import decoded, one_line, only_member, read_text

PARQUET = (".parquet", ".pq")
EXCEL = (".xlsx", ".xlsm")
LINES = (".jsonl", ".ndjson")
TEXT = (".csv", ".tsv", ".txt", ".edges")
SUFFIXES = (*TEXT, *LINES, *EXCEL, *PARQUET)  # those of text also as .gz and .zip
REMEDIES = {".xls": "save it as .xlsx or CSV", ".ods": "save it as .xlsx or CSV",
            ".json": "write one object per line and call it .jsonl", ".feather": "save it as .parquet"}  # fmt: skip
# What counts as a missing value in a column; an id may well be called "NA", so there only an empty cell does.
MOST_TITLE = 5  # rows above a table, in Excel
WIDE = 3  # columns of a table that may have a title above it
MISSING = ("", "na", "n/a", "nan", "null", "none", "#n/a", "-nan", "?", "-", "--", "–", "—", "<na>", "nat", "#nv",
           "#div/0!", "#value!", "#wert!", "#ref!", "#bezug!", "#name?")  # fmt: skip
# Given the names of a text table's columns, which of them are to be kept as they are written.
AsWritten = Callable[[list[str]], Iterable[str]]


def is_table(path: str | Path) -> bool:
    """Whether the file's name says that it is a table."""
    return _suffix(path) in (*SUFFIXES, ".zip")


def not_a_table(path: str | Path) -> str:
    """What to do about a file whose name does not say that it is a table."""
    remedy = REMEDIES.get(_suffix(path), "")
    kinds = f"{', '.join(SUFFIXES)}, the text ones also .gz and .zip"
    return f"{path}: unknown kind of table{': ' + remedy if remedy else ''}. Allowed: {kinds}"


def _suffix(path: str | Path) -> str:
    """The last part of a file's name that says what is in it: .csv of nodes.csv.gz."""
    name = str(path).lower()
    inner = Path(re.sub(r"\.(gz|zip)$", "", name)).suffix
    return inner if inner in (*TEXT, *LINES) else Path(name).suffix


def read_table(
    source: Any,
    as_written: AsWritten = lambda names: (),
    headerless: bool | None = False,
    name: str = "the table",
    note: Callable[[str], None] = lambda text: None,
) -> pa.Table:
    """A file's path, a pandas or Polars data frame, an Arrow table, or a dictionary of columns → an Arrow table.

    `as_written` says which columns keep their text, for ids: 007 is not 7. A `headerless` file begins with data (None:
    where its first line holds numbers), and its columns are called source, target, column 3, …. `note` is told what
    was guessed about the file, such as its encoding.
    """
    table = _from_file(source, as_written, headerless, note) if _is_path(source) else _from_memory(source)
    name = name_of(source, name)
    refuse_wide(name, table.num_columns)
    table = in_usual_types(table)
    if twice := sorted(column for column, times in Counter(table.column_names).items() if times > 1):
        raise DataError(f"{name}: several columns are called {twice[0]!r}; rename them")
    if not table.num_rows:
        raise DataError(f"{name} has a header and no rows")
    return table


def name_of(source: Any, otherwise: str = "the table") -> str:
    """How messages call a table."""
    return Path(source).name if _is_path(source) else otherwise


def has_no_header(table: pa.Table) -> bool:
    """Whether the names of the columns are ours, not the file's."""
    return b"headerless" in (table.schema.metadata or {})


def is_from_text(table: pa.Table) -> bool:
    """Whether the table was read from text, where cells have no types."""
    return b"separator" in (table.schema.metadata or {})


def _is_path(source: Any) -> bool:
    return isinstance(source, str | Path)


def _from_file(
    source: str | Path, as_written: AsWritten, headerless: bool | None, note: Callable[[str], None]
) -> pa.Table:
    path = as_path(source, "the path of a table")
    refuse_special(path)
    if not path.is_file():
        raise DataError(f"{path} is a folder, not a table" if path.is_dir() else f"no file {path}")
    if not path.stat().st_size:
        raise DataError(f"{path} is empty")
    suffix = _suffix(path)
    if suffix == ".zip":  # its name does not say what is in it
        suffix = _suffix(only_member(path))
    if suffix in PARQUET and path.suffix.lower() == suffix:
        return _parquet(path)
    if suffix in EXCEL and path.suffix.lower() == suffix:
        return _excel(path, note)
    if suffix in LINES:
        return _json_lines(path, note)
    if suffix in TEXT:
        return read_text(path, as_written, headerless, note)
    raise DataError(not_a_table(path))


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
        raise DataError(f"cannot make a table of a {type(source).__name__}: {one_line(error)}") from None


def in_usual_types(table: pa.Table) -> pa.Table:
    """The same table in types that all of Arrow's functions take."""
    schema = usual_schema(table.schema)
    return table if schema.equals(table.schema) else table.cast(schema)


def usual_schema(schema: pa.Schema) -> pa.Schema:
    """Text of Polars as the usual one, half precision as single."""
    return pa.schema([field.with_type(_usual_type(field.type)) for field in schema], schema.metadata)


def _usual_type(kind: pa.DataType) -> pa.DataType:
    if str(kind) in ("string_view", "binary_view"):  # by their names: older versions of Arrow have no test for them
        return pa.string() if str(kind) == "string_view" else pa.binary()
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_usual_type(kind.value_type), kind.list_size)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return (pa.list_ if pa.types.is_list(kind) else pa.large_list)(_usual_type(kind.value_type))
    return kind


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
        about = pyarrow.parquet.read_metadata(path)
        refuse_wide(path.name, about.num_columns)
        refuse_many(path, about.num_rows * about.num_columns)
        return pyarrow.parquet.read_table(path, memory_map=True)
    except DataError:
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError, OverflowError, MemoryError) as error:
        raise DataError(f"{path} is truncated or not a Parquet file ({one_line(error)})") from None


def _excel(path: Path, note: Callable[[str], None]) -> pa.Table:
    """The first sheet with cells in it; its first row that is not empty, or not a title, is the header."""
    try:
        import openpyxl
    except ImportError:
        raise InputError(f"{path.name}: .xlsx needs openpyxl: pip install 'graphmae[excel]', or save as CSV") from None
    refuse_zip_bomb(path)
    cells, filled = 0, {}
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        for sheet in book.worksheets:
            rows = []
            for row in sheet.iter_rows(values_only=True):
                cells += len(row) + 1
                refuse_many(path, cells)  # one cell far down and right makes millions of empty ones
                if any(_there(cell) for cell in row):
                    rows.append(row)
            if rows:
                filled[sheet.title] = rows
    except DataError:
        raise
    except Exception as error:  # a damaged workbook can raise anything; all of it means the same to the user
        raise DataError(f"{path} is damaged or not an .xlsx file ({type(error).__name__})") from None
    if not filled:
        raise DataError(f"{path} is empty")
    title, rows = next(iter(filled.items()))
    if len(filled) > 1:
        note(f"{path.name}: of {len(filled)} sheets the first with cells, {title!r}, was read")
    if above := _title_rows(rows):
        text = next(str(cell) for cell in rows[0] if _there(cell))
        note(f"{path.name}: {text[:40]!r} was taken for a title of the table; the header comes after it")
        rows = rows[above:]
    width = max(1 + max(i for i, cell in enumerate(row) if _there(cell)) for row in rows)
    header, *body = [(*row[:width], *[None] * (width - len(row))) for row in rows]
    names = [" ".join(str(cell).split()) if _there(cell) else f"column {i}" for i, cell in enumerate(header, 1)]
    columns = [[row[i] for row in body] for i in range(width)]
    return pa.Table.from_arrays([_array([_cell(c) for c in column]) for column in columns], names)


def _title_rows(rows: Sequence[Sequence[Any]]) -> int:
    """How many rows at the top are a title: words in one cell each, above a row of words in three columns or more."""
    filled = [[cell for cell in row if _there(cell)] for row in rows[: MOST_TITLE + 1]]
    above = next((number for number, cells in enumerate(filled) if len(cells) > 1), 0)
    is_header = len(filled[above]) >= WIDE and all(isinstance(cell, str) for cell in filled[above])
    return above if is_header else 0


def _there(cell: Any) -> bool:
    return cell is not None and str(cell).strip() != ""


def _cell(cell: Any) -> Any:
    return cell if _there(cell) else None


def _json_lines(path: Path, note: Callable[[str], None]) -> pa.Table:
    """One object per line; a key that a line does not have is an empty cell."""
    text = decoded(path, note)
    if is_nested_deep(text.encode()):  # Arrow's parser has no limit and would take the process with it
        return _from_objects(path, text.split("\n"))
    try:
        options = pyarrow.json.ReadOptions(block_size=max(1 << 20, min(4 * len(text), 1 << 30)))
        return pyarrow.json.read_json(pa.BufferReader(text.encode()), read_options=options)
    except pa.ArrowException:  # a broken line, or cells of several types under one key
        return _from_objects(path, text.split("\n"))


def _from_objects(path: Path, lines: Sequence[str]) -> pa.Table:
    objects = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
            line.encode() if "\\ud" not in line.lower() else json.dumps(found, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise DataError(f"{path.name}: line {number} has half a character (\\ud…), which is not UTF-8") from None
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise DataError(f"{path.name}: line {number} is not a JSON object; one object per line is a row")
        objects.append(found)
    names = list(dict.fromkeys(key for each in objects for key in each))
    if not names:
        raise DataError(f"{path} is empty")
    return pa.Table.from_arrays([_array([each.get(name) for each in objects]) for name in names], names)

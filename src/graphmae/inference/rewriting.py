"""A text table written again with its empty cells filled and every other byte as it was."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from ..data.tables import read_table, write_table
from ..data.tables.cells import floats, is_missing, strings
from ..data.tables.reading import MISSING
from ..runtime.files import replacing
from ..runtime.lines import line_writer
from .as_written import writer
from .imputation import Filled

TEXT = {".csv": ",", ".tsv": "\t"}
SEPARATORS = (",", "\t", ";", "|", " ")
RECORD = re.compile(r'(?:[^"\r\n]|"(?:[^"]|"")*")+')  # a line, longer where quotes hold a line break
Changes = Mapping[str, Mapping[int, str]]  # column → row → its new text


def write_filled(source: Path, out: Path, before: pa.Table, after: pa.Table, filled: Sequence[Filled]) -> None:
    """The node table `source`, read as `before` and filled as `after`, to .csv, .tsv or .parquet.

    From text to text of the same kind every byte but those of filled cells stays as it is; to another separator, the
    text of every cell does.
    """
    kind = Path(source.name.lower().removesuffix(".gz")).suffix
    if kind not in (*TEXT, ".txt") or out.suffix not in TEXT:
        write_table(after, out)
        return
    written = read_table(source, lambda names: names)
    changes = {column.column: texts(column, before.column(column.column), written) for column in filled}
    content = with_cells(source, written.column_names, written.num_rows, changes) if kind == out.suffix else None
    with replacing(out) as partial:
        if content is not None:
            partial.write_bytes(content)
            return
        columns = [written.column(name).to_pylist() for name in written.column_names]
        for name, cells in changes.items():
            for row, text in cells.items():
                columns[written.column_names.index(name)][row] = text
        with partial.open("w", newline="", encoding="utf-8") as file:
            line = line_writer(TEXT[out.suffix])
            file.write(line(written.column_names))
            file.writelines(map(line, zip(*columns, strict=True)))


def texts(filled: Filled, values: pa.ChunkedArray, written: pa.Table) -> dict[int, str]:
    """Row → text of the cells that were filled, written as the column writes its own; `values` as they were read."""
    cells = written.column(filled.column).to_numpy(zero_copy_only=False)
    rows = filled.rows.tolist()
    if filled.metric == "R²":
        numbers = floats(values, filled.notation)
        known = np.isfinite(numbers).nonzero()[0]
        write = writer([str(cell) for cell in cells[known]], numbers[known])
        return {row: write(float(filled.numbers[i])) for i, row in enumerate(rows)}
    known, names = ~is_missing(values), strings(values)
    most_first = Counter(zip(names[known].tolist(), cells[known].tolist(), strict=True)).most_common()
    forms = {name: cell.strip() for (name, cell), _ in reversed(most_first)}
    return {row: forms[str(value)] for row, value in zip(rows, filled.values, strict=True)}


def with_cells(source: Path, names: list[str], rows: int, changes: Changes) -> bytes | None:
    """The bytes of a text table with those cells changed; None where its bytes cannot be followed cell by cell.

    `names` and `rows` are what `read_table` found: the cells found here must be as many, and every cell that is
    changed must be an empty one.
    """
    content = source.read_bytes()
    content = gzip.decompress(content) if source.suffix.lower() == ".gz" else content
    encoding = _encoding(content)
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        return None
    for each in SEPARATORS:
        records = _records(text, each, len(names), rows)
        if records is not None:
            numbered = {names.index(name): cells for name, cells in changes.items()}
            return _changed(text, records, numbered, each, encoding)
    return None


def _encoding(content: bytes) -> str:
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16-le" if content[:1] == b"\xff" else "utf-16-be"  # the mark itself stays in the text
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _records(text: str, separator: str, width: int, rows: int) -> list[tuple[int, int]] | None:
    """Where every row begins and ends, header first; comments before it and empty lines are left out."""
    found: list[tuple[int, int]] = []
    for match in RECORD.finditer(text, len(text) - len(text.lstrip("\ufeff"))):
        line = match.group()
        if not found and (not line.strip() or line.startswith(("#", "%"))):
            continue
        if len(_cells(line, separator)) != width:
            return None
        found.append(match.span())
    return found if len(found) == rows + 1 else None


def _cells(line: str, separator: str) -> list[str]:
    """The cells of a row as they are written, quotes included."""
    if '"' not in line:
        return line.split(separator)
    mark = re.escape(separator)
    return re.findall(rf'(?:^|(?<={mark}))("(?:[^"]|"")*"|[^{mark}]*)(?:{mark}|$)', line)


def _changed(
    text: str, records: list[tuple[int, int]], changes: Mapping[int, Mapping[int, str]], separator: str, encoding: str
) -> bytes | None:
    by_row: dict[int, dict[int, str]] = {}
    for column, cells in changes.items():
        for row, new in cells.items():
            by_row.setdefault(row, {})[column] = new
    pieces, place = [], 0
    for row in sorted(by_row):
        begin, end = records[row + 1]
        line = _cells(text[begin:end], separator)
        for column, new in by_row[row].items():
            if line[column].strip().strip('"').strip().lower() not in MISSING:
                return None
            quoted = any(mark in new for mark in (separator, '"', "\n", "\r"))
            line[column] = '"' + new.replace('"', '""') + '"' if quoted else new
        pieces += [text[place:begin], separator.join(line)]
        place = end
    try:
        return "".join([*pieces, text[place:]]).encode(encoding)
    except UnicodeEncodeError:
        return None

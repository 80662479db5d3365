"""Text tables: their encoding, their separator, their header, and the columns Arrow makes of them."""

from __future__ import annotations

import codecs
import csv
import io
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from ...runtime.errors import DataError
from ...runtime.untrusted import open_gz, refuse_wide, refuse_zip_bomb

SEPARATORS = ("\t", "|", ";", ",", " ")  # the rarer in cells and headers, the earlier: 1,5 is in many a cell
HEAD, MOST_HEAD, RECORDS = 1 << 18, 1 << 24, 200  # bytes looked at, at most, and lines the separator is judged by
MAGIC = {
    b"PK\x03\x04": "an Excel or zip file: call it .xlsx or .zip",
    b"PAR1": "a Parquet file: call it .parquet",
    b"\xd0\xcf\x11\xe0": "an old Excel file: save it as .xlsx or CSV",
    b"\x1f\x8b": "compressed: call it .gz",
}
BEYOND_LATIN = re.compile(rb"[\x80-\x9f]")  # letters and signs in cp1252, control characters in Latin-1
UNDEFINED = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")  # in cp1252
CONTROL, MOST_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]"), 0.02  # a larger share than that is no text
# A number that is another one where the point groups thousands: 1.234, but neither 0.123 nor 1.5.
TWO_WAYS = r"^[-+]?(?:[1-9]\d{0,2}\.\d{3}|\d{1,3})$"


@dataclass(frozen=True)
class Layout:
    """How a text table is written."""

    names: list[str]
    separator: str
    before: int  # lines before the header
    has_header: bool
    longest: int  # line of those looked at, in bytes


def read_text(
    path: Path,
    as_written: Callable[[list[str]], object],
    headerless: bool | None,
    note: Callable[[str], None],
) -> pa.Table:
    """A CSV file or one like it, plain, .gz or alone in a .zip, as an Arrow table.

    Its separator is in the schema's metadata: where it is ";", a comma is likely to be the decimal one.
    """
    source: Path | bytes = path
    head = _head(path)
    refuse_other_files(path, head)
    if path.suffix.lower() == ".zip" or not _is_utf8(head):
        source = decoded(path, note).encode()
        head = source[: HEAD if source[:HEAD].count(b"\n") > 1 else MOST_HEAD]
    layout = _layout(path, head.decode("utf-8-sig", errors="ignore"), len(head) >= HEAD, headerless)
    if twice := sorted(name for name, times in Counter(layout.names).items() if times > 1):
        raise DataError(f"{path.name}: several columns are called {twice[0]!r}; rename them")
    kept = {name: pa.string() for name in as_written(layout.names)}  # type: ignore[attr-defined]
    table = _parse(path, source, layout, kept, note)
    if isinstance(source, Path) and any(pa.types.is_binary(column.type) for column in table.columns):
        source = decoded(path, note).encode()  # not UTF-8 somewhere after the head
        table = _parse(path, source, layout, kept)
    if layout.separator != ",":
        table = _with_doubtful_as_written(path, source, layout, table)
    return table.replace_schema_metadata(
        {"separator": layout.separator, **({} if layout.has_header else {"headerless": "1"})}
    )


def contents(path: Path) -> bytes:
    """The bytes of a file, unpacked where it is a .gz or a .zip with one file in it."""
    try:
        if path.suffix.lower() == ".gz":
            with open_gz(path) as file:
                return file.read()
        if path.suffix.lower() == ".zip":
            refuse_zip_bomb(path)
            with zipfile.ZipFile(path) as archive:
                return archive.read(only_member(path))
        return path.read_bytes()
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
        raise DataError(f"{path} is damaged ({one_line(error)})") from None


def decoded(path: Path, note: Callable[[str], None]) -> str:
    """The text of a file, unpacked; `note` is told its encoding if that is not UTF-8."""
    raw = contents(path)
    refuse_other_files(path, raw)
    text, encoding = _decode(raw, path)
    if encoding != "UTF-8":
        note(f"{path.name} is not UTF-8: read as {encoding}")
    return text


def only_member(path: Path) -> str:
    """The name of the one file in a .zip; folders and what macOS adds do not count."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [m for m in archive.namelist() if not m.endswith("/") and not m.startswith("__MACOSX")]
    except (OSError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} is damaged ({one_line(error)})") from None
    if len(members) != 1:
        few = ", ".join(members[:5]) or "nothing"
        raise DataError(f"{path.name} must hold one table; it holds {few}. Unpack it and name the tables one by one")
    return members[0]


def _decode(raw: bytes, path: Path) -> tuple[str, str]:
    """(the text, its encoding for people): by its mark, else UTF-8 where it is, else a guess."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _strictly(raw, "utf-16", "UTF-16", path)
    zeros = raw[:4096].count(b"\0")
    if zeros > len(raw[:4096]) // 4:  # Latin letters in UTF-16 without a mark: every second byte is zero
        little = raw[1:4096:2].count(b"\0") >= raw[0:4096:2].count(b"\0")
        return _strictly(raw, "utf-16-le" if little else "utf-16-be", "UTF-16 (a guess)", path)
    if b"\0" in raw or len(CONTROL.findall(raw[:HEAD])) > MOST_CONTROL * len(raw[:HEAD]):
        raise DataError(f"{path} is not text: it holds control characters")
    try:
        return raw.decode("utf-8-sig"), "UTF-8"
    except UnicodeDecodeError:
        pass
    repaired = raw.decode("utf-8-sig", errors="replace")
    broken = repaired.count("�")
    if sum(letter > "\x7f" for letter in repaired) > 10 * broken:  # UTF-8 in which a few bytes are damaged
        return repaired, f"UTF-8 with {broken} broken characters"
    if BEYOND_LATIN.search(raw) and not UNDEFINED.search(raw):
        return raw.decode("cp1252"), "cp1252, of Windows (a guess)"
    return raw.decode("latin-1"), "Latin-1 (a guess)"


def refuse_other_files(path: Path, head: bytes) -> None:
    for magic, what in MAGIC.items():
        if head.startswith(magic):
            raise DataError(f"{path} is no text but {what}")


def _strictly(raw: bytes, codec: str, name: str, path: Path) -> tuple[str, str]:
    try:
        text = raw.decode(codec)
    except UnicodeDecodeError as error:
        raise DataError(f"{path} looks like {name} and is damaged: {error.reason}") from None
    if "\0" in text:
        raise DataError(f"{path} is not text: it holds control characters")
    return text, name


def _is_utf8(head: bytes) -> bool:
    if b"\0" in head or head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head, final=len(head) < HEAD)  # the last character may be cut
    except UnicodeDecodeError:
        return False
    return True


def _head(path: Path) -> bytes:
    """The beginning of a file, with two whole lines if they are not too long."""
    if path.suffix.lower() == ".zip":
        return b""
    try:
        with open_gz(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
            head = file.read(HEAD)
            while head.count(b"\n") < 2 and len(head) < MOST_HEAD and (more := file.read(HEAD)):
                head += more
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} is damaged ({one_line(error)})") from None
    return head


def _layout(path: Path, text: str, is_cut: bool, headerless: bool | None) -> Layout:
    lines = re.split(r"\r\n|\n|\r", text)
    before = 0
    while before < len(lines) and (not lines[before].strip() or lines[before].startswith(("#", "%"))):
        before += 1
    if before == len(lines):
        raise DataError(f"{path} is empty")
    refuse_wide(path.name, 1 + max(map(lines[before].count, SEPARATORS[:-1])))
    suffix = Path(re.sub(r"\.(gz|zip)$", "", str(path).lower())).suffix
    stated = re.fullmatch(r'"?sep=(.)"?', lines[before].strip("\ufeff"))  # Excel's own way to say it
    if stated and before + 1 < len(lines):
        before, separator = before + 1, stated[1]
    else:
        separator = _separator("\n".join(lines[before:]), is_cut, suffix)
    try:
        names = next(csv.reader((line + "\n" for line in lines[before:]), delimiter=separator), [])
    except csv.Error as error:
        raise DataError(f"{path}: its first line cannot be read ({error})") from None
    longest = max(len(line.encode()) for line in lines[: RECORDS + before])
    if headerless or (headerless is None and len(names) > 1 and all(_is_number(cell) for cell in names[:2])):
        names = ["source", "target", *(f"column {i}" for i in range(3, len(names) + 1))]
        return Layout(names, separator, before, False, longest)
    names = [re.sub(r"\s*[\r\n]+\s*", " ", name).strip() or f"column {i}" for i, name in enumerate(names, 1)]
    return Layout(names, separator, before, True, longest)


def _separator(text: str, is_cut: bool, suffix: str) -> str:
    """The one that cuts most lines into as many cells as the header has; of several, the one that is rarest in cells.

    Separators inside quotes do not count. A space only outside of .csv and .tsv.
    """
    best, found = -1.0, "\t" if suffix == ".tsv" else ","
    for separator in SEPARATORS if suffix not in (".csv", ".tsv") else SEPARATORS[:-1]:
        widths = []
        try:
            for number, record in enumerate(csv.reader(io.StringIO(text), delimiter=separator)):
                if number == RECORDS:
                    break
                if record:
                    widths.append(len(record))
        except csv.Error:
            if not widths:
                continue
        if is_cut and len(widths) > 1 and len(widths) < RECORDS:
            widths.pop()  # the last line is not whole
        if not widths or widths[0] == 1:
            continue
        alike = round(sum(width == widths[0] for width in widths) / len(widths), 1)
        if separator == " ":
            alike -= 0.5
        if alike > best:
            best, found = alike, separator
    return found


def _parse(
    path: Path,
    source: Path | bytes,
    layout: Layout,
    types: dict[str, pa.DataType],
    note: Callable[[str], None] = lambda text: None,
) -> pa.Table:
    try:
        return pyarrow.csv.read_csv(
            _opened(source),
            # Wide tables in few blocks: a column of hundreds of short pieces is slow everywhere after.
            read_options=pyarrow.csv.ReadOptions(
                column_names=layout.names,
                skip_rows=layout.before,
                skip_rows_after_names=int(layout.has_header),
                block_size=int(np.clip(2000 * layout.longest, 1 << 20, 1 << 28)),
            ),
            parse_options=pyarrow.csv.ParseOptions(delimiter=layout.separator, newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(column_types=types, strings_can_be_null=False),
        )
    except (pa.ArrowException, OSError, zlib.error) as error:
        text = one_line(error)
        if "UTF8" in text and isinstance(source, Path):
            return _parse(path, decoded(path, note).encode(), layout, types, note)
        if "Empty CSV" in text or "Could not skip" in text:
            raise DataError(f"{path.name} has a header and no rows") from None
        raise DataError(f"{path.name} cannot be read as a table with {len(layout.names)} columns: {text}") from None


def _opened(source: Path | bytes) -> Any:
    if isinstance(source, bytes):
        return pa.BufferReader(source)
    return open_gz(source) if source.suffix.lower() == ".gz" else source


def _with_doubtful_as_written(path: Path, source: Path | bytes, layout: Layout, table: pa.Table) -> pa.Table:
    """Columns of numbers such as 1.234 alone stay text: whether that is 1234 is decided where all columns are seen."""
    doubtful = [name for name in table.column_names if _may_be_thousands(table.column(name))]
    if not doubtful:
        return table
    written = _parse(path, source, layout, dict.fromkeys(doubtful, pa.string()))
    columns = dict(
        zip(table.column_names, table.columns, strict=True)
    )  # one by one, a wide table would be copied often
    for name in doubtful:
        cells = written.column(name)
        if pc.all(pc.or_(pc.match_substring_regex(cells, TWO_WAYS), pc.equal(cells, ""))).as_py():
            columns[name] = cells
    return pa.Table.from_arrays(list(columns.values()), list(columns))


def _may_be_thousands(values: pa.ChunkedArray) -> bool:
    if not pa.types.is_floating(values.type):
        return False
    numbers = values.to_numpy()
    numbers = numbers[np.isfinite(numbers)]
    if not len(numbers) or np.abs(numbers).max() >= 1000:
        return False
    thousandths = numbers * 1000
    return bool(np.allclose(thousandths, np.rint(thousandths), rtol=0, atol=1e-6))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def one_line(error: BaseException) -> str:
    """What an error says, for the end of a sentence."""
    return " ".join(str(error).split())[:300] or type(error).__name__

"""SMILES strings from text files, tables and structure files, plain or compressed, one after the other."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from ...runtime.errors import DataError, InputError
from ...runtime.untrusted import open_gz, refuse_special
from ..tables.reading import EXCEL, PARQUET, REMEDIES, is_table, not_a_table
from ..tables.text import CONTROL, MOST_CONTROL, refuse_other_files
from .sdf import is_sdf, read_sdf

LONGEST = 1_000_000  # characters of a line
HEAD = 1 << 16  # bytes looked at
NAMES = ("smiles", "smile", "canonical smiles", "isomeric smiles", "smiles string", "mol", "molecule", "structure",
         "ligand smiles", "smi", "molecule smiles", "compound smiles", "standardized smiles")  # fmt: skip
Form = Literal["table", "structures", "list"]
STRETCH = 500  # lines next to each other, of a sample


class Line(NamedTuple):
    """Where a SMILES string is, and what stands after it in the line, such as a name."""

    file: str
    number: int
    text: str
    rest: str = ""


def read_lines(files: Iterable[Path], column: str | None = None) -> Iterator[Line]:
    """The SMILES of every file: the first word of a line, of tables a column, of structure files the structures.

    The column is `column`, or the one whose name says so. Strings that are not molecules are among them.
    """
    for file in files:
        found = form_of(file)
        if found == "table":
            from .cells import read_cells

            cells = read_cells(file)
            texts = cells.texts(smiles_name(file, cells.names, column))
            yield from (Line(file.name, number, text.strip()) for number, text in enumerate(texts, 2))
        elif found == "structures":
            yield from (Line(file.name, at, one.smiles, one.name) for at, one in enumerate(read_sdf(file), 1))
        else:
            for number, line in list_lines(file):
                words = line.split(None, 1)
                yield Line(file.name, number, words[0], words[1].strip() if len(words) > 1 else "")


def form_of(file: Path) -> Form:
    """How a file holds molecules, by its name; of .txt by its first line. A file of no such kind is refused."""
    refuse_special(file)
    if not file.is_file():
        raise InputError(f"{file} is a folder, not a file" if file.is_dir() else f"there is no file {file}")
    if is_sdf(file):
        return "structures"
    inner = Path(re.sub(r"\.(gz|zip)$", "", str(file).lower())).suffix
    if inner in REMEDIES or (inner in (*PARQUET, *EXCEL) and not is_table(file)):
        raise InputError(not_a_table(file))
    if inner in (".txt", ".edges"):
        cells = re.split(r"[\t;,]", next(text_lines(file), ""))
        return "table" if len(cells) > 1 and any(folded(cell) in NAMES for cell in cells) else "list"
    return "table" if is_table(file) else "list"


def list_lines(file: Path) -> Iterator[tuple[int, str]]:
    """(number, text) of the lines of a list of SMILES; a header, empty lines and comments (#) are left out."""
    is_first = True
    for number, line in enumerate(text_lines(file), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            if not (is_first and is_header(line)):
                yield number, line.rstrip("\r\n")
            is_first = False


def is_header(line: str) -> bool:
    """Whether the first words of a line say that there are SMILES under them."""
    return folded(line.split("\t")[0]) in NAMES or folded(line.split()[0]) in NAMES


def stretches(count: int, most: int) -> list[range]:
    """All of 0 to count − 1, or where that is far more than `most`, parts of it that are spread evenly.

    >>> stretches(10, 20), stretches(4000, 1000)
    ([range(0, 10)], [range(0, 500), range(3500, 4000)])
    """
    if count <= most:
        return [range(count)]
    firsts = [round(i * (count - STRETCH) / max(1, most // STRETCH - 1)) for i in range(max(1, most // STRETCH))]
    return [range(first, first + STRETCH) for first in firsts]


def folded(name: str) -> str:
    """The name of a column without what people write differently: case, blanks, underscores, quotes."""
    return " ".join(re.sub(r"[_\-.\"']+", " ", name).split()).lower()


def text_lines(file: Path) -> Iterator[str]:
    """The lines of a file, plain or .gz. Excel writes a mark in front of UTF-8, which is dropped."""
    try:
        packed = file.suffix.lower() == ".gz"
        with open_gz(file) if packed else file.open("rb") as opened:
            head = opened.peek(HEAD)[:HEAD]
            refuse_other_files(file, head)
            if b"\0" in head or len(CONTROL.findall(head)) > MOST_CONTROL * len(head):
                raise DataError(f"{file} is not text: it holds control characters; a list of SMILES is plain UTF-8")
            lines = io.TextIOWrapper(opened, encoding="utf-8-sig", errors="replace")
            while line := lines.readline(LONGEST):
                if len(line) == LONGEST:
                    raise DataError(
                        f"{file} has a line of more than {LONGEST:,} characters, so it is not a list of SMILES"
                    )
                yield line
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{file} is damaged or not a .gz file ({error})") from None


def smiles_name(file: Path, names: Sequence[str], wanted: str | None) -> str:
    """The column that holds SMILES, by its name."""
    if wanted is not None:
        return named_column(file, names, wanted)
    found = [name for name in names if folded(name) in NAMES]
    best = sorted(found, key=lambda name: NAMES.index(folded(name)))
    # "smiles" goes before "mol"; two that say the same have to be told apart
    if best and [folded(name) for name in best].count(folded(best[0])) == 1 and "smile" in folded(best[0]):
        return best[0]
    if len(found) != 1:
        raise InputError(f"{file}: say which column holds SMILES (--smiles); it has {', '.join(names) or 'none'}")
    return found[0]


def named_column(file: Path, names: Sequence[str], wanted: str) -> str:
    """The column that was asked for; case, blanks and underscores may differ where that leaves one."""
    if wanted in names:
        return wanted
    alike = [name for name in names if folded(name) == folded(wanted)]
    if len(alike) == 1:
        return alike[0]
    raise InputError(f"{file} has no column {wanted!r}; it has {', '.join(names) or 'none'}")


def molecule_table(path: Path, smiles: str | None = None) -> tuple[list[str], list[list[str]], str | None]:
    """(header, rows, the column of SMILES) of a file of molecules; the column is None where its kind says which."""
    from .cells import read_cells

    cells = read_cells(path)
    return cells.names, cells.rows(), None if cells.smiles else smiles_name(path, cells.names, smiles)

"""Structure files (.sdf): one molecule after the other, with properties, as SMILES and columns. Needs RDKit."""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ...runtime.errors import DataError
from ...runtime.untrusted import open_gz, refuse_special
from .smiles import rdkit, silenced

SUFFIXES = (".sdf", ".sd", ".mol")  # also as .gz
END = "$$$$"
PROPERTY = re.compile(r"^>.*?<(.+)>")
LARGEST = 10_000_000  # characters of a record


class Record(NamedTuple):
    """A molecule of a structure file; `smiles` is empty where RDKit cannot read it or it has no atoms."""

    smiles: str
    name: str
    properties: dict[str, str]


def is_sdf(file: str | Path) -> bool:
    """Whether the file's name says that it holds structures."""
    return Path(str(file).lower().removesuffix(".gz")).suffix in SUFFIXES


def read_sdf(file: Path) -> Iterator[Record]:
    """The records of a file, plain or .gz, stereo kept: from wedges, or from coordinates where they are in space."""
    chem, silence = rdkit(), silenced()
    for text in _records(file):
        block, name = text, text.split("\n", 1)[0].strip()
        end = text.find("M  END")
        if end >= 0:
            block = text[: end + len("M  END")] + "\n"
        made = chem.MolFromMolBlock(block) if end >= 0 else None
        smiles = chem.MolToSmiles(made) if made is not None and made.GetNumAtoms() else ""
        yield Record(smiles, name, _properties(text[end:] if end >= 0 else text))
    del silence


def _records(file: Path) -> Iterator[str]:
    """The text of every record. The last one may lack its end mark, as a .mol file does."""
    refuse_special(file)
    try:
        packed = file.suffix.lower() == ".gz"
        opened = open_gz(file) if packed else file.open("rb")
        with io.TextIOWrapper(opened, encoding="utf-8-sig", errors="replace") as lines:
            record: list[str] = []
            size = count = 0
            while line := lines.readline(LARGEST):
                if line.startswith(END):
                    yield "".join(record)
                    record, size, count = [], 0, count + 1
                    continue
                size += len(line)
                if size > LARGEST:
                    raise DataError(f"{file} has a record of more than {LARGEST:,} characters; it is not an .sdf file")
                record.append(line)
            rest = "".join(record)
            if "M  END" in rest:
                count += 1
                yield rest
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{file} is damaged or not a .gz file ({error})") from None
    if not count:
        raise DataError(f"{file} holds no structures: a record of an .sdf file ends with {END}")


def _properties(text: str) -> dict[str, str]:
    """`> <NAME>`, its lines, an empty line; several lines of one value are joined by blanks."""
    found: dict[str, str] = {}
    lines = iter(text.splitlines())
    for line in lines:
        named = PROPERTY.match(line)
        if named is None:
            continue
        values = []
        for value in lines:
            if not value.strip():
                break
            values.append(value.strip())
        found[" ".join(named[1].split())] = " ".join(values)
    return found

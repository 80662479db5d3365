"""Files that strangers may have written: what is refused before it is read, and how far one is unpacked.

`GRAPHMAE_TRUST=1` (`graphmae --trust COMMAND`) says that the files come from somebody you trust: benchmark files with
other contents than the published ones, and small files that unpack to very much, are then read as well.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import stat
import zipfile
from pathlib import Path
from typing import Any

from .errors import DataError, InputError

TRUST = "GRAPHMAE_TRUST"
HOW_TO_TRUST = f"if you trust where it came from, say so: graphmae --trust …, or {TRUST}=1"
MOST_UNPACKED, MOST_RATIO = 1 << 28, 100  # bytes; a larger file must not be so much larger than its archive
MOST_JSON = 1 << 25  # bytes
MOST_DEPTH = 100  # of lists and objects in each other
MOST_ITEMS = 10**8  # numbers a small file may stand for
MOST_COLUMNS = 65_536  # of a table
MOST_CELLS = 10**7  # of a table; more must not be so many more than its bytes


def is_trusted() -> bool:
    """Whether the user vouches for files that cannot be checked."""
    return os.environ.get(TRUST, "") not in ("", "0")


def refuse_special(path: str | Path) -> None:
    """Refuse a pipe, a socket or a device: reading one can wait for ever, or never end. What is missing passes."""
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise InputError(f"{path} is a pipe or a device, not a file; copy what it gives into a file first")


def read_limited(path: str | Path, most: int) -> bytes:
    """The bytes of a file that has no reason to be large."""
    refuse_special(path)
    size = Path(path).stat().st_size
    if size > most:
        raise InputError(f"{path} has {size:,} bytes; more than {most:,} is not a file of this kind")
    return Path(path).read_bytes()


def read_object(path: str | Path) -> dict[str, Any]:
    """The JSON object in a file of a stranger's: not too large, not nested too deep."""
    try:
        value = json.loads(read_limited(path, MOST_JSON))
        wrong = _unusual(value)
    except InputError:
        raise
    except RecursionError:
        raise InputError(f"{path} cannot be read as JSON (it is nested too deep)") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read as JSON ({error})") from None
    if wrong or not isinstance(value, dict):
        raise InputError(f"{path} {wrong or 'must hold one JSON object'}")
    return value


def _unusual(value: Any) -> str:
    """What nothing we write as JSON has, and what no reader of it expects; "" where there is nothing."""
    parts = [(value, 0)]
    while parts:
        part, depth = parts.pop()
        if depth > MOST_DEPTH:
            return f"is nested more than {MOST_DEPTH} deep"
        if isinstance(part, dict):
            parts += ((inner, depth + 1) for pair in part.items() for inner in pair)
        elif isinstance(part, list):
            parts += ((inner, depth + 1) for inner in part)
        elif isinstance(part, int) and abs(part) >= 2**63:
            return f"has a whole number of {part.bit_length():,} bits; more than 64 are no number of ours"
        elif isinstance(part, str) and not part.isascii() and any("\ud800" <= letter <= "\udfff" for letter in part):
            return f"has text that is not UTF-8: {part[:60]!r}"
    return ""


def refuse_bomb(path: str | Path, unpacked: int) -> None:
    """Refuse a small file that unpacks to very much: real data is not so even."""
    if unpacked > MOST_UNPACKED and unpacked > MOST_RATIO * Path(path).stat().st_size and not is_trusted():
        raise DataError(
            f"{path} unpacks to more than {MOST_RATIO} times its size and {MOST_UNPACKED >> 20} MB, as a file made to "
            f"fill the memory does; {HOW_TO_TRUST}"
        )


def refuse_many(path: str | Path, cells: int) -> None:
    """The same for a table, by how many cells it says it has."""
    if cells > MOST_CELLS and cells > MOST_RATIO * Path(path).stat().st_size and not is_trusted():
        size = f"{cells:,} cells in {Path(path).stat().st_size:,} bytes"
        raise DataError(f"{path} has {size}, as a file made to fill the memory has; {HOW_TO_TRUST}")


def refuse_wide(name: str, columns: int) -> None:
    """Refuse a table with more columns than anything that is a table has, before they are looked at one by one."""
    if columns > MOST_COLUMNS:
        raise DataError(
            f"{name} has {columns:,} columns; at most {MOST_COLUMNS:,} are read. Are rows and columns swapped? Numbers "
            "that belong together can be one column of lists (Parquet, JSON lines)"
        )


def refuse_zip_bomb(path: str | Path) -> None:
    """The same for an archive (.zip, .npz, .xlsx, .pt); what is not one is left to its reader."""
    refuse_special(path)
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
    except Exception:  # damaged: its reader says so
        return
    refuse_bomb(path, unpacked)


class Unpacked(io.RawIOBase):
    """The content of a .gz, read only as far as is plausible."""

    def __init__(self, path: str | Path) -> None:
        super().__init__()
        refuse_special(path)
        self._path, self._source, self._count = path, gzip.GzipFile(path, "rb"), 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._source.read(len(buffer))
        self._count += len(piece)
        refuse_bomb(self._path, self._count)
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        self._source.close()
        super().close()


def open_gz(path: str | Path) -> io.BufferedReader:
    """A .gz to read from; one made to fill the memory is refused on the way."""
    return io.BufferedReader(Unpacked(path), 1 << 20)

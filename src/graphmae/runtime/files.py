"""Files that are written whole or not at all, JSON, and a lock on a folder: every write of a run goes through here."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .errors import InputError

LOCK = ".lock"
PARTIAL = ".partial"


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A file beside `path` to write to, with the same ending. It takes the place of `path` when all went well.

    A reader sees the old file or the new one, never half of one, also after a crash of the machine.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "z.txt"
    >>> with replacing(target) as partial:
    ...     _ = partial.write_text("whole")
    >>> target.read_text(), [file.name for file in target.parent.iterdir()]
    ('whole', ['z.txt'])
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}{PARTIAL}{path.suffix}")
    try:
        yield partial
        _flush(partial)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    with suppress(OSError):  # not every file system can flush a folder
        _flush(path.parent)


def _flush(path: Path) -> None:
    """Wait until what was written is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: str | Path, text: str) -> None:
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")


def write_json(path: str | Path, value: Mapping[str, Any]) -> None:
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def read_json(path: str | Path) -> dict[str, Any]:
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"{path} cannot be read as JSON ({error})") from None
    if not isinstance(value, dict):
        raise InputError(f"{path} must hold one JSON object")
    return value


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold `folder` for this process; another one that wants it is refused. A killed process holds nothing."""
    from filelock import FileLock, Timeout

    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise InputError(f"another process is working in {folder}; wait for it or choose another --out") from None
    try:
        yield
    finally:
        lock.release()  # the file stays: removing it would let two processes hold two files of one name


def remove_partial_files(folder: Path) -> None:
    """What processes that were killed while writing have left behind."""
    for file in folder.rglob(f".*{PARTIAL}*"):
        file.unlink(missing_ok=True)


def check_out(out: str | Path | None, formats: Sequence[str]) -> None:
    """Refuse a file that could not be written in the end, before any work is done."""
    if out is None:
        return
    path = Path(out)
    if path.suffix not in formats:
        raise InputError(f"--out {path}: unknown format {path.suffix!r}. Allowed: {', '.join(formats)}")
    if not path.parent.is_dir():
        raise InputError(f"{path.parent} is not a folder")


def is_empty(folder: Path) -> bool:
    """Whether there is nothing in the folder but its lock; True where it does not exist."""
    return not folder.exists() or (folder.is_dir() and all(file.name == LOCK for file in folder.iterdir()))

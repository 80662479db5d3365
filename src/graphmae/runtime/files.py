"""Files that are written whole or not at all, JSON, and a lock on a folder: every write of a run goes through here."""

from __future__ import annotations

import errno
import json
import os
import re
import socket
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .errors import InputError, WriteError

LOCK = ".lock"
PARTIAL = ".partial"
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def as_path(value: object, what: str) -> Path:
    """A path that can be written into a file, as JSON and Arrow need it; `what` is what messages call it.

    >>> as_path("runs/mine", "out").as_posix()
    'runs/mine'
    """
    if not isinstance(value, str | os.PathLike) or isinstance(os.fspath(value), bytes):
        raise InputError(f"{what} must be a path, text or a pathlib.Path, not {type(value).__name__}: {value!r:.60}")
    text = os.fspath(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(
            f"{what}, {text.encode(errors='replace').decode()!r}, is not UTF-8: rename the file or folder (mv). Where "
            "its name is right, this locale knows no UTF-8: set PYTHONUTF8=1"
        ) from None
    return Path(text)


@contextmanager
def writing(path: str | Path, size: int = 0) -> Iterator[None]:
    """What can go wrong while `path` is written, in words; `size` is how many bytes it takes, where that is known."""
    try:
        yield
    except WriteError:
        raise
    except OSError as error:
        raise WriteError(_cannot_write(Path(path), error.errno or 0, error.strerror or str(error), size)) from error
    except Exception as error:
        if not (code := _system_error(error)):
            raise
        raise WriteError(_cannot_write(Path(path), code, os.strerror(code), size)) from error


def _system_error(error: Exception) -> int:
    """The number of the system's error inside one of safetensors, which carries it as text alone; 0: there is none."""
    from safetensors import SafetensorError

    found = re.search(r"\bcode: (\d+)", str(error)) if isinstance(error, SafetensorError) else None
    return int(found[1]) if found else 0


def _cannot_write(path: Path, code: int, reason: str, size: int) -> str:
    need = f" (about {_megabytes(size)} are needed)" if size and code in NO_SPACE else ""
    advice = "choose a folder that can be written with --out"
    if code in NO_SPACE:
        advice = "make room, or raise the limit, and run the same command again, a run with --resume"
    elif code == errno.EIO:
        advice = "the disk reports a failure: copy what is there to another one and go on with it"
    return f"{path} cannot be written: {reason.lower()}{need}; {advice}. What was saved before is intact"


def _megabytes(size: int) -> str:
    return f"{size / 2**20:,.1f} MiB"


@contextmanager
def replacing(path: str | Path, size: int = 0) -> Iterator[Path]:
    """A file beside `path` to write to, with the same ending. It takes the place of `path` when all went well.

    A reader sees the old file or the new one, never half of one, also after a crash of the machine. A link stays a
    link: the file it points to is replaced.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "z.txt"
    >>> with replacing(target) as partial:
    ...     _ = partial.write_text("whole")
    >>> target.read_text(), [file.name for file in target.parent.iterdir()]
    ('whole', ['z.txt'])
    """
    path = Path(path)
    final = behind_links(path)
    partial = final.with_name(f".{final.name}.{_host()}-{os.getpid()}{PARTIAL}{path.suffix}")
    with writing(path, size):
        final.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(final.parent)
        try:
            yield partial
            flush(partial)
            partial.replace(final)
        except BaseException:
            with suppress(OSError):  # the first error is the one to report
                partial.unlink(missing_ok=True)
            raise
    with suppress(OSError):  # not every file system can flush a folder
        flush(final.parent)


def behind_links(path: Path) -> Path:
    """The file that a link points to; another path as it is."""
    return path.resolve() if path.is_symlink() else path


def _host() -> str:
    """This machine, in the name of a half-written file: others may share the folder, with processes of their own."""
    return f"{zlib.crc32(socket.gethostname().encode()):08x}"


def _remove_abandoned(folder: Path) -> None:
    """Half-written files of processes of this machine that are no more."""
    for file in folder.glob(f".*.{_host()}-*{PARTIAL}*"):
        owner = re.search(rf"-(\d+){re.escape(PARTIAL)}", file.name)
        if owner and not _is_running(int(owner[1])):
            with suppress(OSError):  # another process was faster, or may
                file.unlink()


def _is_running(process: int) -> bool:
    if os.name == "nt":  # a signal would end it there
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True


def flush(path: Path) -> None:
    """Wait until what was written is on the disk."""
    # Windows flushes only what is open for writing, and opens no folder.
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: str | Path, text: str) -> None:
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8", errors="replace")  # the name of a folder may be no text


def write_json(path: str | Path, value: Mapping[str, Any]) -> None:
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold `folder` for this process; another one that wants it is told who has it.

    The system's lock counts, not the text in the file: a killed process holds nothing, and what it left half-written
    is removed by the next owner.
    """
    from filelock import FileLock, Timeout

    path = folder / LOCK
    with writing(path):
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise InputError(f"{_owner(path)} is working in {folder}; wait for it or choose another --out") from None
    try:
        with suppress(OSError):  # for people; a full disk is reported where something is lost by it
            since = time.strftime("%Y-%m-%d %H:%M:%S %z")
            path.write_text(f"process {os.getpid()} on {socket.gethostname()} (since {since})\n", encoding="utf-8")
        remove_partial_files(folder)
        with _named_if_full(folder):
            yield
    finally:
        with suppress(OSError):
            path.write_text("")
        lock.release()  # the file stays: removing it would let two processes hold two files of one name


@contextmanager
def waiting_for(path: Path, wait: Callable[[], None]) -> Iterator[None]:
    """Hold the lock file `path`; while another process has it, wait, after a call of `wait` to say so."""
    from filelock import FileLock, Timeout

    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            wait()
            lock.acquire()
    try:
        with _named_if_full(path.parent):
            yield
    finally:
        lock.release()


@contextmanager
def _named_if_full(folder: Path) -> Iterator[None]:
    """The system does not say which disk is full; whoever holds a folder is writing there."""
    try:
        yield
    except OSError as error:
        if error.errno not in NO_SPACE or error.filename or isinstance(error, WriteError):
            raise
        raise WriteError(_cannot_write(folder, error.errno, os.strerror(error.errno), 0)) from error


def _owner(path: Path) -> str:
    """Who holds a lock, as far as the file says."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        text = ""
    return text or "another process"


def remove_partial_files(folder: Path) -> None:
    """What processes that were killed while writing have left behind."""
    for file in folder.rglob(f".*{PARTIAL}*"):
        with suppress(OSError):
            file.unlink(missing_ok=True)


def check_out(out: str | Path | None, formats: Sequence[str], read: Iterable[str | Path] = ()) -> None:
    """Refuse a file that could not be written in the end, or that is one of those that are `read`."""
    if out is None:
        return
    path = as_path(out, "out")
    if path.suffix not in formats:
        raise InputError(f"--out {path}: unknown format {path.suffix!r}. Allowed: {', '.join(formats)}")
    if not path.parent.is_dir():
        raise InputError(f"{path.parent} is not a folder")
    _check_link(path)
    if path.exists() and not path.is_file():
        what = "is a folder" if path.is_dir() else "is not an ordinary file"
        raise InputError(f"--out {path} {what}; choose another file")
    for file in read if path.exists() else ():
        if Path(file).exists() and path.samefile(file):
            same = "is" if str(file) == str(out) else f"is the same file as {file},"
            raise InputError(f"--out {path} {same} a file that is read here, and it would be lost; choose another file")


def check_folder(folder: Path, kind: str, is_ours: bool, *beside: str) -> None:
    """Refuse a folder for results that holds anything else, but files named `beside`, or that could not be made."""
    _check_link(folder)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is not a folder; choose another --out")
    if not is_ours and not is_empty(folder, *beside):
        raise InputError(f"{folder} exists and is not {kind}; choose another --out")


def _check_link(path: Path) -> None:
    if path.is_symlink() and not path.exists():
        raise InputError(f"{path} is a link to {path.readlink()}, which does not exist; choose another --out")


def is_empty(folder: Path, *beside: str) -> bool:
    """Whether the folder holds nothing but its lock, half-written files and files named `beside`, or does not exist."""
    if not folder.exists():
        return True
    return folder.is_dir() and all(file.name in (LOCK, *beside) or _is_partial(file) for file in folder.iterdir())


def _is_partial(file: Path) -> bool:
    return file.name.startswith(".") and PARTIAL in file.name

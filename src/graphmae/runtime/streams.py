"""Stdout and stderr that may be closed, full or without a reader: a lost log is no failure, a lost result is one."""

from __future__ import annotations

import io
import os
import sys
from typing import IO, Any


def show_progress(text: str) -> None:
    """Write to stderr what a person would see there; text that cannot be written is dropped."""
    try:
        if sys.stderr is not None:
            sys.stderr.write(text)
            sys.stderr.flush()
    except (OSError, ValueError):  # ValueError: it is closed
        return


def is_terminal() -> bool:
    """Whether a person watches stderr."""
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except ValueError:
        return False


def prepare_streams() -> None:
    """For a process of the command line: whatever is written to stderr from here on ends nothing.

    Text that cannot be written to stdout is an `OSError` that names it, once. Characters a stream does not have become
    a ?. A number below 3 that was closed at the start is taken by /dev/null, before a file of ours gets it and messages
    go there.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = _checked(sys.stdout, "standard output")
    sys.stderr = _checked(sys.stderr, "")


def _checked(stream: IO[str] | None, name: str) -> IO[str]:
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.flush()
    raw = io.BufferedWriter(_Raw(stream.fileno(), stream.isatty(), name))
    return io.TextIOWrapper(
        raw, stream.encoding, "replace", line_buffering=stream.line_buffering, write_through=not name
    )


class _Raw(io.RawIOBase):
    """Bytes that cannot be written are dropped, after an error where the stream has a name to put into it."""

    def __init__(self, number: int, terminal: bool, name: str) -> None:
        self.number, self.terminal, self.error_name = number, terminal, name

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self.number

    def isatty(self) -> bool:
        return self.terminal

    def write(self, content: Any, /) -> int:
        try:
            return os.write(self.number, content)
        except OSError as error:
            if name := self.error_name:
                self.error_name = ""
                raise OSError(error.errno, error.strerror, name) from error
            return len(content)

"""Ctrl-C, SIGTERM and SIGHUP: where training can be saved it is saved first, elsewhere the command ends at once.

A signal that was ignored when the process started, as SIGHUP is under nohup, stays ignored.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from types import FrameType

from .errors import StopRequest, WorkerStop

NUMBERS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
MESSAGE = "stopping after this step, to save the state; once more stops at once"
_is_worker = False
_was_asked = False  # to stop, in a worker


def raise_stop_requests(kind: type[StopRequest] = StopRequest) -> None:
    """For the length of the process: a signal becomes a `StopRequest`, of which the command line makes an exit code."""

    def handle(number: int, frame: FrameType | None) -> None:
        _note()
        raise kind(number)

    for number in _heeded():
        signal.signal(number, handle)


@contextmanager
def held_back() -> Iterator[None]:
    """A block in which worker processes are started: signals wait in them until `obey_parent` says what they mean.

    A Ctrl-C reaches every process of a terminal, and a worker spends its first seconds on imports.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # the first worker starts it otherwise, and it lets signals through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, NUMBERS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def obey_parent() -> None:
    """In a worker process: its parent alone decides when to stop, and asks with SIGTERM, perhaps more than once."""
    global _is_worker
    _is_worker = True
    raise_stop_requests(WorkerStop)
    for number in NUMBERS:
        if number != signal.SIGTERM:
            signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, NUMBERS)  # see `held_back`


def was_asked() -> bool:
    """In a worker process: whether its parent asked it to stop, so that it begins nothing more."""
    return _was_asked


def _note() -> None:
    global _was_asked
    _was_asked = _is_worker


def obey_launcher() -> None:
    """In one of several processes started together: a terminal's Ctrl-C comes from the terminal and again from the
    launcher, so a second signal is not a second request. The launcher kills those that do not end in time."""
    global _is_worker
    _is_worker = True


@contextmanager
def postponed() -> Iterator[Callable[[], int]]:
    """A block in which the first signal is only noted: yields a function that says which one came, 0 for none.

    The second does what it would have done outside of the block. In other threads than the main one nothing changes.

    >>> with postponed() as stopping:
    ...     os.kill(os.getpid(), signal.SIGTERM)
    ...     stopping()
    15
    """
    asked = 0
    if threading.current_thread() is not threading.main_thread():
        yield lambda: 0
        return

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        _note()
        if not asked:
            asked = number
            if not _is_worker:
                _tell(MESSAGE)
        elif not _is_worker:
            _do(before[number], number, frame)

    before = {number: signal.signal(number, handle) for number in _heeded()}
    try:
        yield lambda: asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _heeded() -> list[int]:
    """The signals that are not ignored. None: somebody else's handler, outside of Python, which could not be put
    back."""
    return [number for number in NUMBERS if signal.getsignal(number) not in (signal.SIG_IGN, None)]


def _do(handler: Callable[[int, FrameType | None], object] | int | None, number: int, frame: FrameType | None) -> None:
    if callable(handler):
        handler(number, frame)
    else:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


def _tell(text: str) -> None:
    """Written past Python's buffers, which may be in the middle of another line."""
    with suppress(OSError):
        os.write(2, f"\n{text}\n".encode())

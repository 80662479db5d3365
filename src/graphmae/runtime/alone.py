"""What a process has once, used by one thread at a time.

torch, NumPy and Python have one default generator per process, and dropout and masks draw from it. Two trainings in two
threads would draw each other's numbers, so the second waits until the first is over. To train at the same time, use
processes (`graphmae run --jobs`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_lock = threading.RLock()
_is_covered = ContextVar("_is_covered", default=False)


@contextmanager
def alone() -> Iterator[None]:
    """A block no other thread is in; a thread may enter it again.

    >>> with alone(), alone():
    ...     "one thread"
    'one thread'
    """
    if _is_covered.get():
        yield
        return
    with _lock:
        yield


def cover() -> None:
    """This thread works for one that is `alone`, in an order of their own, as `turns.side_by_side` does."""
    _is_covered.set(True)


def _begin_child() -> None:
    """A forked child has one thread; what others held when it began would never be given back."""
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)

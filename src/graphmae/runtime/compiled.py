"""Loops compiled by numba where it is installed, and run as they are where it is not.

A child forked from a process that has computed with several threads cannot start threads: GNU OpenMP ends or hangs it.
Here such a child computes with one thread and without kernels that share their loops among threads. Embeddings agree
with the parent's to rounding; a training draws its dropout in another way, so that the same seed gives other weights. A
child that is spawned, as by `graphmae run --jobs`, has no such limits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from threadpoolctl import threadpool_limits

try:
    from numba import config, get_num_threads, njit, set_num_threads
except ImportError:  # slower, and nothing else
    njit = None


def _start_numba() -> None:
    """Let numba begin here, not in the middle of a training: it sets how many threads OpenMP has, which torch's
    products share, and with another number they are rounded in another way."""
    threads = torch.get_num_threads()
    get_num_threads()
    if torch.get_num_threads() != threads:
        torch.set_num_threads(threads)


if njit is not None:
    _start_numba()
_is_forked = False


def is_forked() -> bool:
    """Whether this process is a fork of one that had imported graphmae."""
    return _is_forked


def _begin_child() -> None:
    global _is_forked
    _is_forked = True
    torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)


def limit_threads(count: int) -> None:
    """Use at most `count` cores in this process: several that each take all of them wait for one another endlessly."""
    torch.set_num_threads(count)
    threadpool_limits(count, "blas")  # NumPy's products
    if njit is not None:
        set_num_threads(min(count, config.NUMBA_NUM_THREADS))


@contextmanager
def one_thread() -> Iterator[None]:
    """As many threads as before afterwards."""
    of_torch, of_numba = torch.get_num_threads(), 1 if njit is None else get_num_threads()
    with threadpool_limits(1, "blas"):
        limit_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(of_torch)
            if njit is not None:
                set_num_threads(of_numba)


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator for a function of arrays and numbers; other threads go on while it runs."""
    return function if njit is None else njit(cache=True, nogil=True)(function)

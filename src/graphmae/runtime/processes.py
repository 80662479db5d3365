"""Work in several processes at a time that stops as one: saved on a signal, and never outlived by its workers."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from typing import Any, TypeVar

from .errors import GraphMAEError, StopRequest
from .signals import obey_parent

Result = TypeVar("Result")


def in_processes(
    function: Callable[[Any], Result],
    tasks: Sequence[Any],
    width: int,
    prepare: Callable[..., None],
    arguments: tuple[Any, ...] = (),
) -> Iterator[Result]:
    """`function(task)` for each, `width` at a time in fresh processes, as they end; `prepare(*arguments)` comes first.

    A signal to this process, or a task that fails, stops the others where they can be resumed. A second signal ends
    them at once. When this process is killed they end, too.
    """
    # One queue of tasks: what waits in it is not begun any more after a stop.
    pool = ProcessPoolExecutor(width, multiprocessing.get_context("spawn"), _begin, (prepare, arguments))
    futures: list[Future[Result]] = []
    try:
        futures += [pool.submit(function, task) for task in tasks]
        left = set(futures)
        while left:
            done, left = wait(left, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
        pool.shutdown()
    except BaseException as error:
        _stop(pool, futures)
        if isinstance(error, BrokenProcessPool):
            raise GraphMAEError(
                "a process that trained a seed was killed, perhaps for want of memory; run the same command with "
                "--resume and a smaller --jobs"
            ) from None
        raise


def _begin(prepare: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    obey_parent()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    prepare(*arguments)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _stop(pool: ProcessPoolExecutor, futures: Sequence[Future[Any]]) -> None:
    """Ask the workers to save and end, and wait for them."""
    for future in futures:
        future.cancel()
    workers = multiprocessing.active_children()
    for worker in workers:
        if worker.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGTERM)
    try:
        pool.shutdown(cancel_futures=True)
    except (StopRequest, KeyboardInterrupt):
        for worker in workers:
            worker.kill()
        raise

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
from .signals import held_back, obey_parent

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has no other
Result = TypeVar("Result")


def in_processes(
    function: Callable[[Any], Result],
    tasks: Sequence[Any],
    width: int,
    prepare: Callable[..., None],
    arguments: tuple[Any, ...] = (),
    saves: bool = True,
) -> Iterator[Result]:
    """`function(task)` for each, `width` at a time in fresh processes, as they end; `prepare(*arguments)` comes first.

    A signal to this process, or a task that fails, stops the others where they can be resumed; tasks that are not
    (`saves`) are ended at once, and all by a second signal. When this process is killed they end, too.
    """
    # One queue of tasks: what waits in it is not begun any more after a stop.
    pool = ProcessPoolExecutor(width, multiprocessing.get_context("spawn"), _begin, (prepare, arguments))
    futures: list[Future[Result]] = []
    try:
        with held_back():
            futures += [pool.submit(function, task) for task in tasks]
        left = set(futures)
        while left:
            done, left = wait(left, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
        pool.shutdown()
    except BaseException as error:
        _stop(pool, futures, signal.SIGTERM if saves else KILL)
        if isinstance(error, BrokenProcessPool):
            raise GraphMAEError(
                "a process that trained a seed was killed, perhaps for want of memory; run the same command with "
                "--resume and a smaller --jobs"
            ) from None
        raise


def _begin(prepare: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    try:
        obey_parent()
        threading.Thread(target=_end_with_parent, daemon=True).start()
        prepare(*arguments)
    except StopRequest:
        os._exit(1)  # nothing was begun, and the pool would write the traceback of whatever comes out of here


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _stop(pool: ProcessPoolExecutor, futures: Sequence[Future[Any]], number: int) -> None:
    """Signal the workers to end, and wait for them."""
    workers = multiprocessing.active_children()
    try:
        for future in futures:
            future.cancel()
        for worker in workers:
            if worker.pid is not None:
                with suppress(ProcessLookupError):
                    os.kill(worker.pid, number)
        pool.shutdown(cancel_futures=True)
    except (StopRequest, KeyboardInterrupt):
        for worker in workers:
            worker.kill()
        raise

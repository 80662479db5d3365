"""Work in several processes at a time that stops as one: saved on a signal, and never outlived by its workers."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any, TypeVar

from .errors import GraphMAEError, Interrupted, StopRequest
from .signals import held_back, obey_parent, was_asked

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has no other
Result = TypeVar("Result")


def in_processes(
    function: Callable[[Any], Result],
    tasks: Sequence[Any],
    width: int,
    prepare: Callable[..., None],
    arguments: tuple[Any, ...] = (),
    saves: bool = True,
    again: str = "run the same command with --resume and a smaller --jobs",
) -> Iterator[Result]:
    """`function(task)` for each, `width` at a time in fresh processes, as they end; `prepare(*arguments)` comes first.

    A signal to this process, or a task that fails, stops the others where they can be resumed; tasks that are not
    (`saves`) are ended at once, and all by a second signal. What waits is not begun any more. When this process is
    killed they end, too. `again` says what to do where one of them was killed.
    """
    before = multiprocessing.active_children()
    pool = pool_of(width, prepare, arguments)
    futures: list[Future[Result]] = []
    try:
        with held_back():
            futures += [submit(pool, function, task) for task in tasks]
        left = set(futures)
        while left:
            done, left = wait(left, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
        pool.shutdown()
    except BaseException as error:
        workers = [child for child in multiprocessing.active_children() if child not in before]
        _stop(pool, futures, workers, signal.SIGTERM if saves else KILL)
        if isinstance(error, BrokenProcessPool):
            raise killed(again) from None
        raise


def pool_of(width: int, prepare: Callable[..., None], arguments: tuple[Any, ...] = ()) -> ProcessPoolExecutor:
    """Processes that this one alone stops, and that end when it is killed; `submit` gives them work."""
    return ProcessPoolExecutor(width, multiprocessing.get_context("spawn"), _begin, (prepare, arguments))


def submit(pool: ProcessPoolExecutor, function: Callable[[Any], Result], task: Any) -> Future[Result]:
    """`function(task)` in a process of the pool, which may be started for it."""
    with held_back():
        return pool.submit(_unless_stopped, function, task)


def killed(again: str) -> GraphMAEError:
    """What to say of a `BrokenProcessPool`."""
    return GraphMAEError(f"a process was killed, perhaps for want of memory; {again}")


def _unless_stopped(function: Callable[[Any], Result], task: Any) -> Result:
    """A worker that was asked to stop saves what it is at, and is then given what waits in the pool's queue."""
    if was_asked():
        raise Interrupted("stopped before it was begun", signal.SIGTERM)
    return function(task)


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


def _stop(
    pool: ProcessPoolExecutor, futures: Sequence[Future[Any]], workers: Sequence[BaseProcess], number: int
) -> None:
    """Signal the workers to end, and wait for them."""
    said, sys.excepthook = sys.excepthook, _without_broken_connections
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
    finally:
        sys.excepthook = said


def _without_broken_connections(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """A worker that is killed while it fetches a tensor leaves the thread that hands them out with half a request."""
    if not issubclass(kind, ConnectionError | EOFError):
        sys.__excepthook__(kind, error, trace)

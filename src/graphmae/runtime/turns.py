"""Several trainings at a time on one CUDA device, in one process.

A small graph leaves most of a GPU idle: its kernels are short and one waits for the other. `side_by_side` runs several
functions in threads, each with a CUDA stream and random generators of its own, so that their kernels overlap on the
device. On the host only one of them runs at any time: it hands over where it calls `pass_turn` (as `Trainer` does,
after every epoch or few batches), and for the length of a block of `unattended`, which is for long work on the CPU.

Every function draws the same random numbers as it would alone.
"""

from __future__ import annotations

import contextvars
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import torch

from .alone import alone, cover
from .device import numeric_mode, restore_numeric_mode
from .errors import Interrupted, StopRequest
from .seed import random_state, restore_random_state

Result = TypeVar("Result")
_member: contextvars.ContextVar[_Member | None] = contextvars.ContextVar("member", default=None)


class _Stopped(BaseException):
    """Another function failed: this one's result is not wanted any more."""


class _Turn:
    """Whose turn it is: first come, first served."""

    def __init__(self) -> None:
        self.condition = threading.Condition()
        self.next_ticket = self.serving = 0
        self.failed = False
        self.interrupted = 0  # the number of the signal

    def take(self) -> None:
        with self.condition:
            ticket = self.next_ticket
            self.next_ticket += 1
            self.condition.wait_for(lambda: self.serving == ticket)

    def give(self) -> None:
        with self.condition:
            self.serving += 1
            self.condition.notify_all()

    @property
    def is_wanted(self) -> bool:
        """Whether somebody waits."""
        return self.next_ticket > self.serving + 1


class _Member:
    """One of the functions: its stream, and its random generators and precision while it is not its turn."""

    def __init__(self, turn: _Turn, device: torch.device) -> None:
        self.turn, self.device = turn, device
        self.stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        self.held: Any = None
        self.cuda_random: Any = None

    def enter(self) -> None:
        self.turn.take()
        try:
            if self.stream is not None:
                if self.cuda_random is None:
                    self.cuda_random = _generator(self.device).clone_state()
                # A recorded step keeps drawing from the generator it was recorded with: that is exchanged as a whole.
                self.outside = _generator(self.device).graphsafe_get_state()
                _generator(self.device).graphsafe_set_state(self.cuda_random)
            self._exchange()
        except BaseException:
            self.turn.give()
            raise

    def leave(self) -> None:
        self._exchange()
        if self.cuda_random is not None:
            _generator(self.device).graphsafe_set_state(self.outside)
        self.turn.give()

    def _exchange(self) -> None:
        """Swap this member's generators and precision of products with those outside."""
        before = random_state(cuda=False), numeric_mode()
        if self.held is not None:
            restore_random_state(*self.held[0])
            restore_numeric_mode(self.held[1])
        self.held = before


def _generator(device: torch.device) -> torch.Generator:
    torch.cuda.init()
    return torch.cuda.default_generators[device.index or 0]


def pass_turn() -> None:
    """Let the others go on; nothing outside of `side_by_side`."""
    member = _member.get()
    if member is None or not member.turn.is_wanted:
        return
    member.leave()
    member.enter()
    if member.turn.failed:
        raise _Stopped


def interrupted_by() -> int:
    """The signal that came while functions run side by side (0: none); each then stops where it can be resumed."""
    member = _member.get()
    return 0 if member is None else member.turn.interrupted


@contextmanager
def unattended() -> Iterator[None]:
    """Long work on the CPU that draws no random numbers: the others go on meanwhile."""
    member = _member.get()
    if member is None:
        yield
        return
    member.leave()
    try:
        yield
    finally:
        member.enter()


@contextmanager
def _taking_turns(turn: _Turn, device: torch.device) -> Iterator[None]:
    """Make this thread a member, from its first turn to its last."""
    member = _Member(turn, device)
    _member.set(member)
    cover()
    if member.stream is not None:
        torch.cuda.set_stream(member.stream)
    member.enter()
    try:
        yield
    finally:
        member.leave()


def side_by_side(
    functions: Sequence[Callable[[], Result]], device: torch.device, width: int
) -> Iterable[tuple[int, Result]]:
    """Run all, `width` at a time, and yield (number of the function, what it returned) as they end.

    The first error ends all of them. After Ctrl-C, SIGTERM or SIGHUP those that run are waited for:
    `training.Trainer` saves its state.

    >>> sorted(side_by_side([lambda: "a", lambda: "b"], torch.device("cpu"), width=2))
    [(0, 'a'), (1, 'b')]
    """
    with alone():
        yield from _side_by_side(functions, device, width)


def _side_by_side(
    functions: Sequence[Callable[[], Result]], device: torch.device, width: int
) -> Iterator[tuple[int, Result]]:
    turn = _Turn()
    ended: list[tuple[int, Result]] = []
    errors: list[BaseException] = []
    waiting = iter(enumerate(functions))
    news = threading.Condition()
    running = 0

    def work(number: int, function: Callable[[], Result]) -> None:
        nonlocal running
        try:
            with _taking_turns(turn, device):
                result = function()
            with news:
                ended.append((number, result))
        except BaseException as error:
            # One that stopped because it was asked to lets the others stop where they can be resumed, too.
            turn.failed = turn.failed or not isinstance(error, Interrupted)
            with news:
                errors.append(error)
        finally:
            with news:
                running -= 1
                news.notify_all()

    def start() -> bool:
        nonlocal running
        following = next(waiting, None) if not (turn.failed or turn.interrupted) else None
        if following is None:
            return False
        running += 1
        # Every thread has a context of its own, and with it its own member.
        threading.Thread(target=contextvars.Context().run, args=(work, *following), daemon=True).start()
        return True

    more = True
    while True:
        try:
            with news:
                while running < width and (more := start()):
                    pass
                if not running and not ended:
                    break
                news.wait_for(lambda: ended or not running or (more and running < width), timeout=0.5)
                done, ended[:] = list(ended), []
            yield from done
        except (KeyboardInterrupt, StopRequest) as request:
            if turn.interrupted:
                raise
            turn.interrupted = getattr(request, "signal", int(signal.SIGINT))
    real = [error for error in errors if not isinstance(error, _Stopped | Interrupted)]
    for error in [*real, *errors]:
        raise error
    if turn.interrupted:
        raise StopRequest(turn.interrupted)

"""What a person sees while something trains: a bar on a terminal, plain lines elsewhere, nothing when asked."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Protocol, Self

from ..runtime.streams import is_terminal, show_progress


class Display(Protocol):
    """Anything that can show progress."""

    def start(self, label: str, epochs: int, done: int) -> None: ...
    def update(self, epoch: int, loss: float, lr: float) -> None: ...
    def stop(self) -> None: ...


class Quiet:
    """Shows nothing."""

    def start(self, label: str, epochs: int, done: int) -> None: ...
    def update(self, epoch: int, loss: float, lr: float) -> None: ...
    def stop(self) -> None: ...


quiet = Quiet()


class Progress:
    """Epoch, loss, rate and time left, on stderr."""

    def __init__(self, seconds_between_lines: float = 10.0) -> None:
        self.between = seconds_between_lines
        self._bar: _Bar | None = None

    def start(self, label: str, epochs: int, done: int) -> None:
        self.label, self.epochs, self.first = label, epochs, done
        self.began = self.shown = time.monotonic()
        self._bar = _Bar(label, epochs, done) if is_terminal() else None

    def update(self, epoch: int, loss: float, lr: float) -> None:
        now = time.monotonic()
        rate = (epoch - self.first) / max(now - self.began, 1e-9)
        left = (self.epochs - epoch) / max(rate, 1e-9)
        if self._bar:
            self._bar.update(epoch, f"loss {loss:.4f}  lr {lr:.1e}  {rate:.1f} epochs/s")
        elif now - self.shown >= self.between or epoch == self.epochs:
            self.shown = now
            show_progress(
                f"{self.label}: epoch {epoch}/{self.epochs}  loss {loss:.4f}  lr {lr:.1e}  "
                f"{rate:.1f} epochs/s  {_clock(left)} left\n"
            )

    def stop(self) -> None:
        if self._bar:
            self._bar.stop()
            self._bar = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()


class _Bar:
    def __init__(self, label: str, epochs: int, done: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        columns = [
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[text]}"),
        ]
        self.bar = RichProgress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
        self.bar.start()
        self.task = self.bar.add_task(label, total=epochs, completed=done, text="")

    def update(self, epoch: int, text: str) -> None:
        self.bar.update(self.task, completed=epoch, text=text)

    def stop(self) -> None:
        self.bar.stop()


def _clock(seconds: float) -> str:
    seconds = int(seconds)
    return (
        f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        if seconds >= 3600
        else f"{seconds // 60}:{seconds % 60:02}"
    )

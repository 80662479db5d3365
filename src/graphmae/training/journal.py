"""How a training is reported, and what is kept of it: progress, one metrics line per epoch, a state to resume from."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..runtime import signals, turns
from ..runtime.errors import InputError, NotFinite
from ..runtime.files import flush, write_text, writing
from .distributed import ALONE, RandomState, Ranks
from .progress import Display, quiet
from .state import Outcome, Progressed, Remembers, TrainingState

SECONDS_BETWEEN_LOOKS = 0.1
SECONDS_BETWEEN_SAVES = 60.0
SMALLER = "try a smaller learning rate"


def check_weights(module: nn.Module, label: str, step: int) -> None:
    """Refuse weights that are not finite: a loss can be the last number that is."""
    if not all(bool(torch.isfinite(weight).all()) for weight in module.parameters()):
        raise NotFinite(f"{label}: weights became NaN or infinite in step {step}; {SMALLER}")


def seconds_between_saves() -> float:
    """How often the state is saved while training runs: GRAPHMAE_SAVE_SECONDS, or once a minute."""
    text = os.environ.get("GRAPHMAE_SAVE_SECONDS", "")
    try:
        seconds = float(text) if text else SECONDS_BETWEEN_SAVES
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise InputError(f"GRAPHMAE_SAVE_SECONDS must be a number of seconds, 0 or more, not {text!r}")
    return seconds


@dataclass
class Journal:
    """What is reported and kept of a training; by default nothing.

    Attributes:
        metrics: a JSONL file, one line per epoch.
        log: called with every metrics line.
        state: saved every `seconds_between_saves`, at the end, and on Ctrl-C, SIGTERM and SIGHUP; with `resume`
            training goes on from it.
        writes: whether this process is the one that saves.
    """

    label: str = "train"
    display: Display = quiet
    metrics: Path | None = None
    log: Callable[[dict[str, Any]], None] | None = None
    state: TrainingState | None = None
    resume: bool = False
    seconds_between_saves: float = field(default_factory=seconds_between_saves)
    writes: bool = True

    def silent(self) -> Journal:
        """That of a rank that is not the first: signals are heeded, nothing is shown or written."""
        return replace(self, display=quiet, metrics=None, log=None, writes=False)

    def restore(
        self,
        module: nn.Module,
        optimizer: torch.optim.Optimizer,
        per_epoch: int,
        hooks: Sequence[Remembers] = (),
        ranks: Ranks = ALONE,
    ) -> Progressed:
        """Where an earlier session stopped, its weights and generators restored; the beginning where there is none."""
        exists = self.resume and self.state is not None and self.state.exists()
        if not ranks.agree(exists):
            return Progressed(0, Outcome(float("nan"), 0.0))
        assert self.state is not None
        stood = self.state.load(module, optimizer, hooks, ranks)
        if stood.per_epoch != per_epoch:
            raise InputError(
                f"{self.state.path} is of a training with {stood.per_epoch} steps per epoch, this one has {per_epoch}; "
                "resume with the same data and batch size, or delete it to start over"
            )
        return stood

    @contextmanager
    def open(self, steps: int, per_epoch: int, before: Progressed) -> Iterator[Log]:
        """The journal of one session."""
        epochs, done = -(-steps // per_epoch), before.step // per_epoch
        self.display.start(self.label, epochs, done)
        with ExitStack() as stack:
            stack.callback(self.display.stop)
            write = stack.enter_context(_metrics_file(self.metrics, done))
            stopping = stack.enter_context(_stop_when_asked()) if self.state is not None else lambda: 0
            yield Log(self, write, stopping, steps, per_epoch, before)


class Log:
    """Written to while training runs."""

    def __init__(
        self,
        journal: Journal,
        write: Callable[[dict[str, Any]], None],
        stopping: Callable[[], int],
        steps: int,
        per_epoch: int,
        before: Progressed,
    ) -> None:
        self.journal, self.write, self.is_stopping = journal, write, stopping
        self.steps, self.per_epoch, self.before = steps, per_epoch, before
        self.began = self.saved = self.looked = time.monotonic()
        self.loss = before.outcome.loss
        self.ended, self.finished = before.ended, False
        self.waiting: list[tuple[int, Tensor, dict[str, Any]]] = []

    def seconds(self) -> float:
        return self.before.outcome.seconds + time.monotonic() - self.began

    def epoch(self, step: int, loss: Tensor, rate: float, extra: dict[str, Any]) -> None:
        """An epoch is over; `loss` is the mean of its steps."""
        line = {"lr": rate, "seconds": self.seconds(), **extra}
        self.waiting.append((-(-step // self.per_epoch), loss, line))
        self.ended = bool(extra.get("stop"))
        self.finished = self.ended or step >= self.steps
        if self.finished or not loss.is_cuda or time.monotonic() - self.looked >= SECONDS_BETWEEN_LOOKS:
            self.flush()

    def flush(self) -> None:
        """Look at the losses that wait on the device: a look costs a pause, so on CUDA it is taken now and then."""
        if not self.waiting:
            return
        stacked = torch.stack([loss for _, loss, _ in self.waiting])
        with turns.unattended():  # waiting for the device: others may go on
            losses = stacked.tolist()
        for (epoch, _, line), value in zip(self.waiting, losses, strict=True):
            if not math.isfinite(value):
                label = self.journal.label
                raise NotFinite(f"{label}: the loss became {value} in epoch {epoch}; {SMALLER}")
            self.journal.display.update(epoch, value, line["lr"])
            self.write({"epoch": epoch, "loss": value, **line})
            if self.journal.log is not None:
                self.journal.log({"epoch": epoch, "loss": value, **line})
        self.waiting.clear()
        self.loss, self.looked = losses[-1], time.monotonic()

    def outcome(self, step: int) -> Outcome:
        """How training stands after `step` steps."""
        self.flush()
        return Outcome(self.loss, self.seconds(), -(-step // self.per_epoch))

    def wants_save(self, stopping: int) -> bool:
        due = time.monotonic() - self.saved >= self.journal.seconds_between_saves
        writes = self.journal.writes and self.journal.state is not None
        return writes and (due or self.finished or bool(stopping))

    def check(self, losses: Sequence[Tensor], step: int) -> None:
        """Refuse losses that are not finite, before a state with what they made of the weights is saved."""
        if losses and not bool(torch.isfinite(torch.stack(list(losses))).all()):
            raise NotFinite(f"{self.journal.label}: the loss became infinite or NaN before step {step}; {SMALLER}")

    def save(
        self,
        progressed: Progressed,
        module: nn.Module,
        optimizer: torch.optim.Optimizer,
        hooks: Sequence[Remembers] = (),
        others_random: Sequence[RandomState] = (),
    ) -> None:
        assert self.journal.state is not None
        self.saved = time.monotonic()
        if not self.journal.writes:
            return
        check_weights(module, self.journal.label, progressed.step)  # the last good state is kept
        if self.journal.metrics is not None:
            with suppress(FileNotFoundError):
                flush(self.journal.metrics)  # lines of the epochs in the state are not written again
        self.journal.state.save(progressed, module, optimizer, hooks, others_random)
        self.saved = time.monotonic()


@contextmanager
def _metrics_file(path: Path | None, done: int) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Append JSON lines; on resume, lines of epochs that will be run again are dropped first.

    The lines are for people. Nothing is read back from them: what decides how training goes on is in the state.
    """
    if path is None:
        yield lambda line: None
        return
    before = path.read_text(encoding="utf-8", errors="replace") if done and path.is_file() else ""
    kept = [line for line in before.split("\n") if line][:done]
    write_text(path, "".join(f"{line}\n" for line in kept))
    with path.open("ab", buffering=0) as file:

        def write(line: dict[str, Any]) -> None:
            rest = f"{json.dumps(line)}\n".encode()
            with writing(path):
                while rest:  # a full disk may take a part of it; the next attempt then says why
                    rest = rest[file.write(rest) :]

        yield write


@contextmanager
def _stop_when_asked() -> Iterator[Callable[[], int]]:
    """Yields a function that says which signal asks for a stop after this step, where the state can be saved."""
    with signals.postponed() as asked:
        yield lambda: asked() or turns.interrupted_by()

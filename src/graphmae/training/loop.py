"""The one loop: everything that is ever trained here goes through `fit`."""

from __future__ import annotations

import json
import math
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from ..batching.store import GraphStore
from ..runtime import turns
from ..runtime.errors import GraphMAEError, Interrupted
from .capture import CapturedBatches, CapturedStep
from .optim import make_optimizer, schedule_factor, set_rate
from .progress import Display, quiet
from .state import Outcome, TrainingState

Batch = TypeVar("Batch")
SECONDS_BETWEEN_LOOKS = 0.1
SECONDS_A_TURN = 0.004  # of launching work on the device, before another training that runs beside this one may


def fit(
    module: nn.Module,
    step: Callable[[Batch], Tensor],
    batches: Callable[[], Iterable[Batch]],
    *,
    epochs: int,
    lr: float,
    weight_decay: float = 0.0,
    schedule: str = "constant",
    clip_norm: float | None = None,
    label: str = "train",
    display: Display = quiet,
    metrics: Path | None = None,
    state: TrainingState | None = None,
    resume: bool = False,
    seconds_between_saves: float = 60.0,
    capture: bool = False,
    store: GraphStore | None = None,
    after_epoch: Callable[[int], dict[str, Any] | None] | None = None,
    log: Callable[[dict[str, Any]], None] | None = None,
) -> Outcome:
    """Minimise `step(batch)` over the parameters of `module`; returns the last loss and the time it took.

    Args:
        step: a batch in, the loss out.
        batches: called once an epoch.
        metrics: a JSONL file, one line per epoch.
        state: saved every `seconds_between_saves`, on Ctrl-C and at the end; with `resume` training goes on from it.
        capture: record the step on CUDA and replay it; for a single batch of fixed shapes.
        store: batches are numbers of graphs in it, and steps are recorded on CUDA for a few shapes.
        after_epoch: called with the number of finished epochs; what it returns joins the metrics line. A "stop" in it
            ends the training there, as if it had been the last epoch.
        log: called with every metrics line.
    """
    optimizer = make_optimizer(module, lr, weight_decay)

    def update(batch: Batch) -> Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = step(batch)
        loss.backward()
        if clip_norm is not None:
            nn.utils.clip_grad_norm_(module.parameters(), clip_norm)
        optimizer.step()
        return loss.detach()

    advance: Callable[[Any], Tensor] = update
    if store is not None:
        advance = CapturedBatches(update, store)  # type: ignore[arg-type]
    elif capture:
        advance = CapturedStep(update)
    done, before, epoch = 0, Outcome(float("nan"), 0.0), -1
    if resume and state is not None and state.exists():
        done, before = state.load(module, optimizer)
    began = saved = turned = time.monotonic()
    loss = before.loss

    def seconds() -> float:
        return before.seconds + time.monotonic() - began

    waiting: list[tuple[int, Tensor, dict[str, Any]]] = []
    flushed = began

    def flush() -> float:
        """Look at the losses that wait on the device: a look costs a pause, so on CUDA it is taken now and then."""
        stacked = torch.stack([entry[1] for entry in waiting])
        with turns.unattended():  # waiting for the device: others may go on
            losses = stacked.tolist()
        for (epoch, _, line), value in zip(waiting, losses, strict=True):
            if not math.isfinite(value):
                raise GraphMAEError(f"{label}: the loss became {value} in epoch {epoch}; try a smaller learning rate")
            display.update(epoch, value, line["lr"])
            write({"epoch": epoch, "loss": value, **line})
            if log is not None:
                log({"epoch": epoch, "loss": value, **line})
        waiting.clear()
        return losses[-1]

    display.start(label, epochs, done)
    with _metrics_file(metrics, done) as write, _stop_between_epochs(state is not None) as stopping:
        try:
            for epoch in range(done, epochs):
                rate = lr * schedule_factor(schedule, epoch, epochs)
                set_rate(optimizer, rate)
                module.train()
                losses = []
                for batch in batches():
                    losses.append(advance(batch))
                    if time.monotonic() - turned > SECONDS_A_TURN:
                        turns.pass_turn()
                        turned = time.monotonic()
                found = torch.stack(losses).mean()
                extra = after_epoch(epoch + 1) if after_epoch else None
                waiting.append((epoch + 1, found, {"lr": rate, "seconds": seconds(), **(extra or {})}))
                ended = bool(extra and extra.get("stop"))
                now, last, stop = time.monotonic(), epoch + 1 == epochs or ended, stopping()
                save = state is not None and (now - saved >= seconds_between_saves or stop or last)
                if save or last or not found.is_cuda or now - flushed >= SECONDS_BETWEEN_LOOKS:
                    loss, flushed = flush(), now
                if save and state is not None:
                    state.save(epoch + 1, Outcome(loss, seconds(), epoch + 1), module, optimizer)
                    saved = time.monotonic()
                if stop:
                    raise Interrupted(f"stopped after epoch {epoch + 1} of {epochs}; --resume goes on from there")
                if ended:
                    break
        finally:
            display.stop()
    if not all(bool(torch.isfinite(weight).all()) for weight in module.parameters()):
        raise GraphMAEError(f"{label}: the last step made weights NaN or infinite; try a smaller learning rate")
    return Outcome(loss, seconds(), done if done >= epochs else epoch + 1)


@contextmanager
def _metrics_file(path: Path | None, done: int) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Append JSON lines; on resume, lines of epochs that will be run again are dropped first."""
    if path is None:
        yield lambda line: None
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = path.read_text().splitlines()[:done] if done and path.is_file() else []
    with path.open("w") as file:
        file.writelines(line + "\n" for line in kept)

        def write(line: dict[str, Any]) -> None:
            file.write(json.dumps(line) + "\n")
            file.flush()

        yield write


@contextmanager
def _stop_between_epochs(wanted: bool) -> Iterator[Callable[[], bool]]:
    """The first Ctrl-C asks for a stop after this epoch, where the state can be saved; the second stops at once."""
    asked = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True

    if not wanted or threading.current_thread() is not threading.main_thread():
        yield turns.is_interrupted
        return
    before = signal.signal(signal.SIGINT, handle)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)

"""What a step of a training takes: a few real ones, timed, with the memory they need."""

from __future__ import annotations

import ctypes
import logging
import statistics
import sys
import time
from contextlib import suppress
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..batching import Batch
from ..config import Train
from ..data import Dataset
from ..kernels import Adjacency
from ..methods import Method
from ..runtime.memory import peak_memory
from .pretrain import pretrain_model

STEPS = {"cpu": 4, "cuda": 9}  # at least: the first ones compile kernels, and on CUDA are not recorded yet
MOST_STEPS, SECONDS = 20, 1.0  # fast ones are run more often, for so long
TIMED = 2  # at least, the last; of more the second half


logger = logging.getLogger("graphmae")


class Measured(NamedTuple):
    """Of one step: seconds, the most bytes above what was held before, and the average size of a batch."""

    seconds: float
    bytes: int
    nodes: float
    edges: float


def measure(model: Method, dataset: Dataset, train: Train, device: torch.device) -> Measured:
    """Train `model` for a few steps, as `pretrain_model` does with these settings."""
    sizes: list[tuple[int, int]] = []
    ends: list[float] = []

    def note(module: Any, arguments: tuple[Any, ...]) -> None:
        batch = arguments[0]
        if isinstance(batch, Batch):
            edges = len(batch.graph.col) if isinstance(batch.graph, Adjacency) else batch.graph.size(1)
            sizes.append((len(batch.x), int(edges)))

    def look(step: int, loss: Tensor) -> None:
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        ends.append(time.perf_counter())
        if len(ends) >= STEPS[device.type] and ends[-1] - ends[0] > SECONDS:
            raise _Enough

    handle, was_disabled = model.register_forward_pre_hook(note), logger.disabled
    logger.disabled = True  # nothing that is said of so few steps is meant for people
    _trim()
    try:
        with peak_memory(str(device)) as peak, suppress(_Enough):
            pretrain_model(model, dataset, train, device, after_step=[look], most_steps=MOST_STEPS)
    finally:
        handle.remove()
        logger.disabled = was_disabled
    seconds = [after - before for before, after in pairwise(ends)]
    nodes, edges = (statistics.mean(column) for column in zip(*sizes, strict=True))
    return Measured(statistics.median(seconds[-max(TIMED, len(seconds) // 2) :]), peak.bytes, nodes, edges)


class _Enough(Exception):
    """Enough steps were timed."""


def _trim() -> None:
    """Give freed memory back to the system, so that what is needed next is seen."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL("libc.so.6").malloc_trim(0)

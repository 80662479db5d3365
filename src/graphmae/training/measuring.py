"""What a step of a training takes: a few real ones, timed, with the memory they need."""

from __future__ import annotations

import ctypes
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

STEPS = {"cpu": 4, "cuda": 9}  # on CUDA the first ones are not recorded yet
TIMED = 2  # of them, the last


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

    handle = model.register_forward_pre_hook(note)
    _trim()
    try:
        with peak_memory(str(device)) as peak:
            pretrain_model(model, dataset, train, device, after_step=[look], most_steps=STEPS[device.type])
    finally:
        handle.remove()
    seconds = [after - before for before, after in pairwise(ends)][-TIMED:]
    nodes, edges = (statistics.mean(column) for column in zip(*sizes, strict=True))
    return Measured(statistics.mean(seconds), peak.bytes, nodes, edges)


def _trim() -> None:
    """Give freed memory back to the system, so that what is needed next is seen."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL("libc.so.6").malloc_trim(0)

"""On CUDA a step of fixed shapes is recorded once and replayed: one launch instead of hundreds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import torch
from torch import Tensor

Batch = TypeVar("Batch")
WARM_UP = 3  # eager steps before recording, so that every lazy allocation has happened


class CapturedStep(Generic[Batch]):
    """`step(batch)` → loss, recorded as a CUDA graph after a few eager calls on the very same batch.

    The recorded work must not depend on values on the host: no data-dependent shapes, no `.item()`.
    """

    def __init__(self, step: Callable[[Batch], Tensor]) -> None:
        self.step = step
        self.calls = 0
        self.graph: torch.cuda.CUDAGraph | None = None
        self.batch: object = None
        self.loss: Tensor | None = None

    def __call__(self, batch: Batch) -> Tensor:
        if self.batch is not None and batch is not self.batch:
            raise RuntimeError("a captured step replays one batch; it was given another")
        self.batch = batch
        if self.graph is None and self.calls >= WARM_UP:
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.loss = self.step(batch).detach()
        self.calls += 1
        if self.graph is None:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                loss = self.step(batch).detach()
            torch.cuda.current_stream().wait_stream(side)
            return loss
        self.graph.replay()
        assert self.loss is not None
        return self.loss

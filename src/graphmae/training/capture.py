"""On CUDA a step of fixed shapes is recorded once and replayed: one launch instead of hundreds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

from ..batching import Batch, GraphStore

B = TypeVar("B")
WARM_UP = 3  # eager steps before recording, so that every lazy allocation has happened
OWN_THREAD = "thread_local"  # while this thread records, others that train side by side may wait for the device


def own_stream() -> torch.cuda.Stream | None:
    """The stream to record on where several trainings run side by side; None: torch's own for recording.

    Products use scratch memory that belongs to a stream. Two steps recorded on the same stream and replayed at the same
    time on different ones would share it, and can wait for each other for ever.
    """
    current = torch.cuda.current_stream()
    return None if current == torch.cuda.default_stream() else current


def run_aside(step: Callable[[], Tensor]) -> Tensor:
    """`step()` on a stream that is not torch's default one.

    What adds up the gradient of a weight remembers the stream it was made on, and may live on into a recording. There
    the default stream is not allowed.
    """
    side = own_stream() or torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        loss = step().detach()
    torch.cuda.current_stream().wait_stream(side)
    return loss


class UnrecordedStep(Generic[B]):
    """`step(batch)` → loss as it is, for weights that another step records afterwards."""

    def __init__(self, step: Callable[[B], Tensor]) -> None:
        self.step = step

    def __call__(self, batch: B) -> Tensor:
        return run_aside(lambda: self.step(batch))


class CapturedStep(Generic[B]):
    """`step(batch)` → loss, recorded as a CUDA graph after a few eager calls on the very same batch.

    The recorded work must not depend on values on the host: no data-dependent shapes, no `.item()`.
    """

    def __init__(self, step: Callable[[B], Tensor]) -> None:
        self.step = step
        self.calls = 0
        self.graph: torch.cuda.CUDAGraph | None = None
        self.batch: object = None
        self.loss: Tensor | None = None

    def __call__(self, batch: B) -> Tensor:
        if self.batch is not None and batch is not self.batch:
            raise RuntimeError("a captured step replays one batch; it was given another")
        self.batch = batch
        if self.graph is None and self.calls >= WARM_UP:
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph, stream=own_stream(), capture_error_mode=OWN_THREAD):
                self.loss = self.step(batch).detach()
        self.calls += 1
        if self.graph is None:
            return run_aside(lambda: self.step(batch))
        self.graph.replay()
        assert self.loss is not None
        return self.loss.clone()


class CapturedBatches:
    """`step(batch)` → loss for any selection of graphs, recorded once for each of a few shapes.

    Selections are filled up to the next shape of a geometric series; what is recorded begins with taking the graphs
    from the store, so that a step is one copy of their numbers and one launch.
    """

    def __init__(self, step: Callable[[Batch], Tensor], store: GraphStore) -> None:
        self.step, self.store = step, store
        self.recorded: dict[tuple[int, int], _Recording] = {}
        self.pool = torch.cuda.graph_pool_handle()
        self.seen: dict[tuple[int, int], int] = {}
        sizes = torch.stack([store.node_sizes, store.edge_sizes]).double().mean(1).tolist()
        self.unit = [max(1.0, size) for size in sizes]
        # Steps between shapes: narrow where selections hardly differ in size, so that little is filled up.
        spread = float(store.node_sizes.double().std(correction=0)) / self.unit[0]
        self.growth = 1.15 if spread > 0.8 else 1.05

    def __call__(self, ids: Tensor) -> Tensor:
        nodes, edges = int(self.store.node_sizes[ids].sum()), int(self.store.edge_sizes[ids].sum())
        # The smallest level whose shapes hold both, at least that of an average selection a third smaller.
        need = max((nodes + 1) / self.unit[0], edges / self.unit[1], len(ids) / 1.5)
        level = math.ceil(math.log(need, self.growth))
        key = (len(ids), level)
        if key in self.recorded:
            return self.recorded[key].replay(ids)
        shape = [16 * math.ceil(unit * self.growth**level / 16 + 1) for unit in self.unit]
        self.seen[key] = self.seen.get(key, 0) + 1
        if self.seen[key] > (1 if self.recorded else WARM_UP):
            self.recorded[key] = _Recording(self.step, self.store, len(ids), shape, self.pool)
            return self.recorded[key].replay(ids)
        return run_aside(lambda: self.step(self.store.take_padded(ids.to(self.store.node_ptr.device), *shape)))


class _Recording:
    def __init__(
        self, step: Callable[[Batch], Tensor], store: GraphStore, count: int, shape: list[int], pool: Any
    ) -> None:
        self.ids = torch.zeros(count, dtype=torch.long, device=store.node_ptr.device)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, pool=pool, stream=own_stream(), capture_error_mode=OWN_THREAD):
            self.loss = step(store.take_padded(self.ids, *shape)).detach()

    def replay(self, ids: Tensor) -> Tensor:
        self.ids.copy_(ids, non_blocking=True)
        self.graph.replay()
        return self.loss.clone()

"""The sampled batches of one epoch after another, made by threads ahead of the training."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from ..data.compressed import CompressedGraph
from ..runtime.environment import cpu_count, free_bytes
from .batch import Batch
from .sampling import ALL, CLUSTERS, InducedSampler, NeighbourSampler, Sample, clustered_order, moved, permuted, pinned

MOST_WORKERS = 8
KEYS = 2**62
SHARE = 0.1  # of a device's free memory that features may take


class Plan(Protocol):
    """What the steps of an epoch are: `sample(key, number)` gives that of one; `key` is the epoch's."""

    @property
    def graph(self) -> CompressedGraph: ...

    @property
    def total(self) -> int:
        """How many steps it takes until every node had its turn."""
        ...

    @property
    def counts_all(self) -> bool:
        """Whether all nodes of a step count, not its first ones alone."""
        ...

    def sample(self, key: int, number: int) -> tuple[Sample, int]:
        """The step `number`, and how many of its nodes, the first ones, count."""
        ...


@dataclass(frozen=True)
class Neighbourhoods:
    """`size` seeds per step, every node once in `total` steps, with sampled neighbours.

    Of several processes each takes every `of`-th seed of a step, from `rank` on.
    """

    graph: CompressedGraph
    fanouts: tuple[int, ...]
    size: int
    rank: int = 0
    of: int = 1
    counts_all: bool = False

    @property
    def total(self) -> int:
        return -(-self.graph.num_nodes // self.size)

    def sample(self, key: int, number: int) -> tuple[Sample, int]:
        nodes = self.graph.num_nodes
        begin = min(number * self.size, max(0, nodes - self.size)) if nodes > self.size else 0  # the last is as large
        seeds = permuted(begin, min(begin + self.size, nodes), nodes, key)[self.rank :: self.of]
        return NeighbourSampler(self.graph, self.fanouts).sample(seeds, key + number), len(seeds)


@dataclass(frozen=True)
class Parts:
    """`size` nodes per step and the edges among them: random ones, or some parts of a breadth-first order.

    Of `of` processes each takes other nodes, `size` of its own.
    """

    graph: CompressedGraph
    size: int
    clustered: bool
    rank: int = 0
    of: int = 1
    counts_all: bool = True
    order: np.ndarray | None = field(default=None, repr=False)
    sampler: InducedSampler = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sampler", InducedSampler(self.graph))
        if self.clustered and self.order is None:
            object.__setattr__(self, "order", clustered_order(self.graph))

    @property
    def parts(self) -> int:
        """How many parts hold every node once."""
        return -(-self.graph.num_nodes // self.size)

    @property
    def total(self) -> int:
        return -(-self.parts // self.of)

    def sample(self, key: int, number: int) -> tuple[Sample, int]:
        number, nodes = number * self.of + self.rank, self.graph.num_nodes
        if self.order is None:
            begin = min(number * self.size, max(0, nodes - self.size))
            found = permuted(begin, min(begin + self.size, nodes), nodes, key)
        else:
            pieces = self.parts * CLUSTERS
            which = permuted(0, pieces, pieces, key)[np.arange(number * CLUSTERS, (number + 1) * CLUSTERS) % pieces]
            cuts = np.arange(pieces + 1) * nodes // pieces
            found = np.concatenate([self.order[cuts[i] : cuts[i + 1]] for i in which]).astype(np.int64)
        sample = self.sampler.sample(np.sort(found))
        return sample, len(sample.nodes)


class SampledBatches:
    """Batches of a plan, `ahead` of them under way in threads: the same ones whatever the number of threads.

    `agree` gives, in each of several processes, the number of the first: their batches belong together.

    Attributes:
        waited, passed: seconds the training has waited for data, and seconds of its epochs in all.
    """

    def __init__(
        self,
        plan: Plan,
        device: torch.device,
        steps: int = 0,
        workers: int = 0,
        ahead: int | None = None,
        agree: Callable[[int], int] = lambda key: key,
    ) -> None:
        self.plan, self.device, self.agree = plan, device, agree
        self.steps = min(steps, plan.total) if steps else plan.total
        self.workers = workers or max(1, min(MOST_WORKERS, cpu_count() - 1))
        self.ahead = ahead or 2 * self.workers
        self.resident = self._on_device()
        self.waited = self.passed = 0.0
        self._before = (0.0, 0.0)

    def _on_device(self) -> Tensor | None:
        """The features of all nodes, where the device has room for them: batches then bring numbers of nodes alone."""
        features, nodes = self.plan.graph.features, self.plan.graph.num_nodes
        if self.device.type != "cuda" or 4 * nodes * features.width > SHARE * free_bytes(str(self.device)):
            return None
        return features.block(0, nodes).to(self.device)

    def __len__(self) -> int:
        return self.steps

    def __iter__(self) -> Iterator[Batch]:
        return self.starting_at(0)

    def starting_at(self, first: int) -> Iterator[Batch]:
        """An epoch without its `first` batches, which are not made."""
        key = self.agree(int(torch.randint(KEYS, ())))  # the only draw from the training's own generator
        return self._running(key, first)

    def _running(self, key: int, first: int) -> Iterator[Batch]:
        waiting: deque[Future[Batch]] = deque()
        pool = ThreadPoolExecutor(self.workers, "sampling")
        last, numbers = time.perf_counter(), iter(range(first, self.steps))
        try:
            for number in numbers:
                waiting.append(pool.submit(self.make, key, number))
                if len(waiting) == self.ahead:
                    break
            while waiting:
                asked = time.perf_counter()
                batch = waiting.popleft().result()
                now = time.perf_counter()
                self.waited, self.passed, last = self.waited + now - asked, self.passed + now - last, now
                if (number := next(numbers, -1)) >= 0:
                    waiting.append(pool.submit(self.make, key, number))
                yield self._given(batch)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def make(self, key: int, number: int) -> Batch:
        """One batch, on the host; where features are on the device, with the numbers of its nodes in their place."""
        graph = self.plan.graph
        sample, seeds = self.plan.sample(key, number)
        counted = None if self.plan.counts_all else torch.arange(seeds)
        x = torch.from_numpy(sample.nodes) if self.resident is not None else graph.features.take(sample.nodes)
        batch = Batch(x, sample.adjacency(), seeds=counted)
        graph.release()
        return pinned(batch) if self.device.type == "cuda" else batch

    def looked_at(self) -> Batch:
        """A batch to look at, always the same."""
        return self._given(self.make(0, 0))

    def _given(self, batch: Batch) -> Batch:
        batch = moved(batch, self.device)
        return batch if self.resident is None else replace(batch, x=self.resident[batch.x])

    def share_waited(self, epoch: int = 0) -> dict[str, float]:
        """The share of the time since the last call in which the training waited for data: for a metrics line."""
        waited, passed = self.waited - self._before[0], self.passed - self._before[1]
        self._before = self.waited, self.passed
        return {"waited": round(waited / passed, 4)} if passed > 0 else {}


__all__ = ["ALL", "Neighbourhoods", "Parts", "Plan", "SampledBatches"]

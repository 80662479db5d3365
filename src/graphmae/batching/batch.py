"""What a method sees in one step."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .. import kernels
from ..kernels import Adjacency
from ..runtime.errors import DataError


@dataclass(frozen=True, eq=False)
class Batch:
    """A whole graph, a part of one, or many small graphs side by side.

    Attributes:
        x: [N, in_channels] features of the nodes.
        graph: the edges, a tensor [2, E] or sorted.
        batch: [N] the number of each node's graph, ascending; None: there is one. Rows that only pad belong to one
            graph more.
        seeds: [S] the nodes that count in a loss, each once; None: all. The others are there to be looked at: their
            own neighbours may be missing.
        ids: [B] the numbers of the graphs in the store they were taken from; None: from no store.

    >>> import torch
    >>> Batch(torch.rand(3, 8), torch.tensor([[0, 1], [1, 2]])).num_graphs
    1
    """

    x: Tensor
    graph: Tensor | Adjacency
    batch: Tensor | None = None
    seeds: Tensor | None = None
    ids: Tensor | None = None

    def __post_init__(self) -> None:
        if self.batch is not None and self.ids is None:  # what a store gives is in order: a look would wait for CUDA
            _check_order(self.batch, len(self.x))

    def edges(self, part: nn.Module) -> Tensor | Adjacency:
        """The edges as `kernels.encode` hands them to an encoder or decoder."""
        return kernels.taken_by(part, self.graph_for(part))

    def graph_for(self, *parts: nn.Module) -> Tensor | Adjacency:
        """The edges, with the sizes of the graphs where one of the parts asks which graph a node belongs to."""
        if self.batch is not None and any(map(kernels.takes_batch, parts)):
            return kernels.with_sizes(self.graph, self.batch)
        return self.graph

    def counted(self, rows: Tensor) -> Tensor:
        """Of `rows` [N, k] those that count in a loss: [S, k]."""
        return rows if self.seeds is None else rows[self.seeds]

    @property
    def pointer(self) -> Tensor:
        """[num_graphs + 1] where the nodes of each graph begin, of graphs taken from a store."""
        assert isinstance(self.graph, Adjacency) and self.graph.sizes is not None
        return nn.functional.pad(self.graph.sizes.cumsum(0), (1, 0))

    @property
    def num_graphs(self) -> int:
        """How many graphs there are; where they were not taken from a store, this waits for the device."""
        if self.batch is None:
            return 1
        return len(self.ids) if self.ids is not None else int(self.batch.max()) + 1

    def sum(self, rows: Tensor) -> Tensor:
        """The sum of `rows` [N, k] over the nodes of each graph: [num_graphs, k]."""
        if self.batch is None:
            return rows.sum(0, keepdim=True)
        size = self.num_graphs + 1  # rows that only pad belong to one graph more
        return rows.new_zeros(size, rows.size(1)).index_add(0, self.batch, rows)[:-1]

    def mean(self, rows: Tensor) -> Tensor:
        """The mean of `rows` [N, k] over the nodes of each graph: [num_graphs, k]."""
        return self.sum(rows) / self.sum(rows.new_ones(len(rows), 1)).clamp(min=1)

    def counted_mean(self, rows: Tensor) -> Tensor:
        """The same over the nodes that count in a loss."""
        if self.seeds is None:
            return self.mean(rows)
        flags = rows.new_zeros(len(rows), 1).index_fill(0, self.seeds, 1.0)
        return self.sum(rows * flags) / self.sum(flags).clamp(min=1)


def _check_order(batch: Tensor, nodes: int) -> None:
    """Refuse numbers of graphs with which masks and random pairs would be drawn from other graphs than they should."""
    if batch.shape != (nodes,):
        raise DataError(f"batch must have one number for each of {nodes} nodes, not the shape {tuple(batch.shape)}")
    if batch.is_floating_point() or batch.dtype == torch.bool:
        raise DataError(f"batch must hold whole numbers, not {batch.dtype}")
    if nodes and int(batch[0]) < 0:
        raise DataError(f"batch must number the graphs from 0 up, not from {int(batch[0])}")
    if bool((batch.diff() < 0).any()):
        raise DataError(
            "batch must be ascending, all nodes of a graph one after the other; sort the nodes by it first "
            "(order = batch.argsort(stable=True)), their features and the ends of the edges as well"
        )

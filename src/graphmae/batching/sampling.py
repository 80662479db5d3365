"""Batches of one large graph: seeds with some of their neighbours, and theirs, or the edges among some nodes."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..data.compressed import CompressedGraph, DamagedGraph
from ..kernels import Adjacency
from . import neighbours
from .batch import Batch

ALL = -1  # every neighbour
CLUSTERS = 8  # parts of a clustered batch: what lies between them changes from epoch to epoch


@dataclass(frozen=True)
class Sample:
    """Nodes of a graph and edges among them, sorted by receiver; the nodes that were asked for come first.

    Attributes:
        nodes: [n] their numbers in the graph.
        crow, row, col, begins, order: the edges as `kernels.Adjacency` has them, and by sender.
        reach: how many of the nodes are at most 0, 1, … steps away from those asked for.
        degrees: [n] edges into each node in the whole graph, self-loops included; None: that does not matter.
        share: [E] for how many edges of the whole graph each stands.
    """

    nodes: np.ndarray
    crow: np.ndarray
    row: np.ndarray
    col: np.ndarray
    begins: np.ndarray
    order: np.ndarray
    reach: tuple[int, ...]
    degrees: np.ndarray | None = None
    share: np.ndarray | None = None
    out_degrees: np.ndarray | None = None

    def adjacency(self) -> Adjacency:
        crow, row, col, begins, order = map(torch.from_numpy, (self.crow, self.row, self.col, self.begins, self.order))
        adj = Adjacency(crow, row, col, len(self.nodes), (begins, order))
        adj.is_sampled = True
        if self.degrees is not None:
            into = torch.from_numpy(self.degrees)
            adj.degrees = into, into if self.out_degrees is None else torch.from_numpy(self.out_degrees)
            adj.share = None if self.share is None else torch.from_numpy(self.share)
        return adj


class NeighbourSampler:
    """For every seed at most `fanouts[0]` of the nodes it receives from, for each of these at most `fanouts[1]`, ….

    What is drawn follows from a number and the node alone: not from the other seeds, nor from threads. Self-loops are
    always there, and not counted.

    >>> ring = torch.stack([torch.arange(6), torch.arange(6).roll(1)])
    >>> from torch_geometric.data import Data
    >>> graph = CompressedGraph.of(Data(x=torch.eye(6), edge_index=ring))
    >>> NeighbourSampler(graph, [1, 1]).sample(np.array([3]), 0).nodes.tolist()
    [3, 4, 5]
    """

    def __init__(self, graph: CompressedGraph, fanouts: Sequence[int]) -> None:
        self.graph, self.fanouts = graph, tuple(fanouts)

    def sample(self, seeds: np.ndarray, seed: int) -> Sample:
        """`seeds` [S], each once."""
        graph, number = self.graph, np.uint64(seed % 2**64)
        nodes, known, begin = np.array(seeds, dtype=np.int64), len(seeds), 0
        slots, mask = np.empty(0, np.int32), np.uint64(0)
        hops: list[tuple[np.ndarray, np.ndarray]] = []
        reach = [known]
        for hop, fanout in enumerate(self.fanouts):
            frontier = nodes[begin:known]
            counts = np.empty(len(frontier), dtype=np.int64)
            total = neighbours.counted(graph.indptr, frontier, len(graph.indices), fanout, counts)
            self._check(total)
            senders = np.empty(total, dtype=np.int64)
            ends = graph.indptr, graph.indices, frontier, counts
            self._check(neighbours.chosen(*ends, number, hop, graph.num_nodes, senders))
            nodes = np.concatenate([nodes[:known], np.empty(total, dtype=np.int64)])
            if 2 * (known + total) > len(slots):
                slots = np.full(1 << max(6, (4 * (known + total)).bit_length()), -1, dtype=np.int32)
                mask = np.uint64(len(slots) - 1)
                neighbours.numbered(nodes[:known].copy(), nodes, 0, slots, mask)
            begin, known = known, neighbours.numbered(senders, nodes, known, slots, mask)
            reach.append(known)
            hops.append((counts, senders))
        return self._joined(nodes[:known].copy(), hops, tuple(reach))

    def _joined(self, nodes: np.ndarray, hops: list[tuple[np.ndarray, np.ndarray]], reach: tuple[int, ...]) -> Sample:
        graph, loops = self.graph, int(self.graph.self_loops)
        edges = sum(len(senders) for _, senders in hops) + loops * len(nodes)
        crow, row, col = np.zeros(len(nodes) + 1, np.int32), np.empty(edges, np.int32), np.empty(edges, np.int32)
        share, degrees = np.empty(edges, np.float32), np.empty(len(nodes), np.float32)
        neighbours.degrees_of(graph.indptr, nodes, degrees)
        at = first = 0
        nothing = np.zeros(len(nodes) - (reach[-2] if len(reach) > 1 else 0), dtype=np.int64)
        for counts, senders in [*hops, (nothing, np.empty(0, np.int64))]:
            at = neighbours.joined(counts, senders, degrees, first, at, loops, crow, row, col, share)
            first += len(counts)
        begins, order = np.zeros(len(nodes) + 1, np.int32), np.empty(edges, np.int32)
        neighbours.transposed(col, len(nodes), begins, order)
        cut = all(fanout == ALL for fanout in self.fanouts)
        out = None if graph.out_degree is None else graph.out_degree[nodes].astype(np.float32) + loops
        return Sample(nodes, crow, row, col, begins, order, reach, degrees + loops, None if cut else share, out)

    def _check(self, found: int) -> None:
        if found < 0:
            raise DamagedGraph("the stored graph is damaged: an edge leads to a node that does not exist")


class _Places(threading.local):
    """Where each node of the graph stands in the batch that a thread is making; −1: it is not in it."""

    def __init__(self, num_nodes: int) -> None:
        self.array = np.full(num_nodes, -1, dtype=np.int32)


class InducedSampler:
    """Some nodes and all edges among them.

    >>> ring = torch.stack([torch.arange(6), torch.arange(6).roll(1)])
    >>> from torch_geometric.data import Data
    >>> graph = CompressedGraph.of(Data(x=torch.eye(6), edge_index=ring))
    >>> InducedSampler(graph).sample(np.array([2, 3, 5])).col.tolist()
    [1]
    """

    def __init__(self, graph: CompressedGraph) -> None:
        self.graph, self._places = graph, _Places(graph.num_nodes)

    def sample(self, nodes: np.ndarray) -> Sample:
        graph, place, loops = self.graph, self._places.array, self.graph.self_loops
        place[nodes] = np.arange(len(nodes), dtype=np.int32)
        crow, none = np.empty(len(nodes) + 1, np.int32), np.empty(0, np.int32)
        ends = graph.indptr, graph.indices, nodes, place, loops
        edges = neighbours.among(*ends, crow, none, none)
        if edges >= 0:
            row, col = np.empty(edges, np.int32), np.empty(edges, np.int32)
            if edges:
                neighbours.among(*ends, crow, row, col)
        place[nodes] = -1
        if edges < 0:
            raise DamagedGraph("the stored graph is damaged: an edge leads to a node that does not exist")
        begins, order = np.zeros(len(nodes) + 1, np.int32), np.empty(edges, np.int32)
        neighbours.transposed(col, len(nodes), begins, order)
        return Sample(nodes, crow, row, col, begins, order, (len(nodes),))


def clustered_order(graph: CompressedGraph) -> np.ndarray:
    """[N] every node once, in a breadth-first order: neighbours stand close together."""
    order = np.empty(graph.num_nodes, dtype=np.int32 if graph.num_nodes < 2**31 else np.int64)
    if neighbours.breadth_first(graph.indptr, graph.indices, order, np.zeros(graph.num_nodes, dtype=bool)) < 0:
        raise DamagedGraph("the stored graph is damaged: an edge leads to a node that does not exist")
    return order


def permuted(begin: int, end: int, size: int, seed: int) -> np.ndarray:
    """Places `begin` to `end` of a random permutation of 0 … `size` − 1, which is never written out.

    >>> sorted(permuted(0, 10, 10, seed=7).tolist()) == list(range(10))
    True
    """
    out = np.empty(end - begin, dtype=np.int64)
    neighbours.shuffled(begin, end, size, np.uint64(seed % 2**64), out)
    return out


def moved(batch: Batch, device: torch.device) -> Batch:
    """A sampled batch on the device; copies from pinned memory are not waited for."""
    if device.type == "cpu":
        return batch
    assert isinstance(batch.graph, Adjacency)

    def to(part: Tensor) -> Tensor:
        return part.to(device, non_blocking=True)

    old = batch.graph
    adj = Adjacency(to(old.crow), to(old.row), to(old.col), old.num_cols, (to(old.transpose[0]), to(old.transpose[1])))
    adj.is_sampled = True
    if old.degrees is not None:
        adj.degrees = to(old.degrees[0]), to(old.degrees[1])
        adj.share = None if old.share is None else to(old.share)
    return Batch(to(batch.x), adj, seeds=None if batch.seeds is None else to(batch.seeds))


def pinned(batch: Batch) -> Batch:
    """The same in memory the device can copy from by itself."""
    old = batch.graph
    assert isinstance(old, Adjacency)
    adj = Adjacency(
        old.crow.pin_memory(), old.row.pin_memory(), old.col.pin_memory(), old.num_cols,
        (old.transpose[0].pin_memory(), old.transpose[1].pin_memory()),
    )  # fmt: skip
    if old.degrees is not None:
        adj.degrees = old.degrees[0].pin_memory(), old.degrees[1].pin_memory()
        adj.share = None if old.share is None else old.share.pin_memory()
    return Batch(batch.x.pin_memory(), adj, seeds=None if batch.seeds is None else batch.seeds.pin_memory())

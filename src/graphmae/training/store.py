"""Many small graphs on the device as a few flat tensors, their edges sorted once: a batch is a gather."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from ..data import GraphSet
from ..data.graphset import one_hot
from ..kernels import Adjacency
from ..runtime.errors import DataError

INDEX = torch.int32


@dataclass(frozen=True)
class GraphBatch:
    """Some graphs side by side.

    Attributes:
        x: [N, d] features.
        graph: the edges of all, sorted.
        batch: [N] which of the graphs each node belongs to; rows that only pad belong to one graph more.
        ids: [B] the numbers of the graphs in the store.
    """

    x: Tensor
    graph: Adjacency
    batch: Tensor
    ids: Tensor


class _Part(NamedTuple):
    """Some graphs, edges sorted by receiver and counted within their graph, everything as narrow as it can be."""

    x: Tensor
    edge_sums: Tensor | None
    sender: Tensor
    receiver: Tensor
    back: Tensor
    in_degree: Tensor
    out_degree: Tensor
    node_sizes: Tensor
    edge_sizes: Tensor

    @classmethod
    def of(cls, graphs: GraphSet, device: torch.device) -> _Part:
        edge_ptr, node_ptr = graphs.edge_ptr.to(device), graphs.node_ptr.to(device)
        first = node_ptr[:-1].repeat_interleave(edge_ptr.diff())
        sender, receiver = graphs.edge_index.to(device) + first
        order = receiver.argsort(stable=True)
        sender, receiver, first = sender[order], receiver[order], first[order]
        back = sender.argsort(stable=True) - edge_ptr[:-1].repeat_interleave(edge_ptr.diff())
        degrees = [torch.bincount(side, minlength=len(graphs.x)) for side in (receiver, sender)]
        x = graphs.x if graphs.num_codes is None else _narrow(graphs.x)
        narrow = [_narrow(part) for part in (sender - first, receiver - first, back, *degrees)]
        sums = None if graphs.edge_sums is None else graphs.edge_sums.to(device)
        return cls(x.to(device), sums, *narrow, graphs.node_ptr.diff(), graphs.edge_ptr.diff())  # type: ignore[call-arg]


class GraphStore:
    """The graphs of a `GraphSet`, or of several, ready to be taken in any selection.

    >>> from torch_geometric.data import Data
    >>> pair = Data(x=torch.eye(2), edge_index=torch.tensor([[0, 1], [1, 0]]))
    >>> GraphStore(GraphSet.from_list("pairs", [pair] * 3)).take(torch.tensor([2, 0])).graph.crow.tolist()
    [0, 1, 2, 3, 4]
    """

    def __init__(self, graphs: GraphSet | Iterable[GraphSet], device: torch.device | str = "cpu") -> None:
        parts = [graphs] if isinstance(graphs, GraphSet) else graphs
        built = []
        for part in parts:
            built.append(_Part.of(part, torch.device(device)))
            self.num_codes = part.num_codes
        if not built:
            raise DataError("there must be at least one graph")
        joined = _Part(*map(_joined, zip(*built, strict=True)))  # type: ignore[arg-type]
        # One node behind the last, without features or edges: what a batch is filled up with.
        self.x = _one_more(joined.x, 0 if self.num_codes is None else -1)
        self.edge_sums = None if joined.edge_sums is None else _one_more(joined.edge_sums, 0)
        self.in_degree, self.out_degree = _one_more(joined.in_degree, 0), _one_more(joined.out_degree, 0)
        self.sender, self.receiver, self.back = joined.sender, joined.receiver, joined.back
        self.node_sizes, self.edge_sizes = joined.node_sizes, joined.edge_sizes  # these stay on the host
        self.node_ptr, self.edge_ptr = (_offsets(sizes).to(device) for sizes in (self.node_sizes, self.edge_sizes))

    def __len__(self) -> int:
        return len(self.node_sizes)

    def take(self, ids: Tensor) -> GraphBatch:
        """The graphs `ids` [B], in this order."""
        host = ids.to(self.node_sizes.device)
        num_nodes, num_edges = int(self.node_sizes[host].sum()), int(self.edge_sizes[host].sum())
        return self._take(ids.to(self.node_ptr.device), num_nodes, num_edges, pads=False)

    def take_padded(self, ids: Tensor, num_nodes: int, num_edges: int) -> GraphBatch:
        """The same filled up to fixed shapes, with nothing that waits for the device: it can be recorded.

        `num_nodes` must be more than the graphs have: rows behind theirs are nodes of zeros without edges.
        """
        return self._take(ids, num_nodes, num_edges, pads=True)

    def _take(self, ids: Tensor, num_nodes: int, num_edges: int, pads: bool) -> GraphBatch:
        batch, node, sizes, start = _ranges(self.node_ptr, ids, num_nodes)
        owner, edge, _, edge_start = _ranges(self.edge_ptr, ids, num_edges)
        real = owner < len(ids)
        if pads:
            node = node.where(batch < len(ids), len(self.x) - 1)
            edge, owner = edge.clamp(max=len(self.sender) - 1), owner.clamp(max=len(ids) - 1)
        offset = start[owner].to(INDEX)
        row, col = self.receiver[edge] + offset, self.sender[edge] + offset
        if pads:  # edges behind the last belong to no row; they only must not point outside
            row, col = row.where(real, num_nodes - 1), col.where(real, num_nodes - 1)
        back = self.back[edge] + edge_start[owner].to(INDEX)
        if pads:
            back = back.where(real, num_edges - 1)
        transpose = _offsets(self.out_degree[node].to(INDEX)), back
        graph = Adjacency(_offsets(self.in_degree[node].to(INDEX)), row, col, num_nodes, transpose)
        graph.sizes = sizes
        if self.edge_sums is not None:
            graph.edge_sums = self.edge_sums[node].to(torch.float32)
        if pads:
            graph.valid = sizes.sum().to(torch.int32)
        return GraphBatch(self._features(node), graph, batch, ids)

    def _features(self, node: Tensor) -> Tensor:
        return self.x[node] if self.num_codes is None else one_hot(self.x[node], self.num_codes)


def _ranges(ptr: Tensor, ids: Tensor, total: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Everything between ptr[i] and ptr[i + 1] for every i of `ids`, one after the other, `total` places in all.

    Returns which id each place belongs to (B behind the last), its position, the sizes [B] and where each begins.
    """
    sizes = ptr[ids + 1] - ptr[ids]
    ends = sizes.cumsum(0)
    place = torch.arange(total, device=ptr.device)
    owner = torch.searchsorted(ends, place, right=True)
    shift = ptr[ids] - (ends - sizes)
    return owner, place + shift[owner.clamp(max=len(ids) - 1)], sizes, ends - sizes


def _offsets(counts: Tensor) -> Tensor:
    return torch.cat([counts.new_zeros(1), counts.cumsum(0, dtype=counts.dtype)])


def _joined(columns: Sequence[Tensor | None]) -> Tensor | None:
    present = [column for column in columns if column is not None]
    return torch.cat(present) if present else None


def _one_more(rows: Tensor, value: int) -> Tensor:
    return torch.cat([rows, rows.new_full((1, *rows.shape[1:]), value)])


def _narrow(numbers: Tensor) -> Tensor:
    """The same whole numbers in the narrowest signed type."""
    highest = int(numbers.max()) if numbers.numel() else 0
    return numbers.to(torch.int8 if highest < 2**7 else torch.int16 if highest < 2**15 else INDEX)

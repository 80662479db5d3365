"""Many small graphs on the device as a few flat tensors, their edges sorted once: a batch is a gather."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..data import GraphSet
from ..data.graphset import one_hot
from ..kernels import Adjacency


@dataclass(frozen=True)
class GraphBatch:
    """Some graphs side by side.

    Attributes:
        x: [N, d] features.
        graph: the edges of all, sorted.
        batch: [N] which of the graphs each node belongs to; rows that only pad belong to one graph more.
    """

    x: Tensor
    graph: Adjacency
    batch: Tensor


class GraphStore:
    """The graphs of a `GraphSet`, ready to be taken in any selection.

    >>> from torch_geometric.data import Data
    >>> pair = Data(x=torch.eye(2), edge_index=torch.tensor([[0, 1], [1, 0]]))
    >>> GraphStore(GraphSet.from_list("pairs", [pair] * 3)).take(torch.tensor([2, 0])).graph.crow.tolist()
    [0, 1, 2, 3, 4]
    """

    def __init__(self, graphs: GraphSet, device: torch.device | str = "cpu") -> None:
        first = graphs.first_node()
        sender, receiver = graphs.edge_index + first
        order = receiver.argsort(stable=True)
        sender, receiver, first = sender[order], receiver[order], first[order]
        back = sender.argsort(stable=True)
        edge_start = graphs.edge_ptr[:-1].repeat_interleave(graphs.edge_ptr.diff())
        num_nodes = len(graphs.x)
        # One node behind the last, without features or edges: what a batch is filled up with.
        x = torch.cat([graphs.x, graphs.x.new_full((1, *graphs.x.shape[1:]), 0 if graphs.num_codes is None else -1)])
        self.x, self.num_codes = x.to(device), graphs.num_codes
        sums = graphs.edge_sums
        self.edge_sums = None if sums is None else torch.cat([sums, sums.new_zeros(1, sums.size(1))]).to(device)
        self.node_sizes, self.edge_sizes = graphs.node_ptr.diff(), graphs.edge_ptr.diff()  # these stay on the host
        self.node_ptr, self.edge_ptr = graphs.node_ptr.to(device), graphs.edge_ptr.to(device)
        narrow = torch.int32
        self.sender, self.receiver = (sender - first).to(device, narrow), (receiver - first).to(device, narrow)
        self.back = (back - edge_start).to(device, narrow)
        self.in_degree = torch.bincount(receiver, minlength=num_nodes + 1).to(device, narrow)
        self.out_degree = torch.bincount(sender, minlength=num_nodes + 1).to(device, narrow)

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
        offset = start[owner].to(self.sender.dtype)
        row, col = self.receiver[edge] + offset, self.sender[edge] + offset
        if pads:  # edges behind the last belong to no row; they only must not point outside
            row, col = row.where(real, num_nodes - 1), col.where(real, num_nodes - 1)
        back = self.back[edge] + edge_start[owner].to(self.back.dtype)
        if pads:
            back = back.where(real, num_edges - 1)
        transpose = _offsets(self.out_degree[node]), back
        graph = Adjacency(_offsets(self.in_degree[node]), row, col, num_nodes, transpose)
        graph.sizes = sizes
        if self.edge_sums is not None:
            graph.edge_sums = self.edge_sums[node].to(torch.float32)
        if pads:
            graph.valid = sizes.sum().to(torch.int32)
        return GraphBatch(self._features(node), graph, batch)

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

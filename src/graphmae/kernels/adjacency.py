"""A graph's edges sorted by receiving row, and by sending column for gradients: built once for an edge tensor."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from ..runtime.errors import DataError


class Adjacency:
    """Which columns each row receives from, in compressed rows.

    Attributes (E edges, R rows):
        crow: [R + 1] where each row's edges begin.
        col, row: [E] sender and receiver of each edge, sorted by receiver.
        order: [E] position of each edge in the original `edge_index`.
    """

    def __init__(self, crow: Tensor, row: Tensor, col: Tensor, order: Tensor, num_cols: int) -> None:
        self.crow, self.row, self.col, self.order = crow, row, col, order
        self.num_rows, self.num_cols = crow.numel() - 1, num_cols

    @classmethod
    def from_edges(cls, edge_index: Tensor, num_nodes: int) -> Adjacency:
        """Messages flow from `edge_index[0]` to `edge_index[1]`, as in PyG."""
        if edge_index.numel() and (int(edge_index.min()) < 0 or int(edge_index.max()) >= num_nodes):
            bad = int(edge_index.min()) if int(edge_index.min()) < 0 else int(edge_index.max())
            raise DataError(f"an edge names node {bad}, but the graph has nodes 0 to {num_nodes - 1}")
        source, target = edge_index[0], edge_index[1]
        row, order = torch.sort(target, stable=True)
        return cls(_offsets(row, num_nodes), row, source[order], order, num_nodes)

    @cached_property
    def transpose(self) -> tuple[Tensor, Tensor]:
        """([num_cols + 1] where each column's edges begin, [E] those edges' positions here)."""
        col, order = torch.sort(self.col, stable=True)
        return _offsets(col, self.num_cols), order

    @cached_property
    def symmetric_weight(self) -> Tensor:
        """[E, 1] 1 / √(in-degree of the receiver · out-degree of the sender), the GCN normalisation."""
        in_degree = (self.crow[1:] - self.crow[:-1]).clamp(min=1)
        out_degree = torch.bincount(self.col, minlength=self.num_cols).clamp(min=1)
        return (in_degree[self.row] * out_degree[self.col]).to(torch.float32).rsqrt().unsqueeze(1)

    def restrict(self, rows: Tensor) -> tuple[Adjacency, Tensor]:
        """The same graph with only these rows, in this order; and the positions here of the edges kept."""
        start, count = self.crow[rows], (self.crow[1:] - self.crow[:-1])[rows]
        crow = torch.cat([count.new_zeros(1), count.cumsum(0)])
        row = torch.repeat_interleave(count)
        edges = torch.arange(row.numel(), device=row.device) + (start - crow[:-1])[row]
        return Adjacency(crow, row, self.col[edges], self.order[edges], self.num_cols), edges


_KEPT: MutableMapping[Tensor, tuple[tuple[int, int], Adjacency]] = WeakIdKeyDictionary()


def adjacency(edge_index: Tensor, num_nodes: int) -> Adjacency:
    """The `Adjacency` of an edge tensor; the second call on the same, unchanged tensor is free."""
    if edge_index.is_inference():  # changes to it could not be noticed
        return Adjacency.from_edges(edge_index, num_nodes)
    key = (num_nodes, edge_index._version)
    kept = _KEPT.get(edge_index)
    if kept is None or kept[0] != key:
        kept = _KEPT[edge_index] = (key, Adjacency.from_edges(edge_index, num_nodes))
    return kept[1]


@dataclass(frozen=True)
class RowsView:
    """A graph seen from some of its rows.

    On the CPU `adj` holds just those rows. On CUDA it stays whole and `pick` selects afterwards, so that shapes do
    not change from step to step and the step can be recorded.
    """

    adj: Adjacency
    receiver: Tensor  # [E] the node each edge of `adj` ends in
    symmetric_weight_of: tuple[Adjacency, Tensor | None]
    picked: Tensor | None

    def pick(self, out: Tensor) -> Tensor:
        """The asked-for rows of an aggregate over `adj`."""
        return out if self.picked is None else out.index_select(0, self.picked)

    @property
    def symmetric_weight(self) -> Tensor:
        whole, edges = self.symmetric_weight_of
        return whole.symmetric_weight if edges is None else whole.symmetric_weight[edges]


def rows_view(edge_index: Tensor, num_nodes: int, on_cuda: bool, rows: Tensor | None) -> RowsView:
    """The graph as needed to compute `rows` (None: all)."""
    whole = adjacency(edge_index, num_nodes)
    if rows is None or on_cuda:
        return RowsView(whole, whole.row, (whole, None), rows)
    adj, edges = whole.restrict(rows)
    return RowsView(adj, rows[adj.row], (whole, edges), None)


def _offsets(sorted_index: Tensor, size: int) -> Tensor:
    counts = torch.bincount(sorted_index, minlength=size)
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])

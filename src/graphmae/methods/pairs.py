"""Edges as targets: each undirected edge once in a draw, and pairs of nodes that are no edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.nn import functional as F

from ..kernels import Adjacency

EdgeMaskKind = Literal["edge", "path"]


@dataclass(frozen=True)
class Undirected:
    """The undirected edges of a graph, self-loops left out.

    Attributes:
        number: [E] which undirected edge each directed one is; self-loops are `count`.
        count: how many there are.
        keys: [count] smaller end · N + larger end, sorted.
    """

    number: Tensor
    count: int
    keys: Tensor
    num_nodes: int

    @property
    def ends(self) -> tuple[Tensor, Tensor]:
        """[count] each: the smaller and the larger end."""
        return self.keys // self.num_nodes, self.keys % self.num_nodes

    def has(self, first: Tensor, second: Tensor) -> Tensor:
        """Whether pairs of nodes are edges, or a node with itself."""
        keys = torch.minimum(first, second) * self.num_nodes + torch.maximum(first, second)
        if not self.count:
            return first == second
        at = torch.searchsorted(self.keys, keys).clamp(max=self.count - 1)
        return (self.keys[at] == keys) | (first == second)


_KNOWN: WeakKeyDictionary[Adjacency, Undirected] = WeakKeyDictionary()


def undirected(adj: Adjacency) -> Undirected:
    """The undirected edges of a graph; the second call on the same graph is free."""
    if adj not in _KNOWN:
        row, col = adj.row.long(), adj.col.long()
        apart = row != col
        keys, number = torch.unique(
            (torch.minimum(row, col) * adj.num_cols + torch.maximum(row, col))[apart], return_inverse=True
        )
        numbers = torch.full_like(row, len(keys))
        numbers[apart] = number
        _KNOWN[adj] = Undirected(numbers, len(keys), keys, adj.num_cols)
    return _KNOWN[adj]


def hidden_edges(adj: Adjacency, rate: float, kind: EdgeMaskKind, walk: int, leaky: bool) -> tuple[Tensor, Tensor]:
    """([E] bool: what the encoder sees, [count] float: how often each undirected edge is asked for).

    "edge" hides every edge with probability `rate`; "path" the edges of walks of `walk` steps from a share `rate` of
    the nodes. Both directions of a hidden edge are taken away. With `leaky`, as MaskGAE's code does, directions are
    drawn one by one and a graph made undirected again is what the encoder sees: an edge that is asked for in one
    direction stays visible if the other was not drawn.
    """
    known, device = undirected(adj), adj.col.device
    size = known.count + 1  # one more for self-loops, which are always seen
    if kind == "path":
        drawn = _walked(adj, rate, walk)
    elif leaky:
        drawn = torch.rand(len(known.number), device=device) < rate
    else:
        drawn = (torch.rand(size, device=device) < rate)[known.number]
    drawn = drawn & (adj.row != adj.col)
    asked = drawn.new_zeros(size, dtype=torch.float).index_add(0, known.number, drawn.float())
    kept = asked.new_zeros(size).index_add(0, known.number, (~drawn).float())
    seen = (kept if leaky else (asked == 0).float())[known.number] > 0
    if not leaky:
        asked = (asked > 0).float()
    return seen | (adj.row == adj.col), asked[:-1]


def _walked(adj: Adjacency, rate: float, steps: int) -> Tensor:
    """[E] bool: the edges that random walks from a share `rate` of the nodes went over."""
    nodes = torch.rand(adj.num_rows, device=adj.col.device).argsort()[: max(1, int(rate * adj.num_rows))]
    crow, col = adj.crow.long(), adj.col.long()
    gone = torch.zeros(len(col) + 1, dtype=torch.bool, device=col.device)  # one more for nodes without edges
    for _ in range(steps):
        degree = crow[nodes + 1] - crow[nodes]
        step = (torch.rand(len(nodes), device=col.device) * degree).long().clamp(max=degree.clamp(min=1) - 1)
        at = torch.where(degree > 0, crow[nodes] + step, len(col))
        gone[at] = True
        nodes = torch.where(degree > 0, F.pad(col, (0, 1))[at], nodes)
    return gone[:-1]


def other_pairs(adj: Adjacency, count: int, batch: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """`count` random pairs of nodes, and which of them are no edges: (first, second, [count] bool).

    Of several graphs side by side both nodes are of the same graph.
    """
    device, known = adj.col.device, undirected(adj)
    first = (torch.rand(count, device=device) * adj.num_rows).long()
    second = (torch.rand(count, device=device) * adj.num_rows).long()
    if batch is not None:
        sizes = torch.bincount(batch)
        starts = sizes.cumsum(0) - sizes
        graph = batch[first]
        second = starts[graph] + (torch.rand(count, device=device) * sizes[graph]).long()
    return first, second, ~known.has(first, second)

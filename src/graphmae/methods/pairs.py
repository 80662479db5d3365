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
        places, begins: the directed edges that are no self-loops, by receiver: [E′] where each stands among all, and
            [N + 1] where those of a node begin.
    """

    number: Tensor
    count: int
    keys: Tensor
    num_nodes: int
    places: Tensor
    begins: Tensor

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
        begins = F.pad(torch.bincount(row[apart], minlength=adj.num_rows).cumsum(0), (1, 0))
        _KNOWN[adj] = Undirected(numbers, len(keys), keys, adj.num_cols, apart.nonzero().squeeze(1), begins)
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


def of_seeds(ends: tuple[Tensor, Tensor], seeds: Tensor | None, num_nodes: int) -> Tensor | None:
    """[M] bool: pairs of nodes of which one is a seed; None: all count.

    Codes of nodes one step away from a seed are complete where the batch was sampled one step farther.
    """
    if seeds is None:
        return None
    flags = torch.zeros(num_nodes, dtype=torch.bool, device=seeds.device).index_fill_(0, seeds, True)
    return flags[ends[0]] | flags[ends[1]]


def _walked(adj: Adjacency, rate: float, steps: int) -> Tensor:
    """[E] bool: the edges that random walks from a share `rate` of the nodes went over; none stands still."""
    known, col = undirected(adj), F.pad(adj.col.long(), (0, 1))
    nodes = torch.rand(adj.num_rows, device=col.device).argsort()[: max(1, int(rate * adj.num_rows))]
    nowhere = len(col) - 1  # for nodes without edges
    places = F.pad(known.places, (0, 1), value=nowhere)
    gone = torch.zeros(len(col), dtype=torch.bool, device=col.device)
    for _ in range(steps):
        first = known.begins[nodes]
        degree = known.begins[nodes + 1] - first
        step = (torch.rand(len(nodes), device=col.device) * degree).long().clamp(max=degree.clamp(min=1) - 1)
        at = torch.where(degree > 0, places[first + step], nowhere)
        gone = gone.index_fill(0, at, True)
        nodes = torch.where(degree > 0, col[at], nodes)
    return gone[:-1]


def other_pairs(
    adj: Adjacency, count: int, batch: Tensor | None, seeds: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """`count` random pairs of nodes, and which of them are no edges: (first, second, [count] bool).

    Of several graphs side by side both nodes are of the same graph. Of `seeds` [S] both are seeds.
    """
    device, known = adj.col.device, undirected(adj)
    if seeds is not None:
        first, second = (seeds[(torch.rand(count, device=device) * len(seeds)).long()] for _ in range(2))
        return first, second, ~known.has(first, second)
    first = (torch.rand(count, device=device) * adj.num_rows).long()
    second = (torch.rand(count, device=device) * adj.num_rows).long()
    if batch is not None:
        sizes = torch.bincount(batch)
        starts = sizes.cumsum(0) - sizes
        graph = batch[first]
        second = starts[graph] + (torch.rand(count, device=device) * sizes[graph]).long()
    return first, second, ~known.has(first, second)

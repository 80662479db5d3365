"""Changed copies of many graphs at a time, for methods that compare a graph with one: drawn graph by graph.

What GraphCL's code does differently has a name of its own: "subgraph-published" never leaves the first node's
neighbourhood.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional as F

from .. import kernels, masking
from ..batching import Batch
from ..kernels import Adjacency
from ..runtime.errors import ConfigError, unknown

AUGMENTATIONS = ("none", "drop-node", "drop-edge", "subgraph", "subgraph-published", "noise")


@dataclass(frozen=True)
class Graphs:
    """Where the nodes of each graph are: `owner` [N], `sizes` and `starts` [G]."""

    owner: Tensor
    sizes: Tensor
    starts: Tensor

    @classmethod
    def of(cls, batch: Batch) -> Graphs:
        owner = batch.batch
        if owner is None:
            owner = torch.zeros(len(batch.x), dtype=torch.long, device=batch.x.device)
        sizes = torch.bincount(owner, minlength=batch.num_graphs)
        return cls(owner, sizes, sizes.cumsum(0) - sizes)

    def some(self, counts: Tensor) -> Tensor:
        """[N] bool: `counts`[g] random nodes of every graph g."""
        order = torch.rand(len(self.owner), device=self.owner.device).argsort()
        order = order[self.owner[order].argsort(stable=True)]  # shuffled within every graph
        rank = torch.empty_like(order)
        rank[order] = torch.arange(len(order), device=order.device) - self.starts[self.owner]
        return rank < counts[self.owner]


def check_augmentations(names: Sequence[str]) -> None:
    """Refuse an empty list, and names that are not known."""
    if not names:
        raise ConfigError(f"augmentations must name at least one of {', '.join(AUGMENTATIONS)}")
    for name in names:
        if name not in AUGMENTATIONS:
            raise ConfigError(unknown("augmentation", name, AUGMENTATIONS))


def augmented(batch: Batch, names: Sequence[str], choice: Tensor, rate: float, keep: float = 0.2) -> Batch:
    """Every graph g changed as `names[choice[g]]` says: a share `rate` of it dropped or, for subgraphs, `keep` kept.

    "drop-node" takes nodes with their edges away, "drop-edge" undirected edges, "subgraph" keeps what grows from a
    random node over its neighbours, "noise" replaces features by N(½, ½²). At least one node stays.
    """
    graphs, adj = Graphs.of(batch), kernels.adjacency(batch.graph, len(batch.x))
    count = (rate * graphs.sizes).long()
    here = torch.ones(len(batch.x), dtype=torch.bool, device=batch.x.device)
    stays, x = torch.ones(len(adj.col), dtype=torch.bool, device=batch.x.device), batch.x
    for number, name in enumerate(names):
        mine = (choice == number)[graphs.owner]
        if name == "drop-node":
            dropped = torch.minimum(count, graphs.sizes - 1)
            here &= ~(mine & graphs.some(dropped))
        elif name in ("subgraph", "subgraph-published"):
            grown = _grown(
                adj, graphs, torch.minimum((keep * graphs.sizes).long() + 1, graphs.sizes), published=name != "subgraph"
            )
            here &= ~mine | grown
        elif name == "drop-edge":
            stays &= ~mine[adj.row.long()] | _undirected_draw(adj, rate)
        elif name == "noise":
            noisy = (mine & graphs.some(count)).unsqueeze(1)
            x = torch.where(noisy, torch.randn_like(x) * 0.5 + 0.5, x)
    return restricted(replace(batch, x=x), here, stays)


def restricted(batch: Batch, keep: Tensor, stays: Tensor) -> Batch:
    """The batch with the nodes `keep` [N] and, among them, the edges `stays` [E]; features stay with their edges."""
    adj = kernels.adjacency(batch.graph, len(batch.x))
    number = keep.cumsum(0) - 1
    nodes = keep.nonzero().squeeze(1)  # the two places where a GPU is waited for
    edges = (stays & keep[adj.row] & keep[adj.col]).nonzero().squeeze(1)
    row, col = number[adj.row[edges]], number[adj.col[edges]]
    degree = number.new_zeros(len(nodes)).index_add_(0, row, torch.ones_like(row))
    out = Adjacency(F.pad(degree.cumsum(0), (1, 0)), row, col, len(nodes))
    if adj.weight is not None:
        out.weight = adj.weight[edges]
    if adj.edge_codes is not None:
        out.edge_codes, out.edge_table = adj.edge_codes[edges], adj.edge_table
        out = masking.summed(out)
    elif adj.edge_sums is not None:
        raise ConfigError("views of graphs with edge features need the features of single edges")
    owner = None if batch.batch is None else batch.batch[nodes]
    return Batch(batch.x[nodes], out, owner, ids=batch.ids)


def _undirected_draw(adj: Adjacency, rate: float) -> Tensor:
    """[E] bool: edges that stay, both directions together; self-loops always do."""
    from .pairs import undirected

    known = undirected(adj)
    stays = torch.rand(known.count + 1, device=adj.col.device) >= rate
    return stays[known.number] | (adj.row == adj.col)


def _grown(adj: Adjacency, graphs: Graphs, wanted: Tensor, published: bool) -> Tensor:
    """[N] bool: of every graph, nodes reached from a random one by adding a random neighbour at a time.

    A component that is too small is kept whole, as published.
    """
    row, col = adj.row.long(), adj.col.long()
    inside = graphs.some(torch.ones_like(graphs.sizes))
    first, have = inside, torch.ones_like(wanted)
    for _ in range(int(wanted.max()) - 1):
        beside = torch.zeros_like(inside, dtype=torch.int32)
        beside = beside.index_add(0, col, (first if published else inside)[row].int()) > 0
        key = torch.rand(len(inside), device=row.device) * (beside & ~inside & (have < wanted)[graphs.owner])
        best = key.new_zeros(len(wanted)).scatter_reduce(0, graphs.owner, key, "amax")
        new = (key > 0) & (key == best[graphs.owner])
        inside = inside | new
        have = have.index_add(0, graphs.owner, new.to(have.dtype))
    return inside

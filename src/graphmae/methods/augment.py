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
    """Where the nodes of each graph are: `owner` [N], `sizes` [G], `starts` [G + 1]; rows that only pad come last."""

    owner: Tensor
    sizes: Tensor
    starts: Tensor

    @classmethod
    def of(cls, batch: Batch) -> Graphs:
        owner = batch.batch
        if owner is None:
            owner = torch.zeros(len(batch.x), dtype=torch.long, device=batch.x.device)
        sizes = owner.new_zeros(batch.num_graphs + 1).index_add_(0, owner, torch.ones_like(owner))[:-1]
        return cls(owner, sizes, F.pad(sizes.cumsum(0), (1, 0)))

    def of_nodes(self, values: Tensor) -> Tensor:
        """[N] of every node what `values` [G] says of its graph; 0 or False of rows that only pad."""
        return F.pad(values, (0, 1))[self.owner]

    def some(self, counts: Tensor) -> Tensor:
        """[N] bool: `counts`[g] random nodes of every graph g."""
        order = torch.rand(len(self.owner), device=self.owner.device).argsort()
        order = order[self.owner[order].argsort(stable=True)]  # shuffled within every graph
        rank = torch.empty_like(order)
        rank[order] = torch.arange(len(order), device=order.device) - self.starts[self.owner]
        return rank < self.of_nodes(counts)


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
    here = graphs.owner < len(graphs.sizes)
    stays, x = torch.ones(len(adj.col), dtype=torch.bool, device=batch.x.device), batch.x
    for number, name in enumerate(names):
        mine = graphs.of_nodes(choice == number)
        if name == "drop-node":
            dropped = torch.minimum(count, graphs.sizes - 1)
            here &= ~(mine & graphs.some(dropped))
        elif name in ("subgraph", "subgraph-published"):
            wanted = torch.minimum((keep * graphs.sizes).long() + 1, graphs.sizes)
            most = min(int(keep * adj.largest) + 1, adj.largest) if adj.largest else int(wanted.max())
            here &= ~mine | _grown(adj, graphs, wanted, most, published=name != "subgraph")
        elif name == "drop-edge":
            stays &= ~mine[adj.row.long()] | _undirected_draw(adj, rate)
        elif name == "noise":
            noisy = (mine & graphs.some(count)).unsqueeze(1)
            x = torch.where(noisy, torch.randn_like(x) * 0.5 + 0.5, x)
    return restricted(replace(batch, x=x), here, stays)[0]


def restricted(batch: Batch, keep: Tensor, stays: Tensor | None = None) -> tuple[Batch, Tensor]:
    """(the batch with the nodes `keep` [N] and, among them, the edges `stays` [E], which nodes its rows are).

    A batch that is filled up to a fixed shape keeps it: rows that are left out follow the others, as more that only
    pad, and nothing waits for the device.
    """
    adj = kernels.adjacency(batch.graph, len(batch.x))
    inside = keep[adj.row.long()] & keep[adj.col.long()]
    graph = masking.with_edges(adj, inside if stays is None else stays & inside)
    number = (keep.cumsum(0) - 1).clamp(min=0)
    pads = adj.valid is not None
    order = (~keep).to(torch.uint8).argsort(stable=True) if pads else keep.nonzero().squeeze(1)

    # The nodes that stay keep their order, and the others have no edges: so do the edges, by row and by column.
    def pointer(known: Tensor) -> Tensor:
        return F.pad(known.diff()[order].cumsum(0), (1, 0))

    row, col = number[graph.row.long()], number[graph.col.long()]
    transpose = pointer(graph.transpose[0]).to(graph.col.dtype), graph.transpose[1]
    out = Adjacency(pointer(graph.crow), row, col, len(order), transpose)
    out.weight, out.edge_codes, out.edge_table = graph.weight, graph.edge_codes, graph.edge_table
    out.edge_sums = None if graph.edge_sums is None else graph.edge_sums[order]
    out.has_unused, out.largest = graph.has_unused or adj.has_unused, adj.largest
    x, owner = batch.x[order], None if batch.batch is None else batch.batch[order]
    if pads:
        assert owner is not None
        out.valid = keep.sum().clamp(min=1).to(graph.col.dtype)
        owner = torch.where(keep[order], owner, batch.num_graphs)
        x = x * keep[order].unsqueeze(1)
    if adj.sizes is not None and owner is not None:
        size = batch.num_graphs + 1
        out.sizes = owner.new_zeros(size).index_add_(0, owner, torch.ones_like(owner))[:-1].to(adj.sizes.dtype)
    return Batch(x, out, owner, ids=batch.ids), order


def _undirected_draw(adj: Adjacency, rate: float) -> Tensor:
    """[E] bool: edges that stay, both directions together; self-loops always do."""
    from .pairs import undirected

    known = undirected(adj)
    stays = torch.rand(known.count + 1, device=adj.col.device) >= rate
    return stays[known.number] | (adj.row == adj.col)


def _grown(adj: Adjacency, graphs: Graphs, wanted: Tensor, most: int, published: bool) -> Tensor:
    """[N] bool: of every graph, nodes reached from a random one by adding a random neighbour at a time.

    `wanted` [G] nodes of each graph, none more than `most`. A component that is too small is kept whole, as published.
    """
    row, col = adj.row.long(), adj.col.long()
    inside = graphs.some(torch.ones_like(graphs.sizes))
    first, have = inside, torch.ones_like(wanted)
    for _ in range(most - 1):
        beside = torch.zeros_like(inside, dtype=torch.int32)
        beside = beside.index_add(0, col, (first if published else inside)[row].int()) > 0
        key = torch.rand(len(inside), device=row.device) * (beside & ~inside & graphs.of_nodes(have < wanted))
        best = key.new_zeros(len(wanted) + 1).scatter_reduce(0, graphs.owner, key, "amax")
        new = (key > 0) & (key == best[graphs.owner])
        inside = inside | new
        have = F.pad(have, (0, 1)).index_add(0, graphs.owner, new.to(have.dtype))[:-1]
    return inside

"""Two networks side by side: one sees the graph, the other its diffusion."""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .. import kernels
from ..kernels import Adjacency
from ..layers import NormAct
from ..layers.conv import GCNConv, project
from ..layers.product import product
from ..runtime.errors import ConfigError
from .base import REGISTRY, Encoder

SOLVED = 1024  # nodes: the diffusion of a graph up to this size is solved for, that of a larger one summed up
AT_ONCE = 1 << 22  # entries of the matrices that are inverted together


@REGISTRY.register("gcn-diffusion")
class GCNDiffusion(Encoder):
    """h = h¹ + h², h¹ of layers PReLU(Â h W + b), h² of others with S for Â, the graph's personalised PageRank.

    This is MVGRL's encoder: one layer for nodes, several for whole graphs. S = α (I − (1 − α) Â)⁻¹ is exact for graphs
    of up to 1,024 nodes; for larger ones it is summed up step by step, a block of nodes at a time. Of every node the
    largest entries are kept. S is made once for a graph and never written out whole; of graphs side by side each has
    its own.

    Args:
        restart: α.
        neighbours: entries of S kept of every node, the largest ones.
        steps: of the sum; what is left out weighs (1 − α)^steps.
        output: the embedding is the "last" layer, or "all" side by side.

    >>> encoder = GCNDiffusion(in_channels=4, hidden_channels=8)
    >>> encoder(torch.rand(3, 4), torch.tensor([[0, 1, 2, 0, 1], [0, 1, 2, 1, 0]])).shape
    torch.Size([3, 8])
    """

    takes_adjacency = True  # steps are recorded by MVGRL alone, whose graph stays the same: see there

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int = 512,
        num_layers: int = 1,
        restart: float = 0.2,
        neighbours: int = 128,
        steps: int = 32,
        activation: str = "prelu",
        start: str = "glorot",
        output: str = "last",
    ) -> None:
        super().__init__()
        if not 0 < restart < 1 or min(neighbours, steps, hidden_channels, num_layers) < 1:
            raise ConfigError(
                f"restart must be in (0, 1), not {restart}; neighbours, steps, hidden_channels and num_layers at least "
                f"1, not {neighbours}, {steps}, {hidden_channels}, {num_layers}"
            )
        if output not in ("last", "all"):
            raise ConfigError(f"encoder.output must be 'last' or 'all', not {output!r}")
        self.in_channels, self.hidden_channels, self.output = in_channels, hidden_channels, output
        self.restart, self.neighbours, self.steps = restart, neighbours, steps
        widths = [in_channels, *[hidden_channels] * (num_layers - 1)]
        self.near, self.far = (
            nn.ModuleList(GCNConv(width, hidden_channels, start=start) for width in widths) for _ in range(2)
        )
        self.near_end, self.far_end = (
            nn.ModuleList(NormAct("none", hidden_channels, activation) for _ in widths) for _ in range(2)
        )

    @property
    def num_outputs(self) -> int:  # type: ignore[override]
        return len(self.near)

    @property
    def out_channels(self) -> int:  # type: ignore[override]
        return self.hidden_channels * (self.num_outputs if self.output == "all" else 1)

    def both(self, x: Tensor, edge_index: Tensor | Adjacency) -> tuple[Tensor, Tensor]:
        """[N, out_channels] each: the code of the graph, and of its diffusion."""
        adj = kernels.adjacency(edge_index, len(x))
        spread, weight = diffusion(adj, self.restart, self.neighbours, self.steps)
        near, far = [x], [x]
        for conv, end in zip(self.near, self.near_end, strict=True):
            near.append(end(conv(near[-1], kernels.View(adj))))
        for conv, end in zip(self.far, self.far_end, strict=True):
            far.append(end(_weighted(conv, far[-1], spread, weight)))  # type: ignore[arg-type]
        if self.output == "last":
            return near[-1], far[-1]
        return torch.cat(near[1:], dim=1), torch.cat(far[1:], dim=1)

    def forward(self, x: Tensor, edge_index: Tensor | Adjacency) -> Tensor:
        near, far = self.both(x, edge_index)
        return near + far


def _weighted(conv: GCNConv, x: Tensor, graph: Adjacency, weight: Tensor) -> Tensor:
    """A convolution with the weights of the edges given, on the cheaper side of its projection."""
    view, weight = kernels.View(graph), weight.to(conv.weight.dtype)
    assert conv.bias is not None
    if conv.projects_first(len(x), len(x), x.is_cuda):
        return kernels.aggregate(view, project(x, conv.weight).unsqueeze(1), weight).squeeze(1) + conv.bias
    return product(kernels.aggregate(view, x.unsqueeze(1), weight).squeeze(1), conv.weight) + conv.bias


_KNOWN: WeakKeyDictionary[Adjacency, dict[tuple[float, int, int], tuple[Adjacency, Tensor]]] = WeakKeyDictionary()


def diffusion(adj: Adjacency, restart: float, neighbours: int, steps: int) -> tuple[Adjacency, Tensor]:
    """(the largest entries of S in every column, as a graph; [E, 1] their values); known graphs are free.

    The diffusion of graphs side by side is that of each: nothing is sent from one to another.
    """
    known, key = _KNOWN.setdefault(adj, {}), (restart, neighbours, steps)
    if key not in known:
        with torch.no_grad():
            parts = list(_diffusion(adj, restart, neighbours, steps))
            sender, receiver, value = (torch.cat(columns) for columns in zip(*parts, strict=True))
            order = receiver.argsort(stable=True)  # as the edges of `from_edges` are
            spread = Adjacency.from_edges(torch.stack([sender, receiver]), adj.num_rows)
            known[key] = spread, value[order].unsqueeze(1)
    return known[key]


_Entries = tuple[Tensor, Tensor, Tensor]  # sender, receiver, value


def _diffusion(adj: Adjacency, restart: float, most: int, steps: int) -> Iterator[_Entries]:
    """Graph by graph; small ones together with others of about their size."""
    device = adj.col.device
    sizes = torch.tensor([adj.num_rows], device=device) if adj.sizes is None else adj.sizes.long()
    if adj.sizes is None and adj.num_rows > SOLVED:
        yield _summed(adj, restart, most, steps)
        return
    starts = sizes.cumsum(0) - sizes
    owner = torch.arange(len(sizes), device=device).repeat_interleave(sizes)
    edges = adj.edge_index
    weight, of_edge = adj.symmetric_weight[: edges.size(1), 0], owner[edges[1]]
    within = edges - starts[of_edge]
    for graphs in _alike(sizes.tolist()):
        slot = torch.full_like(sizes, -1)
        slot[graphs] = torch.arange(len(graphs), device=device)
        mine = slot[of_edge] >= 0
        size, first = int(sizes[graphs[0]]), starts[graphs]
        if size > SOLVED:
            sender, receiver, value = _summed(Adjacency.from_edges(within[:, mine], size), restart, most, steps)
            yield sender + first, receiver + first, value
            continue
        dense = torch.eye(size, device=device).repeat(len(graphs), 1, 1)
        place = slot[of_edge[mine]], within[0, mine], within[1, mine]  # [graph, sender, receiver]: S transposed
        dense.index_put_(place, (restart - 1) * weight[mine], accumulate=True)
        largest = (restart * torch.linalg.inv(dense)).topk(min(most, size), dim=2)
        sender = torch.arange(size, device=device).view(1, -1, 1).expand_as(largest.indices)
        sent = (largest.values > 0) & (sender < sizes[graphs].view(-1, 1, 1))  # what fills up smaller graphs is alone
        offset = first.view(-1, 1, 1)
        yield (sender + offset)[sent], (largest.indices + offset)[sent], largest.values[sent]


def _alike(sizes: list[int]) -> Iterator[list[int]]:
    """The numbers of graphs of about the same size, the largest first; those that are not solved for one by one."""
    group: list[int] = []
    for number in sorted(range(len(sizes)), key=lambda graph: -sizes[graph]):
        largest = sizes[group[0]] if group else 0
        full = (len(group) + 1) * largest**2 > AT_ONCE or largest > SOLVED or 4 * sizes[number] < 3 * largest
        if group and full:
            yield group
            group = []
        group.append(number)
    yield group


def _summed(adj: Adjacency, restart: float, most: int, steps: int, block: int = 1024) -> _Entries:
    """One large graph: α Σ (1 − α)^k Â^k, a block of nodes at a time."""
    count, device = adj.num_rows, adj.col.device
    view, weight = kernels.View(adj), adj.symmetric_weight
    # Â of a graph whose edges go one way is not symmetric: of every node, where what it sends arrives.
    values, columns = [], []
    for nodes in torch.arange(count, device=device).split(block):
        term = F.one_hot(nodes, count).t().to(torch.float32).contiguous() * restart  # [count, block]
        total = term.clone()
        for _ in range(steps):
            term = kernels.aggregate(view, term.unsqueeze(1), weight).squeeze(1) * (1 - restart)
            total += term
        largest = total.t().topk(min(most, count), dim=1)
        values.append(largest.values)
        columns.append(largest.indices)
    value, column = torch.cat(values), torch.cat(columns)
    sent = value > 0
    return torch.arange(count, device=device).unsqueeze(1).expand_as(column)[sent], column[sent], value[sent]

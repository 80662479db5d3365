"""Two networks side by side: one sees the graph, the other its diffusion."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.nn import functional as F

from .. import kernels
from ..kernels import Adjacency
from ..layers import NormAct
from ..layers.conv import GCNConv, project
from ..runtime.errors import ConfigError
from .base import REGISTRY, Encoder


@REGISTRY.register("gcn-diffusion")
class GCNDiffusion(Encoder):
    """h = PReLU(Â X W₁ + b₁) + PReLU(S X W₂ + b₂), S the graph's personalised PageRank: MVGRL's encoder.

    S = α (I − (1 − α) Â)⁻¹ is summed up step by step, a block of nodes at a time; of every node the largest entries are
    kept. It is made once for a graph and never written out whole.

    Args:
        restart: α.
        neighbours: entries of S kept of every node, the largest ones.
        steps: of the sum; what is left out weighs (1 − α)^steps.

    >>> encoder = GCNDiffusion(in_channels=4, hidden_channels=8)
    >>> encoder(torch.rand(3, 4), torch.tensor([[0, 1, 2, 0, 1], [0, 1, 2, 1, 0]])).shape
    torch.Size([3, 8])
    """

    takes_adjacency = True  # steps are recorded by MVGRL alone, whose graph stays the same: see there

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int = 512,
        restart: float = 0.2,
        neighbours: int = 128,
        steps: int = 32,
        activation: str = "prelu",
        start: str = "glorot",
    ) -> None:
        super().__init__()
        if not 0 < restart < 1 or neighbours < 1 or steps < 1 or hidden_channels < 1:
            raise ConfigError(
                f"restart must be in (0, 1), not {restart}; neighbours, steps and hidden_channels at least 1, "
                f"not {neighbours}, {steps}, {hidden_channels}"
            )
        self.in_channels, self.out_channels = in_channels, hidden_channels
        self.restart, self.neighbours, self.steps = restart, neighbours, steps
        self.near = GCNConv(in_channels, hidden_channels, start=start)
        self.far = GCNConv(in_channels, hidden_channels, start=start)
        self.near_end, self.far_end = (NormAct("none", hidden_channels, activation) for _ in range(2))

    def both(self, x: Tensor, edge_index: Tensor | Adjacency) -> tuple[Tensor, Tensor]:
        """[N, out_channels] each: the code of the graph, and of its diffusion."""
        adj = kernels.adjacency(edge_index, len(x))
        spread, weight = diffusion(adj, self.restart, self.neighbours, self.steps)
        far = kernels.aggregate(kernels.View(spread), project(x, self.far.weight).unsqueeze(1), weight).squeeze(1)
        assert self.far.bias is not None
        return self.near_end(self.near(x, kernels.View(adj))), self.far_end(far + self.far.bias)

    def forward(self, x: Tensor, edge_index: Tensor | Adjacency) -> Tensor:
        near, far = self.both(x, edge_index)
        return near + far


_KNOWN: WeakKeyDictionary[Adjacency, dict[tuple[float, int, int], tuple[Adjacency, Tensor]]] = WeakKeyDictionary()


def diffusion(adj: Adjacency, restart: float, neighbours: int, steps: int) -> tuple[Adjacency, Tensor]:
    """(the largest entries of S in every row, as a graph; [E, 1] their values); known graphs are free."""
    known, key = _KNOWN.setdefault(adj, {}), (restart, neighbours, steps)
    if key not in known:
        with torch.no_grad():
            known[key] = _diffusion(adj, restart, min(neighbours, adj.num_rows), steps)
    return known[key]


def _diffusion(adj: Adjacency, restart: float, most: int, steps: int, block: int = 1024) -> tuple[Adjacency, Tensor]:
    count, device = adj.num_rows, adj.col.device
    view, weight = kernels.View(adj), adj.symmetric_weight
    # Â of a graph whose edges go one way is not symmetric: columns are what a pass gives, and rows are wanted.
    values, columns = [], []
    for nodes in torch.arange(count, device=device).split(block):
        term = F.one_hot(nodes, count).t().to(torch.float32).contiguous() * restart  # [count, block]
        total = term.clone()
        for _ in range(steps):
            term = kernels.aggregate(view, term.unsqueeze(1), weight).squeeze(1) * (1 - restart)
            total += term
        largest = total.t().topk(most, dim=1)
        values.append(largest.values)
        columns.append(largest.indices)
    value, column = torch.cat(values), torch.cat(columns)  # of node i: where what it sends arrives
    sent = value > 0
    edges = torch.stack([torch.arange(count, device=device).unsqueeze(1).expand_as(column)[sent], column[sent]])
    order = edges[1].argsort(stable=True)
    spread = Adjacency.from_edges(edges, count)
    return spread, value[sent][order].unsqueeze(1)

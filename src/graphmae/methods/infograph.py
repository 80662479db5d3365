"""InfoGraph (Sun et al., ICLR 2020): every node is recognised as part of its own graph, and of no other."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..batching import Batch
from .base import REGISTRY, Method


class Head(nn.Module):
    """Three linear maps with ReLU after each, and a linear shortcut."""

    def __init__(self, width: int) -> None:
        super().__init__()
        maps = [nn.Linear(width, width) for _ in range(3)]
        self.deep = nn.Sequential(*(part for linear in maps for part in (linear, nn.ReLU())))
        self.shortcut = nn.Linear(width, width)
        for linear in (*maps, self.shortcut):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.deep(x) + self.shortcut(x)
        return out


@REGISTRY.register("infograph")
class InfoGraph(Method):
    """r_ug = φ(h_u)ᵀ ψ(Σ h of graph g); L = mean softplus(r) over other graphs' nodes + mean softplus(−r) over its own.

    That is the Jensen–Shannon estimate of mutual information, with the sign turned and without constants. Take an
    encoder with output = "all", and the sum as readout, as published. Of a batch of one graph only the second term
    is left.

    >>> from graphmae import encoders
    >>> model = InfoGraph(encoders.GIN(7, hidden_channels=32, num_layers=3, output="all"))
    >>> ring = torch.stack([torch.arange(6), torch.arange(6).roll(1)])
    >>> model(torch.rand(6, 7), ring, torch.tensor([0, 0, 0, 1, 1, 1])).shape
    torch.Size([])
    """

    tasks = ("graph", "molecule")

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        width = int(encoder.out_channels)  # type: ignore[arg-type]
        self.of_nodes, self.of_graphs = Head(width), Head(width)

    def loss(self, batch: Batch) -> Tensor:
        code = self.encode(batch)
        graphs = self.of_graphs(batch.sum(code))
        owner = batch.batch if batch.batch is not None else torch.zeros(len(code), dtype=torch.long, device=code.device)
        owner, nodes = batch.counted(owner), batch.counted(self.of_nodes(code))
        scores = nodes @ graphs.t()  # [N, graphs]
        own = scores.gather(1, owner.unsqueeze(1)).squeeze(1)
        agreed = F.softplus(-own).mean() - math.log(2)
        if len(graphs) == 1:
            return agreed
        others = (F.softplus(scores).sum() - F.softplus(own).sum()) / (len(nodes) * (len(graphs) - 1))
        return agreed + others - math.log(2)

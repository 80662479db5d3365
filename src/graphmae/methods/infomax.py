"""Infomax for molecules (Hu et al., ICLR 2020): atoms against the summary of their own molecule and of another."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..batching import Batch
from .base import REGISTRY, Method


@REGISTRY.register("infomax")
class Infomax(Method):
    """s = σ(mean of H) of each graph; L = BCE of hᵢᵀ W s against 1 + BCE of hᵢᵀ W s′ against 0, s′ of the next graph.

    Of a batch of one graph only the first term is left.

    >>> from graphmae import encoders
    >>> model = Infomax(encoders.GIN(7, hidden_channels=8, num_layers=2))
    >>> ring = torch.stack([torch.arange(6), torch.arange(6).roll(1)])
    >>> model(torch.rand(6, 7), ring, torch.tensor([0, 0, 0, 1, 1, 1])).shape
    torch.Size([])
    """

    tasks = ("graph", "molecule")

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        width = int(encoder.out_channels)  # type: ignore[arg-type]
        self.weight = nn.Parameter(torch.empty(width, width).uniform_(-(width**-0.5), width**-0.5))

    def loss(self, batch: Batch) -> Tensor:
        code = self.encode(batch)
        summary = torch.sigmoid(batch.mean(code)) @ self.weight.t()  # [graphs, width]
        owner = torch.zeros_like(code[:, 0], dtype=torch.long) if batch.batch is None else batch.batch
        own, other = (batch.counted((code * rows[owner]).sum(1)) for rows in (summary, summary.roll(-1, 0)))
        agreed = F.softplus(-own).mean()
        return agreed if len(summary) == 1 else agreed + F.softplus(other).mean()

"""Deep Graph Infomax (Veličković et al., ICLR 2019): tell the graph's nodes from those of a shuffled graph."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..batching import Batch
from .base import REGISTRY, Method


@REGISTRY.register("dgi")
class DGI(Method):
    """H = f(X, A), H̃ = f(shuffled X, A), s = σ(mean of H); L = BCE of hᵢᵀ W s + b against 1, of h̃ᵢᵀ W s + b against 0.

    Where a batch has several graphs, each has its own summary s, and features are shuffled over the whole batch.

    >>> from graphmae import encoders
    >>> model = DGI(encoders.GCN(64, hidden_channels=512, num_layers=1, dropout=0.0))
    >>> model(torch.rand(10, 64), torch.arange(10).expand(2, -1)).shape
    torch.Size([])
    """

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        width = int(encoder.out_channels)  # type: ignore[arg-type]
        # As published: Xavier's rule for a bilinear layer, whose bound is some √(width / 2) times below a matrix's.
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(1, width, width))[0])
        self.bias = nn.Parameter(torch.zeros(1))

    @property
    def records_steps(self) -> bool:
        return bool(getattr(self.encoder, "records_steps", False))

    def loss(self, batch: Batch) -> Tensor:
        edges = batch.edges(self.encoder)
        shuffled = torch.rand(len(batch.x), device=batch.x.device).argsort()
        real, fake = self.encoder(batch.x, edges), self.encoder(batch.x[shuffled], edges)
        summary = torch.sigmoid(batch.mean(real)) @ self.weight.t()  # [graphs, width]
        summary = summary if batch.batch is None else summary[batch.batch]
        scores = [(rows * summary).sum(1) + self.bias for rows in (real, fake)]
        if batch.seeds is not None:
            scores = [score[batch.seeds] for score in scores]
        agreed, other = F.softplus(-scores[0]).mean(), F.softplus(scores[1]).mean()
        return (agreed + other) / 2

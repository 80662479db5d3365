"""MVGRL (Hassani & Khasahmadi, ICML 2020): nodes of one view against the summary of the other, graph and diffusion."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..batching import Batch
from ..encoders.diffused import GCNDiffusion
from ..runtime.errors import ConfigError
from .base import REGISTRY, Method


@REGISTRY.register("mvgrl")
class MVGRL(Method):
    """DGI across two views: BCE of h²ᵢᵀ W s¹ and h¹ᵢᵀ W s² against 1, of the same with shuffled features against 0.

    h¹ and h² are the codes of the graph and of its diffusion, s¹ and s² the sigmoids of their means. The embedding is
    h¹ + h². The encoder is "gcn-diffusion", or another with a method `both(x, edge_index)` that gives the two.

    >>> from graphmae import encoders
    >>> model = MVGRL(encoders.build("gcn-diffusion", in_channels=64, hidden_channels=32))
    >>> model(torch.rand(10, 64), torch.arange(10).expand(2, -1)).shape
    torch.Size([])
    """

    tasks = ("node",)
    needs_encoder = "gcn-diffusion"
    encoder: GCNDiffusion

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        if not hasattr(encoder, "both"):
            raise ConfigError("mvgrl needs an encoder of two views: encoder.name = 'gcn-diffusion'")
        self.encoder = encoder  # type: ignore[assignment]
        width = int(encoder.out_channels)  # type: ignore[arg-type]
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(1, width, width))[0])
        self.bias = nn.Parameter(torch.zeros(1))

    @property
    def records_steps(self) -> bool:
        return isinstance(self.encoder, GCNDiffusion)  # its diffusion is known from the first step on

    def loss(self, batch: Batch) -> Tensor:
        edges, x = batch.edges(self.encoder), batch.x
        shuffled = torch.rand(len(x), device=x.device).argsort()
        real, fake = self.encoder.both(x, edges), self.encoder.both(x[shuffled], edges)
        summaries = [self._spread(batch, torch.sigmoid(batch.mean(rows)) @ self.weight.t()) for rows in real]
        total = x.new_zeros(())
        for views, sign in ((real, -1), (fake, 1)):
            for rows, summary in ((views[1], summaries[0]), (views[0], summaries[1])):
                score = batch.counted((rows * summary).sum(1) + self.bias)
                total = total + F.softplus(sign * score).mean() / 4
        return total

    def _spread(self, batch: Batch, summary: Tensor) -> Tensor:
        return summary if batch.batch is None else summary[batch.batch]

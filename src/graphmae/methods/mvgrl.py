"""MVGRL (Hassani & Khasahmadi, ICML 2020): nodes of one view against the summary of the other, graph and diffusion."""

from __future__ import annotations

from typing import ClassVar, Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..batching import Batch
from ..encoders.diffused import GCNDiffusion
from ..runtime.errors import ConfigError, unknown
from .agreement import Head, jensen_shannon
from .base import REGISTRY, Method

Level = Literal["node", "graph"]


@REGISTRY.register("mvgrl")
class MVGRL(Method):
    """Codes h¹ of the graph and h² of its diffusion; nodes of one are compared with summaries of the other.

    For nodes, DGI across the views: BCE of h²ᵢᵀ W s¹ and h¹ᵢᵀ W s² against 1, of the same with shuffled features
    against 0; s¹ and s² are the sigmoids of the means. For whole graphs, InfoGraph across the views: the
    Jensen–Shannon loss of φ(h²) with ψ(Σ h¹ of each graph), and of φ(h¹) with ψ(Σ h²); φ takes the last layer, ψ what
    the encoder gives (take output = "all", as published), and both views share them. The embedding is h¹ + h², whose
    sum over a graph is the sum of both views' summaries.

    Differs: the published embedding of a graph is ψ(Σ h¹) + ψ(Σ h²); here heads are left behind, as in the other
    methods.

    The encoder is "gcn-diffusion", or another with a method `both(x, edge_index)` that gives the two.

    Args:
        level: "node" for one graph, "graph" for many.

    >>> from graphmae import encoders
    >>> model = MVGRL(encoders.build("gcn-diffusion", in_channels=64, hidden_channels=32))
    >>> model(torch.rand(10, 64), torch.arange(10).expand(2, -1)).shape
    torch.Size([])
    """

    fixed_shapes = True
    tasks = ("node", "graph")
    needs_encoder = "gcn-diffusion"
    of_task: ClassVar = {"graph": ("method.level=graph",)}
    encoder: GCNDiffusion

    def __init__(self, encoder: nn.Module, level: Level = "node") -> None:
        super().__init__()
        if not hasattr(encoder, "both"):
            raise ConfigError("mvgrl needs an encoder of two views: encoder.name = 'gcn-diffusion'")
        if level not in get_args(Level):
            raise ConfigError(unknown("method.level", level, get_args(Level)))
        self.encoder, self.level = encoder, level  # type: ignore[assignment]
        width = int(encoder.out_channels)  # type: ignore[arg-type]
        if level == "node":
            self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(1, width, width))[0])
            self.bias = nn.Parameter(torch.zeros(1))
        else:
            self.last = int(getattr(encoder, "hidden_channels", width))
            self.of_nodes = Head(self.last, self.last, nn.PReLU)
            self.of_graphs = Head(width, self.last, nn.PReLU)

    @property
    def records_steps(self) -> bool:
        # The diffusion of one graph is known from the first step on.
        return self.fixed_shapes and self.level == "node" and isinstance(self.encoder, GCNDiffusion)

    def loss(self, batch: Batch) -> Tensor:
        return self._loss_of_nodes(batch) if self.level == "node" else self._loss_of_graphs(batch)

    def _loss_of_nodes(self, batch: Batch) -> Tensor:
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

    def _loss_of_graphs(self, batch: Batch) -> Tensor:
        near, far = self.encoder.both(batch.x, batch.edges(self.encoder))
        nodes = [self.of_nodes(rows[:, -self.last :]) for rows in (near, far)]
        graphs = [self.of_graphs(batch.sum(rows)) for rows in (near, far)]
        return jensen_shannon(batch, nodes[0], graphs[1]) + jensen_shannon(batch, nodes[1], graphs[0])

    def _spread(self, batch: Batch, summary: Tensor) -> Tensor:
        return summary if batch.batch is None else summary[batch.batch]

"""GAE and VGAE (Kipf & Welling, 2016): codes whose products say which nodes are joined."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from .. import kernels
from ..batching import Batch
from ..encoders import StackedEncoder
from ..runtime.errors import ConfigError
from .base import REGISTRY, Method
from .pairs import of_seeds, other_pairs, undirected
from .teacher import another


@REGISTRY.register("gae")
class GAE(Method):
    """Fits σ(zᵢᵀzⱼ) to the adjacency with ones on its diagonal, edges weighed up to count as much as the rest.

    With `variational` (VGAE), z ~ N(µ, σ²) with µ the encoder's code and log σ that of a second last layer beside its
    own, and a penalty for leaving N(0, 1).

    >>> from graphmae import encoders
    >>> model = GAE(encoders.GCN(64, hidden_channels=32, out_channels=16, dropout=0.0, plain_output=True))
    >>> model(torch.rand(10, 64), torch.arange(10).expand(2, -1)).shape
    torch.Size([])

    Args:
        negatives: pairs that are no edges for every edge, drawn in every step; 0: all pairs, as published, a block
            of rows at a time. Of many graphs side by side, pairs within them are drawn.
    """

    fixed_shapes = True
    of_seeds = "edges of seeds are scored, against pairs of seeds drawn in every step"
    training_only = ("deviation",)
    tries = ("method.negatives=0,1,5",)

    def __init__(self, encoder: nn.Module, variational: bool = False, negatives: int = 0) -> None:
        super().__init__()
        if negatives < 0:
            raise ConfigError(f"negatives must be at least 0, not {negatives}")
        self.encoder, self.negatives = encoder, negatives
        self.deviation: nn.Module | None = None
        if variational:
            if not isinstance(encoder, StackedEncoder) or len(encoder.blocks) < 2 or encoder.output != "last":
                raise ConfigError("variational needs an encoder of at least two layers with encoder.output = 'last'")
            self.deviation = another(encoder.blocks[-1])

    @property
    def reach(self) -> int:
        return 1  # the other end of a seed's edge

    def loss(self, batch: Batch) -> Tensor:
        if self.deviation is None:
            code, penalty = self.encode(batch), torch.zeros((), device=batch.x.device)
        else:
            edges = batch.edges(self.encoder)
            assert isinstance(self.encoder, StackedEncoder)
            *_, hidden, mean = self.encoder.every_block(batch.x, edges)
            log_deviation = self.deviation(hidden, kernels.View(kernels.adjacency(edges, len(hidden)))).clamp(max=10)
            variance = (2 * log_deviation).exp()
            code = mean + torch.randn_like(mean) * log_deviation.exp() if self.training else mean
            penalty = batch.counted(-(1 + 2 * log_deviation - mean.square() - variance)).sum(1).mean() / (2 * len(mean))
        graph = kernels.adjacency(batch.graph, len(batch.x))
        if self.negatives or batch.batch is not None or batch.seeds is not None:
            return self._sampled(code, batch, graph) + penalty
        loss: Tensor = _AllPairs.apply(code, *undirected(graph).ends)
        return loss + penalty

    def pair_scores(self, code: Tensor, first: Tensor, second: Tensor) -> Tensor:
        return (code[first] * code[second]).sum(1)

    def _sampled(self, code: Tensor, batch: Batch, graph: kernels.Adjacency) -> Tensor:
        known = undirected(graph)
        a, b = known.ends
        if (near := of_seeds((a, b), batch.seeds, len(batch.x))) is not None:
            a, b = a[near], b[near]
        joined = (code[a] * code[b]).sum(1)
        a, b, counts = other_pairs(graph, max(1, len(joined) * max(self.negatives, 1)), batch.batch, batch.seeds)
        apart = (code[a] * code[b]).sum(1)
        other = (F.softplus(apart) * counts).sum() / counts.sum().clamp(min=1)
        return (F.softplus(-joined).mean() if len(joined) else other * 0) + other


class _AllPairs(Function):
    """n · mean over all pairs of weighed cross-entropy, n = N² / (2 (N² − E)); gradients are computed on the way."""

    @staticmethod
    def forward(ctx: Any, code: Tensor, first: Tensor, second: Tensor, block: int = 2048) -> Tensor:
        total, edges = len(code) ** 2, 2 * len(first)
        apart = max(total - edges, 1)
        weight, scale = apart / max(edges, 1), 1 / (2 * apart)
        grad, loss = torch.zeros_like(code), code.new_zeros(())
        for start in range(0, len(code), block):  # every pair as if it were no edge
            scores = code[start : start + block] @ code.t()
            loss += F.softplus(scores).sum()
            grad[start : start + block] += 2 * (torch.sigmoid(scores) @ code)
        # Edges and nodes with themselves are ones: −w log σ(s) in the place of −log(1 − σ(s)).
        nodes = torch.arange(len(code), device=code.device)
        for a, b, times in ((first, second, 2), (nodes, nodes, 1)):
            score = (code[a] * code[b]).sum(1)
            loss += times * (weight * F.softplus(-score) - F.softplus(score)).sum()
            pull = -times * (weight * torch.sigmoid(-score) + torch.sigmoid(score)).unsqueeze(1)
            grad.index_add_(0, a, pull * code[b])
            grad.index_add_(0, b, pull * code[a])
        ctx.save_for_backward(grad * scale)
        return loss * scale

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return ctx.saved_tensors[0] * grad, None, None, None

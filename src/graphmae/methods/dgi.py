"""Deep Graph Infomax (Veličković et al., ICLR 2019): tell the graph's nodes from those of a shuffled graph."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..batching import Batch
from ..runtime.errors import ConfigError
from .base import REGISTRY, Method
from .views import check_rates, mask_columns


@REGISTRY.register("dgi")
class DGI(Method):
    """H = f(X, A), H̃ = f(shuffled X, A), s = σ(mean of H); L = BCE of hᵢᵀ W s + b against 1, of h̃ᵢᵀ W s + b against 0.

    Where a batch has several graphs, each has its own summary s, and features are shuffled over the whole batch.

    >>> from graphmae import encoders
    >>> model = DGI(encoders.GCN(64, hidden_channels=512, num_layers=1, dropout=0.0))
    >>> model(torch.rand(10, 64), torch.arange(10).expand(2, -1)).shape
    torch.Size([])

    Args:
        score: "summary" as above; "sum" has no summary and adds up the entries of W hᵢ + b: Graph Group
            Discrimination (GGD, Zheng et al., NeurIPS 2022).
        negatives: "shuffled" as above; "graphs" compares nodes with the summary of the next graph in the batch instead:
            Infomax for molecules (Hu et al., ICLR 2020).
        mask_feature: share of the columns hidden in every step, as in GGD.
    """

    tries = ("method.score=summary,sum", "method.mask_feature=0.0,0.2")

    def __init__(
        self,
        encoder: nn.Module,
        score: Literal["summary", "sum"] = "summary",
        negatives: Literal["shuffled", "graphs"] = "shuffled",
        mask_feature: float = 0.0,
    ) -> None:
        super().__init__()
        check_rates(mask_feature=mask_feature)
        if score == "sum" and negatives == "graphs":
            raise ConfigError(
                "score = 'sum' has no summary to compare with another graph's: use negatives = 'shuffled'"
            )
        self.encoder, self.score, self.negatives, self.mask_feature = encoder, score, negatives, mask_feature
        width = int(encoder.out_channels)  # type: ignore[arg-type]
        if negatives == "graphs":  # as published for molecules
            self.weight = nn.Parameter(torch.empty(width, width).uniform_(-(width**-0.5), width**-0.5))
        else:  # as published: Xavier's rule for a bilinear layer, whose bound is some √(width / 2) below a matrix's
            self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(1, width, width))[0])
        self.bias = nn.Parameter(torch.zeros(width if score == "sum" else 1)) if negatives == "shuffled" else None

    @property
    def records_steps(self) -> bool:
        return bool(getattr(self.encoder, "records_steps", False))

    def loss(self, batch: Batch) -> Tensor:
        edges, x = batch.edges(self.encoder), mask_columns(batch.x, self.mask_feature)
        real = self.encoder(x, edges)
        if self.negatives == "graphs":
            return self._against_others(batch, real)
        shuffled = torch.rand(len(x), device=x.device).argsort()
        fake = self.encoder(x[shuffled], edges)
        if self.score == "sum":
            direction, shift = self.weight.sum(0), self.bias.sum()  # type: ignore[union-attr]
            scores = [rows @ direction + shift for rows in (real, fake)]
        else:
            summary = torch.sigmoid(batch.mean(real)) @ self.weight.t()  # [graphs, width]
            summary = summary if batch.batch is None else summary[batch.batch]
            scores = [(rows * summary).sum(1) + self.bias for rows in (real, fake)]
        agreed, other = (batch.counted(score) for score in scores)
        return (F.softplus(-agreed).mean() + F.softplus(other).mean()) / 2

    def _against_others(self, batch: Batch, real: Tensor) -> Tensor:
        """Of a single graph there is no other: only its own nodes are told that they belong to it."""
        summary = torch.sigmoid(batch.mean(real)) @ self.weight.t()
        owner = batch.batch if batch.batch is not None else batch.x.new_zeros(len(real), dtype=torch.long)
        own = batch.counted((real * summary[owner]).sum(1))
        if len(summary) == 1:
            return F.softplus(-own).mean()
        other = batch.counted((real * summary.roll(-1, 0)[owner]).sum(1))
        return F.softplus(-own).mean() + F.softplus(other).mean()

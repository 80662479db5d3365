"""Deep Graph Infomax (Veličković et al., ICLR 2019): tell the graph's nodes from those of a shuffled graph."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .. import kernels
from ..batching import Batch
from .base import REGISTRY, Method
from .views import check_rates, mask_columns


@REGISTRY.register("dgi")
class DGI(Method):
    """H = f(X, A), H̃ = f(shuffled X, A), s = σ(mean of H); L = BCE of hᵢᵀ W s + b against 1, of h̃ᵢᵀ W s + b against 0.

    Where a batch has several graphs, each has its own summary s, and features are shuffled over the whole batch.

    Args:
        score: "summary" as above; "sum" adds up the entries of W hᵢ + b instead: Graph Group Discrimination (GGD,
            Zheng et al., NeurIPS 2022).
        mask_feature: share of the columns hidden in every step, as in GGD.
    """

    fixed_shapes = True
    of_seeds = "seeds alone are scored; the summary is that of a batch's seeds"
    tries = ("method.score=summary,sum", "method.mask_feature=0.0,0.2")

    def __init__(
        self, encoder: nn.Module, score: Literal["summary", "sum"] = "summary", mask_feature: float = 0.0
    ) -> None:
        super().__init__()
        check_rates(mask_feature=mask_feature)
        self.encoder, self.score, self.mask_feature = encoder, score, mask_feature
        width = int(encoder.out_channels)  # type: ignore[arg-type]
        # As published: Xavier's rule for a bilinear layer, whose bound is some √(width / 2) times below a matrix's.
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(1, width, width))[0])
        self.bias = nn.Parameter(torch.zeros(1))

    def loss(self, batch: Batch) -> Tensor:
        edges, x = batch.edges(self.encoder), mask_columns(batch.x, self.mask_feature)
        shuffled = torch.rand(len(x), device=x.device).argsort()
        real, fake = (kernels.encode(self.encoder, rows, edges) for rows in (x, x[shuffled]))
        if self.score == "sum":
            against = self.weight.sum(0)
        else:
            against = torch.sigmoid(batch.counted_mean(real)) @ self.weight.t()  # [graphs, width]
            against = against if batch.batch is None else against[batch.batch]
        agreed, other = (batch.counted((rows * against).sum(1) + self.bias) for rows in (real, fake))
        return (F.softplus(-agreed).mean() + F.softplus(other).mean()) / 2

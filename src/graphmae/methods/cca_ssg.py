"""CCA-SSG (Zhang et al., NeurIPS 2021): two views agree column by column, and columns do not repeat each other."""

from __future__ import annotations

from torch import Tensor, nn

from ..batching import Batch
from .base import REGISTRY, Method
from .views import check_rates, random_view


@REGISTRY.register("cca-ssg")
class CCASSG(Method):
    """Z = columns of f(view) with mean 0 and deviation 1; L = −tr(Z₁ᵀZ₂)/N + λ (‖I − Z₁ᵀZ₁/N‖² + ‖I − Z₂ᵀZ₂/N‖²).

    Means and deviations are those of the batch: of a large graph in parts, those of a part. A column that is the same
    for all nodes counts as 0.

    >>> import torch
    >>> from graphmae import encoders
    >>> model = CCASSG(encoders.GCN(64, hidden_channels=32, dropout=0.0, plain_output=True))
    >>> model(torch.rand(10, 64), torch.arange(10).expand(2, -1)).shape
    torch.Size([])

    Args:
        decorrelate: λ.
        drop_edge, mask_feature: shares hidden from each of the two views.
    """

    changes_edges = True
    of_seeds = "means, deviations and correlations are those of a batch's seeds"
    fixed_shapes = True
    tries = ("method.drop_edge=0.4,0.2,0.6", "method.mask_feature=0.1,0.3", "method.decorrelate=1e-3,5e-4")

    def __init__(
        self, encoder: nn.Module, decorrelate: float = 1e-3, drop_edge: float = 0.4, mask_feature: float = 0.1
    ) -> None:
        super().__init__()
        check_rates(drop_edge=drop_edge, mask_feature=mask_feature)
        self.encoder, self.decorrelate = encoder, decorrelate
        self.drop_edge, self.mask_feature = drop_edge, mask_feature

    def loss(self, batch: Batch) -> Tensor:
        views = [random_view(batch, self.drop_edge, self.mask_feature) for _ in range(2)]
        first, second = (standardized(batch.counted(self.encode(view))) for view in views)
        count = len(first)
        agree = (first * second).sum() / count
        return -agree + self.decorrelate * (_excess(first, count) + _excess(second, count))


def standardized(rows: Tensor) -> Tensor:
    """Columns of `rows` [N, k] with mean 0 and sample deviation 1; zeros where all rows are alike."""
    centred = rows - rows.mean(0)
    variance = centred.square().sum(0) / max(len(rows) - 1, 1)
    return centred / variance.clamp(min=1e-12).sqrt()


def _excess(rows: Tensor, count: int) -> Tensor:
    """‖I − ZᵀZ/N‖², squared and summed."""
    found = rows.t() @ rows / count
    return (found - found.new_ones(len(found)).diag()).square().sum()

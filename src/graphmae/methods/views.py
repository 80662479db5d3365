"""Random views of a graph, for methods that compare several: a view is a `Batch` with fewer edges and features."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from .. import kernels, masking
from ..batching import Batch
from ..layers import keep_columns
from ..runtime.errors import ConfigError


def check_rates(**rates: float) -> None:
    """Refuse shares outside of [0, 1)."""
    for name, rate in rates.items():
        if not 0 <= rate < 1:
            raise ConfigError(f"{name} must be in [0, 1), not {rate}")


def mask_columns(x: Tensor, rate: float) -> Tensor:
    """Every column of `x` [N, k] set to 0 with probability `rate`, for all nodes alike; the others stay as they are.

    >>> mask_columns(torch.ones(2, 3), 0.999).unique(dim=0).shape[0]
    1
    """
    return x if rate == 0.0 else keep_columns(x, torch.rand(x.size(1), device=x.device) >= rate)


def random_view(batch: Batch, drop_edge: float, mask_feature: float) -> Batch:
    """Every directed edge dropped with one probability (self-loops stay), every column of the features with another."""
    graph = masking.thinned(kernels.adjacency(batch.graph, len(batch.x)), drop_edge)
    return replace(batch, x=mask_columns(batch.x, mask_feature), graph=graph)

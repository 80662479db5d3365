"""Step 3: the codes of masked nodes are replaced before decoding."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..runtime.errors import ConfigError, unknown

REMASKS = ("zero", "learnable", "none")


class Remask(nn.Module):
    """Rows of masked nodes become zeros (`zero`, as the authors run it), a [DMASK] token (`learnable`, as the paper
    writes it), or stay (`none`, an ablation)."""

    def __init__(self, kind: str, channels: int) -> None:
        super().__init__()
        if kind not in REMASKS:
            raise ConfigError(unknown("re-mask", kind, REMASKS))
        self.kind = kind
        self.token = nn.Parameter(torch.zeros(channels)) if kind == "learnable" else None

    def forward(self, h: Tensor, masked: Tensor) -> Tensor:
        if self.kind == "none":
            return h
        if self.token is None:
            return h.index_fill(0, masked, 0.0)
        return h.index_put((masked,), self.token.to(h.dtype))

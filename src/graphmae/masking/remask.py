"""Step 3: the codes of masked nodes are replaced before decoding."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..runtime.errors import ConfigError, unknown
from .nodes import MaskedNodes

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

    def forward(self, h: Tensor, hidden: MaskedNodes, bridge: nn.Module) -> Tensor:
        """`h` [N, *] → [N, channels]: codes of visible nodes cross the bridge, masked ones are replaced."""
        if self.kind == "none":
            return bridge(h)
        crossed = bridge(h.index_select(0, hidden.visible))
        out = crossed.new_zeros(h.size(0), crossed.size(1))
        if self.token is not None:
            out = out.index_put((hidden.masked,), self.token.to(h.dtype))
        return out.index_copy(0, hidden.visible, crossed)

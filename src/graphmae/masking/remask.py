"""Step 3: the codes of masked nodes are replaced before decoding."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor, nn

from ..runtime.errors import ConfigError, unknown
from .nodes import MaskedNodes

RemaskKind = Literal["zero", "learnable", "none"]
REMASKS = get_args(RemaskKind)


class Remask(nn.Module):
    """Rows of masked nodes become zeros (`zero`, as the authors run it), a [DMASK] token (`learnable`, as the paper
    writes it), or stay (`none`, an ablation)."""

    def __init__(self, kind: str, channels: int) -> None:
        super().__init__()
        if kind not in REMASKS:
            raise ConfigError(unknown("re-mask", kind, REMASKS))
        self.kind = kind
        self.token = nn.Parameter(torch.zeros(channels)) if kind == "learnable" else None

    def erase(self, code: Tensor, masked: Tensor) -> Tensor:
        """`code` [N, channels] with the rows of the `masked` nodes [N] bool replaced."""
        if self.kind == "none":
            return code
        return torch.where(masked.unsqueeze(1), 0.0 if self.token is None else self.token.to(code.dtype), code)

    def forward(self, code: Tensor, hidden: MaskedNodes, read: Tensor, compact: bool) -> tuple[Tensor, Tensor | None]:
        """`code` [n, channels] of the visible nodes `read` → the decoder's input, and its rows' nodes (None: all).

        With `compact`, zeros are left out: the decoder knows that a node it was not given has them.
        """
        if self.token is None and compact:
            return code, read
        out = code.new_zeros(len(hidden.visible) + len(hidden.masked), code.size(1))
        if self.token is not None:
            out = out.index_put((hidden.masked,), self.token.to(code.dtype))
        return out.index_copy(0, read, code), None

"""The contract of an encoder, and the stack of blocks the three published ones share."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from ..layers import Block, sparse_rows
from ..registry import Registry
from ..runtime.errors import ConfigError


class Encoder(nn.Module):
    """Node features and edges in, one row per node out. Any `nn.Module` with these attributes will do.

    Attributes:
        in_channels: width of the node features.
        out_channels: width of the embedding.
    """

    in_channels: int
    out_channels: int

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """`x` [N, in_channels], `edge_index` [2, E] → [N, out_channels]."""
        raise TypeError(f"{type(self).__name__} must define forward(x, edge_index)")


REGISTRY: Registry[Encoder] = Registry("encoder", supplied=["in_channels"])


class StackedEncoder(Encoder):
    """Blocks one after the other; the embedding is the last block's output or all of them side by side.

    Args:
        output: "last" or "all". The same in training and in `embed`.
    """

    def __init__(self, in_channels: int, hidden_channels: int, blocks: Iterable[Block], output: str) -> None:
        super().__init__()
        if output not in ("last", "all"):
            raise ConfigError(f"encoder.output must be 'last' or 'all', not {output!r}")
        self.in_channels, self.hidden_channels, self.output = in_channels, hidden_channels, output
        self.blocks = nn.ModuleList(blocks)
        self.out_channels = hidden_channels * (len(self.blocks) if output == "all" else 1)

    @property
    def takes_sparse(self) -> bool:
        """Whether `forward` also takes `SparseRows`, as the model hands in for bags of words."""
        return self.blocks[0].takes_sparse  # type: ignore[return-value]

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        if self.takes_sparse and isinstance(x, Tensor):
            x = sparse_rows(x) or x  # type: ignore[assignment]
        hidden = []
        for block in self.blocks:
            x = block(x, edge_index)
            hidden.append(x)
        return torch.cat(hidden, dim=1) if self.output == "all" else x


def layer_widths(in_channels: int, hidden_channels: int, num_layers: int) -> list[int]:
    """Input width of every layer."""
    for name, value in (
        ("in_channels", in_channels),
        ("hidden_channels", hidden_channels),
        ("num_layers", num_layers),
    ):
        if value < 1:
            raise ConfigError(f"{name} must be at least 1, not {value}")
    return [in_channels, *[hidden_channels] * (num_layers - 1)]

"""Decoders that see one node at a time; they read its code, so nothing is re-masked."""

from __future__ import annotations

from torch import Tensor, nn

from .. import kernels
from ..layers import MLP as Perceptron
from ..runtime.errors import ConfigError
from .base import REGISTRY, Decoder


class _PointwiseDecoder(Decoder):
    wants_remask = False
    takes_nodes = True
    takes_adjacency = True
    records_steps = True

    def __init__(self, in_channels: int, out_channels: int, dropout: float) -> None:
        super().__init__()
        if not 0 <= dropout < 1:
            raise ConfigError(f"dropout must be at least 0 and less than 1, not {dropout}")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.map: nn.Module = nn.Identity()

    def forward(
        self, h: Tensor, edge_index: Tensor | kernels.Adjacency, rows: Tensor | None, nodes: Tensor | None = None
    ) -> Tensor:
        """`h` [N, in_channels], or with `nodes` (which are then `rows`) only their codes."""
        return self.map(h if rows is None or nodes is not None else h[rows])


@REGISTRY.register("mlp")
class MLP(_PointwiseDecoder):
    """A multi-layer perceptron on each node's code, with dropout between its maps (not before the first)."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        hidden_channels: int | None = None,
        num_layers: int = 2,
        norm: str = "none",
        activation: str = "prelu",
        dropout: float = 0.2,
    ) -> None:
        if num_layers < 1:
            raise ConfigError(f"decoder.num_layers must be at least 1, not {num_layers}")
        super().__init__(in_channels, out_channels, dropout)
        hidden = hidden_channels or in_channels
        self.map = Perceptron(in_channels, hidden, out_channels, num_layers, norm, activation, dropout=dropout)


@REGISTRY.register("linear")
class Linear(_PointwiseDecoder):
    """One linear map on each node's code."""

    def __init__(self, in_channels: int, out_channels: int, dropout: float = 0.0) -> None:
        super().__init__(in_channels, out_channels, dropout)
        self.map = nn.Sequential(nn.Dropout(dropout), nn.Linear(in_channels, out_channels))

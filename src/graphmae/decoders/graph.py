"""Decoders that look at neighbours: one convolution, nothing after it. Computed at the asked-for rows only."""

from __future__ import annotations

from torch import Tensor

from ..layers import Block, GATConv, GCNConv, GINConv
from ..layers import MLP as Perceptron
from .base import REGISTRY, Decoder


class _ConvDecoder(Decoder):
    def __init__(self, block: Block) -> None:
        super().__init__()
        self.block = block
        self.in_channels, self.out_channels = int(block.conv.in_channels), int(block.conv.width)  # type: ignore[arg-type]

    def forward(self, h: Tensor, edge_index: Tensor, rows: Tensor) -> Tensor:
        return self.block(h, edge_index, rows)


@REGISTRY.register("gat")
class GAT(_ConvDecoder):
    """One graph attention layer; several heads are averaged.

    >>> GAT(in_channels=256, out_channels=64).out_channels
    64
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        heads: int = 1,
        dropout: float = 0.2,
        attention_dropout: float = 0.1,
        negative_slope: float = 0.2,
        bias: bool = True,
    ) -> None:
        conv = GATConv(
            in_channels, out_channels, heads, attention_dropout, negative_slope, concat=False, bias=bias
        )
        super().__init__(Block(conv, dropout))


@REGISTRY.register("gcn")
class GCN(_ConvDecoder):
    """One graph convolution."""

    def __init__(self, in_channels: int, out_channels: int, dropout: float = 0.2, bias: bool = True) -> None:
        super().__init__(Block(GCNConv(in_channels, out_channels, bias), dropout))


@REGISTRY.register("gin")
class GIN(_ConvDecoder):
    """One graph isomorphism layer."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        dropout: float = 0.2,
        norm: str = "none",
        activation: str = "prelu",
        bias: bool = True,
    ) -> None:
        mlp = Perceptron(in_channels, in_channels, out_channels, norm=norm, activation=activation, bias=bias)
        super().__init__(Block(GINConv(mlp), dropout))

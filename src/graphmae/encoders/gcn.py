"""Graph convolutional networks."""

from __future__ import annotations

from ..layers import Block, GCNConv
from .base import REGISTRY, StackedEncoder, layer_widths


@REGISTRY.register("gcn")
class GCN(StackedEncoder):
    """Graph convolutional network (Kipf & Welling 2017).

    >>> GCN(in_channels=64, hidden_channels=256, num_layers=3, output="all").out_channels
    768
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int = 512,
        num_layers: int = 2,
        norm: str = "none",
        activation: str = "prelu",
        residual: bool = False,
        dropout: float = 0.2,
        output: str = "last",
    ) -> None:
        blocks = [
            Block(
                GCNConv(width, hidden_channels),
                dropout=dropout,
                norm=norm,
                activation=activation,
                residual=residual,
            )
            for width in layer_widths(in_channels, hidden_channels, num_layers)
        ]
        super().__init__(in_channels, hidden_channels, blocks, output)

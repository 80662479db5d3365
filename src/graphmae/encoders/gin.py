"""Graph isomorphism networks: the published encoder for graph tasks."""

from __future__ import annotations

from ..layers import MLP, Block, GINConv
from .base import REGISTRY, StackedEncoder, layer_widths


@REGISTRY.register("gin")
class GIN(StackedEncoder):
    """Graph isomorphism network (Xu et al. 2019): a 2-layer MLP over the sum of neighbours, ε = 0 fixed.

    >>> GIN(in_channels=7, hidden_channels=32, num_layers=5).out_channels
    32
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int = 512,
        num_layers: int = 2,
        norm: str = "batch",
        activation: str = "prelu",
        residual: bool = False,
        dropout: float = 0.2,
        output: str = "last",
    ) -> None:
        bias = norm != "batch"  # which would subtract it again
        blocks = [
            Block(
                GINConv(MLP(width, hidden_channels, hidden_channels, norm=norm, activation=activation, bias=bias)),
                dropout=dropout,
                norm=norm,
                activation=activation,
                residual=residual,
            )
            for width in layer_widths(in_channels, hidden_channels, num_layers)
        ]
        super().__init__(in_channels, hidden_channels, blocks, output)

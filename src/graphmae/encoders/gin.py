"""Graph isomorphism networks: the published encoder for graph tasks."""

from __future__ import annotations

from ..layers import MLP, Block, GINConv
from .base import REGISTRY, StackedEncoder, layer_shapes


@REGISTRY.register("gin")
class GIN(StackedEncoder):
    """Graph isomorphism network (Xu et al. 2019): a 2-layer MLP over the sum of neighbours, ε = 0 fixed.

    InfoGraph and GraphCL have no norm inside of the MLP (`inner_norm=False`), and in each layer the norm after the
    activation (`norm_last=True`). `edge_channels` is the width of the edges' features.

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
        inner_norm: bool = True,
        norm_last: bool = False,
        edge_channels: int = 0,
    ) -> None:
        bias = norm != "batch" or norm_last  # which would subtract it again
        inner = norm if inner_norm else "none"
        blocks = [
            Block(
                GINConv(
                    MLP(shape.in_channels, shape.width, shape.width, norm=inner, activation=activation, bias=bias),
                    edge_channels=edge_channels,
                ),
                dropout=dropout,
                norm=norm,
                activation=activation,
                residual=residual,
                norm_last=norm_last,
            )
            for shape in layer_shapes(in_channels, hidden_channels, num_layers, norm, activation)
        ]
        super().__init__(in_channels, hidden_channels, blocks, output)
        self.edge_channels = edge_channels

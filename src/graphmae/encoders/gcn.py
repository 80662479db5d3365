"""Graph convolutional networks."""

from __future__ import annotations

from ..layers import Block, GCNConv
from .base import REGISTRY, StackedEncoder, layer_shapes


@REGISTRY.register("gcn")
class GCN(StackedEncoder):
    """Graph convolutional network (Kipf & Welling 2017).

    `start` says how weights begin: "torch" as its linear maps do, and GraphMAE's code; "glorot" as the GCN's own paper
    and most other codes, with biases of 0. `edge_channels` is the width of the edges' features.

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
        out_channels: int | None = None,
        plain_output: bool = False,
        bias: bool = True,
        start: str = "torch",
        edge_channels: int = 0,
    ) -> None:
        shapes = layer_shapes(in_channels, hidden_channels, num_layers, norm, activation, out_channels, plain_output)
        blocks = [
            Block(
                GCNConv(shape.in_channels, shape.width, bias, start, edge_channels),
                dropout=dropout,
                norm=shape.norm,
                activation=shape.activation,
                residual=residual,
            )
            for shape in shapes
        ]
        super().__init__(in_channels, hidden_channels, blocks, output)
        self.edge_channels = edge_channels

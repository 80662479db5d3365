"""Graph attention networks: the published encoder for node tasks."""

from __future__ import annotations

from ..layers import Block, GATConv
from ..runtime.errors import ConfigError
from .base import REGISTRY, StackedEncoder, layer_shapes


@REGISTRY.register("gat")
class GAT(StackedEncoder):
    """Graph attention network (Veličković et al. 2018).

    `hidden_channels` is the width of all heads together, `edge_channels` that of the edges' features.

    >>> encoder = GAT(in_channels=64, hidden_channels=256, num_layers=2, heads=4)
    >>> encoder.out_channels
    256
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int = 512,
        num_layers: int = 2,
        heads: int = 4,
        norm: str = "none",
        activation: str = "prelu",
        residual: bool = False,
        dropout: float = 0.2,
        attention_dropout: float = 0.1,
        negative_slope: float = 0.2,
        output: str = "last",
        out_channels: int | None = None,
        plain_output: bool = False,
        edge_channels: int = 0,
    ) -> None:
        shapes = layer_shapes(in_channels, hidden_channels, num_layers, norm, activation, out_channels, plain_output)
        if heads < 1 or any(shape.width % heads for shape in shapes):
            wrong = next((shape.width for shape in shapes if heads < 1 or shape.width % heads), hidden_channels)
            raise ConfigError(f"the width of a layer ({wrong}) must be a multiple of heads ({heads})")
        blocks = [
            Block(
                GATConv(
                    shape.in_channels,
                    shape.width // heads,
                    heads,
                    attention_dropout,
                    negative_slope,
                    edge_channels=edge_channels,
                ),
                dropout=dropout,
                norm=shape.norm,
                activation=shape.activation,
                residual=residual,
            )
            for shape in shapes
        ]
        super().__init__(in_channels, hidden_channels, blocks, output)
        self.edge_channels = edge_channels

"""Graph attention networks: the published encoder for node tasks."""

from __future__ import annotations

from ..layers import Block, GATConv
from ..runtime.errors import ConfigError
from .base import REGISTRY, StackedEncoder, layer_widths


@REGISTRY.register("gat")
class GAT(StackedEncoder):
    """Graph attention network (Veličković et al. 2018).

    `hidden_channels` is the width of all heads together.

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
    ) -> None:
        widths = layer_widths(in_channels, hidden_channels, num_layers)
        if heads < 1 or hidden_channels % heads:
            raise ConfigError(f"hidden_channels ({hidden_channels}) must be a multiple of heads ({heads})")
        blocks = [
            Block(
                GATConv(width, hidden_channels // heads, heads, attention_dropout, negative_slope),
                dropout=dropout,
                norm=norm,
                activation=activation,
                residual=residual,
            )
            for width in widths
        ]
        super().__init__(in_channels, hidden_channels, blocks, output)

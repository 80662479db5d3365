"""The published encoder for molecules: a graph isomorphism network whose messages carry the bond."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ..kernels import Adjacency
from ..layers import MLP, Block, GINConv, Linear
from .base import REGISTRY, StackedEncoder, layer_widths


@REGISTRY.register("molecule-gin")
class MoleculeGIN(StackedEncoder):
    """GIN with atom and bond embeddings (Hu et al. 2020): messages x_j + e_ij over bonds and self-loops.

    Atoms come one-hot, so their embedding is a linear map; bonds come as the sums of their one-hot features at each
    atom (`Adjacency.edge_sums`, of width `edge_channels`), so theirs is one too.

    >>> MoleculeGIN(in_channels=123).out_channels
    300
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int = 300,
        num_layers: int = 5,
        edge_channels: int = 0,
        norm: str = "batch",
        activation: str = "relu",
        residual: bool = False,
        dropout: float = 0.0,
        output: str = "last",
    ) -> None:
        widths = layer_widths(hidden_channels, hidden_channels, num_layers)
        blocks = []
        for i, width in enumerate(widths):
            mlp = MLP(width, 2 * hidden_channels, hidden_channels, activation=activation, bias=norm != "batch")
            last = "none" if i + 1 == num_layers else activation
            blocks.append(Block(GINConv(mlp, edge_channels=edge_channels, own=False), dropout, norm, last, residual))
        super().__init__(in_channels, hidden_channels, blocks, output)
        self.edge_channels = edge_channels
        self.embed = Linear(in_channels, hidden_channels, bias=False)

    def forward(self, x: Any, edge_index: Tensor | Adjacency, rows: Tensor | None = None) -> Tensor:
        """`x` [N, in_channels] → [N, out_channels]."""
        return super().forward(self.embed(x), edge_index, rows)

"""The published encoder for molecules: a graph isomorphism network whose messages carry the bond."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..data.molecules.environments import Environments
from ..data.molecules.smiles import ATOMS
from ..kernels import Adjacency
from ..layers import MLP, Block, GINConv, Linear
from .base import REGISTRY, StackedEncoder, layer_shapes

AT_ONCE = 1024  # rows that go through a layer together: they stay in the cache


@REGISTRY.register("molecule-gin")
class MoleculeGIN(StackedEncoder):
    """GIN with atom and bond embeddings (Hu et al. 2020): messages x_j + e_ij over bonds and self-loops.

    Atoms come one-hot, so their embedding is a linear map; bonds come as the sums of their one-hot features at each
    atom (`Adjacency.edge_sums`, of width `edge_channels`), so theirs is one too.

    Args:
        mask_embedding: a masked atom has an embedding of its own, as published. Otherwise the token takes the place of
            its features, and is embedded like them.

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
        mask_embedding: bool = False,
    ) -> None:
        blocks = []
        for i, shape in enumerate(layer_shapes(hidden_channels, hidden_channels, num_layers, norm, activation)):
            mlp = MLP(shape.width, 2 * shape.width, shape.width, activation=activation, bias=norm != "batch")
            last = "none" if i + 1 == num_layers else activation
            blocks.append(Block(GINConv(mlp, edge_channels=edge_channels, own=False), dropout, norm, last, residual))
        super().__init__(in_channels, hidden_channels, blocks, output)
        self.edge_channels, self.mask_embedding = edge_channels, mask_embedding
        self.embed = Linear(in_channels, hidden_channels, bias=False)
        nn.init.xavier_uniform_(self.embed.weight)

    def new_token(self) -> Tensor:
        """The embedding of a masked atom: as published one row more in the table of atoms, initialised like them."""
        table = torch.empty(self.in_channels + 1, self.hidden_channels)
        return nn.init.xavier_uniform_(table)[0].clone()

    def forward(
        self,
        x: Any,
        edge_index: Tensor | Adjacency,
        rows: Tensor | None = None,
        mask: Callable[[Tensor], Tensor] | None = None,
    ) -> Tensor:
        """`x` [N, in_channels] → [N, out_channels]; `mask` is applied to the atoms' embeddings."""
        embedded = self.embed(x)
        return super().forward(embedded if mask is None else mask(embedded), edge_index, rows)

    def embed_environments(self, found: Environments) -> Tensor:
        """[R, out_channels] of molecules grouped by surroundings; without dropout or gradient.

        The same as `forward`, up to rounding, for an encoder in evaluation mode: equal atoms are computed once.
        """
        codes, weight = found.codes, self.embed.weight.t()
        x = weight[codes[:, 0]]
        for column in range(1, codes.size(1)):
            x = x + weight[ATOMS + codes[:, column]]
        for block, layer in zip(self.blocks, found.layers, strict=True):
            assert isinstance(block, Block) and isinstance(block.conv, GINConv)
            out = x.new_empty(len(layer.begins), int(block.width))
            ends = [*layer.begins[AT_ONCE::AT_ONCE].tolist(), len(layer.senders)]
            first = 0
            for rows, begins, sums, last in zip(
                out.split(AT_ONCE), layer.begins.split(AT_ONCE), layer.edge_sums.split(AT_ONCE), ends, strict=True
            ):
                around = F.embedding_bag(layer.senders[first:last], x, begins - first, mode="sum")
                if block.conv.edge_table is not None:
                    around = torch.addmm(around, sums.to(x.dtype), block.conv.edge_table)
                rows.copy_(block.finish(block.conv.mlp(around)))
                first = last
            x = out
        return x

    @property
    def groups_atoms(self) -> bool:
        """Whether `embed_environments` gives what `forward` does: no residual, the last layer alone, nothing that
        looks at several atoms."""
        return self.output == "last" and all(block.residual is None for block in self.blocks)

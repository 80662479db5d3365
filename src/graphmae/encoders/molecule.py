"""The published encoder for molecules: a graph isomorphism network whose messages carry the bond."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .. import kernels
from ..data.molecules.environments import Environments, Layer
from ..data.molecules.smiles import ATOMS
from ..kernels import Adjacency
from ..layers import MLP, Block, GINConv, Linear, NormAct
from .base import REGISTRY, StackedEncoder, layer_shapes

AT_ONCE = 1024  # rows that go through a layer together: they stay in the cache
MOLECULES_AT_ONCE = 64


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

    takes_adjacency = records_steps = takes_rows = True
    num_outputs = StackedEncoder.num_outputs

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

    def pool_environments(self, found: Environments, ways: Sequence[str]) -> Tensor:
        """[molecules, out_channels · ways] of molecules grouped by surroundings; without dropout or gradient.

        The same as pooling what `forward` gives, up to rounding, for an encoder in evaluation mode. Equal atoms are
        computed once. Sums commute with linear maps, so a layer's first map is applied to the rows of the layer before,
        which are fewer than its own, and the last map of all to the mean over a molecule.
        """
        codes, weight = found.codes, self.embed.weight.t()
        x = weight[codes[:, 0]]
        for column in range(1, codes.size(1)):
            x = x + weight[ATOMS + codes[:, column]]
        *before, final = (_Applied.of(block) for block in self.blocks)
        for block, layer in zip(before, found.layers, strict=False):
            out, y = x.new_empty(len(layer.begins), int(self.hidden_channels)), block.first(x)
            for first in range(0, len(out), AT_ONCE):
                block.last(block.hidden(y, layer, first, first + AT_ONCE), out[first : first + AT_ONCE])
            x = out
        layer, y, parts = found.layers[-1], final.first(x), []
        atoms = [*found.begins[::MOLECULES_AT_ONCE].tolist(), len(layer.begins)]
        for begins, (first, last) in zip(found.begins.split(MOLECULES_AT_ONCE), pairwise(atoms), strict=True):
            rows, pointer = final.hidden(y, layer, first, last), torch.cat([begins, begins.new_tensor([last])]) - first
            if final.is_affine and list(ways) == ["mean"]:
                parts.append(final.last(kernels.pool(rows, pointer, "mean")))
            else:
                rows = final.last(rows)
                parts.append(torch.cat([kernels.pool(rows, pointer, way) for way in ways], dim=1))
        return torch.cat(parts)

    @property
    def groups_atoms(self) -> bool:  # type: ignore[override]
        """Whether `pool_environments` gives what `forward` does: no residual, the last layer alone, nothing that looks
        at several atoms."""
        return self.output == "last" and all(block.residual is None for block in self.blocks)


@dataclass(frozen=True)
class _Applied:
    """A block in evaluation mode, a batch norm and the map before it made one.

    Attributes:
        edges: [edge_channels, 2 · width] what bonds add before the activation; None: nothing.
        weight, bias: of the last map.
        rest: what follows it.
    """

    block: Block
    edges: Tensor | None
    weight: Tensor
    bias: Tensor | None
    rest: Callable[[Tensor], Tensor]

    @classmethod
    def of(cls, block: nn.Module) -> _Applied:
        assert isinstance(block, Block) and isinstance(block.conv, GINConv) and isinstance(block.conv.mlp, MLP)
        mlp, norm = block.conv.mlp, block.finish.norm
        table, weight, bias = block.conv.edge_table, mlp.last.weight, mlp.last.bias
        edges = None if table is None else table @ mlp.maps[0].weight.t()  # type: ignore[operator]
        if not isinstance(norm, nn.BatchNorm1d):
            return cls(block, edges, weight, bias, block.finish)
        assert norm.running_mean is not None and norm.running_var is not None
        scale = norm.weight * (norm.running_var + norm.eps).rsqrt()
        shift = norm.bias - norm.running_mean * scale + (0.0 if bias is None else bias * scale)
        return cls(block, edges, weight * scale[:, None], shift, block.finish.activation)

    @property
    def is_affine(self) -> bool:
        """Whether nothing but a linear map and a shift follows the hidden rows."""
        return isinstance(self.rest, nn.Identity)

    def first(self, x: Tensor) -> Tensor:
        """[R, 2 · width] the first map without its bias, of the rows that are added up afterwards."""
        return kernels.mm(x, self.block.conv.mlp.maps[0].weight.t())  # type: ignore[union-attr, index]

    def hidden(self, y: Tensor, layer: Layer, first: int, last: int) -> Tensor:
        """The hidden rows of a stretch of the layer's own rows."""
        begins, sums = layer.begins[first:last], layer.edge_sums[first:last]
        start = int(begins[0])
        end = int(layer.begins[last]) if last < len(layer.begins) else len(layer.senders)
        out = F.embedding_bag(layer.senders[start:end], y, begins - start, mode="sum")
        if self.edges is not None:
            out.addmm_(sums.to(y.dtype), self.edges)
        mlp: Any = self.block.conv.mlp
        shift, rest = mlp.maps[0].bias, mlp.between[0]
        out = out if shift is None else out.add_(shift)
        return out.relu_() if _is_relu(rest) else torch.as_tensor(rest(out))

    def last(self, hidden: Tensor, out: Tensor | None = None) -> Tensor:
        """[n, width], into `out` where that is given."""
        if out is None or self.bias is None or not isinstance(self.rest, nn.ReLU):
            made = self.rest(kernels.mm(hidden, self.weight.t(), bias=self.bias))
            return made if out is None else out.copy_(made)
        return kernels.mm(hidden, self.weight.t(), out, self.bias).relu_()


def _is_relu(rest: nn.Module) -> bool:
    return isinstance(rest, NormAct) and isinstance(rest.norm, nn.Identity) and isinstance(rest.activation, nn.ReLU)

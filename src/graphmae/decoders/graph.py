"""Decoders that look at neighbours: one convolution, nothing after it. Computed at the asked-for rows only."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from .. import kernels
from ..layers import MLP as Perceptron
from ..layers import Block, Factored, GATConv, GCNConv, GINConv, PReLU
from ..runtime.errors import ConfigError, unknown
from .base import REGISTRY, Decoder

Bias = Literal["fixed", "trained", "none"]
FIXED_BIAS = 0.006


class _ConvDecoder(Decoder):
    """One block and a bias: "trained", "fixed" or "none".

    The published bias hardly trains: before the first step a masked node among masked neighbours decodes to zeros,
    where the gradient of the cosine is about 1e12; Adam answers with 6.0 learning rates in all and then holds those
    entries still. The results depend on this accident: it gives predictions a length, and so weight decay something
    to regularise. `fixed` is that end point as a constant, `none` leaves it out; docs/findings.md has the numbers.
    Clipping gradients (train.clip_norm) undoes the accident. A bias that starts away from zero, as those of the
    published GCN and GIN decoders do (uniform within `bound`), does not have it.
    """

    takes_nodes = True
    takes_adjacency = True
    records_steps = True

    def __init__(self, block: Block, bias: Bias, bound: float = 0.0) -> None:
        super().__init__()
        if bias not in ("fixed", "trained", "none"):
            raise ConfigError(unknown("decoder bias", bias, ("fixed", "trained", "none")))
        self.block = block
        self.looks_at_all = any(isinstance(part, nn.BatchNorm1d) for part in block.modules())
        self.in_channels, self.out_channels = int(block.conv.in_channels), int(block.conv.width)  # type: ignore[arg-type]
        self.bias: Tensor | None = None
        if bias == "trained":
            self.bias = nn.Parameter(torch.empty(self.out_channels).uniform_(-bound, bound))
        elif bias == "fixed":
            del self.bias
            self.register_buffer("bias", torch.full((self.out_channels,), FIXED_BIAS))

    def forward(
        self, h: Tensor, edge_index: Tensor | kernels.Adjacency, rows: Tensor | None, nodes: Tensor | None = None
    ) -> Tensor:
        """`h` [N, in_channels], or with `nodes` only their codes, the others being zeros; `rows` [M] → [M, out].

        `rows` None: all.
        """
        adj = kernels.adjacency(edge_index, h.size(0))
        if self.looks_at_all and rows is not None:
            out = self.block(h, kernels.View(adj, None, nodes)).index_select(0, rows)
        else:
            out = self.block(h, kernels.View(adj, rows, nodes))
        return out if self.bias is None else out + self.bias

    def factored(self, h: Tensor, adj: kernels.Adjacency, rows: Tensor, nodes: Tensor) -> Factored | None:
        """The same as a product not written out, where that is the cheaper way to a length and a dot product."""
        conv = self.block.conv
        if not isinstance(conv, GATConv) or conv.heads > 1 or conv.in_channels >= conv.out_channels:
            return None
        h = kernels.dropout(h, self.block.dropout, self.training)
        return Factored(*conv.before_projection(h, kernels.View(adj, rows, nodes)), self.bias)


@REGISTRY.register("gat")
class GAT(_ConvDecoder):
    """One graph attention layer; several heads are averaged.

    Args:
        bias: what is added to the output. "fixed", the default, is a small constant. "trained" is the published one,
            which the published recipes have: it needs Adam, because its first gradient is about 1e12.

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
        bias: Bias = "fixed",
    ) -> None:
        conv = GATConv(in_channels, out_channels, heads, attention_dropout, negative_slope, concat=False, bias=False)
        super().__init__(Block(conv, dropout), bias)


@REGISTRY.register("gcn")
class GCN(_ConvDecoder):
    """One graph convolution."""

    def __init__(self, in_channels: int, out_channels: int, dropout: float = 0.2, bias: Bias = "trained") -> None:
        super().__init__(Block(GCNConv(in_channels, out_channels, bias=False), dropout), bias, in_channels**-0.5)


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
        bias: Bias = "trained",
    ) -> None:
        mlp = Perceptron(in_channels, in_channels, out_channels, norm=norm, activation=activation, bias=False)
        super().__init__(Block(GINConv(mlp), dropout), bias, in_channels**-0.5)


@REGISTRY.register("molecule-gin")
class MoleculeGIN(_ConvDecoder):
    """One graph isomorphism layer over bonds and self-loops; with fewer `out_channels` than features, the first few."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        edge_channels: int = 0,
        dropout: float = 0.0,
        activation: str = "relu",
        bias: Bias = "trained",
    ) -> None:
        mlp = Perceptron(in_channels, 2 * in_channels, out_channels, activation=activation, bias=False)
        conv = GINConv(mlp, edge_channels=edge_channels, own=False)
        super().__init__(Block(conv, dropout), bias, (2 * in_channels) ** -0.5)
        self.edge_channels = edge_channels
        self.entrance = PReLU()

"""GAT, GCN and GIN convolutions on the kernels.

Each takes `(x [N, in], edge_index [2, E], rows=None)`; with `rows`, only those nodes' outputs are computed. Instead of
`edge_index` a `kernels.View` says which nodes are given, which are wanted and which edges count. Without `biased`, the
caller adds the bias.
Self-loops are the graph's business: a convolution adds none. Aggregation is linear, so it runs on the cheaper side
of the projection; both orders compute the same.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from .. import kernels
from ..runtime.errors import ConfigError, DataError, unknown
from .inputs import MaskedInput, bags_of
from .product import product

Edges = Tensor | kernels.View
STARTS = ("torch", "glorot")
NO_FEATURES = "this encoder takes edge features, but the graph has none (edge_attr of a PyG Data, or columns of edges)"


class GATConv(nn.Module):
    """α_ij = softmax_j(leaky_relu(a_t·W x_i + a_s·W x_j) + log w_ij); out_i = ‖_heads Σ_j α_ij W x_j + E ē_i + b.

    `out_channels` is the width of one head; the heads stand side by side, or are averaged without `concat`. w_ij are
    the edges' weights, where the graph has some; ē_i, with `edge_channels`, is the mean of their features at i.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        heads: int = 1,
        attention_dropout: float = 0.0,
        negative_slope: float = 0.2,
        concat: bool = True,
        bias: bool = True,
        edge_channels: int = 0,
    ) -> None:
        super().__init__()
        if heads < 1:
            raise ConfigError(f"heads must be at least 1, not {heads}")
        if not 0 <= attention_dropout < 1:
            raise ConfigError(f"attention_dropout must be in [0, 1), not {attention_dropout}")
        self.in_channels, self.out_channels, self.heads = in_channels, out_channels, heads
        self.concat, self.width = concat, heads * out_channels if concat else out_channels
        self.attention_dropout, self.negative_slope = attention_dropout, negative_slope
        self.weight = nn.Parameter(torch.empty(heads, out_channels, in_channels))
        self.attention = nn.Parameter(torch.empty(2, heads, out_channels))  # for the sender, for the receiver
        self.bias = nn.Parameter(torch.empty(self.width)) if bias else None
        self.edge_table = nn.Parameter(torch.empty(edge_channels, self.width)) if edge_channels else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        self.initialise(self.weight.view(-1, self.in_channels))
        # The published fans of a [1, heads, channels] tensor: heads · channels in, channels out.
        nn.init.normal_(self.attention, std=2 / math.sqrt(self.out_channels * (self.heads + 1)))
        if self.bias is not None:
            nn.init.zeros_(self.bias)
        if self.edge_table is not None:
            nn.init.xavier_uniform_(self.edge_table)

    @staticmethod
    def initialise(weight: Tensor) -> None:
        """Xavier-normal with gain √2, as published."""
        nn.init.xavier_normal_(weight, math.sqrt(2))

    def projects_first(self, given: int, wanted: int, on_cuda: bool) -> bool:
        """Project before aggregating? Afterwards only the wanted rows need it, but every head aggregates for itself."""
        return self.in_channels > self.out_channels and (on_cuda or wanted > 0.7 * given)

    def forward(
        self, x: Tensor | MaskedInput, edge_index: Edges, rows: Tensor | None = None, biased: bool = True
    ) -> Tensor:
        view = kernels.view(edge_index, _num_nodes(x), rows)
        bias = self.bias if biased else None
        if isinstance(x, MaskedInput) or self.projects_first(x.size(0), view.num_rows, x.is_cuda):
            h = project(x, self.weight.flatten(0, 1)).view(-1, self.heads, self.out_channels)
            within = bias.view(self.heads, -1) if bias is not None and self.concat else None
            out = self._attend(view, h, self.attention, within)
            bias = bias if within is None else None
        else:  # attend with (Wᵀa)·x, aggregate x, then project
            out = self._attend(view, x.unsqueeze(1), self._input_vectors())
            out = _ProjectHeads.apply(out, self.weight)
        out = with_edge_means(out.flatten(1) if self.concat else out.mean(1), view, self.edge_table)
        return out if bias is None else out + bias

    def before_projection(self, x: Tensor, edge_index: Edges) -> tuple[Tensor, Tensor]:
        """(a [R, in], W [out, in]) of a single head: its output, without bias, is a · Wᵀ."""
        view = kernels.view(edge_index, _num_nodes(x))
        return self._attend(view, x.unsqueeze(1), self._input_vectors()).squeeze(1), self.weight.flatten(0, 1)

    def _input_vectors(self) -> Tensor:
        """[2, heads, in]: the attention as it acts on the input."""
        return torch.einsum("hci,shc->shi", self.weight, self.attention)

    def _attend(self, view: kernels.View, x: Tensor, vectors: Tensor, bias: Tensor | None = None) -> Tensor:
        return kernels.attend(view, x, vectors, self.negative_slope, self.attention_dropout, self.training, bias)


class _ProjectHeads(Function):
    """out[:, h] = x[:, h] · weight[h]ᵀ. On the CPU plain products are several times faster than a batched one."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        out = x.new_empty(x.size(0), weight.size(0), weight.size(1))
        for h in range(weight.size(0)):
            kernels.mm(x[:, h], weight[h].t(), out[:, h])
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        x, weight = ctx.saved_tensors
        gx, gweight = torch.empty_like(x), torch.empty_like(weight)
        for h in range(weight.size(0)):
            kernels.mm(grad[:, h], weight[h], gx[:, h])
            kernels.mm(grad[:, h].t(), x[:, h], gweight[h])
        return gx, gweight


class GCNConv(nn.Module):
    """out_i = Σ_j w_ij W x_j / √(d_i d_j) + E ē_i + b, d the sums of a node's weights, 1 each where the graph has none.

    With `edge_channels`, ē_i is the mean of the features of i's edges.
    """

    def __init__(
        self, in_channels: int, out_channels: int, bias: bool = True, start: str = "torch", edge_channels: int = 0
    ) -> None:
        super().__init__()
        if start not in STARTS:
            raise ConfigError(unknown("encoder.start", start, STARTS))
        self.in_channels, self.width, self.start = in_channels, out_channels, start
        self.weight = nn.Parameter(torch.empty(out_channels, in_channels))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.edge_table = nn.Parameter(torch.empty(edge_channels, out_channels)) if edge_channels else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """As torch's linear map, and GraphMAE's code; or Glorot's rule with a bias of 0, as in the GCN's own paper."""
        bound = self.in_channels**-0.5
        if self.start == "glorot":
            nn.init.xavier_uniform_(self.weight)
        else:
            nn.init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            nn.init.zeros_(self.bias) if self.start == "glorot" else nn.init.uniform_(self.bias, -bound, bound)
        if self.edge_table is not None:
            nn.init.xavier_uniform_(self.edge_table)

    def projects_first(self, given: int, wanted: int, on_cuda: bool) -> bool:
        return self.in_channels >= self.width

    def forward(
        self, x: Tensor | MaskedInput, edge_index: Edges, rows: Tensor | None = None, biased: bool = True
    ) -> Tensor:
        view = kernels.view(edge_index, _num_nodes(x), rows)
        weight = view.adj.symmetric_weight.to(self.weight.dtype)
        if isinstance(x, MaskedInput) or self.projects_first(x.size(0), view.num_rows, x.is_cuda):
            out = kernels.aggregate(view, project(x, self.weight).unsqueeze(1), weight).squeeze(1)
        else:
            out = product(kernels.aggregate(view, x.unsqueeze(1), weight).squeeze(1), self.weight)
        out = with_edge_means(out, view, self.edge_table)
        return out if self.bias is None or not biased else out + self.bias


class GINConv(nn.Module):
    """out_i = MLP((1 + ε) x_i + Σ_j (x_j + E e_ij)), ε fixed; `mlp` needs `in_channels` and `width`.

    With `edge_channels`, edges have features; their sums at each node come with the graph (`Adjacency.edge_sums`),
    so E is applied once a node, not once an edge. With `own=False` only the sum: for graphs with self-loops.
    """

    def __init__(self, mlp: nn.Module, eps: float = 0.0, edge_channels: int = 0, own: bool = True) -> None:
        super().__init__()
        self.mlp, self.eps, self.own = mlp, eps, own
        self.in_channels, self.width = int(mlp.in_channels), int(mlp.width)  # type: ignore[arg-type]
        self.edge_table: nn.Parameter | None = None
        if edge_channels:
            self.edge_table = nn.Parameter(torch.empty(edge_channels, self.in_channels))
            nn.init.xavier_uniform_(self.edge_table)

    def forward(self, x: Tensor, edge_index: Edges, rows: Tensor | None = None) -> Tensor:
        view = kernels.view(edge_index, _num_nodes(x), rows)
        sums = view.adj.edge_sums
        if self.edge_table is None:
            share = view.adj.share  # of a sample: its edges stand for others
            weight = None if share is None else share.unsqueeze(1)
            out = kernels.aggregate(view, x.unsqueeze(1), weight).squeeze(1)
        elif sums is None:
            raise DataError(NO_FEATURES)
        else:
            sums = sums if view.rows is None else sums.index_select(0, view.wanted)
            out = kernels.aggregate(view, x.unsqueeze(1), None, sums, self.edge_table).squeeze(1)
        if self.own:
            out = torch.add(out, own_rows(x, view), alpha=1 + self.eps)
        return self.mlp(out, view.adj.valid)


def with_edge_means(out: Tensor, view: kernels.View, table: Tensor | None) -> Tensor:
    """`out` [R, width], and the mean features of each row's edges times `table` [k, width] added (None: nothing)."""
    if table is None:
        return out
    means = view.adj.edge_means
    if means is None:
        raise DataError(NO_FEATURES)
    return out + (means if view.rows is None else means.index_select(0, view.wanted)).to(table.dtype) @ table


def own_rows(x: Tensor, view: kernels.View) -> Tensor:
    """The wanted nodes' own rows of `x`; zeros for nodes that are not given."""
    if view.nodes is None:
        return x if view.rows is None else x.index_select(0, view.wanted)
    if not x.size(0):
        return x.new_zeros(view.num_rows, x.size(1))
    place = view.place if view.rows is None else view.place.index_select(0, view.wanted)
    return torch.where((place >= 0).unsqueeze(1), x.index_select(0, place.clamp(min=0)), 0.0)


def project(x: Tensor | MaskedInput, weight: Tensor) -> Tensor:
    """`x` · `weight`ᵀ, by the entries alone where `x` is a bag of words."""
    if isinstance(x, MaskedInput):
        return x.project(weight)
    bags = bags_of(x)
    return product(x, weight) if bags is None else bags.times(weight.t())


def _num_nodes(x: Tensor | MaskedInput) -> int:
    return x.x.size(0) if isinstance(x, MaskedInput) else x.size(0)

"""GAT, GCN and GIN convolutions on the kernels.

Each takes `(x [N, in], edge_index [2, E], rows=None)`; with `rows`, only those nodes' outputs are computed.
Self-loops are the graph's business: a convolution adds none. Aggregation is linear, so it runs on the narrower side
of the projection; both orders compute the same.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .. import kernels
from ..runtime.errors import ConfigError
from .sparse import SparseRows


class GATConv(nn.Module):
    """α_ij = softmax_j(leaky_relu(a_t·W x_i + a_s·W x_j)); out_i = ‖_heads Σ_j α_ij W x_j + b.

    `out_channels` is the width of one head; the heads stand side by side, or are averaged without `concat`.
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
    ) -> None:
        super().__init__()
        if heads < 1:
            raise ConfigError(f"heads must be at least 1, not {heads}")
        if not 0 <= attention_dropout < 1:
            raise ConfigError(f"attention_dropout must lie in [0, 1), not {attention_dropout}")
        self.in_channels, self.out_channels, self.heads = in_channels, out_channels, heads
        self.concat, self.width = concat, heads * out_channels if concat else out_channels
        self.attention_dropout, self.negative_slope = attention_dropout, negative_slope
        self.weight = nn.Parameter(torch.empty(heads, out_channels, in_channels))
        self.attention = nn.Parameter(torch.empty(2, heads, out_channels))  # for the sender, for the receiver
        self.bias = nn.Parameter(torch.empty(self.width)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        self.initialise(self.weight.view(-1, self.in_channels))
        # The published fans of a [1, heads, channels] tensor: heads · channels in, channels out.
        nn.init.normal_(self.attention, std=2 / math.sqrt(self.out_channels * (self.heads + 1)))
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    @staticmethod
    def initialise(weight: Tensor) -> None:
        """Xavier-normal with gain √2, as published."""
        nn.init.xavier_normal_(weight, math.sqrt(2))

    @property
    def projects_first(self) -> bool:
        return self.in_channels >= self.out_channels

    def forward(self, x: Tensor | SparseRows, edge_index: Tensor, rows: Tensor | None = None) -> Tensor:
        view = kernels.rows_view(edge_index, *_size(x), rows)
        if not isinstance(x, SparseRows) and not self.projects_first:  # attend with (Wᵀa)·x, aggregate x, then project
            score = x @ torch.einsum("hci,shc->ish", self.weight, self.attention).flatten(1)
            alpha = self._attend(view, score.view(-1, 2, self.heads))
            out = view.pick(kernels.aggregate(view.adj, x.unsqueeze(1).expand(-1, self.heads, -1), alpha))
            # One plain product a head: several times faster on the CPU than one batched product.
            out = torch.stack([F.linear(out[:, h], self.weight[h]) for h in range(self.heads)], dim=1)
        else:
            h = _project(x, self.weight.flatten(0, 1)).view(-1, self.heads, self.out_channels)
            alpha = self._attend(view, torch.einsum("nhc,shc->nsh", h, self.attention))
            out = view.pick(kernels.aggregate(view.adj, h, alpha))
        out = out.flatten(1) if self.concat else out.mean(1)
        return out if self.bias is None else out + self.bias

    def _attend(self, view: kernels.RowsView, score: Tensor) -> Tensor:
        """[E, heads] attention weights from the [N, 2, heads] scores of senders and receivers."""
        logits = score[:, 0].index_select(0, view.adj.col) + score[:, 1].index_select(0, view.receiver)
        alpha = kernels.row_softmax(view.adj, F.leaky_relu(logits, self.negative_slope))
        return kernels.dropout(alpha, self.attention_dropout, self.training)


class GCNConv(nn.Module):
    """out_i = Σ_j W x_j / √(d_i d_j) + b."""

    def __init__(self, in_channels: int, out_channels: int, bias: bool = True) -> None:
        super().__init__()
        self.in_channels, self.width = in_channels, out_channels
        self.weight = nn.Parameter(torch.empty(out_channels, in_channels))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.xavier_uniform_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    @property
    def projects_first(self) -> bool:
        return self.in_channels >= self.width

    def forward(self, x: Tensor | SparseRows, edge_index: Tensor, rows: Tensor | None = None) -> Tensor:
        view = kernels.rows_view(edge_index, *_size(x), rows)
        weight = view.symmetric_weight.to(self.weight.dtype)
        if not isinstance(x, SparseRows) and not self.projects_first:
            out = view.pick(kernels.aggregate(view.adj, x.unsqueeze(1), weight)).squeeze(1)
            out = F.linear(out, self.weight)
        else:
            out = view.pick(kernels.aggregate(view.adj, _project(x, self.weight).unsqueeze(1), weight)).squeeze(1)
        return out if self.bias is None else out + self.bias


class GINConv(nn.Module):
    """out_i = MLP((1 + ε) x_i + Σ_j x_j), ε fixed; `mlp` needs `in_channels` and `width`."""

    def __init__(self, mlp: nn.Module, eps: float = 0.0) -> None:
        super().__init__()
        self.mlp, self.eps = mlp, eps
        self.in_channels, self.width = mlp.in_channels, mlp.width

    def forward(self, x: Tensor, edge_index: Tensor, rows: Tensor | None = None) -> Tensor:
        view = kernels.rows_view(edge_index, *_size(x), rows)
        own = x if rows is None else x.index_select(0, rows)
        return self.mlp((1 + self.eps) * own + view.pick(kernels.aggregate(view.adj, x.unsqueeze(1))).squeeze(1))


def _size(x: Tensor | SparseRows) -> tuple[int, bool]:
    """Number of nodes, and whether they lie on a CUDA device."""
    return (x.num_rows, False) if isinstance(x, SparseRows) else (x.size(0), x.is_cuda)


def _project(x: Tensor | SparseRows, weight: Tensor) -> Tensor:
    return x.project(weight) if isinstance(x, SparseRows) else F.linear(x, weight)

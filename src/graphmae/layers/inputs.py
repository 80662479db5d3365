"""The input of a masked graph: rows of the features, and rows that are one and the same token.

The first projection then costs what it must: bags of words are multiplied by their entries alone, and the token's
gradient falls out of the weight's. Exact: the dropout of a zero is a zero.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.utils.weak import WeakIdKeyDictionary

from .. import kernels
from .product import product, times

DENSITY = 0.05  # fuller matrices stay dense: there a dense product is as fast
LOOKED_AT = 64  # rows that tell most full matrices apart without counting them all


@dataclass(frozen=True)
class Bags:
    """A feature matrix by its entries: compressed rows and [E] values."""

    adj: kernels.Adjacency
    value: Tensor

    @cached_property
    def length(self) -> Tensor:
        """[N] Euclidean length of every row."""
        squares = self.value.new_zeros(self.adj.num_rows).index_add(0, self.adj.row, self.value.square())
        return squares.sqrt()

    def times(self, table: Tensor, rows: Tensor | None = None, p: float = 0.0, training: bool = True) -> Tensor:
        """(rows of this matrix, dropped out) · `table` [width, out]."""
        rows = self.adj.every_row if rows is None else rows
        return kernels.lookup(self.adj, self.value, rows, table, p, training)


@dataclass(frozen=True)
class BagRows:
    """Some rows of `bags`."""

    bags: Bags
    rows: Tensor


@dataclass(frozen=True)
class Factored:
    """The matrix a · Wᵀ + b, not written out: `a` [M, in], `weight` [out, in], `bias` [out] or None.

    Lengths of its rows and their products with bags of words need no [M, out] matrix.
    """

    a: Tensor
    weight: Tensor
    bias: Tensor | None

    def dense(self, width: int | None = None) -> Tensor:
        """Written out; up to `width`, zeros are added."""
        more = 0 if width is None else width - self.weight.size(0)
        if not more:
            return product(self.a, self.weight, self.bias)
        bias = None if self.bias is None else F.pad(self.bias, (0, more))
        return product(self.a, _MoreRows.apply(self.weight, more), bias)

    def squared_length(self) -> Tensor:
        """[M] ‖W a + b‖² = aᵀ(WᵀW)a + 2 (Wᵀb)·a + b·b."""
        total = _SquaredLength.apply(self.a, self.weight)
        if self.bias is not None:
            total = total + 2 * (self.a @ (self.bias @ self.weight)) + self.bias @ self.bias
        return total.clamp(min=0)

    def dot(self, target: BagRows) -> Tensor:
        """[M] products with the rows of `target`: (Wᵀx)·a + b·x."""
        total = (target.bags.times(self.weight, target.rows) * self.a).sum(1)
        if self.bias is not None:
            total = total + target.bags.times(self.bias.unsqueeze(1), target.rows).squeeze(1)
        return total


@dataclass(frozen=True)
class MaskedInput:
    """Feature rows of the nodes `nodes`: first `x[rows]`, then the token, as often as nodes are left.

    Attributes:
        x, bags: the features, and the same by their entries where they are few.
        rows: [n − T] rows of `x`, repetition allowed.
        nodes: [n] the node each row belongs to.
        p: dropout still to be applied.
    """

    x: Tensor
    bags: Bags | None
    rows: Tensor
    token: Tensor
    nodes: Tensor
    p: float = 0.0

    @classmethod
    def whole(cls, x: Tensor, bags: Bags) -> MaskedInput:
        """All rows of `x`, without a token."""
        every = bags.adj.every_row
        return cls(x, bags, every, x.new_zeros(x.size(1)), every)

    @property
    def width(self) -> int:
        return self.x.size(1)

    @property
    def num_tokens(self) -> int:
        return self.nodes.numel() - self.rows.numel()

    def dropout(self, p: float, training: bool) -> MaskedInput:
        return replace(self, p=p) if training else self

    def among(self, needed: Tensor) -> MaskedInput:
        """Only the rows of the `needed` nodes."""
        wanted = torch.zeros(self.x.size(0), dtype=torch.bool, device=self.nodes.device)
        wanted[needed] = True
        wanted = wanted[self.nodes]
        return replace(self, rows=self.rows[wanted[: self.rows.numel()]], nodes=self.nodes[wanted])

    def project(self, weight: Tensor) -> Tensor:
        """These rows times `weight`ᵀ: [n, out] for `weight` [out, width]."""
        token = self.token.to(weight.dtype)
        if self.bags is not None:
            known = self.bags.times(weight.t(), self.rows, self.p)
            if not self.num_tokens:
                return known
            return torch.cat([known, _TokenRows.apply(weight, token, self.num_tokens, self.p)])
        if more := self.width - weight.size(1):  # aligned: the columns after them are zeros
            weight, token = F.pad(weight, (0, more)), F.pad(token, (0, more))
        return _MaskedProduct.apply(self.x, self.rows, weight, token, self.num_tokens, self.p)


class _MoreRows(Function):
    """Rows of zeros after a matrix; unlike torch's padding, the gradient is not copied."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, more: int) -> Tensor:
        ctx.count = x.size(0)
        return F.pad(x, (0, 0, 0, more))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return grad[: ctx.count], None


class _SquaredLength(Function):
    """[M] ‖W a‖² of every row a, as aᵀ(WᵀW)a; both gradients reuse its products."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, weight: Tensor) -> Tensor:
        image = a @ (weight.t() @ weight)
        ctx.save_for_backward(a, weight, image)
        return (image * a).sum(1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        a, weight, image = ctx.saved_tensors
        scale = 2 * grad.unsqueeze(1)
        return scale * image, weight @ (a.t() @ (scale * a))


class _TokenRows(Function):
    """Many rows that are the token, each with its own dropout, times `weight`ᵀ.

    With D the drawn zeros and scales and t the token, the rows are D · (W ∘ t)ᵀ; with G their gradient and M = Gᵀ · D,
    the weight's gradient is M ∘ t and the token's the column sums of M ∘ W: one product serves both.
    """

    @staticmethod
    def forward(ctx: Any, weight: Tensor, token: Tensor, count: int, p: float) -> Tensor:
        drawn = None
        if p:
            drawn = kernels.dropout(weight.new_ones(1, 1).expand(count, weight.size(1)).contiguous(), p, training=True)
        ctx.save_for_backward(weight, token, drawn)
        return (weight @ token).expand(count, -1) if drawn is None else drawn @ (weight * token).t()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        weight, token, drawn = ctx.saved_tensors
        if drawn is None:
            total = grad.sum(0)
            return torch.outer(total, token), total @ weight, None, None
        product = grad.t() @ drawn
        return product * token, (product * weight).sum(0), None, None


class _MaskedProduct(Function):
    """The rows `x[rows]`, then the token `count` times, each with its own dropout, times `weight`ᵀ.

    The token's rows as in `_TokenRows`: nothing here costs a gradient of all features.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: Tensor, weight: Tensor, token: Tensor, count: int, p: float) -> Tensor:
        drawn = kernels.dropped_rows(x, rows, count, p)
        ctx.save_for_backward(drawn, weight, token)
        ctx.count = rows.numel()
        out = x.new_empty(drawn.size(0), weight.size(0))
        times(drawn[: ctx.count], weight.t(), out[: ctx.count])
        times(drawn[ctx.count :], (weight * token).t(), out[ctx.count :])
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        drawn, weight, token = ctx.saved_tensors
        gweight = times(grad[: ctx.count].t(), drawn[: ctx.count])
        of_token = times(grad[ctx.count :].t(), drawn[ctx.count :])
        return None, None, gweight.addcmul_(of_token, token), kernels.column_sums(of_token, weight), None, None


_KEPT: MutableMapping[Tensor, tuple[int, Bags | None]] = WeakIdKeyDictionary()
_ALIGNED: MutableMapping[Tensor, tuple[int, Tensor]] = WeakIdKeyDictionary()


def aligned(x: Tensor) -> Tensor:
    """`x` [N, d] on CUDA with columns of zeros up to a multiple of 8, where tensor cores need it; kept as `bags_of`."""
    if x.size(1) % 4 == 0 or not x.is_cuda or x.is_inference():
        return x
    kept = _ALIGNED.get(x)
    if kept is None or kept[0] != x._version:
        kept = _ALIGNED[x] = (x._version, F.pad(x, (0, -x.size(1) % 8)))
    return kept[1]


def bags_of(x: Tensor) -> Bags | None:
    """`x` by its entries where that pays, else None. Looked at once: the answer is kept as long as the tensor."""
    if x.is_cuda or x.requires_grad or x.dim() != 2 or x.is_inference():
        return None
    kept = _KEPT.get(x)
    if kept is None or kept[0] != x._version:
        kept = _KEPT[x] = (x._version, _compress(x))
    return kept[1]


def keep_columns(x: Tensor, kept: Tensor) -> Tensor:
    """`x` [N, d] with the columns where `kept` [d] is false set to 0; by its entries too, where `x` is known so."""
    out = x * kept
    if (bags := bags_of(x)) is not None:
        value = bags.value * kept.to(x.dtype)[bags.adj.col.long()]
        _KEPT[out] = (out._version, Bags(bags.adj, value))
    return out


def _compress(x: Tensor) -> Bags | None:
    if not x.numel() or _is_full(x[:: max(1, len(x) // LOOKED_AT)], 4 * DENSITY) or _is_full(x, DENSITY):
        return None
    row, col = x.nonzero(as_tuple=True)
    counts = torch.bincount(row, minlength=x.size(0))
    crow = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    return Bags(kernels.Adjacency(crow, row, col, x.size(1)), x[row, col])


def _is_full(x: Tensor, share: float) -> bool:
    return int(torch.count_nonzero(x)) > share * x.numel()

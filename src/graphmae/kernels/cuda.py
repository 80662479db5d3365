"""The kernels for CUDA: Triton programs over rows and edges, so that no edge × channel tensor and no atomics exist."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from .adjacency import Adjacency
from .reference import dropout, row_softmax

__all__ = ["aggregate", "dropout", "row_softmax"]


@triton.jit
def _gather_rows(  # type: ignore[no-untyped-def]
    crow, edge, col, x, weight, out, heads, channels, x_row, x_head,
    indirect: tl.constexpr, weighted: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """out[i, h] = Σ_{k in row i} weight[edge[k], h] · x[col[edge[k]], h], one program a row, head and channel block."""
    i = tl.program_id(0).to(tl.int64)
    h = tl.program_id(1)
    c = tl.program_id(2) * block + tl.arange(0, block)
    inside = c < channels
    total = tl.zeros((block,), dtype=out.dtype.element_ty)
    for k in range(tl.load(crow + i), tl.load(crow + i + 1)):
        e = tl.load(edge + k) if indirect else k
        j = tl.load(col + e)
        value = tl.load(x + j * x_row + h * x_head + c, mask=inside, other=0.0)
        if weighted:
            value *= tl.load(weight + e * heads + h)
        total += value
    tl.store(out + (i * heads + h) * channels + c, total, mask=inside)


@triton.jit
def _edge_dots(row, col, a, b, out, heads, channels, b_row, b_head, block: tl.constexpr):  # type: ignore[no-untyped-def]
    """out[e, h] = ⟨a[row[e], h], b[col[e], h]⟩, one program an edge and head."""
    e = tl.program_id(0).to(tl.int64)
    h = tl.program_id(1)
    left = a + (tl.load(row + e) * heads + h) * channels
    right = b + tl.load(col + e) * b_row + h * b_head
    total = tl.zeros((block,), dtype=out.dtype.element_ty)
    for start in range(0, channels, block):
        c = start + tl.arange(0, block)
        inside = c < channels
        total += tl.load(left + c, mask=inside, other=0.0) * tl.load(right + c, mask=inside, other=0.0)
    tl.store(out + e * heads + h, tl.sum(total, axis=0))


def _rows(crow: Tensor, edge: Tensor | None, col: Tensor, x: Tensor, weight: Tensor | None, heads: int) -> Tensor:
    """Launch `_gather_rows`; `x` [*, 1 or heads, channels] is contiguous, one head serves all."""
    channels = x.size(2)
    out = x.new_empty(crow.numel() - 1, heads, channels)
    if out.numel() == 0:
        return out
    block = min(triton.next_power_of_2(channels), 512)
    grid = (out.size(0), heads, triton.cdiv(channels, block))
    _gather_rows[grid](
        crow, crow if edge is None else edge, col, x, x if weight is None else weight, out, heads, channels,
        x.size(1) * channels, channels if x.size(1) > 1 else 0,
        indirect=edge is not None, weighted=weight is not None, block=block, num_warps=4 if block >= 256 else 1,
    )  # fmt: skip
    return out


class _Aggregate(Function):
    @staticmethod
    def forward(ctx: Any, adj: Adjacency, x: Tensor, weight: Tensor | None) -> Tensor:
        ctx.adj = adj
        ctx.save_for_backward(x, weight)
        return _rows(adj.crow, None, adj.col, x, weight, x.size(1) if weight is None else weight.size(1))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor | None, Tensor | None]:
        adj, (x, weight) = ctx.adj, ctx.saved_tensors
        grad = grad.contiguous()
        heads, channels = grad.size(1), grad.size(2)
        grad_x = grad_weight = None
        if ctx.needs_input_grad[1]:
            crow, edges = adj.transpose
            grad_x = _rows(crow, edges, adj.row, grad, weight, heads)
            if x.size(1) == 1 and heads > 1:
                grad_x = grad_x.sum(1, keepdim=True)
        if ctx.needs_input_grad[2]:
            grad_weight = grad.new_empty(adj.col.numel(), heads)
            if grad_weight.numel():
                block = min(triton.next_power_of_2(channels), 256)
                _edge_dots[(adj.col.numel(), heads)](
                    adj.row, adj.col, grad, x, grad_weight, heads, channels,
                    x.size(1) * channels, channels if x.size(1) > 1 else 0, block=block, num_warps=1,
                )  # fmt: skip
        return None, grad_x, grad_weight


def aggregate(adj: Adjacency, x: Tensor, weight: Tensor | None) -> Tensor:
    return _Aggregate.apply(adj, x.contiguous(), None if weight is None else weight.to(x.dtype).contiguous())

"""The sparse–dense product, plain or weighted."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from ..adjacency import View
from .tools import TILE, WARPS, backward_side, channel_block, dropped, forward_side, found_at, keep_of, own_row


@triton.jit
def _gather(
    crow, edge, end, rows, order, place, keep, x, weight, seed, out, heads, channels, x_heads, p, scale,
    all_rows: tl.constexpr, all_ends: tl.constexpr, ordered: tl.constexpr, indirect: tl.constexpr,
    kept: tl.constexpr, weighted: tl.constexpr, drop: tl.constexpr, tile: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """out[r, h] = Σ_{k in row r} dropout(weight)[edge[k], h] · x[end of edge[k], h]: a program a row, head, block."""
    r, i = own_row(rows, order, all_rows, ordered)
    h = tl.program_id(1)
    c = tl.program_id(2) * block + tl.arange(0, block)
    inside = c < channels
    begin, finish = tl.load(crow + i).to(tl.int64), tl.load(crow + i + 1).to(tl.int64)
    total = tl.zeros((tile, block), dtype=tl.float32)
    for start in range(begin, finish, tile):
        k = start + tl.arange(0, tile)
        valid = k < finish
        e = tl.load(edge + k, mask=valid, other=0).to(tl.int64) if indirect else k
        j = found_at(place, tl.load(end + e, mask=valid, other=0).to(tl.int64), valid, all_ends)
        if kept:
            valid = valid & (tl.load(keep + e, mask=valid, other=0) != 0)
        valid = valid & (j >= 0)
        source = x + (j * x_heads + (h if x_heads > 1 else 0))[:, None] * channels + c[None, :]
        value = tl.load(source, mask=valid[:, None] & inside[None, :], other=0.0).to(tl.float32)
        if weighted:
            w = tl.load(weight + e * heads + h, mask=valid, other=0.0)
            value *= dropped(w, seed, e, heads, h, p, scale, drop)[:, None]
        total += value
    tl.store(out + (r * heads + h) * channels + c, tl.sum(total, axis=0), mask=inside)


@triton.jit
def _edge_dots(row, col, position, place, keep, a, b, out, heads, channels, kept: tl.constexpr, block: tl.constexpr):
    """out[e, h] = ⟨a[position[row[e]], h], b[place[col[e]], h]⟩, one program an edge and head."""
    e = tl.program_id(0).to(tl.int64)
    h = tl.program_id(1)
    r, j = tl.load(position + tl.load(row + e)).to(tl.int64), tl.load(place + tl.load(col + e)).to(tl.int64)
    limit = tl.where((r >= 0) & (j >= 0), channels, 0)
    if kept:
        limit = tl.where(tl.load(keep + e) != 0, limit, 0)
    total = tl.zeros((block,), dtype=tl.float32)
    for start in range(0, channels, block):
        c = start + tl.arange(0, block)
        inside = c < limit
        left = tl.load(a + (r * heads + h) * channels + c, mask=inside, other=0.0).to(tl.float32)
        total += left * tl.load(b + (j * heads + h) * channels + c, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + e * heads + h, tl.sum(total, axis=0))


class _Aggregate(Function):
    @staticmethod
    def forward(ctx: Any, view: View, x: Tensor, weight: Tensor | None) -> Tensor:
        ctx.view = view
        ctx.save_for_backward(x, weight)
        return gather(view, x, weight, x.size(1))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor | None, Tensor | None]:
        view, adj, (x, weight) = ctx.view, ctx.view.adj, ctx.saved_tensors
        grad, heads, channels = grad.contiguous(), grad.size(1), grad.size(2)
        gx = gweight = None
        if ctx.needs_input_grad[1]:
            out, (crow, edges) = torch.empty_like(x), adj.transpose
            gx = launch(backward_side(view), keep_of(view), crow, edges, adj.row, grad, weight, out)
        if ctx.needs_input_grad[2]:
            gweight = torch.empty_like(weight)
            if gweight.numel():
                _edge_dots[(adj.col.numel(), heads)](
                    adj.row, adj.col, view.position, view.place, a=grad, b=x, out=gweight, heads=heads,
                    channels=channels, **keep_of(view), block=channel_block(channels), num_warps=1,
                )  # fmt: skip
        return None, gx, gweight


def gather(
    view: View, x: Tensor, weight: Tensor | None, heads: int, seed: Tensor | None = None, p: float = 0.0
) -> Tensor:
    """[R, heads, channels]: the weighted sums of the senders' rows; `x` [n, 1 or heads, channels]."""
    out = x.new_empty(view.num_rows, heads, x.size(2))
    return launch(forward_side(view), keep_of(view), view.adj.crow, None, view.adj.col, x, weight, out, seed, p)


def launch(
    side: dict[str, Any],
    keep: dict[str, Any],
    crow: Tensor,
    edge: Tensor | None,
    end: Tensor,
    x: Tensor,
    weight: Tensor | None,
    out: Tensor,
    seed: Tensor | None = None,
    p: float = 0.0,
) -> Tensor:
    count, heads, channels = out.shape
    if out.numel():
        block = channel_block(channels)
        _gather[(count, heads, triton.cdiv(channels, block))](
            crow, end if edge is None else edge, end, x=x, weight=x if weight is None else weight,
            seed=x if seed is None else seed, out=out, heads=heads, channels=channels, x_heads=x.size(1), p=p,
            scale=1 / (1 - p), **side, **keep, indirect=edge is not None, weighted=weight is not None, drop=p > 0,
            tile=TILE, block=block, num_warps=WARPS,
        )  # fmt: skip
    return out


def aggregate(view: View, x: Tensor, weight: Tensor | None) -> Tensor:
    return _Aggregate.apply(view, x.contiguous(), None if weight is None else weight.to(x.dtype).contiguous())

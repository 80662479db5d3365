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
from .tools import channel_block, keep_of, node_order, row_order, warps

TILE = 16  # edges looked at together
BLOCK = 128  # channels a program holds


@triton.jit
def _gather(
    crow, edge, end, rows, order, place, keep, x, weight, out, heads, channels, indirect: tl.constexpr,
    kept: tl.constexpr, weighted: tl.constexpr, ordered: tl.constexpr, tile: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """out[r, h] = Σ_{k in row rows[r]} weight[edge[k], h] · x[place[end[edge[k]]], h]: a program a row, head, block."""
    r = tl.load(order + tl.program_id(0)).to(tl.int64) if ordered else tl.program_id(0).to(tl.int64)
    h = tl.program_id(1)
    c = tl.program_id(2) * block + tl.arange(0, block)
    inside = c < channels
    i = tl.load(rows + r)
    begin, finish = tl.load(crow + i), tl.load(crow + i + 1)
    total = tl.zeros((block,), dtype=tl.float32)
    for start in range(begin, finish, tile):
        k = start + tl.arange(0, tile)
        valid = k < finish
        e = tl.load(edge + k, mask=valid, other=0).to(tl.int64) if indirect else k.to(tl.int64)
        j = tl.load(place + tl.load(end + e, mask=valid, other=0), mask=valid, other=-1).to(tl.int64)
        if kept:
            valid = valid & (tl.load(keep + e, mask=valid, other=0) != 0)
        valid = valid & (j >= 0)
        value = tl.load(
            x + (j * heads + h)[:, None] * channels + c[None, :], mask=valid[:, None] & inside[None, :], other=0.0
        ).to(tl.float32)
        if weighted:
            value *= tl.load(weight + e * heads + h, mask=valid, other=0.0)[:, None]
        total += tl.sum(value, axis=0)
    tl.store(out + (r * heads + h) * channels + c, total, mask=inside)


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
        adj = view.adj
        return _launch(adj.crow, None, adj.col, view.wanted, row_order(view), view.place, view, x, weight)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor | None, Tensor | None]:
        view, adj, (x, weight) = ctx.view, ctx.view.adj, ctx.saved_tensors
        grad, heads, channels = grad.contiguous(), grad.size(1), grad.size(2)
        gx = gweight = None
        if ctx.needs_input_grad[1]:
            crow, edges = adj.transpose
            gx = _launch(crow, edges, adj.row, view.given, node_order(view), view.position, view, grad, weight)
        if ctx.needs_input_grad[2]:
            gweight = torch.empty_like(weight)
            if gweight.numel():
                keep, kept = keep_of(view)
                _edge_dots[(adj.col.numel(), heads)](
                    adj.row, adj.col, view.position, view.place, keep, grad, x, gweight, heads, channels,
                    kept=kept, block=channel_block(channels, 256), num_warps=1,
                )  # fmt: skip
        return None, gx, gweight


def _launch(
    crow: Tensor,
    edge: Tensor | None,
    end: Tensor,
    rows: Tensor,
    order: tuple[Tensor, bool],
    place: Tensor,
    view: View,
    x: Tensor,
    weight: Tensor | None,
) -> Tensor:
    heads, channels = x.size(1), x.size(2)
    out = x.new_empty(rows.numel(), heads, channels)
    if out.numel():
        block, (keep, kept) = channel_block(channels, BLOCK), keep_of(view)
        _gather[(rows.numel(), heads, triton.cdiv(channels, block))](
            crow, end if edge is None else edge, end, rows, order[0], place, keep, x, x if weight is None else weight,
            out, heads, channels, indirect=edge is not None, kept=kept, weighted=weight is not None,
            ordered=order[1], tile=TILE, block=block, num_warps=warps(block),
        )  # fmt: skip
    return out


def aggregate(view: View, x: Tensor, weight: Tensor | None) -> Tensor:
    return _Aggregate.apply(view, x.contiguous(), None if weight is None else weight.to(x.dtype).contiguous())

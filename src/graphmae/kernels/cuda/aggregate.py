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
from .tools import (
    TILE,
    WARPS,
    Side,
    backward_side,
    channel_block,
    drawn,
    dropped,
    forward_side,
    other_end,
    own_edges,
    put,
)


@triton.jit
def _gather(
    crow, edge, end, place, owners, piece_row, piece_begin, piece_end, piece_lone,
    x, weight, seed, bias, base, out, heads, channels, x_heads, p, scale,
    all_rows: tl.constexpr, all_ends: tl.constexpr, pieces: tl.constexpr, indirect: tl.constexpr,
    weighted: tl.constexpr, biased: tl.constexpr, based: tl.constexpr, drop: tl.constexpr,
    tile: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """out[r, h] = bias[h] + base[r] + Σ_e dropout(weight)[e, h] · x[other end of e, h].

    A program a piece, head and block of channels.
    """
    r, _node, begin, finish, lone, leads = own_edges(
        crow, owners, piece_row, piece_begin, piece_end, piece_lone, all_rows, pieces
    )
    if r < 0:
        return
    h = tl.program_id(1)
    c = tl.program_id(2) * block + tl.arange(0, block)
    inside = c < channels
    total = tl.zeros((tile, block), dtype=tl.float32)
    for start in range(begin, finish, tile):
        k = start + tl.arange(0, tile)
        e, valid, j = other_end(k, finish, edge, end, place, indirect, all_ends)
        valid = valid & (j >= 0)
        source = x + (j * x_heads + (h if x_heads > 1 else 0))[:, None] * channels + c[None, :]
        value = tl.load(source, mask=valid[:, None] & inside[None, :], other=0.0).to(tl.float32)
        if weighted:
            w = tl.load(weight + e * heads + h, mask=valid, other=0.0)
            value *= dropped(w, seed, e, heads, h, p, scale, drop)[:, None]
        total += value
    result = tl.sum(total, axis=0)
    if biased:
        once = tl.where(leads, 1.0, 0.0)  # of several pieces, the first adds it
        result += once * tl.load(bias + h * channels + c, mask=inside, other=0.0).to(tl.float32)
    if based:
        result += tl.where(leads, 1.0, 0.0) * tl.load(base + r * channels + c, mask=inside, other=0.0)
    put(out + (r * heads + h) * channels + c, result, inside, lone)


@triton.jit
def _own(
    own, table, out, rows, channels,
    features: tl.constexpr, padded: tl.constexpr, height: tl.constexpr, width: tl.constexpr,
):  # fmt: skip
    """out = own · table, for a handful of features: a product too thin for the libraries."""
    i = tl.program_id(0) * height + tl.arange(0, height)
    c = tl.program_id(1) * width + tl.arange(0, width)
    k = tl.arange(0, padded)
    known = k < features
    left = tl.load(own + i[:, None] * features + k[None, :], mask=(i < rows)[:, None] & known[None, :], other=0.0)
    inside = c < channels
    right = tl.load(table + k[:, None] * channels + c[None, :], mask=known[:, None] & inside[None, :], other=0.0)
    at = out + i[:, None].to(tl.int64) * channels + c[None, :]
    tl.store(at, tl.dot(left, right, input_precision="ieee"), mask=(i < rows)[:, None] & inside[None, :])


@triton.jit
def _edge_dots(row, col, position, place, a, b, out, heads, channels, block: tl.constexpr):
    """out[e, h] = ⟨a[position[row[e]], h], b[place[col[e]], h]⟩, one program per edge and head."""
    e = tl.program_id(0).to(tl.int64)
    h = tl.program_id(1)
    r, j = tl.load(position + tl.load(row + e)).to(tl.int64), tl.load(place + tl.load(col + e)).to(tl.int64)
    limit = tl.where((r >= 0) & (j >= 0), channels, 0)
    total = tl.zeros((block,), dtype=tl.float32)
    for start in range(0, channels, block):
        c = start + tl.arange(0, block)
        inside = c < limit
        left = tl.load(a + (r * heads + h) * channels + c, mask=inside, other=0.0).to(tl.float32)
        total += left * tl.load(b + (j * heads + h) * channels + c, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + e * heads + h, tl.sum(total, axis=0))


class _Aggregate(Function):
    @staticmethod
    def forward(
        ctx: Any, view: View, x: Tensor, weight: Tensor | None, own: Tensor | None, table: Tensor | None
    ) -> Tensor:
        ctx.view = view
        ctx.save_for_backward(x, weight, own)
        base = None if own is None or table is None else _own_product(own, table)
        return gather(forward_side(view), view.num_rows, x, weight, x.size(1), base=base)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        view, adj, (x, weight, own) = ctx.view, ctx.view.adj, ctx.saved_tensors
        grad, heads, channels = grad.contiguous(), grad.size(1), grad.size(2)
        gx = gweight = gtable = None
        if ctx.needs_input_grad[1]:
            gx = gather(backward_side(view), x.size(0), grad, weight, heads)
        if ctx.needs_input_grad[2]:
            gweight = torch.empty_like(weight)
            if gweight.numel():
                _edge_dots[(adj.col.numel(), heads)](
                    adj.row, adj.col, view.position, view.place, grad, x, gweight, heads, channels,
                    block=channel_block(channels), num_warps=1,
                )  # fmt: skip
        if ctx.needs_input_grad[4]:
            gtable = own.t() @ grad.sum(1) if heads > 1 else own.t() @ grad.squeeze(1)
        return None, gx, gweight, None, gtable


def _own_product(own: Tensor, table: Tensor) -> Tensor:
    (rows, features), channels = own.shape, table.size(1)
    out = own.new_empty(rows, channels)
    if out.numel():
        padded = max(16, triton.next_power_of_2(features))
        _own[(triton.cdiv(rows, 64), triton.cdiv(channels, 64))](
            own, table, out, rows, channels, features=features, padded=padded, height=64, width=64
        )
    return out


def gather(
    side: Side,
    rows: int,
    x: Tensor,
    weight: Tensor | None,
    heads: int,
    seed: Tensor | None = None,
    p: float = 0.0,
    bias: Tensor | None = None,
    base: Tensor | None = None,
) -> Tensor:
    """[rows, heads, channels]: the weighted sums over the other ends; `x` [n, 1 or heads, channels]."""
    channels = x.size(2)
    out = side.empty(x, rows, heads, channels)
    if out.numel():
        block = channel_block(channels)
        _gather[(side.programs, heads, triton.cdiv(channels, block))](
            **side.arguments, x=x, weight=x if weight is None else weight, bias=x if bias is None else bias,
            base=x if base is None else base, out=out,
            heads=heads, channels=channels, x_heads=x.size(1), **drawn(seed, p, x), weighted=weight is not None,
            biased=bias is not None, based=base is not None,
            tile=TILE, block=block, num_warps=WARPS,
        )  # fmt: skip
    return out


def aggregate(
    view: View, x: Tensor, weight: Tensor | None, own: Tensor | None = None, table: Tensor | None = None
) -> Tensor:
    weights = None if weight is None else weight.to(x.dtype).contiguous()
    if own is not None and table is not None:
        own, table = own.detach().to(x.dtype).contiguous(), table.to(x.dtype).contiguous()
    return _Aggregate.apply(view, x.contiguous(), weights, own, table)

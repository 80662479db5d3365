"""Attention over the edges of a row: weights, then their product with the features; three gradients in two launches."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from ..adjacency import View
from .aggregate import gather
from .tools import TILE, WARPS, backward_side, channel_block, dropped, forward_side, found_at, keep_of, own_row

WIDE = 32  # edges whose scores are looked at together


@triton.jit
def _scores(x, vectors, out, heads, channels, x_heads, block: tl.constexpr):
    """out[n, s, h] = ⟨x[n, h], vectors[s, h]⟩"""
    n = tl.program_id(0).to(tl.int64)
    h = tl.program_id(1)
    source = x + (n * x_heads + (h if x_heads > 1 else 0)) * channels
    a = tl.zeros((block,), dtype=tl.float32)
    b = tl.zeros((block,), dtype=tl.float32)
    for start in range(0, channels, block):
        c = start + tl.arange(0, block)
        inside = c < channels
        value = tl.load(source + c, mask=inside, other=0.0).to(tl.float32)
        a += value * tl.load(vectors + h * channels + c, mask=inside, other=0.0)
        b += value * tl.load(vectors + (heads + h) * channels + c, mask=inside, other=0.0)
    tl.store(out + (n * 2) * heads + h, tl.sum(a, axis=0))
    tl.store(out + (n * 2 + 1) * heads + h, tl.sum(b, axis=0))


@triton.jit
def _raw_logits(k, valid, col, place, keep, score, own, heads, h, all_ends: tl.constexpr, kept: tl.constexpr):
    """(score of sender + receiver, whether the edge counts, feature row of the sender or −1) of a tile of edges."""
    j = found_at(place, tl.load(col + k, mask=valid, other=0).to(tl.int64), valid, all_ends)
    if kept:
        valid = valid & (tl.load(keep + k, mask=valid, other=0) != 0)
    return own + tl.load(score + (j * 2) * heads + h, mask=valid & (j >= 0), other=0.0), valid, j


@triton.jit
def _own_score(place, score, i, heads, h, all_ends: tl.constexpr):
    at = i
    if not all_ends:
        at = tl.load(place + i).to(tl.int64)
    return tl.load(score + (at * 2 + 1) * heads + h, mask=at >= 0, other=0.0)


@triton.jit
def _leaky(v, valid, slope):
    return tl.where(valid, tl.where(v > 0, v, slope * v), float("-inf"))


@triton.jit
def _weights(
    crow, col, rows, order, place, keep, score, alpha, heads, slope,
    all_rows: tl.constexpr, all_ends: tl.constexpr, ordered: tl.constexpr, kept: tl.constexpr, wide: tl.constexpr,
):  # fmt: skip
    """alpha[e, h] = softmax over the edges of a row: a program a row and head. Most rows fit into one look."""
    _, i = own_row(rows, order, all_rows, ordered)
    h = tl.program_id(1)
    begin, finish = tl.load(crow + i).to(tl.int64), tl.load(crow + i + 1).to(tl.int64)
    own = _own_score(place, score, i, heads, h, all_ends)
    k = begin + tl.arange(0, wide)
    v, valid, _ = _raw_logits(k, k < finish, col, place, keep, score, own, heads, h, all_ends, kept)
    first = _leaky(v, valid, slope)
    highest = first
    for start in range(begin + wide, finish, wide):
        at = start + tl.arange(0, wide)
        v, valid, _ = _raw_logits(at, at < finish, col, place, keep, score, own, heads, h, all_ends, kept)
        highest = tl.maximum(highest, _leaky(v, valid, slope))
    top = tl.max(highest, axis=0)
    top = tl.where(top == float("-inf"), 0.0, top)  # no edge counts
    first = tl.exp(first - top)
    sums = first
    for start in range(begin + wide, finish, wide):
        at = start + tl.arange(0, wide)
        v, valid, _ = _raw_logits(at, at < finish, col, place, keep, score, own, heads, h, all_ends, kept)
        sums += tl.exp(_leaky(v, valid, slope) - top)
    total = tl.sum(sums, axis=0)
    total = tl.where(total > 0, total, 1.0)
    tl.store(alpha + k * heads + h, first / total, mask=k < finish)
    for start in range(begin + wide, finish, wide):
        at = start + tl.arange(0, wide)
        v, valid, _ = _raw_logits(at, at < finish, col, place, keep, score, own, heads, h, all_ends, kept)
        tl.store(alpha + at * heads + h, tl.exp(_leaky(v, valid, slope) - top) / total, mask=at < finish)


@triton.jit
def _rows_backward(
    crow, col, rows, order, place, keep, x, score, seed, alpha, grad, logit, own_grad, heads, channels, x_heads,
    slope, p, scale, all_rows: tl.constexpr, all_ends: tl.constexpr, ordered: tl.constexpr, kept: tl.constexpr,
    drop: tl.constexpr, tile: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Gradients of the logits of every edge of a row, and of the receiver's score: a program a row and head."""
    r, i = own_row(rows, order, all_rows, ordered)
    h = tl.program_id(1)
    begin, finish = tl.load(crow + i).to(tl.int64), tl.load(crow + i + 1).to(tl.int64)
    own = _own_score(place, score, i, heads, h, all_ends)
    sums = tl.zeros((tile,), dtype=tl.float32)
    for start in range(begin, finish, tile):
        k = start + tl.arange(0, tile)
        _, valid, j = _raw_logits(k, k < finish, col, place, keep, score, own, heads, h, all_ends, kept)
        products = tl.zeros((tile, block), dtype=tl.float32)
        for first in range(0, channels, block):
            c = first + tl.arange(0, block)
            left = tl.load(grad + (r * heads + h) * channels + c, mask=c < channels, other=0.0).to(tl.float32)
            source = x + (j * x_heads + (h if x_heads > 1 else 0))[:, None] * channels + c[None, :]
            right = tl.load(source, mask=(valid & (j >= 0))[:, None] & (c < channels)[None, :], other=0.0)
            products += left[None, :] * right.to(tl.float32)
        dot = dropped(tl.sum(products, axis=1), seed, k, heads, h, p, scale, drop)
        tl.store(logit + k * heads + h, dot, mask=k < finish)
        sums += tl.load(alpha + k * heads + h, mask=valid, other=0.0) * dot
    total = tl.sum(sums, axis=0)
    mine = tl.zeros((tile,), dtype=tl.float32)
    for start in range(begin, finish, tile):
        k = start + tl.arange(0, tile)
        v, valid, _ = _raw_logits(k, k < finish, col, place, keep, score, own, heads, h, all_ends, kept)
        w = tl.load(alpha + k * heads + h, mask=valid, other=0.0)
        g = w * (tl.load(logit + k * heads + h, mask=k < finish, other=0.0) - total)
        g = tl.where(v > 0, g, slope * g)
        tl.store(logit + k * heads + h, g, mask=k < finish)
        mine += g
    tl.store(own_grad + r * heads + h, tl.sum(mine, axis=0))


@triton.jit
def _cols_backward(
    crow, edge, end, rows, order, place, vectors, seed, alpha, grad, logit, own_grad, gx, gscore, heads, channels,
    p, scale, all_rows: tl.constexpr, all_ends: tl.constexpr, ordered: tl.constexpr, shared: tl.constexpr,
    num_heads: tl.constexpr, drop: tl.constexpr, tile: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """gx[n, h] = Σ_e dropout(alpha)[e, h] · grad[row of e, h] + the part through both scores: a program a node, block.

    Where all heads share x, one program adds up all of them.
    """
    n, j = own_row(rows, order, all_rows, ordered)
    c = tl.program_id(2) * block + tl.arange(0, block)
    inside = c < channels
    begin, finish = tl.load(crow + j).to(tl.int64), tl.load(crow + j + 1).to(tl.int64)
    mine = j
    if not all_ends:
        mine = tl.load(place + j).to(tl.int64)
    total = tl.zeros((tile, block), dtype=tl.float32)
    through = tl.zeros((block,), dtype=tl.float32)
    for at in range(num_heads if shared else 1):
        h = at if shared else tl.program_id(1)
        sums = tl.zeros((tile,), dtype=tl.float32)
        for start in range(begin, finish, tile):
            k = start + tl.arange(0, tile)
            valid = k < finish
            e = tl.load(edge + k, mask=valid, other=0).to(tl.int64)
            r = found_at(place, tl.load(end + e, mask=valid, other=0).to(tl.int64), valid, all_ends)
            valid = valid & (r >= 0)
            sums += tl.load(logit + e * heads + h, mask=valid, other=0.0)
            w = dropped(tl.load(alpha + e * heads + h, mask=valid, other=0.0), seed, e, heads, h, p, scale, drop)
            source = grad + (r * heads + h)[:, None] * channels + c[None, :]
            value = tl.load(source, mask=valid[:, None] & inside[None, :], other=0.0).to(tl.float32)
            total += value * w[:, None]
        a = tl.sum(sums, axis=0)
        b = tl.load(own_grad + mine * heads + h, mask=mine >= 0, other=0.0)
        if tl.program_id(2) == 0:
            tl.store(gscore + (n * 2) * heads + h, a)
            tl.store(gscore + (n * 2 + 1) * heads + h, b)
        through += a * tl.load(vectors + h * channels + c, mask=inside, other=0.0)
        through += b * tl.load(vectors + (heads + h) * channels + c, mask=inside, other=0.0)
    row = n if shared else n * heads + tl.program_id(1)
    tl.store(gx + row * channels + c, tl.sum(total, axis=0) + through, mask=inside)


class _Attend(Function):
    @staticmethod
    def forward(ctx: Any, view: View, x: Tensor, vectors: Tensor, slope: float, p: float) -> Tensor:
        adj, heads, channels = view.adj, vectors.size(1), x.size(2)
        score = x.new_empty(x.size(0), 2, heads, dtype=torch.float32)
        alpha = x.new_empty(adj.col.numel(), heads, dtype=torch.float32)
        seed = torch.randint(2**31 - 1, (1,), device=x.device) if p else None
        if x.size(0):
            _scores[(x.size(0), heads)](
                x, vectors, score, heads, channels, x.size(1), block=channel_block(channels), num_warps=1
            )
        if view.num_rows:
            _weights[(view.num_rows, heads)](
                adj.crow, adj.col, score=score, alpha=alpha, heads=heads, slope=slope, **forward_side(view),
                **keep_of(view), wide=WIDE, num_warps=1,
            )  # fmt: skip
        ctx.view, ctx.slope, ctx.p = view, slope, p
        ctx.save_for_backward(x, vectors, score, alpha, seed)
        return gather(view, x, alpha, heads, seed, p)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, Tensor | None, None, None]:
        view, p, adj, (x, vectors, score, alpha, seed) = ctx.view, ctx.p, ctx.view.adj, ctx.saved_tensors
        grad, heads, channels, shared = grad.contiguous(), vectors.size(1), x.size(2), x.size(1) == 1
        logit, own = torch.empty_like(alpha), grad.new_empty(grad.shape[:2], dtype=torch.float32)
        gx, gscore, block = torch.empty_like(x), torch.empty_like(score), channel_block(channels)
        draw = {"seed": alpha if seed is None else seed, "p": p, "scale": 1 / (1 - p), "drop": p > 0}
        if grad.numel():
            _rows_backward[(view.num_rows, heads)](
                adj.crow, adj.col, x=x, score=score, alpha=alpha, grad=grad, logit=logit, own_grad=own, heads=heads,
                channels=channels, x_heads=x.size(1), slope=ctx.slope, **draw, **forward_side(view), **keep_of(view),
                tile=TILE, block=block, num_warps=WARPS,
            )  # fmt: skip
        if gx.numel():
            crow, edge = adj.transpose
            _cols_backward[(x.size(0), 1 if shared else heads, triton.cdiv(channels, block))](
                crow, edge, adj.row, vectors=vectors, alpha=alpha, grad=grad, logit=logit, own_grad=own, gx=gx,
                gscore=gscore, heads=heads, channels=channels, **draw, **backward_side(view), shared=shared,
                num_heads=heads, tile=TILE, block=block, num_warps=WARPS,
            )  # fmt: skip
        gvectors = _weighted_sums(gscore, x) if ctx.needs_input_grad[2] else None
        return None, gx, gvectors, None, None


def _weighted_sums(weight: Tensor, x: Tensor) -> Tensor:
    """[2, heads, channels]: Σ_n weight[n, s, h] · x[n, h].

    All heads with all heads in one product, of which the diagonal is kept: far faster than a thin batched one.
    """
    (count, shared, channels), heads = x.shape, weight.size(2)
    every = (weight.view(count, -1).t() @ x.view(count, -1).to(weight.dtype)).view(2, heads, shared, channels)
    return every.squeeze(2) if shared == 1 else every.diagonal(dim1=1, dim2=2).transpose(1, 2)


def attend(view: View, x: Tensor, vectors: Tensor, slope: float, p: float) -> Tensor:
    return _Attend.apply(view, x.contiguous(), vectors.float().contiguous(), slope, p)

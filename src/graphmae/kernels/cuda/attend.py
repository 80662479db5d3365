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
from .tools import (
    TILE,
    WARPS,
    backward_side,
    channel_block,
    drawn,
    dropped,
    forward_side,
    fresh_seed,
    other_end,
    own_edges,
    put,
)

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
def _score(score, at, which, heads, h, mask):
    return tl.load(score + (at * 2 + which) * heads + h, mask=mask & (at >= 0), other=0.0)


@triton.jit
def _located(place, i, all_ends: tl.constexpr):
    at = i
    if not all_ends:
        at = tl.load(place + i).to(tl.int64)
    return at


@triton.jit
def _leaky(k, finish, col, place, score, own, slope, heads, h, all_ends: tl.constexpr):
    """Logits of a tile of edges, −∞ for those that do not count."""
    _, valid, j = other_end(k, finish, col, col, place, False, all_ends)
    v = own + _score(score, j, 0, heads, h, valid)
    return tl.where(valid, tl.where(v > 0, v, slope * v), float("-inf"))


@triton.jit
def _weights(
    crow, col, rows, place, score, alpha, heads, slope,
    all_rows: tl.constexpr, all_ends: tl.constexpr, wide: tl.constexpr,
):  # fmt: skip
    """alpha[e, h] = softmax over the edges of a row: a program a row and head. Most rows fit into one look."""
    i = tl.program_id(0).to(tl.int64)
    if not all_rows:
        i = tl.load(rows + i).to(tl.int64)
    h = tl.program_id(1)
    begin, finish = tl.load(crow + i).to(tl.int64), tl.load(crow + i + 1).to(tl.int64)
    mine = _located(place, i, all_ends)
    own = _score(score, mine, 1, heads, h, mine >= 0)
    k = begin + tl.arange(0, wide)
    first = _leaky(k, finish, col, place, score, own, slope, heads, h, all_ends)
    highest = first
    for start in range(begin + wide, finish, wide):
        at = start + tl.arange(0, wide)
        v = _leaky(at, finish, col, place, score, own, slope, heads, h, all_ends)
        highest = tl.maximum(highest, v)
    top = tl.max(highest, axis=0)
    top = tl.where(top == float("-inf"), 0.0, top)  # no edge counts
    first = tl.exp(first - top)
    sums = first
    for start in range(begin + wide, finish, wide):
        at = start + tl.arange(0, wide)
        v = _leaky(at, finish, col, place, score, own, slope, heads, h, all_ends)
        sums += tl.exp(v - top)
    total = tl.sum(sums, axis=0)
    total = tl.where(total > 0, total, 1.0)
    tl.store(alpha + k * heads + h, first / total, mask=k < finish)
    for start in range(begin + wide, finish, wide):
        at = start + tl.arange(0, wide)
        v = _leaky(at, finish, col, place, score, own, slope, heads, h, all_ends)
        tl.store(alpha + at * heads + h, tl.exp(v - top) / total, mask=at < finish)


@triton.jit
def _rows_backward(
    crow, edge, end, place, owners, piece_row, piece_begin, piece_end, piece_lone,
    x, score, seed, alpha, grad, dots, sums, heads, channels, x_heads, slope, p, scale,
    all_rows: tl.constexpr, all_ends: tl.constexpr, pieces: tl.constexpr, indirect: tl.constexpr,
    drop: tl.constexpr, tile: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """dots[e, h]: the gradient of alpha. With l' the slope at the logit, sums[r] = Σ α d, Σ α d l', Σ α l', own score.

    From these, the logit's gradient is α (d − sums₀) l', and the receiver's score has sums₁ − sums₀ · sums₂.
    """
    r, i, begin, finish, lone, leads = own_edges(
        crow, owners, piece_row, piece_begin, piece_end, piece_lone, all_rows, pieces
    )
    if r < 0:
        return
    h = tl.program_id(1)
    mine = _located(place, i, all_ends)
    own = _score(score, mine, 1, heads, h, mine >= 0)
    total = tl.zeros((tile,), dtype=tl.float32)
    sloped = tl.zeros((tile,), dtype=tl.float32)
    slopes = tl.zeros((tile,), dtype=tl.float32)
    for start in range(begin, finish, tile):
        k = start + tl.arange(0, tile)
        e, valid, j = other_end(k, finish, edge, end, place, indirect, all_ends)
        products = tl.zeros((tile, block), dtype=tl.float32)
        for first in range(0, channels, block):
            c = first + tl.arange(0, block)
            left = tl.load(grad + (r * heads + h) * channels + c, mask=c < channels, other=0.0).to(tl.float32)
            source = x + (j * x_heads + (h if x_heads > 1 else 0))[:, None] * channels + c[None, :]
            right = tl.load(source, mask=(valid & (j >= 0))[:, None] & (c < channels)[None, :], other=0.0)
            products += left[None, :] * right.to(tl.float32)
        dot = dropped(tl.sum(products, axis=1), seed, e, heads, h, p, scale, drop)
        tl.store(dots + e * heads + h, dot, mask=k < finish)
        w = tl.load(alpha + e * heads + h, mask=valid, other=0.0)
        bent = w * tl.where(own + _score(score, j, 0, heads, h, valid) > 0, 1.0, slope)
        total += w * dot
        sloped += bent * dot
        slopes += bent
    at = sums + (r * heads + h) * 4
    put(at, tl.sum(total, axis=0), None, lone)
    put(at + 1, tl.sum(sloped, axis=0), None, lone)
    put(at + 2, tl.sum(slopes, axis=0), None, lone)
    if leads:
        tl.store(at + 3, own)


@triton.jit
def _cols_backward(
    crow, edge, end, place, owners, piece_row, piece_begin, piece_end, piece_lone,
    vectors, score, seed, alpha, grad, dots, sums, gx, gscore, heads, channels, slope, p, scale,
    all_rows: tl.constexpr, all_ends: tl.constexpr, pieces: tl.constexpr, indirect: tl.constexpr,
    shared: tl.constexpr, num_heads: tl.constexpr, drop: tl.constexpr, tile: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """gx[n, h] = Σ_e dropout(alpha)[e, h] · grad[row of e, h] + the part through both scores: a program a piece, block.

    Where all heads share x, one program adds up all of them.
    """
    n, j, begin, finish, lone, leads = own_edges(
        crow, owners, piece_row, piece_begin, piece_end, piece_lone, all_rows, pieces
    )
    if n < 0:
        return
    c = tl.program_id(2) * block + tl.arange(0, block)
    inside = c < channels
    mine = _located(place, j, all_ends)
    total = tl.zeros((tile, block), dtype=tl.float32)
    through = tl.zeros((block,), dtype=tl.float32)
    for at in range(num_heads if shared else 1):
        h = at if shared else tl.program_id(1)
        sent = tl.load(score + (n * 2) * heads + h)
        gained = tl.zeros((tile,), dtype=tl.float32)
        for start in range(begin, finish, tile):
            k = start + tl.arange(0, tile)
            e, valid, r = other_end(k, finish, edge, end, place, indirect, all_ends)
            valid = valid & (r >= 0)
            w = tl.load(alpha + e * heads + h, mask=valid, other=0.0)
            about = sums + (r * heads + h) * 4
            d = tl.load(dots + e * heads + h, mask=valid, other=0.0) - tl.load(about, mask=valid, other=0.0)
            gained += w * d * tl.where(sent + tl.load(about + 3, mask=valid, other=0.0) > 0, 1.0, slope)
            source = grad + (r * heads + h)[:, None] * channels + c[None, :]
            value = tl.load(source, mask=valid[:, None] & inside[None, :], other=0.0).to(tl.float32)
            total += value * dropped(w, seed, e, heads, h, p, scale, drop)[:, None]
        a = tl.sum(gained, axis=0)
        about = sums + (mine * heads + h) * 4
        is_row = (mine >= 0) & leads  # only one of several pieces adds what comes through the node as a receiver
        b = tl.load(about + 1, mask=is_row, other=0.0)
        b -= tl.load(about, mask=is_row, other=0.0) * tl.load(about + 2, mask=is_row, other=0.0)
        if tl.program_id(2) == 0:
            put(gscore + (n * 2) * heads + h, a, None, lone)
            put(gscore + (n * 2 + 1) * heads + h, b, None, lone)
        through += a * tl.load(vectors + h * channels + c, mask=inside, other=0.0)
        through += b * tl.load(vectors + (heads + h) * channels + c, mask=inside, other=0.0)
    row = n if shared else n * heads + tl.program_id(1)
    put(gx + row * channels + c, tl.sum(total, axis=0) + through, inside, lone)


class _Attend(Function):
    @staticmethod
    def forward(ctx: Any, view: View, x: Tensor, vectors: Tensor, slope: float, p: float) -> Tensor:
        adj, heads, channels, side = view.adj, vectors.size(1), x.size(2), forward_side(view)
        score = x.new_empty(x.size(0), 2, heads, dtype=torch.float32)
        alpha = x.new_empty(adj.col.numel(), heads, dtype=torch.float32)
        seed = fresh_seed(p, x.device)
        if x.size(0):
            _scores[(x.size(0), heads)](
                x, vectors, score, heads, channels, x.size(1), block=channel_block(channels), num_warps=1
            )
        if view.num_rows:
            _weights[(view.num_rows, heads)](
                adj.crow, adj.col, view.wanted, view.place, score, alpha, heads, slope,
                all_rows=view.rows is None, all_ends=view.nodes is None,
                wide=WIDE, num_warps=1,
            )  # fmt: skip
        ctx.view, ctx.slope, ctx.p = view, slope, p
        ctx.save_for_backward(x, vectors, score, alpha, seed)
        return gather(side, view.num_rows, x, alpha, heads, seed, p)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, Tensor | None, None, None]:
        view, p, (x, vectors, score, alpha, seed) = ctx.view, ctx.p, ctx.saved_tensors
        grad, heads, channels, shared = grad.contiguous(), vectors.size(1), x.size(2), x.size(1) == 1
        ahead, back, block = forward_side(view), backward_side(view), channel_block(channels)
        dots, sums = torch.empty_like(alpha), ahead.empty(score, view.num_rows, heads, 4)
        gx, gscore = back.empty(x, *x.shape), back.empty(score, *score.shape)
        constants = {"heads": heads, "channels": channels, "slope": ctx.slope, **drawn(seed, p, alpha)}
        if grad.numel():
            _rows_backward[(ahead.programs, heads)](
                **ahead.arguments, x=x, score=score, alpha=alpha, grad=grad, dots=dots, sums=sums,
                x_heads=x.size(1), **constants, tile=TILE, block=block, num_warps=WARPS,
            )  # fmt: skip
        if gx.numel():
            _cols_backward[(back.programs, 1 if shared else heads, triton.cdiv(channels, block))](
                **back.arguments, vectors=vectors, score=score, alpha=alpha, grad=grad, dots=dots, sums=sums,
                gx=gx, gscore=gscore, **constants, shared=shared, num_heads=heads,
                tile=TILE, block=block, num_warps=WARPS,
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

"""Attention over the edges of a row: weights, then their product with the features. Wide rows are gathered once each
way; what else the gradients need is one number per edge and head."""

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
    add,
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


def _look(heads: int) -> dict[str, int]:
    """How many edges are looked at together, with all their heads: few enough for the registers of one warp."""
    padded = triton.next_power_of_2(heads)
    return {"tile": max(4, min(32, 128 // padded)), "padded": padded}


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
    """[edges, heads] of one node or a tile of them; 0 where a node is not given."""
    at = at + 0 * h
    return tl.load(score + (at * 2 + which) * heads + h, mask=mask & (at >= 0) & (h < heads), other=0.0)


@triton.jit
def _located(place, i, all_ends: tl.constexpr):
    at = i
    if not all_ends:
        at = tl.load(place + i).to(tl.int64)
    return at


@triton.jit
def _leaky(k, finish, col, place, logs, score, own, slope, heads, h, all_ends: tl.constexpr, weighted: tl.constexpr):
    """Logits [edges, heads] of a tile, −∞ for edges that do not count."""
    _, valid, j = other_end(k, finish, col, col, place, False, all_ends)
    v = own + _score(score, j[:, None], 0, heads, h, valid[:, None])
    v = tl.where(v > 0, v, slope * v)
    if weighted:
        v += tl.load(logs + k, mask=k < finish, other=0.0)[:, None]
    return tl.where(valid[:, None], v, float("-inf"))


@triton.jit
def _weights(
    crow, col, rows, place, logs, score, alpha, heads, slope,
    all_rows: tl.constexpr, all_ends: tl.constexpr, weighted: tl.constexpr, tile: tl.constexpr, padded: tl.constexpr,
):  # fmt: skip
    """alpha[e, h] = softmax over the edges of a row: one program per row. Most rows fit into one look."""
    i = tl.program_id(0).to(tl.int64)
    if not all_rows:
        i = tl.load(rows + i).to(tl.int64)
    h = tl.arange(0, padded)[None, :]
    begin, finish = tl.load(crow + i).to(tl.int64), tl.load(crow + i + 1).to(tl.int64)
    mine = _located(place, i, all_ends)
    own = _score(score, mine, 1, heads, h, h < heads)
    k = begin + tl.arange(0, tile)
    first = _leaky(k, finish, col, place, logs, score, own, slope, heads, h, all_ends, weighted)
    highest = first
    for start in range(begin + tile, finish, tile):
        at = start + tl.arange(0, tile)
        highest = tl.maximum(
            highest, _leaky(at, finish, col, place, logs, score, own, slope, heads, h, all_ends, weighted)
        )
    top = tl.max(highest, axis=0)[None, :]
    top = tl.where(top == float("-inf"), 0.0, top)  # no edge counts
    first = tl.exp(first - top)
    sums = first
    for start in range(begin + tile, finish, tile):
        at = start + tl.arange(0, tile)
        sums += tl.exp(_leaky(at, finish, col, place, logs, score, own, slope, heads, h, all_ends, weighted) - top)
    total = tl.sum(sums, axis=0)[None, :]
    total = tl.where(total > 0, total, 1.0)
    tl.store(alpha + k[:, None] * heads + h, first / total, mask=(k < finish)[:, None] & (h < heads))
    for start in range(begin + tile, finish, tile):
        at = start + tl.arange(0, tile)
        v = tl.exp(_leaky(at, finish, col, place, logs, score, own, slope, heads, h, all_ends, weighted) - top)
        tl.store(alpha + at[:, None] * heads + h, v / total, mask=(at < finish)[:, None] & (h < heads))


@triton.jit
def _cols_backward(
    crow, edge, end, place, owners, piece_row, piece_begin, piece_end, piece_lone,
    x, seed, alpha, grad, dots, gx, heads, channels, p, scale,
    all_rows: tl.constexpr, all_ends: tl.constexpr, pieces: tl.constexpr, indirect: tl.constexpr,
    shared: tl.constexpr, num_heads: tl.constexpr, whole: tl.constexpr, drop: tl.constexpr,
    tile: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """gx[n, h] = Σ_e dropout(alpha)[e, h] · grad[row of e, h] and dots[e, h], alpha's gradient ⟨x[n, h], grad[row, h]⟩.

    Both want the same rows of `grad`: a program a piece of a column, head and block of channels. Where all heads share
    x, one program adds up all of them; where blocks are not `whole` rows, several add to one of `dots`.
    """
    n, _node, begin, finish, lone, _leads = own_edges(
        crow, owners, piece_row, piece_begin, piece_end, piece_lone, all_rows, pieces
    )
    if n < 0:
        return
    c = tl.program_id(2) * block + tl.arange(0, block)
    inside = c < channels
    row = n if shared else n * heads + tl.program_id(1)
    own = tl.load(x + row * channels + c, mask=inside, other=0.0).to(tl.float32)
    total = tl.zeros((tile, block), dtype=tl.float32)
    for at in range(num_heads if shared else 1):
        h = at if shared else tl.program_id(1)
        for start in range(begin, finish, tile):
            k = start + tl.arange(0, tile)
            e, valid, r = other_end(k, finish, edge, end, place, indirect, all_ends)
            valid = valid & (r >= 0)
            source = grad + (r * heads + h)[:, None] * channels + c[None, :]
            value = tl.load(source, mask=valid[:, None] & inside[None, :], other=0.0).to(tl.float32)
            kept = dropped(tl.full((tile,), 1.0, dtype=tl.float32), seed, e, heads, h, p, scale, drop)
            total += value * (tl.load(alpha + e * heads + h, mask=valid, other=0.0) * kept)[:, None]
            put(dots + e * heads + h, tl.sum(value * own[None, :], axis=1) * kept, valid, whole)
    put(gx + row * channels + c, tl.sum(total, axis=0), inside, lone)


@triton.jit
def _rows_backward(
    crow, edge, end, place, owners, piece_row, piece_begin, piece_end, piece_lone,
    score, alpha, dots, sums, heads, slope,
    all_rows: tl.constexpr, all_ends: tl.constexpr, pieces: tl.constexpr, indirect: tl.constexpr,
    tile: tl.constexpr, padded: tl.constexpr,
):  # fmt: skip
    """With d = dots and l' the slope at the logit, sums[r, h] = Σ α d, Σ α d l', Σ α l', own score.

    From these, the logit's gradient is α (d − sums₀) l', and the receiver's score has sums₁ − sums₀ · sums₂.
    """
    r, i, begin, finish, lone, leads = own_edges(
        crow, owners, piece_row, piece_begin, piece_end, piece_lone, all_rows, pieces
    )
    if r < 0:
        return
    h = tl.arange(0, padded)[None, :]
    mine = _located(place, i, all_ends)
    own = _score(score, mine, 1, heads, h, h < heads)
    total = tl.zeros((tile, padded), dtype=tl.float32)
    sloped = tl.zeros((tile, padded), dtype=tl.float32)
    slopes = tl.zeros((tile, padded), dtype=tl.float32)
    for start in range(begin, finish, tile):
        k = start + tl.arange(0, tile)
        e, valid, j = other_end(k, finish, edge, end, place, indirect, all_ends)
        e, j, valid = e[:, None], j[:, None], valid[:, None] & (h < heads)
        w = tl.load(alpha + e * heads + h, mask=valid, other=0.0)
        d = tl.load(dots + e * heads + h, mask=valid & (j >= 0), other=0.0)
        bent = w * tl.where(own + _score(score, j, 0, heads, h, valid) > 0, 1.0, slope)
        total += w * d
        sloped += bent * d
        slopes += bent
    head = tl.arange(0, padded)
    at = sums + (r * heads + head) * 4
    put(at, tl.sum(total, axis=0), head < heads, lone)
    put(at + 1, tl.sum(sloped, axis=0), head < heads, lone)
    put(at + 2, tl.sum(slopes, axis=0), head < heads, lone)
    if leads:
        tl.store(sums + (r * heads + h) * 4 + 3, own, mask=h < heads)


@triton.jit
def _scores_backward(
    crow, edge, end, place, owners, piece_row, piece_begin, piece_end, piece_lone,
    vectors, score, alpha, dots, sums, gx, gscore, heads, channels, slope,
    all_rows: tl.constexpr, all_ends: tl.constexpr, pieces: tl.constexpr, indirect: tl.constexpr,
    shared: tl.constexpr, tile: tl.constexpr, padded: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """gscore, and into gx the part that comes through both scores: a program a piece of a column."""
    n, j, begin, finish, lone, leads = own_edges(
        crow, owners, piece_row, piece_begin, piece_end, piece_lone, all_rows, pieces
    )
    if n < 0:
        return
    h = tl.arange(0, padded)[None, :]
    mine = _located(place, j, all_ends)
    sent = _score(score, n, 0, heads, h, h < heads)
    gained = tl.zeros((tile, padded), dtype=tl.float32)
    for start in range(begin, finish, tile):
        k = start + tl.arange(0, tile)
        e, valid, r = other_end(k, finish, edge, end, place, indirect, all_ends)
        e, r, valid = e[:, None], r[:, None], (valid & (r >= 0))[:, None] & (h < heads)
        about = sums + (r * heads + h) * 4
        d = tl.load(dots + e * heads + h, mask=valid, other=0.0) - tl.load(about, mask=valid, other=0.0)
        bend = tl.where(sent + tl.load(about + 3, mask=valid, other=0.0) > 0, 1.0, slope)
        gained += tl.load(alpha + e * heads + h, mask=valid, other=0.0) * d * bend
    a = tl.sum(gained, axis=0)
    head = tl.arange(0, padded)
    mine = tl.where(leads, mine, -1) + 0 * head  # only one of several pieces adds what comes through the receiver
    about = sums + (mine * heads + head) * 4
    is_row = (mine >= 0) & (head < heads)
    b = tl.load(about + 1, mask=is_row, other=0.0)
    b -= tl.load(about, mask=is_row, other=0.0) * tl.load(about + 2, mask=is_row, other=0.0)
    put(gscore + (n * 2) * heads + head, a, head < heads, lone)
    put(gscore + (n * 2 + 1) * heads + head, b, head < heads, lone)
    for start in range(0, channels, block):
        c = start + tl.arange(0, block)
        at = head[:, None] * channels + c[None, :]
        inside = (head < heads)[:, None] & (c < channels)[None, :]
        through = a[:, None] * tl.load(vectors + at, mask=inside, other=0.0)
        through += b[:, None] * tl.load(vectors + heads * channels + at, mask=inside, other=0.0)
        if shared:
            add(gx + n * channels + c, tl.sum(through, axis=0), c < channels, lone)
        else:
            add(gx + n * heads * channels + at, through, inside, lone)


class _Attend(Function):
    @staticmethod
    def forward(
        ctx: Any, view: View, x: Tensor, vectors: Tensor, bias: Tensor | None, slope: float, p: float
    ) -> Tensor:
        adj, heads, channels, side = view.adj, vectors.size(1), x.size(2), forward_side(view)
        score = x.new_empty(x.size(0), 2, heads, dtype=torch.float32)
        alpha = x.new_empty(adj.col.numel(), heads, dtype=torch.float32)
        seed, logs = fresh_seed(p, x.device), adj.log_weight
        if x.size(0):
            _scores[(x.size(0), heads)](
                x, vectors, score, heads, channels, x.size(1), block=channel_block(channels), num_warps=1
            )
        if view.num_rows:
            _weights[(view.num_rows,)](
                adj.crow, adj.col, view.wanted, view.place, score if logs is None else logs, score, alpha, heads, slope,
                all_rows=view.rows is None, all_ends=view.nodes is None, weighted=logs is not None, **_look(heads),
                num_warps=1,
            )  # fmt: skip
        ctx.view, ctx.slope, ctx.p = view, slope, p
        ctx.save_for_backward(x, vectors, score, alpha, seed)
        return gather(side, view.num_rows, x, alpha, heads, seed, p, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, Tensor | None, Tensor | None, None, None]:
        view, p, (x, vectors, score, alpha, seed) = ctx.view, ctx.p, ctx.saved_tensors
        grad, heads, channels, shared = grad.contiguous(), vectors.size(1), x.size(2), x.size(1) == 1
        ahead, back, block = forward_side(view), backward_side(view), channel_block(channels)
        blocks, look = triton.cdiv(channels, block), _look(heads)
        dots = torch.empty_like(alpha) if blocks == 1 else torch.zeros_like(alpha)
        sums = ahead.empty(score, view.num_rows, heads, 4)
        gx, gscore = back.empty(x, *x.shape), back.empty(score, *score.shape)
        if gx.numel():
            _cols_backward[(back.programs, 1 if shared else heads, blocks)](
                **back.arguments, x=x, alpha=alpha, grad=grad, dots=dots, gx=gx, heads=heads, channels=channels,
                **drawn(seed, p, alpha), shared=shared, num_heads=heads, whole=blocks == 1,
                tile=TILE, block=block, num_warps=WARPS,
            )  # fmt: skip
        if grad.numel():
            _rows_backward[(ahead.programs,)](
                **ahead.arguments, score=score, alpha=alpha, dots=dots, sums=sums, heads=heads, slope=ctx.slope,
                **look, num_warps=1,
            )  # fmt: skip
        if gx.numel():
            _scores_backward[(back.programs,)](
                **back.arguments, vectors=vectors, score=score, alpha=alpha, dots=dots, sums=sums, gx=gx, gscore=gscore,
                heads=heads, channels=channels, slope=ctx.slope, shared=shared, **look, block=block, num_warps=1,
            )  # fmt: skip
        gvectors = _weighted_sums(gscore, x) if ctx.needs_input_grad[2] else None
        return None, gx, gvectors, grad.sum(0) if ctx.needs_input_grad[3] else None, None, None


def _weighted_sums(weight: Tensor, x: Tensor) -> Tensor:
    """[2, heads, channels]: Σ_n weight[n, s, h] · x[n, h].

    All heads with all heads in one product, of which the diagonal is kept: far faster than a thin batched one.
    """
    (_, shared, channels), heads = x.shape, weight.size(2)
    every = (weight.flatten(1).t() @ x.flatten(1).to(weight.dtype)).view(2, heads, shared, channels)
    return every.squeeze(2) if shared == 1 else every.diagonal(dim1=1, dim2=2).transpose(1, 2)


def attend(view: View, x: Tensor, vectors: Tensor, slope: float, p: float, bias: Tensor | None = None) -> Tensor:
    bias = None if bias is None else bias.contiguous()
    return _Attend.apply(view, x.contiguous(), vectors.float().contiguous(), bias, slope, p)

"""Attention over the edges of a row: softmax, dropout and sum in one pass, three gradients in two."""

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

TILE, WIDE = 16, 64  # edges whose features, whose scores are looked at together
BLOCK = 128  # channels a program holds


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
def _logits(k, valid, col, place, keep, score, own, slope, heads, h, kept: tl.constexpr):
    """(leaky logits, whether the edge counts, feature row of the sender or −1) of a tile of edges."""
    j = tl.load(place + tl.load(col + k, mask=valid, other=0), mask=valid, other=-1).to(tl.int64)
    if kept:
        valid = valid & (tl.load(keep + k, mask=valid, other=0) != 0)
    v = own + tl.load(score + (j * 2) * heads + h, mask=valid & (j >= 0), other=0.0)
    return tl.where(v > 0, v, slope * v), valid, j, v > 0


@triton.jit
def _own(place, score, i, heads, h):
    at = tl.load(place + i).to(tl.int64)
    return tl.load(score + (at * 2 + 1) * heads + h, mask=at >= 0, other=0.0)


@triton.jit
def _dropped(w, seed, k, heads, h, p, scale, drop: tl.constexpr):
    if drop:
        w = tl.where(tl.rand(tl.load(seed), (k * heads + h).to(tl.int32)) >= p, w * scale, 0.0)
    return w


@triton.jit
def _attend(
    crow, col, rows, order, place, keep, x, score, seed, alpha, out, heads, channels, x_heads, slope, p, scale,
    kept: tl.constexpr, drop: tl.constexpr, ordered: tl.constexpr,
    tile: tl.constexpr, wide: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """alpha[e, h] = softmax of a row; out[r, h] = Σ_e dropout(alpha) · x[sender, h]: a program a row, head, block."""
    r = tl.load(order + tl.program_id(0)).to(tl.int64) if ordered else tl.program_id(0).to(tl.int64)
    h = tl.program_id(1)
    c = tl.program_id(2) * block + tl.arange(0, block)
    inside = c < channels
    i = tl.load(rows + r)
    begin, finish = tl.load(crow + i).to(tl.int64), tl.load(crow + i + 1).to(tl.int64)
    own = _own(place, score, i, heads, h)
    highest = tl.full((wide,), float("-inf"), dtype=tl.float32)
    for start in range(begin, finish, wide):
        k = start + tl.arange(0, wide)
        v, valid, _, _ = _logits(k, k < finish, col, place, keep, score, own, slope, heads, h, kept)
        highest = tl.maximum(highest, tl.where(valid, v, float("-inf")))
    top = tl.max(highest, axis=0)
    sums = tl.zeros((wide,), dtype=tl.float32)
    for start in range(begin, finish, wide):
        k = start + tl.arange(0, wide)
        v, valid, _, _ = _logits(k, k < finish, col, place, keep, score, own, slope, heads, h, kept)
        sums += tl.where(valid, tl.exp(v - top), 0.0)
    total = tl.sum(sums, axis=0)
    acc = tl.zeros((block,), dtype=tl.float32)
    for start in range(begin, finish, tile):
        k = start + tl.arange(0, tile)
        v, valid, j, _ = _logits(k, k < finish, col, place, keep, score, own, slope, heads, h, kept)
        w = tl.where(valid, tl.exp(v - top) / total, 0.0)
        if tl.program_id(2) == 0:
            tl.store(alpha + k * heads + h, w, mask=k < finish)
        w = _dropped(w, seed, k, heads, h, p, scale, drop)
        source = x + (j * x_heads + (h if x_heads > 1 else 0))[:, None] * channels + c[None, :]
        value = tl.load(source, mask=(valid & (j >= 0))[:, None] & inside[None, :], other=0.0).to(tl.float32)
        acc += tl.sum(value * w[:, None], axis=0)
    tl.store(out + (r * heads + h) * channels + c, acc, mask=inside)


@triton.jit
def _rows_backward(
    crow, col, rows, order, place, keep, x, score, seed, alpha, grad, logit, own_grad, heads, channels, x_heads,
    slope, p, scale, kept: tl.constexpr, drop: tl.constexpr, ordered: tl.constexpr,
    tile: tl.constexpr, wide: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Gradients of the logits of every edge of a row, and of the receiver's score: a program a row and head."""
    r = tl.load(order + tl.program_id(0)).to(tl.int64) if ordered else tl.program_id(0).to(tl.int64)
    h = tl.program_id(1)
    i = tl.load(rows + r)
    begin, finish = tl.load(crow + i).to(tl.int64), tl.load(crow + i + 1).to(tl.int64)
    own = _own(place, score, i, heads, h)
    sums = tl.zeros((tile,), dtype=tl.float32)
    for start in range(begin, finish, tile):
        k = start + tl.arange(0, tile)
        _, valid, j, _ = _logits(k, k < finish, col, place, keep, score, own, slope, heads, h, kept)
        dot = tl.zeros((tile,), dtype=tl.float32)
        for first in range(0, channels, block):
            c = first + tl.arange(0, block)
            left = tl.load(grad + (r * heads + h) * channels + c, mask=c < channels, other=0.0).to(tl.float32)
            source = x + (j * x_heads + (h if x_heads > 1 else 0))[:, None] * channels + c[None, :]
            right = tl.load(source, mask=(valid & (j >= 0))[:, None] & (c < channels)[None, :], other=0.0)
            dot += tl.sum(left[None, :] * right.to(tl.float32), axis=1)
        dot = _dropped(dot, seed, k, heads, h, p, scale, drop)
        w = tl.load(alpha + k * heads + h, mask=valid, other=0.0)
        tl.store(logit + k * heads + h, dot, mask=k < finish)
        sums += w * dot
    total = tl.sum(sums, axis=0)
    mine = tl.zeros((wide,), dtype=tl.float32)
    for start in range(begin, finish, wide):
        k = start + tl.arange(0, wide)
        _, valid, _, positive = _logits(k, k < finish, col, place, keep, score, own, slope, heads, h, kept)
        w = tl.load(alpha + k * heads + h, mask=valid, other=0.0)
        g = w * (tl.load(logit + k * heads + h, mask=k < finish, other=0.0) - total)
        g = tl.where(positive, g, slope * g)
        tl.store(logit + k * heads + h, g, mask=k < finish)
        mine += g
    tl.store(own_grad + r * heads + h, tl.sum(mine, axis=0))


@triton.jit
def _cols_backward(
    ccrow, cedge, row, nodes, order, position, vectors, seed, alpha, grad, logit, own_grad, gx, gscore, heads,
    channels, p, scale, shared: tl.constexpr, num_heads: tl.constexpr, drop: tl.constexpr, ordered: tl.constexpr,
    tile: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """gx[n, h] = Σ_e dropout(alpha)[e, h] · grad[row of e, h] + the part through both scores: a program a node, block.

    Where all heads share x, one program adds up all of them.
    """
    n = tl.load(order + tl.program_id(0)).to(tl.int64) if ordered else tl.program_id(0).to(tl.int64)
    c = tl.program_id(2) * block + tl.arange(0, block)
    inside = c < channels
    j = tl.load(nodes + n)
    begin, finish = tl.load(ccrow + j), tl.load(ccrow + j + 1)
    mine = tl.load(position + j).to(tl.int64)
    acc = tl.zeros((block,), dtype=tl.float32)
    for at in range(num_heads if shared else 1):
        h = at if shared else tl.program_id(1)
        sums = tl.zeros((tile,), dtype=tl.float32)
        for start in range(begin, finish, tile):
            k = start + tl.arange(0, tile)
            e = tl.load(cedge + k, mask=k < finish, other=0).to(tl.int64)
            r = tl.load(position + tl.load(row + e, mask=k < finish, other=0), mask=k < finish, other=-1).to(tl.int64)
            valid = r >= 0
            sums += tl.load(logit + e * heads + h, mask=valid, other=0.0)
            w = _dropped(tl.load(alpha + e * heads + h, mask=valid, other=0.0), seed, e, heads, h, p, scale, drop)
            source = grad + (r * heads + h)[:, None] * channels + c[None, :]
            value = tl.load(source, mask=valid[:, None] & inside[None, :], other=0.0).to(tl.float32)
            acc += tl.sum(value * w[:, None], axis=0)
        a = tl.sum(sums, axis=0)
        b = tl.load(own_grad + mine * heads + h, mask=mine >= 0, other=0.0)
        if tl.program_id(2) == 0:
            tl.store(gscore + (n * 2) * heads + h, a)
            tl.store(gscore + (n * 2 + 1) * heads + h, b)
        acc += a * tl.load(vectors + h * channels + c, mask=inside, other=0.0)
        acc += b * tl.load(vectors + (heads + h) * channels + c, mask=inside, other=0.0)
    if shared:
        tl.store(gx + n * channels + c, acc, mask=inside)
    else:
        tl.store(gx + (n * heads + tl.program_id(1)) * channels + c, acc, mask=inside)


class _Attend(Function):
    @staticmethod
    def forward(ctx: Any, view: View, x: Tensor, vectors: Tensor, slope: float, p: float) -> Tensor:
        adj, heads, channels = view.adj, vectors.size(1), x.size(2)
        score = x.new_empty(x.size(0), 2, heads, dtype=torch.float32)
        alpha = x.new_zeros(adj.col.numel(), heads, dtype=torch.float32)
        out = x.new_empty(view.num_rows, heads, channels)
        seed = torch.randint(2**31 - 1, (1,), device=x.device) if p else alpha
        block, (keep, kept), (order, ordered) = channel_block(channels, BLOCK), keep_of(view), row_order(view)
        sizes = heads, channels, x.size(1)
        if x.size(0):
            _scores[(x.size(0), heads)](x, vectors, score, *sizes, block=channel_block(channels, 256), num_warps=1)
        if out.numel():
            _attend[(view.num_rows, heads, triton.cdiv(channels, block))](
                adj.crow, adj.col, view.wanted, order, view.place, keep, x, score, seed, alpha, out, *sizes,
                slope, p, 1 / (1 - p), kept=kept, drop=p > 0, ordered=ordered,
                tile=TILE, wide=WIDE, block=block, num_warps=warps(block),
            )  # fmt: skip
        ctx.view, ctx.slope, ctx.p = view, slope, p
        ctx.save_for_backward(x, vectors, score, alpha, seed)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, Tensor | None, None, None]:
        view, p, adj, (x, vectors, score, alpha, seed) = ctx.view, ctx.p, ctx.view.adj, ctx.saved_tensors
        grad, heads, channels, shared = grad.contiguous(), vectors.size(1), x.size(2), x.size(1) == 1
        logit, own = torch.zeros_like(alpha), grad.new_empty(grad.shape[:2], dtype=torch.float32)
        gx, gscore = torch.empty_like(x), torch.empty_like(score)
        block, (keep, kept), (order, ordered) = channel_block(channels, BLOCK), keep_of(view), row_order(view)
        if grad.numel():
            _rows_backward[(view.num_rows, heads)](
                adj.crow, adj.col, view.wanted, order, view.place, keep, x, score, seed, alpha, grad, logit, own,
                heads, channels, x.size(1), ctx.slope, p, 1 / (1 - p), kept=kept, drop=p > 0, ordered=ordered,
                tile=TILE, wide=WIDE, block=block, num_warps=warps(block),
            )  # fmt: skip
        if gx.numel():
            (order, ordered), (ccrow, cedge) = node_order(view), adj.transpose
            _cols_backward[(x.size(0), 1 if shared else heads, triton.cdiv(channels, block))](
                ccrow, cedge, adj.row, view.given, order, view.position, vectors, seed, alpha, grad, logit, own,
                gx, gscore, heads, channels, p, 1 / (1 - p), shared=shared, num_heads=heads, drop=p > 0,
                ordered=ordered, tile=TILE, block=block, num_warps=warps(block),
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

"""Attention over the edges of a row: softmax, dropout and sum in one pass; one more over wide rows for gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numba import njit, prange
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from ..adjacency import View
from .tools import FAST, array, chance, draw, scalar


@njit(parallel=True, cache=True, fastmath=FAST)
def _scores(x, vectors, out):
    """out[n, s, h] = ⟨x[n, h], vectors[s, h]⟩"""
    shared = x.shape[1] == 1
    for n in prange(x.shape[0]):
        for h in range(vectors.shape[1]):
            source = x[n, 0 if shared else h]
            a, b = out.dtype.type(0), out.dtype.type(0)
            for c in range(x.shape[2]):
                a += source[c] * vectors[0, h, c]
                b += source[c] * vectors[1, h, c]
            out[n, 0, h], out[n, 1, h] = a, b


@njit(parallel=True, cache=True, fastmath=FAST)
def _attend(crow, col, rows, place, logs, x, score, slope, seed, threshold, scale, bias, alpha, out):
    """alpha[e, h] = softmax over a row of leaky_relu(score); out[r, h] = bias + Σ_e dropout(alpha) · x[sender, h]

    `logs` [E], the logarithms of the edges' weights, are added before the softmax, or empty.
    """
    heads, channels = out.shape[1], out.shape[2]
    shared = x.shape[1] == 1
    for r in prange(rows.shape[0]):
        i = rows[r]
        for h in range(heads):
            own = score[place[i], 1, h] if place[i] >= 0 else score.dtype.type(0)
            highest = -np.inf
            for e in range(crow[i], crow[i + 1]):
                v = own
                if place[col[e]] >= 0:
                    v += score[place[col[e]], 0, h]
                v = v if v > 0 else slope * v
                if logs.shape[0] > 0:
                    v += logs[e]
                alpha[e, h] = v
                highest = max(highest, v)
            total = 0.0
            for e in range(crow[i], crow[i + 1]):
                alpha[e, h] = np.exp(alpha[e, h] - highest)
                total += alpha[e, h]
            for e in range(crow[i], crow[i + 1]):
                alpha[e, h] /= total
        out[r] = bias
        for e in range(crow[i], crow[i + 1]):
            j = place[col[e]]
            if j < 0:
                continue
            for h in range(heads):
                w = alpha[e, h]
                if threshold > 0:
                    w = w * scale if draw(seed, e * heads + h) >= threshold else alpha.dtype.type(0)
                source = x[j, 0 if shared else h]
                target = out[r, h]
                for c in range(channels):
                    target[c] += w * source[c]


@njit(parallel=True, cache=True, fastmath=FAST)
def _attend_cols_backward(ccrow, cedge, receivers, nodes, position, x, seed, threshold, scale, alpha, grad, gx):
    """gx[n, h] = Σ_e dropout(alpha)[e, h] · grad[row of e, h]; after alpha, its gradient ⟨x[n, h], grad[row, h]⟩.

    Both want the same rows of `grad`, and what dropout took away needs neither.
    """
    heads, channels = grad.shape[1], grad.shape[2]
    shared = gx.shape[1] == 1
    for n in prange(nodes.shape[0]):
        j = nodes[n]
        gx[n] = 0
        for k in range(ccrow[j], ccrow[j + 1]):
            e = cedge[k]
            r = position[receivers[k]]
            if r < 0:
                continue
            for h in range(heads):
                g = grad.dtype.type(0)
                if threshold == 0 or draw(seed, e * heads + h) >= threshold:
                    w = alpha[e, h] * scale
                    source, own, target = grad[r, h], x[n, 0 if shared else h], gx[n, 0 if shared else h]
                    for c in range(channels):
                        target[c] += w * source[c]
                        g += own[c] * source[c]
                alpha[e, heads + h] = g * scale


@njit(parallel=True, cache=True, fastmath=FAST)
def _attend_rows_backward(crow, col, rows, place, score, slope, alpha, own):
    """Behind alpha, its gradient becomes that of the logit; own[r, h] is that of the receiver's score."""
    heads = own.shape[1]
    for r in prange(rows.shape[0]):
        i = rows[r]
        for h in range(heads):
            total = 0.0
            for e in range(crow[i], crow[i + 1]):
                if place[col[e]] < 0:
                    alpha[e, heads + h] = 0
                total += alpha[e, h] * alpha[e, heads + h]
            base = score[place[i], 1, h] if place[i] >= 0 else score.dtype.type(0)
            for e in range(crow[i], crow[i + 1]):
                v = base
                if place[col[e]] >= 0:
                    v += score[place[col[e]], 0, h]
                g = alpha[e, h] * (alpha[e, heads + h] - total)
                alpha[e, heads + h] = g if v > 0 else slope * g
                own[r, h] += alpha[e, heads + h]


@njit(parallel=True, cache=True, fastmath=FAST)
def _attend_scores_backward(ccrow, cedge, receivers, nodes, position, vectors, alpha, own, gx, gscore):
    """gscore, and in gx the part that comes through both scores."""
    heads, channels = vectors.shape[1], vectors.shape[2]
    shared = gx.shape[1] == 1
    for n in prange(nodes.shape[0]):
        j = nodes[n]
        for k in range(ccrow[j], ccrow[j + 1]):
            if position[receivers[k]] >= 0:
                for h in range(heads):
                    gscore[n, 0, h] += alpha[cedge[k], heads + h]
        for h in range(heads):
            if position[j] >= 0:
                gscore[n, 1, h] = own[position[j], h]
            a, b, target = gscore[n, 0, h], gscore[n, 1, h], gx[n, 0 if shared else h]
            for c in range(channels):
                target[c] += a * vectors[0, h, c] + b * vectors[1, h, c]


class _Attend(Function):
    @staticmethod
    def forward(
        ctx: Any, view: View, x: Tensor, vectors: Tensor, bias: Tensor | None, slope: float, p: float
    ) -> Tensor:
        adj, heads = view.adj, vectors.size(1)
        score = x.new_empty(x.size(0), 2, heads)
        _scores(array(x), array(vectors), array(score))
        # The weights, followed by space for their logits' gradients: one block of memory per edge, not two.
        alpha = x.new_empty(adj.col.numel(), 2 * heads)
        out = x.new_empty(view.num_rows, heads, x.size(2))
        drawn = (*chance(p), scalar(x, 1 / (1 - p)))
        graph = (array(adj.crow), array(adj.col), array(view.wanted), array(view.place))
        start = x.new_zeros(heads, x.size(2)) if bias is None else bias.contiguous()
        logs = x.new_empty(0) if adj.log_weight is None else adj.log_weight.to(x.dtype)
        _attend(
            *graph,
            array(logs),
            array(x),
            array(score),
            scalar(x, slope),
            *drawn,
            array(start),
            array(alpha),
            array(out),
        )
        ctx.view, ctx.slope, ctx.drawn, ctx.graph = view, slope, drawn, graph
        ctx.save_for_backward(x, vectors, score, alpha)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, Tensor | None, Tensor | None, None, None]:
        view, (x, vectors, score, alpha) = ctx.view, ctx.saved_tensors
        grad, adj = grad.contiguous(), ctx.view.adj
        own, gx, gscore = grad.new_zeros(grad.shape[:2]), torch.empty_like(x), torch.zeros_like(score)
        ccrow, cedge = adj.transpose
        back = (array(ccrow), array(cedge), array(adj.receivers), array(view.given), array(view.position))
        _attend_cols_backward(*back, array(x), *ctx.drawn, array(alpha), array(grad), array(gx))
        _attend_rows_backward(*ctx.graph, array(score), scalar(x, ctx.slope), array(alpha), array(own))
        _attend_scores_backward(*back, array(vectors), array(alpha), array(own), array(gx), array(gscore))
        gvectors = None
        if ctx.needs_input_grad[2]:
            per_head = [gscore[:, :, h].t() @ x[:, 0 if x.size(1) == 1 else h] for h in range(vectors.size(1))]
            gvectors = torch.stack(per_head, dim=1)
        return None, gx, gvectors, grad.sum(0) if ctx.needs_input_grad[3] else None, None, None


def attend(view: View, x: Tensor, vectors: Tensor, slope: float, p: float, bias: Tensor | None = None) -> Tensor:
    bias = None if bias is None else bias.to(x.dtype)
    return _Attend.apply(view, x.contiguous(), vectors.to(x.dtype).contiguous(), bias, slope, p)

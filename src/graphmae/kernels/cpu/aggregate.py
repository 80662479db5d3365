"""The sparse–dense product, plain or weighted."""

from __future__ import annotations

from typing import Any

import torch
from numba import njit, prange
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from ..adjacency import View
from .tools import FAST, array


@njit(parallel=True, cache=True, fastmath=FAST)
def _gather(crow, edge, end, rows, place, x, weight, out):
    """out[r, h] = Σ_{k in row rows[r]} weight[edge[k], h] · x[place[end[k]], h]"""
    heads, channels = out.shape[1], out.shape[2]
    for r in prange(rows.shape[0]):
        i = rows[r]
        out[r] = 0
        for k in range(crow[i], crow[i + 1]):
            e = edge[k] if edge.shape[0] > 0 else k
            j = place[end[k]]
            if j < 0:
                continue
            for h in range(heads):
                source, target = x[j, h], out[r, h]
                if weight.shape[0] > 0:
                    w = weight[e, h]
                    for c in range(channels):
                        target[c] += w * source[c]
                else:
                    for c in range(channels):
                        target[c] += source[c]


@njit(parallel=True, cache=True, fastmath=FAST)
def _edge_dots(row, col, position, place, a, b, out):
    """out[e, h] = ⟨a[position[row[e]], h], b[place[col[e]], h]⟩, 0 for edges that do not count"""
    for e in prange(row.shape[0]):
        r, j = position[row[e]], place[col[e]]
        for h in range(out.shape[1]):
            total = out.dtype.type(0)
            if r >= 0 and j >= 0:
                left, right = a[r, h], b[j, h]
                for c in range(a.shape[2]):
                    total += left[c] * right[c]
            out[e, h] = total


class _Aggregate(Function):
    @staticmethod
    def forward(ctx: Any, view: View, x: Tensor, weight: Tensor | None) -> Tensor:
        adj = view.adj
        out = x.new_empty(view.num_rows, x.size(1), x.size(2))
        weights = x.new_empty(0, x.size(1)) if weight is None else weight
        _gather(
            array(adj.crow), array(adj.col[:0]), array(adj.col), array(view.wanted), array(view.place),
            array(x), array(weights), array(out),
        )  # fmt: skip
        ctx.view = view
        ctx.save_for_backward(x, weights)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor | None, Tensor | None]:
        view, adj, (x, weight) = ctx.view, ctx.view.adj, ctx.saved_tensors
        grad = grad.contiguous()
        gx = gweight = None
        if ctx.needs_input_grad[1]:
            crow, edges = adj.transpose
            gx = torch.empty_like(x)
            _gather(
                array(crow), array(edges), array(adj.receivers), array(view.given), array(view.position),
                array(grad), array(weight), array(gx),
            )  # fmt: skip
        if ctx.needs_input_grad[2]:
            gweight = torch.empty_like(weight)
            ends = array(adj.row), array(adj.col), array(view.position), array(view.place)
            _edge_dots(*ends, array(grad), array(x), array(gweight))
        return None, gx, gweight


def aggregate(
    view: View, x: Tensor, weight: Tensor | None, own: Tensor | None = None, table: Tensor | None = None
) -> Tensor:
    out = _Aggregate.apply(view, x.contiguous(), None if weight is None else weight.to(x.dtype).contiguous())
    return out if own is None or table is None else out + (own.detach().to(table.dtype) @ table).unsqueeze(1)

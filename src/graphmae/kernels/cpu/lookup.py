"""Rows given by their entries (bags of words) times a table: the first projection of sparse features."""

from __future__ import annotations

from typing import Any

from numba import njit, prange
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from ..adjacency import Adjacency
from .tools import FAST, array, chance, draw, scalar

CHUNK = 64  # channels a thread owns while it adds up the table's gradient


@njit(parallel=True, cache=True, fastmath=FAST)
def _lookup(crow, col, value, rows, width, table, seed, threshold, scale, out):
    for r in prange(rows.shape[0]):
        out[r] = 0
        for k in range(crow[rows[r]], crow[rows[r] + 1]):
            if threshold == 0 or draw(seed, r * width + col[k]) >= threshold:
                w, source, target = value[k] * scale, table[col[k]], out[r]
                for c in range(out.shape[1]):
                    target[c] += w * source[c]


@njit(parallel=True, cache=True, fastmath=FAST)
def _lookup_backward(crow, col, value, rows, width, grad, seed, threshold, scale, out):
    for chunk in prange((grad.shape[1] + CHUNK - 1) // CHUNK):
        first, last = chunk * CHUNK, min(grad.shape[1], (chunk + 1) * CHUNK)
        out[:, first:last] = 0
        for r in range(rows.shape[0]):
            for k in range(crow[rows[r]], crow[rows[r] + 1]):
                if threshold == 0 or draw(seed, r * width + col[k]) >= threshold:
                    w, source, target = value[k] * scale, grad[r, first:last], out[col[k], first:last]
                    for c in range(source.shape[0]):
                        target[c] += w * source[c]


class _Lookup(Function):
    @staticmethod
    def forward(ctx: Any, adj: Adjacency, value: Tensor, rows: Tensor, table: Tensor, p: float) -> Tensor:
        out = table.new_empty(rows.numel(), table.size(1))
        ctx.bags = array(adj.crow), array(adj.col), array(value), array(rows), adj.num_cols
        ctx.drawn, ctx.shape = (*chance(p), scalar(table, 1 / (1 - p))), table.shape
        _lookup(*ctx.bags, array(table), *ctx.drawn, array(out))
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, None, None, Tensor, None]:
        out = grad.new_empty(ctx.shape)
        _lookup_backward(*ctx.bags, array(grad), *ctx.drawn, array(out))
        return None, None, None, out, None


def lookup(adj: Adjacency, value: Tensor, rows: Tensor, table: Tensor, p: float) -> Tensor:
    return _Lookup.apply(adj, value.to(table.dtype), rows, table.contiguous(), p)

"""The kernels for the CPU: numba loops over rows, so that no edge × channel tensor ever exists.

Every row is summed by one thread in a fixed order, so results do not depend on the number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numba import njit, prange
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from .adjacency import Adjacency


@njit(parallel=True, cache=True, fastmath={"contract", "reassoc", "nsz"})
def _gather_rows(crow, edge, col, x, weight, weighted, out):  # type: ignore[no-untyped-def]
    """out[i, h] = Σ_{k in row i} weight[edge[k], h] · x[col[edge[k]], h]"""
    heads, channels = out.shape[1], out.shape[2]
    shared = x.shape[1] == 1
    for i in prange(crow.shape[0] - 1):
        for k in range(crow[i], crow[i + 1]):
            e = edge[k]
            j = col[e]
            for h in range(heads):
                source = x[j, 0 if shared else h]
                target = out[i, h]
                w = weight[e, h] if weighted else out.dtype.type(1)
                for c in range(channels):
                    target[c] += w * source[c]


@njit(parallel=True, cache=True, fastmath={"contract", "reassoc", "nsz"})
def _edge_dots(row, col, a, b, out):  # type: ignore[no-untyped-def]
    """out[e, h] = ⟨a[row[e], h], b[col[e], h]⟩"""
    heads, channels = a.shape[1], a.shape[2]
    shared = b.shape[1] == 1
    for e in prange(row.shape[0]):
        for h in range(heads):
            left = a[row[e], h]
            right = b[col[e], 0 if shared else h]
            total = out.dtype.type(0)
            for c in range(channels):
                total += left[c] * right[c]
            out[e, h] = total


@njit(parallel=True, cache=True)
def _softmax_forward(crow, logits, out):  # type: ignore[no-untyped-def]
    for i in prange(crow.shape[0] - 1):
        for h in range(logits.shape[1]):
            highest = -np.inf
            for e in range(crow[i], crow[i + 1]):
                highest = max(highest, logits[e, h])
            total = 0.0
            for e in range(crow[i], crow[i + 1]):
                out[e, h] = np.exp(logits[e, h] - highest)
                total += out[e, h]
            for e in range(crow[i], crow[i + 1]):
                out[e, h] /= total


@njit(parallel=True, cache=True)
def _softmax_backward(crow, weight, grad, out):  # type: ignore[no-untyped-def]
    for i in prange(crow.shape[0] - 1):
        for h in range(weight.shape[1]):
            total = 0.0
            for e in range(crow[i], crow[i + 1]):
                total += weight[e, h] * grad[e, h]
            for e in range(crow[i], crow[i + 1]):
                out[e, h] = weight[e, h] * (grad[e, h] - total)


@njit(parallel=True, cache=True)
def _dropout(x, seed, threshold, scale, out):  # type: ignore[no-untyped-def]
    """Keep entry k where a hash of (seed, k) reaches the threshold: a counter-based generator, one draw an entry."""
    for k in prange(x.shape[0]):
        z = seed + np.uint64(k) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
        out[k] = x[k] * scale if z >= threshold else x.dtype.type(0)


class _Aggregate(Function):
    @staticmethod
    def forward(ctx: Any, adj: Adjacency, x: Tensor, weight: Tensor | None) -> Tensor:
        heads = x.size(1) if weight is None else weight.size(1)
        out = x.new_zeros(adj.num_rows, heads, x.size(2))
        every = np.arange(adj.col.numel())
        weights = x.new_empty(0, heads) if weight is None else weight
        _gather_rows(_np(adj.crow), every, _np(adj.col), _np(x), _np(weights), weight is not None, _np(out))
        ctx.adj, ctx.weighted = adj, weight is not None
        ctx.save_for_backward(x, weights)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor | None, Tensor | None]:
        adj, (x, weight) = ctx.adj, ctx.saved_tensors
        grad = grad.contiguous()
        grad_x = grad_weight = None
        if ctx.needs_input_grad[1]:
            crow, edges = adj.transpose
            grad_x = grad.new_zeros(x.size(0), grad.size(1), x.size(2))
            _gather_rows(_np(crow), _np(edges), _np(adj.row), _np(grad), _np(weight), ctx.weighted, _np(grad_x))
            if x.size(1) == 1 and grad.size(1) > 1:
                grad_x = grad_x.sum(1, keepdim=True)
        if ctx.needs_input_grad[2]:
            grad_weight = grad.new_empty(adj.col.numel(), grad.size(1))
            _edge_dots(_np(adj.row), _np(adj.col), _np(grad), _np(x), _np(grad_weight))
        return None, grad_x, grad_weight


class _RowSoftmax(Function):
    @staticmethod
    def forward(ctx: Any, adj: Adjacency, logits: Tensor) -> Tensor:
        out = torch.empty_like(logits, memory_format=torch.contiguous_format)
        _softmax_forward(_np(adj.crow), _np(logits), _np(out))
        ctx.adj = adj
        ctx.save_for_backward(out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor]:
        (weight,) = ctx.saved_tensors
        out = torch.empty_like(weight)
        _softmax_backward(_np(ctx.adj.crow), _np(weight), _np(grad), _np(out))
        return None, out


class _Dropout(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float) -> Tensor:
        seed = int(torch.randint(2**63 - 1, ()))
        ctx.constants = np.uint64(seed), np.uint64(int(p * 2.0**64)), 1 / (1 - p)
        return _dropped(x, *ctx.constants)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return _dropped(grad, *ctx.constants), None


def aggregate(adj: Adjacency, x: Tensor, weight: Tensor | None) -> Tensor:
    return _Aggregate.apply(adj, x.contiguous(), None if weight is None else weight.to(x.dtype).contiguous())


def row_softmax(adj: Adjacency, logits: Tensor) -> Tensor:
    return _RowSoftmax.apply(adj, logits.contiguous())


def dropout(x: Tensor, p: float) -> Tensor:
    return _Dropout.apply(x, p)


def _dropped(x: Tensor, seed: np.uint64, threshold: np.uint64, scale: float) -> Tensor:
    entries = _np(x).reshape(-1)
    out = np.empty_like(entries)
    _dropout(entries, seed, threshold, entries.dtype.type(scale), out)
    return torch.from_numpy(out).view(x.shape)


def _np(x: Tensor) -> Any:
    return x.detach().contiguous().numpy()

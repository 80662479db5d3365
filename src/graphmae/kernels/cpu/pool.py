"""Sums, means and maxima of consecutive rows: one row per graph."""

from __future__ import annotations

from typing import Any

import torch
from numba import njit, prange
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from .tools import array


@njit(parallel=True, cache=True)
def _pool_max(x, ptr, out, winner):
    for g in prange(ptr.shape[0] - 1):
        for i in range(ptr[g], ptr[g + 1]):
            for c in range(x.shape[1]):
                if i == ptr[g] or x[i, c] > out[g, c]:
                    out[g, c] = x[i, c]
                    winner[g, c] = i


@njit(parallel=True, cache=True)
def _pool_sum(x, ptr, mean, out):
    for g in prange(ptr.shape[0] - 1):
        count = max(ptr[g + 1] - ptr[g], 1) if mean else 1
        for i in range(ptr[g], ptr[g + 1]):
            for c in range(x.shape[1]):
                out[g, c] += x[i, c]
        if count > 1:
            for c in range(x.shape[1]):
                out[g, c] /= count


class _Pool(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, ptr: Tensor, how: str) -> Tensor:
        out = x.new_zeros(ptr.numel() - 1, x.size(1))
        winner = torch.full(out.shape if how == "max" else (0, 0), -1)
        if how == "max":
            _pool_max(array(x), array(ptr), array(out), array(winner))
        else:
            _pool_sum(array(x), array(ptr), how == "mean", array(out))
        ctx.how, ctx.shape = how, x.shape
        ctx.save_for_backward(ptr, winner)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        ptr, winner = ctx.saved_tensors
        if ctx.how == "max":
            rows, channels = ctx.shape  # where nothing won, the gradient goes to a row after the last
            out = grad.new_zeros(rows + 1, channels)
            return out.scatter_add_(0, winner.where(winner >= 0, rows), grad)[:rows], None, None
        counts = ptr.diff()
        if ctx.how == "mean":
            grad = grad / counts.clamp(min=1).unsqueeze(1)
        return torch.repeat_interleave(grad, counts, dim=0), None, None


def pool(x: Tensor, ptr: Tensor, how: str) -> Tensor:
    return _Pool.apply(x.contiguous(), ptr, how)

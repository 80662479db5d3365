"""Batch norm and the activation after it in two passes over the rows, and two back."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numba import njit, prange
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from .. import reference
from .dropout import dropout
from .tools import FAST, array, scalar

CHUNKS = 16  # partial sums over rows: a fixed number, so that sums do not depend on the number of threads


@njit(parallel=True, cache=True, fastmath=FAST)
def _forward(x, weight, bias, slope, eps, sums, mean, var, rstd, out):
    rows, channels = x.shape
    for chunk in prange(CHUNKS):  # Σ (x − x₀) and Σ (x − x₀)², column by column
        first, second = sums[chunk, 0], sums[chunk, 1]
        for i in range(chunk * rows // CHUNKS, (chunk + 1) * rows // CHUNKS):
            for c in range(channels):
                d = x[i, c] - x[0, c]
                first[c] += d
                second[c] += d * d
    for chunk in range(1, CHUNKS):
        sums[0] += sums[chunk]
    for c in range(channels):
        first, second = sums[0, 0, c] / rows, sums[0, 1, c] / rows
        mean[c] = x[0, c] + first
        var[c] = max(second - first * first, 0)
        rstd[c] = 1 / np.sqrt(var[c] + eps)
    for i in prange(rows):
        for c in range(channels):
            v = (x[i, c] - mean[c]) * rstd[c] * weight[c] + bias[c]
            out[i, c] = v if v > 0 else slope * v


@njit(parallel=True, cache=True, fastmath=FAST)
def _backward(x, weight, bias, slope, mean, rstd, grad, sums, out):
    """sums[0] becomes Σ g · x̂, Σ g and the slope's gradient, with g the gradient before the activation."""
    rows, channels = x.shape
    for chunk in prange(CHUNKS):
        along, plain, lost = sums[chunk, 0], sums[chunk, 1], sums[chunk, 2]
        for i in range(chunk * rows // CHUNKS, (chunk + 1) * rows // CHUNKS):
            for c in range(channels):
                normal = (x[i, c] - mean[c]) * rstd[c]
                v = normal * weight[c] + bias[c]
                below = grad[i, c] * v
                g = grad[i, c] if v > 0 else slope * grad[i, c]
                lost[c] += below if v <= 0 else x.dtype.type(0)
                plain[c] += g
                along[c] += g * normal
    for chunk in range(1, CHUNKS):
        sums[0] += sums[chunk]
    along, plain = sums[0, 0] / rows, sums[0, 1] / rows
    for i in prange(rows):
        for c in range(channels):
            normal = (x[i, c] - mean[c]) * rstd[c]
            g = grad[i, c] if normal * weight[c] + bias[c] > 0 else slope * grad[i, c]
            out[i, c] = weight[c] * rstd[c] * (g - plain[c] - normal * along[c])


@njit(parallel=True, cache=True, fastmath=FAST)
def _prelu_gradient(x, slope, grad, out, sums):
    size = x.shape[0]
    for chunk in prange(CHUNKS):
        first, last = chunk * size // CHUNKS, (chunk + 1) * size // CHUNKS
        values, gradient, target = x[first:last], grad[first:last], out[first:last]
        total = x.dtype.type(0)
        for k in range(values.shape[0]):
            target[k] = gradient[k] * (slope if values[k] <= 0 else x.dtype.type(1))
            total += gradient[k] * min(values[k], x.dtype.type(0))
        sums[chunk] = total


class _BatchNorm(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, slope: Tensor, eps: float) -> tuple[Tensor, ...]:
        out, sums = torch.empty_like(x), x.new_zeros(CHUNKS, 2, x.size(1))
        mean, var, rstd = (torch.empty_like(weight) for _ in range(3))
        values = array(x), array(weight), array(bias), scalar(x, float(slope))
        _forward(*values, scalar(x, eps), *(array(t) for t in (sums, mean, var, rstd, out)))
        ctx.save_for_backward(x, weight, bias, slope, mean, rstd)
        ctx.mark_non_differentiable(mean, var)
        return out, mean, var

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
        x, weight, bias, slope, mean, rstd = ctx.saved_tensors
        out, sums = torch.empty_like(x), x.new_zeros(CHUNKS, 3, x.size(1))
        values = array(x), array(weight), array(bias), scalar(x, float(slope))
        _backward(*values, *(array(t) for t in (mean, rstd, grad, sums, out)))
        along, plain, lost = sums[0]
        return out, along, plain, lost.sum().reshape(slope.shape), None


class _PReLU(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, slope: Tensor) -> Tensor:
        ctx.save_for_backward(x, slope)
        return torch.prelu(x, slope)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        x, slope = ctx.saved_tensors
        out, sums = torch.empty_like(x), x.new_zeros(CHUNKS)
        flat = (array(t).reshape(-1) for t in (x, grad, out))
        entries, gradient, result = flat
        _prelu_gradient(entries, scalar(x, float(slope)), gradient, result, array(sums))
        return out, sums.sum().reshape(slope.shape)


def batch_norm(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    slope: Tensor,
    eps: float,
    valid: Tensor | None,
    running: tuple[Tensor, Tensor, float] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    if valid is not None:  # batches are filled up for CUDA; here it only has to be right
        return reference.batch_norm(x, weight, bias, slope, eps, valid, running)
    out, mean, var = _BatchNorm.apply(x.contiguous(), weight, bias, slope, eps)
    if running is not None:
        reference.move(running, mean, var, x.size(0))
    return out, mean, var


def layer_norm(
    x: Tensor, weight: Tensor, bias: Tensor, slope: Tensor, eps: float, shift: Tensor | None, p: float
) -> Tensor:
    x = x if shift is None else x + shift
    return prelu(F.layer_norm(x, x.shape[-1:], weight, bias, eps), slope, None, p)  # torch's own is as fast


def prelu(x: Tensor, slope: Tensor, shift: Tensor | None, p: float) -> Tensor:
    out = _PReLU.apply((x if shift is None else x + shift).contiguous(), slope)
    return dropout(out, p) if p else out

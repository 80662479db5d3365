"""Batch norm and the activation behind it in two passes over the rows, and two back."""

from __future__ import annotations

from typing import Any

import torch
from numba import njit, prange
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from .tools import FAST, array, scalar

CHUNKS = 16  # partial sums over rows: a fixed number, so that sums do not depend on the number of threads


@njit(parallel=True, cache=True, fastmath=FAST)
def _moments(x, shift, sums):
    """sums[chunk, 0] = Σ (x − shift), sums[chunk, 1] = Σ (x − shift)², column by column."""
    rows, channels = x.shape
    for chunk in prange(CHUNKS):
        first, second = sums[chunk, 0], sums[chunk, 1]
        for i in range(chunk * rows // CHUNKS, (chunk + 1) * rows // CHUNKS):
            for c in range(channels):
                d = x[i, c] - shift[c]
                first[c] += d
                second[c] += d * d


@njit(parallel=True, cache=True, fastmath=FAST)
def _apply(x, scale, offset, slope, out):
    for i in prange(x.shape[0]):
        for c in range(x.shape[1]):
            v = x[i, c] * scale[c] + offset[c]
            out[i, c] = v if v > 0 else slope * v


@njit(parallel=True, cache=True, fastmath=FAST)
def _gradient_sums(x, mean, rstd, weight, bias, slope, grad, sums):
    """sums[chunk] = Σ g, Σ g · x̂ and the slope's gradient, with g the gradient before the activation."""
    rows, channels = x.shape
    for chunk in prange(CHUNKS):
        plain, along, lost = sums[chunk, 0], sums[chunk, 1], sums[chunk, 2]
        for i in range(chunk * rows // CHUNKS, (chunk + 1) * rows // CHUNKS):
            for c in range(channels):
                normal = (x[i, c] - mean[c]) * rstd[c]
                v = normal * weight[c] + bias[c]
                g = grad[i, c]
                lost[c] += 0 if v > 0 else g * v
                g = g if v > 0 else slope * g
                plain[c] += g
                along[c] += g * normal


@njit(parallel=True, cache=True, fastmath=FAST)
def _gradient(x, mean, rstd, weight, bias, slope, grad, plain, along, out):
    for i in prange(x.shape[0]):
        for c in range(x.shape[1]):
            normal = (x[i, c] - mean[c]) * rstd[c]
            g = grad[i, c] if normal * weight[c] + bias[c] > 0 else slope * grad[i, c]
            out[i, c] = weight[c] * rstd[c] * (g - plain[c] - normal * along[c])


@njit(parallel=True, cache=True, fastmath=FAST)
def _prelu_gradient(x, slope, grad, out, sums):
    size = x.shape[0]
    for chunk in prange(CHUNKS):
        total = x.dtype.type(0)
        for k in range(chunk * size // CHUNKS, (chunk + 1) * size // CHUNKS):
            below = x[k] <= 0
            out[k] = slope * grad[k] if below else grad[k]
            total += grad[k] * x[k] if below else x.dtype.type(0)
        sums[chunk] = total


class _BatchNorm(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, slope: Tensor, eps: float) -> tuple[Tensor, ...]:
        shift, sums = x[0].contiguous(), x.new_zeros(CHUNKS, 2, x.size(1))
        _moments(array(x), array(shift), array(sums))
        first, second = sums.sum(0) / x.size(0)
        mean, var = shift + first, (second - first.square()).clamp(min=0)
        rstd = (var + eps).rsqrt()
        scale = weight * rstd
        out = torch.empty_like(x)
        _apply(array(x), array(scale), array(bias - mean * scale), scalar(x, float(slope)), array(out))
        ctx.save_for_backward(x, mean, rstd, weight, bias, slope)
        ctx.mark_non_differentiable(mean, var)
        return out, mean, var

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
        x, mean, rstd, weight, bias, slope = ctx.saved_tensors
        values = [array(t) for t in (x, mean, rstd, weight, bias)]
        sums = x.new_zeros(CHUNKS, 3, x.size(1))
        _gradient_sums(*values, scalar(x, float(slope)), array(grad), array(sums))
        plain, along, lost = sums.sum(0)
        out = torch.empty_like(x)
        means = array(plain / x.size(0)), array(along / x.size(0))
        _gradient(*values, scalar(x, float(slope)), array(grad), *means, array(out))
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
    x: Tensor, weight: Tensor, bias: Tensor, slope: Tensor, eps: float, valid: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    if valid is not None:
        raise NotImplementedError("padded rows exist on CUDA only")
    return _BatchNorm.apply(x.contiguous(), weight, bias, slope, eps)


def prelu(x: Tensor, slope: Tensor) -> Tensor:
    return _PReLU.apply(x.contiguous(), slope)

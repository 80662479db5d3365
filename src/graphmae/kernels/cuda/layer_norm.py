"""Layer norm and the activation behind it in one launch, and one back; only the input is kept for the gradient."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

PROGRAMS = 1024  # each goes over its share of the rows and adds up the weights' gradients on the way


@triton.jit
def _normal(x, row, c, inside, channels, eps):
    """(x̂, 1/σ) of a row."""
    v = tl.load(x + row * channels + c, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(v, axis=0) / channels
    d = tl.where(inside, v - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(d * d, axis=0) / channels + eps)
    return d * rstd, rstd


@triton.jit
def _forward(x, weight, bias, slope, out, channels, eps, block: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, block)
    inside = c < channels
    normal, _ = _normal(x, row, c, inside, channels, eps)
    v = normal * tl.load(weight + c, mask=inside, other=0.0) + tl.load(bias + c, mask=inside, other=0.0)
    tl.store(out + row * channels + c, tl.where(v > 0, v, tl.load(slope) * v), mask=inside)


@triton.jit
def _backward(
    x, weight, bias, slope, grad, out, sums, rows, channels, eps, programs: tl.constexpr, block: tl.constexpr
):
    at = tl.program_id(0)
    c = tl.arange(0, block)
    inside = c < channels
    w = tl.load(weight + c, mask=inside, other=0.0)
    b = tl.load(bias + c, mask=inside, other=0.0)
    below = tl.load(slope)
    along = tl.zeros((block,), dtype=tl.float32)
    plain = tl.zeros((block,), dtype=tl.float32)
    lost = tl.zeros((block,), dtype=tl.float32)
    for start in range(at, rows, programs):
        row = tl.cast(start, tl.int64)
        normal, rstd = _normal(x, row, c, inside, channels, eps)
        v = normal * w + b
        g = tl.load(grad + row * channels + c, mask=inside, other=0.0).to(tl.float32)
        lost += tl.where(v > 0, 0.0, g * v)
        g = tl.where(v > 0, g, below * g)
        along += g * normal
        plain += g
        g = g * w
        first, second = tl.sum(g, axis=0) / channels, tl.sum(g * normal, axis=0) / channels
        tl.store(out + row * channels + c, (g - first - normal * second) * rstd, mask=inside)
    tl.store(sums + (at * 3) * channels + c, along, mask=inside)
    tl.store(sums + (at * 3 + 1) * channels + c, plain, mask=inside)
    tl.store(sums + (at * 3 + 2) * channels + c, lost, mask=inside)


class _LayerNorm(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, slope: Tensor, eps: float) -> Tensor:
        out, (rows, channels) = torch.empty_like(x), x.shape
        block = triton.next_power_of_2(channels)
        if rows:
            _forward[(rows,)](x, weight, bias, slope, out, channels, eps, block=block, num_warps=4)
        ctx.eps, ctx.block = eps, block
        ctx.save_for_backward(x, weight, bias, slope)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, bias, slope = ctx.saved_tensors
        grad, out, (rows, channels) = grad.contiguous(), torch.empty_like(x), x.shape
        sums = x.new_empty(PROGRAMS, 3, channels, dtype=torch.float32)
        _backward[(PROGRAMS,)](
            x, weight, bias, slope, grad, out, sums, rows, channels, ctx.eps,
            programs=PROGRAMS, block=ctx.block, num_warps=4,
        )  # fmt: skip
        along, plain, lost = sums.sum(0)
        return out, along, plain, lost.sum().reshape(slope.shape), None


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, slope: Tensor, eps: float) -> Tensor:
    return _LayerNorm.apply(x.contiguous(), weight, bias, slope, eps)

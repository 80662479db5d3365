"""Batch norm and the activation after it in two launches, and two back; rows after the valid ones are left alone."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

__all__ = ["batch_norm"]

CHUNKS = 64  # row ranges whose sums are added up by whoever needs them
ROWS, COLUMNS = 32, 64  # what one program holds at a time


@triton.jit
def _moments(x, sums, valid, rows, channels, chunks: tl.constexpr, height: tl.constexpr, width: tl.constexpr):
    """sums[chunk] = Σ (x − x₀), Σ (x − x₀)² over a range of rows, x₀ the first row."""
    chunk = tl.program_id(0)
    c = tl.program_id(1) * width + tl.arange(0, width)
    inside = c < channels
    count = tl.load(valid)
    step = tl.cdiv(count, chunks)
    shift = tl.load(x + c, mask=inside, other=0.0)
    a = tl.zeros((width,), dtype=tl.float32)
    b = tl.zeros((width,), dtype=tl.float32)
    for start in range(chunk * step, tl.minimum((chunk + 1) * step, count), height):
        i = start + tl.arange(0, height)
        here = (i < tl.minimum((chunk + 1) * step, count))[:, None] & inside[None, :]
        d = tl.where(here, tl.load(x + i[:, None] * channels + c[None, :], mask=here, other=0.0) - shift[None, :], 0.0)
        a += tl.sum(d, axis=0)
        b += tl.sum(d * d, axis=0)
    tl.store(sums + (chunk * 2) * channels + c, a, mask=inside)
    tl.store(sums + (chunk * 2 + 1) * channels + c, b, mask=inside)


@triton.jit
def _totals(sums, c, inside, channels, which, kinds: tl.constexpr, chunks: tl.constexpr):
    """Column sums over all chunks."""
    k = tl.arange(0, chunks)
    at = sums + (k * kinds + which)[:, None] * channels + c[None, :]
    return tl.sum(tl.load(at, mask=inside[None, :], other=0.0), axis=0)


@triton.jit
def _apply(
    x, sums, weight, bias, slope, valid, out, moments, running_mean, running_var, rows, channels, eps, momentum,
    tracked: tl.constexpr, chunks: tl.constexpr, height: tl.constexpr, width: tl.constexpr,
):  # fmt: skip
    c = tl.program_id(1) * width + tl.arange(0, width)
    inside = c < channels
    count = tl.load(valid)
    first = _totals(sums, c, inside, channels, 0, 2, chunks) / count
    second = _totals(sums, c, inside, channels, 1, 2, chunks) / count
    mean = tl.load(x + c, mask=inside, other=0.0) + first
    var = tl.maximum(second - first * first, 0.0)
    if tl.program_id(0) == 0:
        tl.store(moments + c, mean, mask=inside)
        tl.store(moments + channels + c, var, mask=inside)
        if tracked:
            before = tl.load(running_mean + c, mask=inside, other=0.0)
            tl.store(running_mean + c, before + momentum * (mean - before), mask=inside)
            before = tl.load(running_var + c, mask=inside, other=0.0)
            unbiased = var * count / tl.maximum(count - 1, 1)
            tl.store(running_var + c, before + momentum * (unbiased - before), mask=inside)
    i = tl.program_id(0) * height + tl.arange(0, height)
    here = (i < rows)[:, None] & inside[None, :]
    at = i[:, None].to(tl.int64) * channels + c[None, :]
    scale = tl.load(weight + c, mask=inside, other=0.0) / tl.sqrt(var + eps)
    v = (tl.load(x + at, mask=here, other=0.0) - mean[None, :]) * scale[None, :]
    v += tl.load(bias + c, mask=inside, other=0.0)[None, :]
    v = tl.where(v > 0, v, tl.load(slope) * v)
    tl.store(out + at, tl.where((i < count)[:, None], v, 0.0), mask=here)


@triton.jit
def _before(x, moments, weight, bias, slope, grad, at, here, c, inside, channels, eps):
    """(x̂, gradient before the activation, what the slope gains, 1/σ) of a tile."""
    mean = tl.load(moments + c, mask=inside, other=0.0)
    rstd = 1 / tl.sqrt(tl.load(moments + channels + c, mask=inside, other=0.0) + eps)
    normal = tl.where(here, (tl.load(x + at, mask=here, other=0.0) - mean[None, :]) * rstd[None, :], 0.0)
    v = normal * tl.load(weight + c, mask=inside, other=0.0)[None, :]
    v += tl.load(bias + c, mask=inside, other=0.0)[None, :]
    g = tl.load(grad + at, mask=here, other=0.0)
    return normal, tl.where(v > 0, g, tl.load(slope) * g), tl.where(v > 0, 0.0, g * v), rstd


@triton.jit
def _gradient_sums(
    x, moments, weight, bias, slope, valid, grad, sums, channels, eps,
    chunks: tl.constexpr, height: tl.constexpr, width: tl.constexpr,
):  # fmt: skip
    chunk = tl.program_id(0)
    c = tl.program_id(1) * width + tl.arange(0, width)
    inside = c < channels
    count = tl.load(valid)
    step = tl.cdiv(count, chunks)
    plain = tl.zeros((width,), dtype=tl.float32)
    along = tl.zeros((width,), dtype=tl.float32)
    lost = tl.zeros((width,), dtype=tl.float32)
    for start in range(chunk * step, tl.minimum((chunk + 1) * step, count), height):
        i = start + tl.arange(0, height)
        here = (i < tl.minimum((chunk + 1) * step, count))[:, None] & inside[None, :]
        at = i[:, None] * channels + c[None, :]
        normal, g, gain, _ = _before(x, moments, weight, bias, slope, grad, at, here, c, inside, channels, eps)
        plain += tl.sum(g, axis=0)
        along += tl.sum(g * normal, axis=0)
        lost += tl.sum(gain, axis=0)
    tl.store(sums + (chunk * 3) * channels + c, plain, mask=inside)
    tl.store(sums + (chunk * 3 + 1) * channels + c, along, mask=inside)
    tl.store(sums + (chunk * 3 + 2) * channels + c, lost, mask=inside)


@triton.jit
def _gradient(
    x, moments, weight, bias, slope, valid, grad, sums, out, totals, rows, channels, eps,
    chunks: tl.constexpr, height: tl.constexpr, width: tl.constexpr,
):  # fmt: skip
    c = tl.program_id(1) * width + tl.arange(0, width)
    inside = c < channels
    count = tl.load(valid)
    plain = _totals(sums, c, inside, channels, 0, 3, chunks)
    along = _totals(sums, c, inside, channels, 1, 3, chunks)
    if tl.program_id(0) == 0:
        tl.store(totals + c, plain, mask=inside)
        tl.store(totals + channels + c, along, mask=inside)
        tl.store(totals + 2 * channels + c, _totals(sums, c, inside, channels, 2, 3, chunks), mask=inside)
    i = tl.program_id(0) * height + tl.arange(0, height)
    here = (i < rows)[:, None] & inside[None, :]
    at = i[:, None].to(tl.int64) * channels + c[None, :]
    normal, g, _, rstd = _before(x, moments, weight, bias, slope, grad, at, here, c, inside, channels, eps)
    g = g - plain[None, :] / count - normal * along[None, :] / count
    g = g * (tl.load(weight + c, mask=inside, other=0.0) * rstd)[None, :]
    tl.store(out + at, tl.where((i < count)[:, None], g, 0.0), mask=here)


class _BatchNorm(Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor,
        slope: Tensor,
        eps: float,
        valid: Tensor,
        running: tuple[Tensor, Tensor, float] | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        (rows, channels), out = x.shape, torch.empty_like(x)
        sums, moments = x.new_empty(CHUNKS, 2, channels), x.new_empty(2, channels)
        blocks = triton.cdiv(channels, COLUMNS)
        tiles = {"chunks": CHUNKS, "height": ROWS, "width": COLUMNS}
        _moments[(CHUNKS, blocks)](x, sums, valid, rows, channels, **tiles)
        _apply[(triton.cdiv(rows, ROWS), blocks)](
            x, sums, weight, bias, slope, valid, out, moments, *(running[:2] if running else (x, x)), rows, channels,
            eps, running[2] if running else 0.0, tracked=running is not None, **tiles,
        )  # fmt: skip
        ctx.eps, ctx.tiles = eps, tiles
        ctx.save_for_backward(x, weight, bias, slope, valid, moments)
        mean, var = moments
        ctx.mark_non_differentiable(mean, var)
        ctx.set_materialize_grads(False)  # no zeros for those two
        return out, mean, var

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor | None, *_: Any) -> tuple[Tensor | None, ...]:
        if grad is None:
            return (None,) * 7
        x, weight, bias, slope, valid, moments = ctx.saved_tensors
        (rows, channels), grad, out = x.shape, grad.contiguous(), torch.empty_like(x)
        sums, totals = x.new_empty(CHUNKS, 3, channels), x.new_empty(3, channels)
        values = x, moments, weight, bias, slope, valid, grad
        blocks = triton.cdiv(channels, COLUMNS)
        _gradient_sums[(CHUNKS, blocks)](*values, sums, channels, ctx.eps, **ctx.tiles)
        _gradient[(triton.cdiv(rows, ROWS), blocks)](*values, sums, out, totals, rows, channels, ctx.eps, **ctx.tiles)
        gain = totals[2].sum().reshape(slope.shape) if ctx.needs_input_grad[3] else None
        return out, totals[1], totals[0], gain, None, None, None


def batch_norm(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    slope: Tensor,
    eps: float,
    valid: Tensor | None,
    running: tuple[Tensor, Tensor, float] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    if valid is None:
        valid = torch.full((), x.size(0), device=x.device, dtype=torch.int32)
    return _BatchNorm.apply(x.contiguous(), weight, bias, slope, eps, valid, running)

"""What follows a convolution in one launch, and one back: bias, layer norm, activation, the next layer's dropout.

Only the input is kept for the gradients; the dropout is drawn again.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from .. import reference
from .tools import fresh_seed, kept

MAX_CHANNELS = 8192  # channels a program can hold
PROGRAMS = 1024  # of the gradient: each goes over its share of the rows and adds up what the weights get
HEIGHT, WIDTH, STEPS = 32, 64, 4  # rows and channels of a tile, and tiles, one below the other, of a program


@triton.jit
def _moved(x, shift, row, c, inside, channels, shifted: tl.constexpr):
    v = tl.load(x + row * channels + c, mask=inside, other=0.0).to(tl.float32)
    if shifted:
        v += tl.load(shift + c, mask=inside, other=0.0)
    return v


@triton.jit
def _normal(v, inside, channels, eps):
    """(x̂, 1/σ) of a row."""
    mean = tl.sum(v, axis=0) / channels
    d = tl.where(inside, v - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(d * d, axis=0) / channels + eps)
    return d * rstd, rstd


@triton.jit
def _forward(
    x, shift, weight, bias, slope, seed, out, channels, eps, p, scale,
    shifted: tl.constexpr, drop: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, block)
    inside = c < channels
    v = _moved(x, shift, row, c, inside, channels, shifted)
    normal, _ = _normal(v, inside, channels, eps)
    v = normal * tl.load(weight + c, mask=inside, other=0.0) + tl.load(bias + c, mask=inside, other=0.0)
    v = tl.where(v > 0, v, tl.load(slope) * v)
    if drop:
        v *= kept(seed, row, c, p, scale)
    tl.store(out + row * channels + c, v, mask=inside)


@triton.jit
def _backward(
    x, shift, weight, bias, slope, seed, grad, out, sums, rows, channels, eps, p, scale,
    shifted: tl.constexpr, drop: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """sums: gradients of the slope (one number), of the shift, and of the norm's weight and bias."""
    at = tl.program_id(0)
    c = tl.arange(0, block)
    inside = c < channels
    below = tl.load(slope)
    lost = tl.zeros((block,), dtype=tl.float32)
    total = tl.zeros((block,), dtype=tl.float32)
    along = tl.zeros((block,), dtype=tl.float32)
    plain = tl.zeros((block,), dtype=tl.float32)
    w = tl.load(weight + c, mask=inside, other=0.0)
    b = tl.load(bias + c, mask=inside, other=0.0)
    for start in range(at, rows, tl.num_programs(0)):
        row = tl.cast(start, tl.int64)
        v = _moved(x, shift, row, c, inside, channels, shifted)
        g = tl.load(grad + row * channels + c, mask=inside, other=0.0).to(tl.float32)
        if drop:
            g *= kept(seed, row, c, p, scale)
        normal, rstd = _normal(v, inside, channels, eps)
        v = normal * w + b
        lost += tl.where(v > 0, 0.0, g * v)
        g = tl.where(v > 0, g, below * g)
        along += g * normal
        plain += g
        g = g * w
        first, second = tl.sum(g, axis=0) / channels, tl.sum(g * normal, axis=0) / channels
        g = (g - first - normal * second) * rstd
        total += g
        tl.store(out + row * channels + c, g, mask=inside)
    tl.atomic_add(sums, tl.sum(tl.where(inside, lost, 0.0), axis=0))
    if shifted:
        tl.atomic_add(sums + 1 + c, total, mask=inside)
    tl.atomic_add(sums + 1 + channels + c, along, mask=inside)
    tl.atomic_add(sums + 1 + 2 * channels + c, plain, mask=inside)


@triton.jit
def _tiled_forward(
    x, shift, slope, seed, out, rows, channels, p, scale,
    shifted: tl.constexpr, drop: tl.constexpr, height: tl.constexpr, width: tl.constexpr,
):  # fmt: skip
    """The same without a norm: no row has to be seen whole."""
    c = tl.program_id(1) * width + tl.arange(0, width)
    inside = c < channels
    i = (tl.program_id(0) * height + tl.arange(0, height)).to(tl.int64)
    here = (i < rows)[:, None] & inside[None, :]
    at = i[:, None] * channels + c[None, :]
    v = tl.load(x + at, mask=here, other=0.0).to(tl.float32)
    if shifted:
        v += tl.load(shift + c, mask=inside, other=0.0)[None, :]
    v = tl.where(v > 0, v, tl.load(slope) * v)
    if drop:
        v *= kept(seed, i[:, None], c[None, :], p, scale)
    tl.store(out + at, v, mask=here)


@triton.jit
def _tiled_backward(
    x, shift, slope, seed, grad, out, sums, rows, channels, p, scale,
    shifted: tl.constexpr, sloped: tl.constexpr, drop: tl.constexpr,
    height: tl.constexpr, width: tl.constexpr, steps: tl.constexpr,
):  # fmt: skip
    """Likewise; few programs add to what the shift gets."""
    c = tl.program_id(1) * width + tl.arange(0, width)
    inside = c < channels
    below = tl.load(slope)
    lost = tl.zeros((width,), dtype=tl.float32)
    total = tl.zeros((width,), dtype=tl.float32)
    for step in tl.static_range(steps):
        i = ((tl.program_id(0) * steps + step) * height + tl.arange(0, height)).to(tl.int64)
        here = (i < rows)[:, None] & inside[None, :]
        at = i[:, None] * channels + c[None, :]
        v = tl.load(x + at, mask=here, other=0.0).to(tl.float32)
        if shifted:
            v += tl.load(shift + c, mask=inside, other=0.0)[None, :]
        g = tl.load(grad + at, mask=here, other=0.0).to(tl.float32)
        if drop:
            g *= kept(seed, i[:, None], c[None, :], p, scale)
        if sloped:
            lost += tl.sum(tl.where(v > 0, 0.0, g * v), axis=0)
        g = tl.where(v > 0, g, below * g)
        total += tl.sum(g, axis=0)
        tl.store(out + at, g, mask=here)
    if sloped:
        tl.atomic_add(sums, tl.sum(lost, axis=0))
    if shifted:
        tl.atomic_add(sums + 1 + c, total, mask=inside)


class _Finish(Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        shift: Tensor | None,
        weight: Tensor | None,
        bias: Tensor | None,
        slope: Tensor,
        eps: float,
        p: float,
    ) -> Tensor:
        out, seed, (rows, channels) = torch.empty_like(x), fresh_seed(p, x.device), x.shape
        ctx.options = {
            "channels": channels, "eps": eps, "p": p, "scale": 1 / (1 - p), "shifted": shift is not None,
            "drop": p > 0, "block": triton.next_power_of_2(channels),
            "num_warps": 4 if channels > 256 else 1,
        }  # fmt: skip
        ctx.save_for_backward(x, shift, weight, bias, slope, seed)
        if rows and weight is not None:
            _forward[(rows,)](**_named(x, shift, weight, bias, slope, seed), out=out, **ctx.options)
        elif rows:
            _tiled_forward[(triton.cdiv(rows, HEIGHT), triton.cdiv(channels, WIDTH))](
                **_without_norm(x, shift, slope, seed, ctx.options), out=out, rows=rows, height=HEIGHT, width=WIDTH
            )
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, shift, weight, bias, slope, seed = ctx.saved_tensors
        grad, out, (rows, channels) = grad.contiguous(), torch.empty_like(x), x.shape
        sums = x.new_zeros(1 + channels * (1 if weight is None else 3), dtype=torch.float32)
        sloped = ctx.needs_input_grad[4]
        if weight is None:
            _tiled_backward[(max(1, triton.cdiv(rows, HEIGHT * STEPS)), triton.cdiv(channels, WIDTH))](
                **_without_norm(x, shift, slope, seed, ctx.options), grad=grad, out=out, sums=sums, rows=rows,
                sloped=sloped, height=HEIGHT, width=WIDTH, steps=STEPS,
            )  # fmt: skip
            lost = sums[0].reshape(slope.shape) if sloped else None
            return out, None if shift is None else sums[1:], None, None, lost, None, None
        programs = max(1, min(PROGRAMS, triton.cdiv(rows, 8)))
        _backward[(programs,)](
            **_named(x, shift, weight, bias, slope, seed), grad=grad, out=out, sums=sums, rows=rows,
            **ctx.options,
        )  # fmt: skip
        total, along, plain = sums[1:].split(channels)
        return out, None if shift is None else total, along, plain, sums[0].reshape(slope.shape), None, None


def _named(*tensors: Tensor | None) -> dict[str, Tensor | None]:
    """What both kernels take; a kernel takes no None, and looks at none of those."""
    present = [tensors[0] if tensor is None else tensor for tensor in tensors]
    return dict(zip(("x", "shift", "weight", "bias", "slope", "seed"), present, strict=True))


def _without_norm(
    x: Tensor, shift: Tensor | None, slope: Tensor, seed: Tensor | None, options: dict[str, Any]
) -> dict[str, Any]:
    """What the two kernels without a norm take."""
    named = _named(x, shift, None, None, slope, seed)
    known = {key: options[key] for key in ("channels", "p", "scale", "shifted", "drop")}
    return {**{key: named[key] for key in ("x", "shift", "slope", "seed")}, **known}


def layer_norm(
    x: Tensor, weight: Tensor, bias: Tensor, slope: Tensor, eps: float, shift: Tensor | None, p: float
) -> Tensor:
    if x.size(1) > MAX_CHANNELS:
        return reference.layer_norm(x, weight, bias, slope, eps, shift, p)
    return _Finish.apply(x.contiguous(), shift, weight, bias, slope, eps, p)


def prelu(x: Tensor, slope: Tensor, shift: Tensor | None, p: float) -> Tensor:
    if x.dim() != 2 or x.size(1) > MAX_CHANNELS:
        return reference.prelu(x, slope, shift, p)
    return _Finish.apply(x.contiguous(), shift, None, None, slope, 0.0, p)
